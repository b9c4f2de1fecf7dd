//! The text of an outcome in a store: a line with the output or the failure, and a second line with what the handler
//! returned beside it, if anything.

use panpan_runtime::json::read as read_json;
use serde_json::Value;

/// A kept output or failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// The output or the failure.
    pub(crate) value: Value,
    /// What was returned beside it.
    pub(crate) extra: Option<Value>,
}

/// The text that a store keeps, without an extra that would make it longer than the limit.
pub(crate) fn kept_text(value: &str, extra: Option<&Value>, bytes_limit: usize) -> String {
    let extra = extra.map(Value::to_string);
    let extra = extra.filter(|it| value.len().saturating_add(it.len()) < bytes_limit);
    extra.map_or_else(|| value.to_owned(), |extra| format!("{value}\n{extra}"))
}

/// The outcome in the text of a store. JSON as it is written here has no line break. It may be nested as deep as any
/// value that the gateway accepts.
pub(crate) fn read_kept(text: &str) -> Result<Kept, serde_json::Error> {
    let (value, extra) = match text.split_once('\n') {
        Some((value, extra)) => (value, Some(extra)),
        None => (text, None),
    };
    Ok(Kept {
        value: read_json(value)?,
        extra: extra.map(read_json).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_is_read_as_it_was_kept() {
        for value in [json!({"a": "b\nc"}), json!([1]), json!(null)] {
            for extra in [None, Some(json!({"_meta": {"a": "\n"}}))] {
                let text = kept_text(&value.to_string(), extra.as_ref(), 1000);
                let kept = read_kept(&text).unwrap();
                assert_eq!((kept.value, kept.extra), (value.clone(), extra));
            }
        }
    }

    #[test]
    fn an_extra_is_kept_up_to_the_limit() {
        let extra = json!("ab");
        assert_eq!(kept_text("1", Some(&extra), 6), "1\n\"ab\"");
        assert_eq!(kept_text("1", Some(&extra), 5), "1");
    }
}
