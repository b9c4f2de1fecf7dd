//! What a child tells its parent, one line each: written here, and read again.

use std::io::{self, Write as _};

use panpan_runtime::Answer;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The store is open and the load begins.
    Began,
    /// A call is about to be made.
    Asked(u64),
    /// The key of a call that stopped without a word was taken over.
    TakenOver,
    /// A call was answered.
    Answered(Answered),
    /// Everything that was to be asked is answered.
    Done,
}

/// How a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) number: u64,
    /// Whether it is the last word about its key.
    pub(crate) kept: bool,
    pub(crate) replayed: bool,
    /// `ok` and the output, or `failed` and the failure.
    pub(crate) outcome: String,
}

impl Answered {
    pub(crate) fn of(number: u64, answer: &Answer) -> Self {
        let outcome = match &answer.outcome {
            Ok(output) => format!("ok {}", output.text()),
            Err(failure) => {
                let text = serde_json::to_string(failure).expect("a failure is made of JSON");
                format!("failed {text}")
            }
        };
        Self {
            number,
            kept: answer.expires_at.is_some(),
            replayed: answer.replayed,
            outcome,
        }
    }
}

impl Line {
    /// Writes the line in one piece; when nobody reads any more, there is nobody to tell.
    pub(crate) fn send(&self) {
        let _ = io::stdout().lock().write_all(self.text().as_bytes());
    }

    fn text(&self) -> String {
        match self {
            Line::Began => "began\n".to_owned(),
            Line::Asked(number) => format!("asked {number}\n"),
            Line::TakenOver => "taken-over\n".to_owned(),
            Line::Answered(answered) => format!(
                "answered {} {} {} {}\n",
                answered.number,
                if answered.kept { "kept" } else { "passing" },
                if answered.replayed { "replayed" } else { "new" },
                answered.outcome
            ),
            Line::Done => "done\n".to_owned(),
        }
    }

    /// Reads a line without its end.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "began" => Some(Line::Began),
            "asked" => rest.parse().ok().map(Line::Asked),
            "taken-over" => Some(Line::TakenOver),
            "answered" => answered(rest).map(Line::Answered),
            "done" => Some(Line::Done),
            _ => None,
        }
    }
}

fn answered(text: &str) -> Option<Answered> {
    let mut words = text.splitn(4, ' ');
    Some(Answered {
        number: words.next()?.parse().ok()?,
        kept: words.next()? == "kept",
        replayed: words.next()? == "replayed",
        outcome: words.next()?.to_owned(),
    })
}

/// A line that is read is the line that was written.
pub(crate) fn every_line_survives_its_way() {
    let answered = |kept, replayed| {
        Line::Answered(Answered {
            number: 12,
            kept,
            replayed,
            outcome: "ok {\"a\": \"b c\"}".to_owned(),
        })
    };
    for line in [
        Line::Began,
        Line::Asked(7),
        Line::TakenOver,
        answered(true, false),
        answered(false, true),
        Line::Done,
    ] {
        let text = line.text();
        assert_eq!(Line::read(text.strip_suffix('\n').unwrap()), Some(line));
    }
    assert_eq!(Line::read("answered 12 kept"), None);
}
