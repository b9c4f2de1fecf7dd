//! The messages from a child to its parent, one line each.

use std::io::{self, Write as _};

use panpan_runtime::Answer;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The store is open and the load starts.
    Started,
    /// A new call is about to be made.
    Calling(u64),
    /// The key of an abandoned call was taken over.
    TakenOver,
    /// A call was answered.
    Answered(Answered),
    /// All work is done.
    Done,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) number: u64,
    /// Whether the outcome is recorded.
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
                let text = serde_json::to_string(failure).expect("a failure serialises to JSON");
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

impl Message {
    /// Writes the message with one system call; errors are ignored, because the parent may have ended.
    pub(crate) fn send(&self) {
        let _ = io::stdout().lock().write_all(self.text().as_bytes());
    }

    fn text(&self) -> String {
        match self {
            Message::Started => "started\n".to_owned(),
            Message::Calling(number) => format!("calling {number}\n"),
            Message::TakenOver => "taken-over\n".to_owned(),
            Message::Answered(answered) => format!(
                "answered {} {} {} {}\n",
                answered.number,
                if answered.kept { "kept" } else { "temporary" },
                if answered.replayed { "replayed" } else { "new" },
                answered.outcome
            ),
            Message::Done => "done\n".to_owned(),
        }
    }

    /// Parses a message without its line end.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "started" => Some(Message::Started),
            "calling" => rest.parse().ok().map(Message::Calling),
            "taken-over" => Some(Message::TakenOver),
            "answered" => answered(rest).map(Message::Answered),
            "done" => Some(Message::Done),
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

/// A message that is parsed is the message that was written.
pub(crate) fn every_message_can_be_parsed() {
    let answered = |kept, replayed| {
        Message::Answered(Answered {
            number: 12,
            kept,
            replayed,
            outcome: "ok {\"a\": \"b c\"}".to_owned(),
        })
    };
    for message in [
        Message::Started,
        Message::Calling(7),
        Message::TakenOver,
        answered(true, false),
        answered(false, true),
        Message::Done,
    ] {
        let text = message.text();
        assert_eq!(
            Message::read(text.strip_suffix('\n').unwrap()),
            Some(message)
        );
    }
    assert_eq!(Message::read("answered 12 kept"), None);
}
