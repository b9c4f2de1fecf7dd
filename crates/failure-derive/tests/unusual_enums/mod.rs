//! Tests for unusual enums: generic, borrowed, with raw identifiers, from a macro, with shadowed names, with
//! referenced schemas, with errors behind pointers.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use panpan_failure::__private::JsonSchema;
use panpan_failure::{DeclareFailures, Failure};
use serde_json::{Map, Value, json};

fn details(error: impl Into<Failure>) -> Value {
    let failure: Failure = error.into();
    json!({
        "message": failure.message(),
        "details": failure.details(),
        "causes": failure.causes().iter().map(|it| it.message.clone()).collect::<Vec<_>>(),
    })
}

fn check(error: impl Into<Failure>, message: &str, expected: impl Into<Value>, causes: &[&str]) {
    let expected: Value = expected.into();
    let expected = json!({"message": message, "details": expected, "causes": causes});
    assert_eq!(details(error), expected);
}

#[test]
fn a_generic_enum_gets_the_bounds_that_it_needs() {
    #[derive(Debug, Failure)]
    enum Refused<'a, T: Clone, E, const N: usize>
    where
        E: Send,
    {
        #[failure(code = "VALUE_REFUSED", message = "{value:?} is not one of {names:?}")]
        Value {
            value: T,
            names: &'a [&'a str],
            other: Option<T>,
        },
        #[failure(code = "VALUES_REFUSED")]
        Values {
            values: Vec<T>,
            #[failure(skip)]
            _bytes: [u8; N],
        },
        #[failure(code = "VALUE_UNREADABLE")]
        Unreadable(#[failure(source)] E),
        #[failure(code = "NEVER_BUILT")]
        _Never(#[failure(skip)] PhantomData<T>),
    }
    type Sample<'a> = Refused<'a, u8, std::io::Error, 2>;

    let value = Sample::Value {
        value: 3,
        names: &["1", "2"],
        other: None,
    };
    check(
        value,
        "3 is not one of [\"1\", \"2\"]",
        json!({"value": 3, "names": ["1", "2"]}),
        &[],
    );
    let values = Sample::Values {
        values: vec![4],
        _bytes: [0; 2],
    };
    check(values, "Values refused", json!({"values": [4]}), &[]);
    let unreadable = Sample::Unreadable(std::io::Error::other("cut"));
    assert_eq!(
        unreadable.source().map(ToString::to_string).as_deref(),
        Some("cut")
    );
    check(unreadable, "Value unreadable", Value::Null, &["cut"]);
    assert_eq!(Sample::definitions().len(), 4);
}

#[test]
fn a_transparent_parameter_declares_what_its_argument_declares() {
    #[derive(Debug, Failure)]
    enum Inner {
        #[failure(code = "INNER_FAILED", message = "number {0}")]
        Failed(#[failure(rename = "number")] i8),
    }
    #[derive(Debug, Failure)]
    enum Outer<T> {
        #[failure(transparent)]
        Inner { inner: T },
    }
    check(
        Outer::Inner {
            inner: Inner::Failed(-1),
        },
        "number -1",
        json!({"number": -1}),
        &[],
    );
    assert_eq!(Outer::<Inner>::definitions(), Inner::definitions());
    assert_eq!(
        Outer::Inner {
            inner: Inner::Failed(1)
        }
        .to_string(),
        "number 1"
    );
}

#[test]
fn raw_identifiers_and_names_of_unnamed_fields_work_in_messages() {
    #[derive(Debug, Failure)]
    #[expect(non_camel_case_types, reason = "a keyword is the point")]
    enum r#Type {
        #[failure(code = "TYPE_WRONG", message = "{type} is not {expected}")]
        r#fn {
            r#type: String,
            expected: &'static str,
        },
        #[failure(code = "TYPE_MISSING", message = "{1} and {location} and {1:?}")]
        Missing(
            #[failure(rename = "location")] String,
            #[failure(rename = "time")] String,
        ),
    }
    let wrong = r#Type::r#fn {
        r#type: "text".to_owned(),
        expected: "number",
    };
    check(
        wrong,
        "text is not number",
        json!({"type": "text", "expected": "number"}),
        &[],
    );
    let missing = r#Type::Missing("here".to_owned(), "now".to_owned());
    check(
        missing,
        "now and here and \"now\"",
        json!({"location": "here", "time": "now"}),
        &[],
    );
}

#[test]
fn an_enum_written_by_a_macro_is_derived_like_any_other() {
    macro_rules! failures {
        ($name:ident { $($variant:ident: $code:literal, $status:literal, $message:expr;)+ }) => {
            #[derive(Debug, Failure)]
            enum $name {
                $(#[failure(code = $code, http = $status, message = $message)]
                $variant { path: String },)+
            }
        };
    }
    failures!(FromMacro { Gone: "PATH_GONE", 410, "{path} is gone"; Locked: "PATH_LOCKED", 423, "{path} is locked"; });
    let codes: Vec<_> = FromMacro::definitions()
        .iter()
        .map(|it| it.code.to_string())
        .collect();
    assert_eq!(codes, ["PATH_GONE", "PATH_LOCKED"]);
    check(
        FromMacro::Locked {
            path: "a".to_owned(),
        },
        "a is locked",
        json!({"path": "a"}),
        &[],
    );
    check(
        FromMacro::Gone {
            path: "b".to_owned(),
        },
        "b is gone",
        json!({"path": "b"}),
        &[],
    );
}

#[test]
fn shadowed_names_do_not_affect_the_derived_code() {
    #![allow(dead_code, non_upper_case_globals, reason = "they only shadow names")]
    struct Option;
    struct Vec;
    struct String;
    enum Result {}
    mod std {}
    mod core {}
    const path: u8 = 0;
    #[allow(unused_macros, reason = "it only shadows a name")]
    macro_rules! format {
        () => {};
    }
    #[allow(unused_macros, reason = "it only shadows a name")]
    macro_rules! write {
        () => {};
    }
    #[derive(Debug, Failure)]
    enum Shadowed {
        #[failure(code = "NAME_SHADOWED", message = "{path} of {formatter}")]
        Name { path: u8, formatter: u8, error: u8 },
    }
    let shadowed = Shadowed::Name {
        path: 1,
        formatter: 2,
        error: 3,
    };
    check(
        shadowed,
        "1 of 2",
        json!({"path": 1, "formatter": 2, "error": 3}),
        &[],
    );
}

#[test]
fn the_schema_includes_the_definitions_of_field_types() {
    #[derive(Debug, serde::Serialize, JsonSchema)]
    struct Location {
        line: u32,
        inside: Option<Box<Location>>,
    }
    #[derive(Debug, Failure)]
    enum SyntaxError {
        #[failure(code = "SYNTAX_BROKEN")]
        Broken {
            /// Where the error is.
            location: Location,
            any: Value,
        },
    }
    let schema = &SyntaxError::definitions()[0].schema;
    let location = json!({"$ref": "#/$defs/Location", "description": "Where the error is"});
    assert_eq!(
        schema["properties"],
        json!({"location": location, "any": true})
    );
    assert_eq!(schema["required"], json!(["location", "any"]));
    assert_eq!(
        schema["$defs"]["Location"]["required"],
        json!(["line", "inside"])
    );

    let inside = Some(Box::new(Location {
        line: 2,
        inside: None,
    }));
    let broken = SyntaxError::Broken {
        location: Location { line: 1, inside },
        any: Value::Null,
    };
    let expected =
        json!({"location": {"line": 1, "inside": {"line": 2, "inside": null}}, "any": null});
    check(broken, "Syntax broken", expected, &[]);
}

#[test]
fn a_source_may_be_boxed_shared_or_absent() {
    #[derive(Debug, Failure)]
    enum Sourced {
        #[failure(code = "SOURCE_BOXED")]
        Boxed(#[failure(source)] Box<dyn Error + Send + Sync>),
        #[failure(code = "SOURCE_SHARED")]
        Shared(#[failure(source)] std::sync::Arc<std::io::Error>),
        #[failure(code = "SOURCE_OPTIONAL")]
        Optional(#[failure(source)] Option<Box<dyn Error>>),
    }
    let io = || std::io::Error::other("disk");
    for (error, cause) in [
        (Sourced::Boxed("text".into()), Some("text")),
        (Sourced::Shared(io().into()), Some("disk")),
        (Sourced::Optional(Some(io().into())), Some("disk")),
        (Sourced::Optional(None), None),
    ] {
        assert_eq!(error.source().map(ToString::to_string).as_deref(), cause);
        let failure: Failure = error.into();
        assert_eq!(
            failure.causes().first().map(|it| it.message.as_str()),
            cause
        );
    }
}

#[test]
fn no_display_leaves_display_and_error_to_the_author() {
    #[derive(Debug, Failure)]
    #[failure(no_display, crate = panpan_failure)]
    enum Quiet {
        #[failure(code = "QUIET_FAILED", message = "shown to the caller")]
        Failed,
    }
    impl fmt::Display for Quiet {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("shown in the log")
        }
    }
    impl Error for Quiet {}
    assert_eq!(Quiet::Failed.to_string(), "shown in the log");
    check(Quiet::Failed, "shown to the caller", Value::Null, &[]);
}

#[test]
fn a_value_that_cannot_be_serialized_is_left_out() {
    #[derive(Debug)]
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("cannot be serialized"))
        }
    }
    impl JsonSchema for Unwritable {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Unwritable".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            Map::new().into()
        }
    }
    #[derive(Debug, Failure)]
    enum Strange {
        #[failure(code = "STRANGE_VALUE")]
        Value { value: Unwritable, line: u8 },
    }
    check(
        Strange::Value {
            value: Unwritable,
            line: 1,
        },
        "Strange value",
        json!({"line": 1}),
        &[],
    );
}

#[test]
fn an_enum_with_a_destructor_keeps_it() {
    #[derive(Debug, Failure)]
    enum Dropped {
        #[failure(code = "GUARD_DROPPED", message = "{name}")]
        Guard { name: String },
    }
    impl Drop for Dropped {
        fn drop(&mut self) {}
    }
    check(
        Dropped::Guard {
            name: "a".to_owned(),
        },
        "a",
        json!({"name": "a"}),
        &[],
    );
}
