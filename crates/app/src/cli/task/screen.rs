//! The terminal on stdout: its size, and lines that replace each other.

use std::io::{self, Write};

use super::render::Size;

/// The size of a terminal that does not state one.
const DEFAULT_SIZE: Size = Size {
    rows: 24,
    columns: 80,
};

/// Long lines are cut at the edge instead of continuing on the next line: a terminal may count columns in another way.
const CUT_LINES: &str = "\u{1b}[?7l";
const WRAP_LINES: &str = "\u{1b}[?7h";
const CLEAR_REST_OF_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";
const FIRST_LINE: &str = "\u{1b}[H";

/// Lines on a terminal that are drawn again and again.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) size: Size,
    /// The lines that were drawn last.
    drawn: Vec<String>,
}

impl Screen {
    pub(super) fn new(size: Size) -> Self {
        let drawn = Vec::new();
        Self { size, drawn }
    }

    /// Replaces the lines that were drawn before, unless they are the same.
    pub(super) fn draw(&mut self, lines: Vec<String>, out: &mut impl Write) -> io::Result<()> {
        if lines == self.drawn {
            return Ok(());
        }
        let mut text = CUT_LINES.to_owned();
        if !self.drawn.is_empty() {
            text.push_str(&format!("\r\u{1b}[{}A", self.drawn.len()));
        }
        for line in &lines {
            text.push_str(&format!("{line}{CLEAR_REST_OF_LINE}\r\n"));
        }
        text.push_str(CLEAR_BELOW);
        text.push_str(WRAP_LINES);
        self.drawn = lines;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The terminal has another size. What it made of the lines is unknown, so they are drawn anew.
    pub(super) fn resize(&mut self, size: Size, out: &mut impl Write) -> io::Result<()> {
        self.size = size;
        self.drawn.clear();
        out.write_all(format!("{FIRST_LINE}{CLEAR_BELOW}").as_bytes())
    }
}

/// The size of the terminal on stdout.
pub(super) fn size() -> Size {
    let variable = |name: &str| std::env::var(name).ok()?.parse().ok();
    let stated = stated_size();
    let rows = stated.map(|it| it.rows).or_else(|| variable("LINES"));
    let columns = stated.map(|it| it.columns);
    let columns = columns.or_else(|| variable("COLUMNS"));
    Size {
        rows: rows.unwrap_or(DEFAULT_SIZE.rows),
        columns: columns.unwrap_or(DEFAULT_SIZE.columns),
    }
}

/// The size as `stty` reports it, which every Unix has: asking the system directly needs unsafe code or another library.
#[cfg(unix)]
fn stated_size() -> Option<Size> {
    use std::os::fd::AsFd as _;
    use std::process::{Command, Stdio};

    let terminal = io::stdout().as_fd().try_clone_to_owned().ok()?;
    let mut command = Command::new("stty");
    command.arg("size").stdin(terminal).stderr(Stdio::null());
    let output = command.output().ok()?;
    parsed_size(std::str::from_utf8(&output.stdout).ok()?)
}

#[cfg(not(unix))]
fn stated_size() -> Option<Size> {
    None
}

/// Rows and columns; a terminal that does not know its size states zeros.
#[cfg(unix)]
fn parsed_size(text: &str) -> Option<Size> {
    let mut numbers = text.split_whitespace().map(str::parse::<usize>);
    let mut next = || numbers.next()?.ok().filter(|it| *it > 0);
    let (rows, columns) = (next()?, next()?);
    Some(Size { rows, columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(screen: &mut Screen, lines: &[&str]) -> String {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let mut out = Vec::new();
        screen.draw(lines, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_replace_those_that_were_drawn_before() {
        let mut screen = Screen::new(DEFAULT_SIZE);
        assert_eq!(
            drawn(&mut screen, &["a", "b"]),
            "\u{1b}[?7la\u{1b}[K\r\nb\u{1b}[K\r\n\u{1b}[J\u{1b}[?7h"
        );
        assert!(drawn(&mut screen, &["c"]).starts_with("\u{1b}[?7l\r\u{1b}[2Ac\u{1b}[K"));
        assert_eq!(drawn(&mut screen, &["c"]), "", "nothing has changed");
        assert!(drawn(&mut screen, &["d"]).starts_with("\u{1b}[?7l\r\u{1b}[1Ad"));
        screen.resize(DEFAULT_SIZE, &mut Vec::new()).unwrap();
        assert!(drawn(&mut screen, &["e"]).starts_with("\u{1b}[?7le"));
    }

    #[cfg(unix)]
    #[test]
    fn a_size_has_two_numbers_above_zero() {
        let size = Size {
            rows: 50,
            columns: 132,
        };
        for (text, expected) in [
            ("50 132\n", Some(size)),
            ("0 0\n", None),
            ("50\n", None),
            ("", None),
            ("stty: not a terminal", None),
        ] {
            assert_eq!(parsed_size(text), expected, "{text:?}");
        }
    }
}
