//! Writes a JSON object as text, member by member: a document of ten thousand operations as a tree takes
//! thirty times as much memory.

use serde_json::Value;

/// A JSON object under construction.
#[derive(Default)]
pub(super) struct ObjectWriter(String);

impl ObjectWriter {
    /// Adds a member.
    pub(super) fn insert(&mut self, name: &str, value: &Value) {
        self.begin(name);
        self.0.push_str(&value.to_string());
    }

    /// Adds a member that was written as text.
    pub(super) fn insert_object(&mut self, name: &str, members: Self) {
        self.begin(name);
        self.0.push_str(&members.finish());
    }

    /// The complete object.
    pub(super) fn finish(mut self) -> String {
        match self.0.is_empty() {
            true => "{}".to_owned(),
            false => {
                self.0.push('}');
                self.0
            }
        }
    }

    fn begin(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_written_one_by_one_make_an_object() {
        assert_eq!(ObjectWriter::default().finish(), "{}");
        let mut inner = ObjectWriter::default();
        inner.insert("a \"b\"", &json!([1]));
        inner.insert("c", &Value::Null);
        let mut text = ObjectWriter::default();
        text.insert_object("empty", ObjectWriter::default());
        text.insert_object("inner", inner);
        let read: Value = serde_json::from_str(&text.finish()).unwrap();
        let expected = json!({"empty": {}, "inner": {"a \"b\"": [1], "c": null}});
        assert_eq!(read, expected);
    }
}
