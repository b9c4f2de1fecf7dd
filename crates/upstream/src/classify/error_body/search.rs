//! The last resort: sentences anywhere in a body whose members are not known, such as those of another language.

use serde_json::Value;

use super::lists::is_debug_info;
use super::texts::{append, has_words, is_status_phrase, text};

/// The maximum number of sentences.
const SENTENCES_LIMIT: usize = 5;
/// The maximum length of one sentence, in bytes.
const SENTENCE_BYTES_LIMIT: usize = 500;
/// The maximum nesting that is searched.
const DEPTH_LIMIT: usize = 8;
/// The maximum number of values that are visited.
const VISITS_LIMIT: usize = 2_000;
/// The minimum number of words; shorter texts are mostly names.
const WORDS_LEAST: usize = 3;
/// Members with texts that are no reason: echoes of the request, traces and references, in lower case.
const OTHER: &str = "\
    @type address agent args arguments author copyright date documentation exception file headers help href \
    input instance license link links method name params path payload query request requestbody server stack stacktrace \
    stack_trace time timestamp trace traceback uri url user useragent user_agent value version";

/// The sentences in a document, each with the path to its member unless there is only one.
pub(super) fn sentences(document: &Value) -> Option<String> {
    let mut search = Search {
        found: Vec::new(),
        visits_left: VISITS_LIMIT,
    };
    search.visit(document, "", 0);
    if let [(_, only)] = search.found.as_slice() {
        return Some(only.clone());
    }
    let mut message = String::new();
    for (path, sentence) in search.found {
        append(&mut message, &format!("{sentence} ({path})"));
    }
    (!message.is_empty()).then_some(message)
}

struct Search {
    found: Vec<(String, String)>,
    visits_left: usize,
}

impl Search {
    fn add(&mut self, path: &str, sentence: String) {
        if self.found.iter().all(|(_, known)| *known != sentence) {
            self.found.push((path.to_owned(), sentence));
        }
    }

    fn visit(&mut self, value: &Value, path: &str, depth: usize) {
        let is_done = self.visits_left == 0 || self.found.len() == SENTENCES_LIMIT;
        if is_done || depth > DEPTH_LIMIT {
            return;
        }
        self.visits_left -= 1;
        match value {
            Value::String(_) => {
                if let Some(sentence) = text(value).filter(|it| is_sentence(it)) {
                    self.add(path, sentence);
                }
            }
            Value::Array(items) => {
                for item in items.iter().take(SENTENCES_LIMIT) {
                    self.visit(item, path, depth + 1);
                }
            }
            Value::Object(members) if !is_debug_info(value) => {
                for (name, value) in members.iter().take(VISITS_LIMIT) {
                    let is_other = OTHER.split(' ').any(|it| it.eq_ignore_ascii_case(name));
                    if !is_other {
                        let path = match path {
                            "" => name.clone(),
                            path => format!("{path}.{name}"),
                        };
                        self.visit(value, &path, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_sentence(text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|it| it.chars().any(char::is_alphabetic));
    let is_long = words.count() >= WORDS_LEAST || (has_words(text) && !text.contains(' '));
    // Templates and markup are samples; a name behind a sample of a credential makes it look like a real one.
    let is_sample = text.contains(['{', '}', '<']);
    let is_short = text.len() <= SENTENCE_BYTES_LIMIT;
    is_long && is_short && !is_sample && !is_status_phrase(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sentences_are_found_under_any_name() {
        for (body, expected) in [
            (
                json!({"meldung": "Bitte in 5 Minuten erneut versuchen."}),
                Some("Bitte in 5 Minuten erneut versuchen."),
            ),
            (
                json!({"fel": {"text": "Beloppet är för stort"}, "tips": ["Välj ett mindre belopp"]}),
                Some("Beloppet är för stort (fel.text); Välj ett mindre belopp (tips)"),
            ),
            (
                json!({"a": "too large by far", "b": "too large by far"}),
                Some("too large by far"),
            ),
            (json!({"msj": "余额不足"}), Some("余额不足")),
            // Names, dates, references, echoes and traces.
            (json!({"owner": "John Smith"}), None),
            (json!({"title": "Error 429: Too Many Requests"}), None),
            (json!({"date": "Mon, 01 Jan 2024 10:00:00 GMT"}), None),
            (json!({"request": {"note": "please call me back"}}), None),
            (json!({"stackTrace": "at a in b at c in d"}), None),
            (
                json!({"form": "Authorization: Key ${API_KEY} of yours"}),
                None,
            ),
            (json!({"id": 17, "code": "E-1", "ok": false}), None),
            (json!([]), None),
        ] {
            assert_eq!(sentences(&body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn the_search_is_bounded() {
        let nested = |depth: usize| {
            (0..depth).fold(json!("this is too deep"), |inner, _| json!({"a": inner}))
        };
        assert!(sentences(&nested(DEPTH_LIMIT)).is_some());
        assert!(sentences(&nested(DEPTH_LIMIT + 1)).is_none());
        let long = |bytes: usize| json!({"a": format!("b c {}", "d".repeat(bytes - 4))});
        assert!(sentences(&long(SENTENCE_BYTES_LIMIT)).is_some());
        assert!(sentences(&long(SENTENCE_BYTES_LIMIT + 1)).is_none());
        let many = |count: usize| {
            let members = (0..count).map(|it| (format!("a{it:05}"), json!(it)));
            let mut members: serde_json::Map<_, _> = members.collect();
            members.insert("b".to_owned(), json!("this is far away"));
            sentences(&members.into())
        };
        assert!(many(VISITS_LIMIT - 2).is_some());
        assert!(many(VISITS_LIMIT - 1).is_none());
        let sentence = |index: usize| {
            (
                format!("a{index}"),
                json!(format!("the reason {index} is bad")),
            )
        };
        let texts: serde_json::Map<_, _> = (0..SENTENCES_LIMIT + 1).map(sentence).collect();
        let found = sentences(&texts.into()).unwrap();
        assert_eq!(found.matches("reason").count(), SENTENCES_LIMIT);
    }
}
