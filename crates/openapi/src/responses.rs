//! The failures one operation declares in its `responses`.
//!
//! An exact status gives `HTTP_<status>`; a range gives `HTTP_4XX` or `HTTP_5XX` and `default` gives
//! `HTTP_DEFAULT`: names for the definition only, since an answer is always coded by the status it
//! came with.

use panpan_contract::operation::{ErrorDefinition, StatusPattern};
use panpan_contract::pointer::joined;
use panpan_contract::{Category, Code};
use serde_json::{Map, Value};

use crate::reference::{follow, standing_alone};

/// What a `responses` object says about failures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The declared failures, in the order of the document's keys.
    pub definitions: Vec<ErrorDefinition>,
    /// What could not be understood; the rest was.
    pub problems: Vec<Problem>,
}

/// Something in the document that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as an RFC 6901 pointer into the `responses` object.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// The failures declared by a `responses` object of a document.
///
/// ```
/// use serde_json::json;
///
/// let document = json!({"components": {"responses": {"Gone": {"description": "It was deleted."}}}});
/// let responses = json!({"200": {}, "410": {"$ref": "#/components/responses/Gone"}});
/// let imported = panpan_openapi::error_definitions(&document, &responses);
/// assert_eq!(imported.definitions[0].code.as_str(), "HTTP_410");
/// assert_eq!(imported.definitions[0].description, "It was deleted.");
/// ```
pub fn error_definitions(document: &Value, responses: &Value) -> Imported {
    let mut imported = Imported::default();
    for (status, response) in responses.as_object().into_iter().flatten() {
        if !may_be_failure(status) {
            continue;
        }
        match definition(document, status, response) {
            Ok((definition, broken_schema)) => {
                imported.definitions.push(definition);
                imported
                    .problems
                    .extend(broken_schema.map(|message| problem(status, message)));
            }
            Err(message) => imported.problems.push(problem(status, message)),
        }
    }
    imported
}

/// Everything but extensions and what is said about statuses below 400.
fn may_be_failure(status: &str) -> bool {
    !status.starts_with("x-") && !matches!(status.as_bytes(), [b'1'..=b'3', _, _])
}

fn problem(status: &str, message: String) -> Problem {
    Problem {
        pointer: joined("", status),
        message,
    }
}

/// The definition, and what is wrong with its schema if anything is.
fn definition(
    document: &Value,
    status: &str,
    response: &Value,
) -> Result<(ErrorDefinition, Option<String>), String> {
    let pattern = pattern(status).ok_or_else(|| {
        format!("{status:?} is no status of a failure; write 400 to 599, 4XX, 5XX or default")
    })?;
    let response = follow(document, response)?;
    let description = response.get("description").and_then(Value::as_str);
    let mut definition = ErrorDefinition {
        http_status: Some(pattern),
        category: category(pattern),
        ..ErrorDefinition::new(code(pattern), description.unwrap_or_default().trim())
    };
    let schema = match schema(response) {
        Some(schema) => standing_alone(document, schema).map(Some),
        None => Ok(None),
    };
    Ok(match schema {
        Ok(schema) => {
            definition.schema = schema.unwrap_or(definition.schema);
            (definition, None)
        }
        Err(broken) => (definition, Some(broken)),
    })
}

fn pattern(status: &str) -> Option<StatusPattern> {
    let value = match status.parse::<u16>() {
        Ok(number) => number.into(),
        Err(_) => status.into(),
    };
    match StatusPattern::from_value(&value)? {
        StatusPattern::Exact(status) if !(400..=599).contains(&status) => None,
        pattern => Some(pattern),
    }
}

fn code(pattern: StatusPattern) -> Code {
    let code = format!("HTTP_{pattern}").to_ascii_uppercase();
    Code::new(code).expect("every pattern reads as a well-formed code")
}

/// An exact status has its facts in the catalogue; for the others the hundred says all there is.
fn category(pattern: StatusPattern) -> Option<Category> {
    match pattern {
        StatusPattern::Range(4) => Some(Category::ClientError),
        StatusPattern::Range(5) => Some(Category::ServerError),
        _ => None,
    }
}

/// The schema of the body, of `application/json` before its relatives.
fn schema(response: &Value) -> Option<&Value> {
    let content = response.get("content")?.as_object()?;
    let media = content
        .get("application/json")
        .or_else(|| first_relative(content))?;
    media.get("schema")
}

fn first_relative(content: &Map<String, Value>) -> Option<&Value> {
    let is_json = |media: &str| {
        let essence = media.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json")
    };
    content
        .iter()
        .find(|(media, _)| is_json(media))
        .map(|(_, media)| media)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codes(responses: &Value) -> Vec<String> {
        let imported = error_definitions(&json!({}), responses);
        assert_eq!(imported.problems, []);
        imported
            .definitions
            .iter()
            .map(|it| it.code.to_string())
            .collect()
    }

    #[test]
    fn statuses_from_400_ranges_and_default_declare_failures() {
        let found = codes(&json!({
            "200": {}, "2XX": {}, "302": {}, "404": {}, "4XX": {}, "5xx": {}, "503": {}, "default": {}, "x-note": {},
        }));
        assert_eq!(
            found,
            [
                "HTTP_404",
                "HTTP_4XX",
                "HTTP_503",
                "HTTP_5XX",
                "HTTP_DEFAULT"
            ]
        );
    }

    #[test]
    fn every_imported_declaration_is_accepted() {
        let imported = error_definitions(
            &json!({}),
            &json!({"429": {}, "4XX": {}, "5XX": {}, "default": {}}),
        );
        for definition in imported.definitions {
            let kind = definition.kind().unwrap();
            assert_eq!(
                kind.retryable(),
                ["HTTP_429", "HTTP_5XX"].contains(&kind.code().as_str())
            );
        }
    }

    #[test]
    fn the_json_body_gives_the_schema() {
        let document = json!({"components": {"schemas": {"E": {"type": "object"}}}});
        let body = json!({"schema": {"$ref": "#/components/schemas/E"}});
        for media in [
            "application/json",
            "application/problem+json",
            "application/json; charset=utf-8",
        ] {
            let responses = json!({"400": {"content": {"text/plain": {}, media: body}}});
            let imported = error_definitions(&document, &responses);
            assert_eq!(
                imported.definitions[0].schema,
                json!({"$ref": "#/$defs/E", "$defs": {"E": {"type": "object"}}}),
                "{media}"
            );
        }
    }

    #[test]
    fn what_cannot_be_understood_is_named_and_the_rest_is_kept() {
        let imported = error_definitions(
            &json!({}),
            &json!({
                "400": {"description": "kept", "content": {"application/json": {"schema": {"$ref": "#/gone"}}}},
                "404": {"$ref": "#/gone"},
                "600": {},
                "teapot": {},
            }),
        );
        assert_eq!(imported.definitions.len(), 1);
        assert_eq!(imported.definitions[0].description, "kept");
        let pointers: Vec<&str> = imported
            .problems
            .iter()
            .map(|it| it.pointer.as_str())
            .collect();
        assert_eq!(pointers, ["/400", "/404", "/600", "/teapot"]);
    }

    #[test]
    fn what_is_no_object_declares_nothing() {
        assert_eq!(
            error_definitions(&json!({}), &json!([1])),
            Imported::default()
        );
        assert_eq!(codes(&json!({"400": 7})), ["HTTP_400"]);
    }
}
