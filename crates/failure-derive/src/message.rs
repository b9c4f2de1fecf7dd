//! The text of a message: where its placeholders are, and which field each of them names.
//!
//! A message is a format string over the fields of its variant and nothing else, so that whatever is
//! dynamic in it is in the details too.

/// A message cut at its placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) pieces: Vec<Piece>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that is the same every time.
    Text(String),
    /// A field, and what stands after the colon.
    Field { name: String, format: String },
}

impl Template {
    /// Reads a format string, or says what to write instead.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let closed = after.split_once('}').filter(|_| brace == "{");
            let (inside, after) = closed.ok_or_else(|| {
                format!("a single `{brace}` opens or closes nothing; write `{brace}{brace}` for the character")
            })?;
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(field(inside)?);
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self { pieces })
    }

    /// The names and formats of the placeholders.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Field { name, format } => Some((name.as_str(), format.as_str())),
            Piece::Text(_) => None,
        })
    }
}

fn field(inside: &str) -> Result<Piece, String> {
    let (name, format) = inside.split_once(':').unwrap_or((inside, ""));
    let name = name.trim();
    if name.is_empty() {
        return Err("an empty placeholder names no field; write `{path}` or `{0}`".to_owned());
    }
    let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_');
    if !is_name {
        return Err(format!(
            "`{name}` is not the name of a field; compute the value before and keep it in a field"
        ));
    }
    if format.contains(['$', '*', '{']) {
        return Err(format!(
            "the format `{format}` takes its width from elsewhere; write the number"
        ));
    }
    Ok(Piece::Field {
        name: name.to_owned(),
        format: format.trim_end().to_owned(),
    })
}

/// The trait of `core::fmt` a format asks for.
pub(crate) fn format_trait(format: &str) -> &'static str {
    match format.chars().last() {
        Some('?') => "Debug",
        Some('x') => "LowerHex",
        Some('X') => "UpperHex",
        Some('o') => "Octal",
        Some('b') => "Binary",
        Some('e') => "LowerExp",
        Some('E') => "UpperExp",
        Some('p') => "Pointer",
        _ => "Display",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match Template::read(text) {
            Ok(template) => template.pieces.iter().map(shown).collect::<String>(),
            Err(problem) => format!("! {problem}"),
        };
        assert!(shown.starts_with(expected), "{text:?}: {shown}");
    }

    fn shown(piece: &Piece) -> String {
        match piece {
            Piece::Text(text) => format!("[{text}]"),
            Piece::Field { name, format } => format!("<{name}|{format}>"),
        }
    }

    #[test]
    fn placeholders_are_told_from_text() {
        check("", "");
        check("plain", "[plain]");
        check("no file at {path}", "[no file at ]<path|>");
        check("{0}{1:?}", "<0|><1|?>");
        check("{{{a}}} and }}", "[{]<a|>[} and }]");
        check("{type:>8.2}", "<type|>8.2>");
        check("é{ü}é", "[é]<ü|>[é]");
    }

    #[test]
    fn what_is_no_placeholder_is_explained() {
        check("{", "! a single `{`");
        check("a } b", "! a single `}`");
        check("{path", "! a single `{`");
        check("{}", "! an empty placeholder");
        check("{:?}", "! an empty placeholder");
        check("{path.len()}", "! `path.len()` is not the name");
        check("{a:width$}", "! the format `width$`");
        check("{a:.*}", "! the format `.*`");
    }

    #[test]
    fn a_format_names_its_trait() {
        for (format, name) in [
            ("", "Display"),
            (">8", "Display"),
            ("#?", "Debug"),
            ("04x", "LowerHex"),
        ] {
            assert_eq!(format_trait(format), name, "{format:?}");
        }
    }
}
