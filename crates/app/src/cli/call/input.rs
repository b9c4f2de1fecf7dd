//! The input of a call as people write it: one JSON document, a file, standard input, or pairs.

use std::fs::File;
use std::io::Read;
use std::marker::PhantomData;

use anyhow::Context;
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use serde_json::{Map, Value};

use super::super::error::Hinted;
use super::pairs;

/// What the arguments of the input look like.
const FORMS: &str = "write one JSON document, @FILE, - for standard input, or members as KEY=VALUE";

/// What one argument is meant as.
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
        [Form::Stdin] => whole(stdin, "standard input"),
        [Form::File(path)] => {
            let file = File::open(path).with_context(|| {
                let hint = "the input after @ is the name of a file with one JSON document";
                Hinted::new(format!("cannot open {path:?}"), hint)
            })?;
            whole(file, &format!("{path:?}"))
        }
        [Form::Document(text)] => {
            document(text.as_bytes()).map_err(|error| refused("the input", &error).into())
        }
        forms => Ok(pairs::object(together(forms, arguments)?)?),
    }
}

/// What an argument is meant as, by how it begins: whatever looks like JSON is not a pair, though it may
/// hold an equals sign.
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
            let message = format!("{argument:?} is neither JSON nor a member such as name=value");
            Err(Hinted::new(message, FORMS))
        }
    }
}

/// Several arguments have to be pairs, all of them.
fn together<'a>(
    forms: &[Form<'a>],
    arguments: &[String],
) -> Result<Vec<(&'a str, &'a str)>, Hinted> {
    let pairs = forms.iter().zip(arguments).map(|(form, argument)| {
        if let Form::Pair(key, value) = form {
            return Ok((*key, *value));
        }
        let message = format!("{argument:?} is a whole input, and there are other arguments");
        let hint = "give that one alone, or every member as KEY=VALUE";
        Err(Hinted::new(message, hint))
    });
    pairs.collect()
}

fn whole(from: impl Read, name: &str) -> anyhow::Result<Value> {
    let mut bytes = Vec::new();
    // One byte more than is read at most, so that a larger document is noticed and refused.
    let limit = u64::try_from(DOCUMENT_BYTES_LIMIT)?.saturating_add(1);
    let read = from.take(limit).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}"))?;
    if bytes.trim_ascii().is_empty() {
        let message = format!("there is nothing in {name}");
        return Err(Hinted::new(message, "give it one JSON document, such as {}").into());
    }
    document(&bytes).map_err(|error| refused(name, &error).into())
}

fn document(bytes: &[u8]) -> Result<Value, ReadError> {
    read::request_as(bytes, DOCUMENT_BYTES_LIMIT, PhantomData::<Value>)
}

fn refused(name: &str, error: &ReadError) -> Hinted {
    let message = format!("{name} cannot be used: {error}");
    Hinted::new(message, "give one complete JSON document")
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
    fn input_in_no_form_is_refused_with_what_to_write() {
        for (arguments, stdin, said) in [
            (&["hello"][..], "", "\"hello\" is neither JSON nor a member"),
            (&["a=1", "hello"], "", "\"hello\" is neither JSON"),
            (&["a=1", "{}"], "", "\"{}\" is a whole input"),
            (&["-", "a=1"], "", "\"-\" is a whole input"),
            (&["@x", "@y"], "", "\"@x\" is a whole input"),
            (
                &["{\"a\": }"],
                "",
                "the input cannot be used: not valid JSON: expected value (line 1, column 7)",
            ),
            (&["[=1"], "", "the input cannot be used"),
            (&["@"], "", "cannot open \"\""),
            (&["@/no/such/file"], "", "cannot open \"/no/such/file\""),
            (&["-"], " \n", "there is nothing in standard input"),
            (&["-"], "{", "standard input cannot be used: not valid JSON"),
            (&["=1"], "", "\"=1\" names no member"),
            (&["a..b=1"], "", "\"a..b=1\" names no member"),
            (&["a=1", "a=2"], "", "\"a=2\" gives a member that is there"),
            (
                &["a=1", "a.b=2"],
                "",
                "\"a.b=2\" goes into a member that is no object",
            ),
            (
                &["a.b=1", "a=2"],
                "",
                "\"a=2\" gives a member that is there",
            ),
        ] {
            let error = format!("{:#}", input(arguments, stdin).unwrap_err());
            assert!(error.contains(said), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn standard_input_has_a_limit_and_both_sides_of_it_are_known() {
        let text = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
        assert!(input(&["-"], &text(DOCUMENT_BYTES_LIMIT)).is_ok());
        let error = input(&["-"], &text(DOCUMENT_BYTES_LIMIT + 1)).unwrap_err();
        assert!(error.to_string().contains("at most 4194304"), "{error}");
    }
}
