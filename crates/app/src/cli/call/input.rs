//! The input of a call: one JSON document, a file, stdin, or members as pairs.

use std::fs::File;
use std::io::Read;

use anyhow::Context;
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use serde_json::{Map, Value};

use super::super::error::Hinted;
use super::pairs;
use crate::files::read_up_to;

/// What some editors write at the beginning of a file in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

const FORMS_HINT: &str = "write one JSON document, @FILE, - for stdin, or members as KEY=VALUE";

/// The form of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form<'a> {
    Stdin,
    File(&'a str),
    Document(&'a str),
    Pair(&'a str, &'a str),
}

/// Reads the input; without arguments it is an empty object.
pub(super) fn read(arguments: &[String], stdin: impl Read) -> anyhow::Result<Value> {
    let forms = arguments.iter().map(|argument| form(argument));
    let forms = forms.collect::<Result<Vec<_>, _>>()?;
    match forms.as_slice() {
        [] => Ok(Value::Object(Map::new())),
        [Form::Stdin] => read_document(stdin, "stdin", DOCUMENT_BYTES_LIMIT),
        [Form::File(path)] => {
            let hint = "write @ and the name of a file with one JSON document";
            read_file(path, hint, DOCUMENT_BYTES_LIMIT)
        }
        [Form::Document(text)] => parse(text.as_bytes(), DOCUMENT_BYTES_LIMIT)
            .map_err(|error| invalid("the input", &error).into()),
        forms => Ok(pairs::object(only_pairs(forms, arguments)?)?),
    }
}

/// The form of an argument, by its first character: an argument that looks like JSON is not a pair, even with an
/// equals sign.
fn form(argument: &str) -> Result<Form<'_>, Hinted> {
    if argument == "-" {
        return Ok(Form::Stdin);
    }
    if let Some(path) = argument.strip_prefix('@') {
        return Ok(Form::File(path));
    }
    if argument.trim_start().starts_with(['{', '[', '"']) {
        return Ok(Form::Document(argument));
    }
    match argument.split_once('=') {
        Some((key, value)) => Ok(Form::Pair(key, value)),
        None if read::document(argument.as_bytes()).is_ok() => Ok(Form::Document(argument)),
        None => {
            let message = format!("{argument:?} is neither JSON nor a member such as KEY=VALUE");
            Err(Hinted::new(message, FORMS_HINT))
        }
    }
}

/// Several arguments have to be pairs.
fn only_pairs<'a>(
    forms: &[Form<'a>],
    arguments: &[String],
) -> Result<Vec<(&'a str, &'a str)>, Hinted> {
    let pairs = forms.iter().zip(arguments).map(|(form, argument)| {
        if let Form::Pair(key, value) = form {
            return Ok((*key, *value));
        }
        let message =
            format!("{argument:?} is a complete input and cannot be combined with other arguments");
        let hint = "pass only that argument, or every member as KEY=VALUE";
        Err(Hinted::new(message, hint))
    });
    pairs.collect()
}

/// Reads a file with one document; the hint is about a file that cannot be opened.
pub(in crate::cli) fn read_file(path: &str, hint: &str, limit: usize) -> anyhow::Result<Value> {
    let file =
        File::open(path).with_context(|| Hinted::new(format!("cannot open {path:?}"), hint))?;
    read_document(file, &format!("{path:?}"), limit)
}

/// Reads one document of at most so many bytes.
pub(in crate::cli) fn read_document(
    from: impl Read,
    name: &str,
    limit: usize,
) -> anyhow::Result<Value> {
    let bytes = read_up_to(from, limit);
    let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
    if bytes.trim_ascii().is_empty() {
        let message = format!("{name} is empty");
        return Err(Hinted::new(message, "write the input into it, as one JSON document").into());
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        let message = format!("{name} begins with a byte order mark, which is not JSON");
        return Err(Hinted::new(message, "save it as UTF-8 without a byte order mark").into());
    }
    parse(&bytes, limit).map_err(|error| invalid(name, &error).into())
}

fn parse(bytes: &[u8], limit: usize) -> Result<Value, ReadError> {
    match read::request(bytes, limit)? {
        (_, Some(pointer)) => Err(ReadError::Shape {
            pointer,
            expected: "each member once".to_owned(),
            found: "a duplicate".to_owned(),
        }),
        (document, None) => Ok(document),
    }
}

fn invalid(name: &str, error: &ReadError) -> Hinted {
    let message = format!("cannot read {name}: {error}");
    Hinted::new(message, "write one complete JSON document")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(arguments: &[&str], stdin: &str) -> anyhow::Result<Value> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        read(&arguments, stdin.as_bytes())
    }

    #[test]
    fn input_is_read_in_every_form() {
        for (arguments, stdin, expected) in [
            (&[][..], "", json!({})),
            (&["{\"a\": 1}"], "", json!({"a": 1})),
            (&[" [1, \"x=y\"]"], "", json!([1, "x=y"])),
            (&["\"a=b\""], "", json!("a=b")),
            (&["5"], "", json!(5)),
            (&["null"], "", Value::Null),
            (&["-"], "{\"b\": true}\n", json!({"b": true})),
            (&["a=1"], "", json!({"a": 1})),
            (
                &["a=1.5", "b=true", "c=null", "d=[1]", "e={\"f\":2}"],
                "",
                json!({"a": 1.5, "b": true, "c": null, "d": [1], "e": {"f": 2}}),
            ),
            (
                &["a=word", "b=", "c=01", "d=two words", "e=x=y", "f=\"7\""],
                "",
                json!({"a": "word", "b": "", "c": "01", "d": "two words", "e": "x=y", "f": "7"}),
            ),
            (
                &["a.b=1", "a.c.d=x", "e=@file"],
                "",
                json!({"a": {"b": 1, "c": {"d": "x"}}, "e": "@file"}),
            ),
        ] {
            assert_eq!(input(arguments, stdin).unwrap(), expected, "{arguments:?}");
        }
    }

    #[test]
    fn invalid_input_is_refused_with_the_reason() {
        for (arguments, stdin, message) in [
            (&["hello"][..], "", "\"hello\" is neither JSON nor a member"),
            (&["a=1", "hello"], "", "\"hello\" is neither JSON"),
            (&["a=1", "{}"], "", "\"{}\" is a complete input"),
            (&["-", "a=1"], "", "\"-\" is a complete input"),
            (&["@x", "@y"], "", "\"@x\" is a complete input"),
            (
                &["{\"a\": }"],
                "",
                "cannot read the input: not valid JSON: expected value (line 1, column 7)",
            ),
            (&["[=1"], "", "cannot read the input"),
            (
                &["{\"a\": 1, \"a\": 2}"],
                "",
                "cannot read the input: at /a: expected each member once, found a duplicate",
            ),
            (&["a={\"b\": 1, \"b\": 2}"], "", "sets a member twice"),
            (&["@"], "", "cannot open \"\""),
            (&["@/no/such/file"], "", "cannot open \"/no/such/file\""),
            (&["-"], " \n", "stdin is empty"),
            (&["-"], "{", "cannot read stdin: not valid JSON"),
            (&["=1"], "", "\"=1\" has an empty name"),
            (&["a..b=1"], "", "\"a..b=1\" has an empty name"),
            (&["a=1", "a=2"], "", "\"a=2\" sets a member twice"),
            (
                &["a=1", "a.b=2"],
                "",
                "\"a.b=2\" sets a member of a value that is not an object",
            ),
            (&["a.b=1", "a=2"], "", "\"a=2\" sets a member twice"),
        ] {
            let error = format!("{:#}", input(arguments, stdin).unwrap_err());
            assert!(error.contains(message), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn stdin_up_to_the_limit_is_read_and_more_is_not() {
        let text = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
        assert!(input(&["-"], &text(DOCUMENT_BYTES_LIMIT)).is_ok());
        let error = input(&["-"], &text(DOCUMENT_BYTES_LIMIT + 1)).unwrap_err();
        assert!(
            error.to_string().contains("the limit is 4194304"),
            "{error}"
        );
    }
}
