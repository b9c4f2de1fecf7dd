//! Finds the code and the message of an error in XML: those of object stores, of SOAP and of others with the same
//! element names.
//!
//! Reads the text of a few known elements and nothing else. An HTML page is not an error document.

use std::borrow::Cow;

/// Elements for the code, most specific first.
const CODES: [&str; 4] = ["Code", "code", "faultcode", "errorCode"];
/// Elements for the message, most specific first.
const MESSAGES: [&str; 7] = [
    "Message",
    "message",
    "faultstring",
    "errorMessage",
    "error_description",
    "description",
    "Reason",
];
/// The maximum length of the text of an element, in bytes.
const TEXT_BYTES_LIMIT: usize = 8 * 1024;

/// What an XML document states about an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct XmlError {
    pub(super) code: Option<String>,
    pub(super) message: String,
}

/// The error in a document, if it is XML and has a message.
pub(super) fn of(body: &str) -> Option<XmlError> {
    let body = body.trim_start_matches('\u{feff}').trim_start();
    if !body.starts_with('<') || is_page(body) {
        return None;
    }
    let first = |names: &[&str]| names.iter().find_map(|name| element_text(body, name));
    let message = first(&MESSAGES)?;
    let code = first(&CODES).map(|it| local_name(&it).to_owned());
    Some(XmlError { code, message })
}

fn is_page(body: &str) -> bool {
    let start: String = body.chars().take(1_000).collect();
    let start = start.to_ascii_lowercase();
    start.contains("<html") || start.contains("<!doctype html")
}

/// The text of the first element with this name that has only text, without its namespace prefix.
fn element_text(body: &str, name: &str) -> Option<String> {
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>')?;
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        let tag_name = tag.split_ascii_whitespace().next().unwrap_or_default();
        if local_name(tag_name) == name && !tag.ends_with('/') {
            let text = content(after)?;
            let text = text.trim();
            if !text.is_empty() && text.len() <= TEXT_BYTES_LIMIT {
                return Some(text.to_owned());
            }
        }
    }
    None
}

/// The text up to the next tag.
fn content(after: &str) -> Option<Cow<'_, str>> {
    if let Some(data) = after.trim_start().strip_prefix("<![CDATA[") {
        return data.split_once("]]>").map(|(data, _)| data.into());
    }
    let (text, _) = after.split_once('<')?;
    Some(unescaped(text))
}

fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Replaces the entities that XML defines. `&amp;` comes last, so that nothing is replaced twice.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let replace = |text: String, (entity, letter): (&str, &str)| text.replace(entity, letter);
    entities.into_iter().fold(text.to_owned(), replace).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_and_the_message_of_an_xml_error_are_found() {
        for (body, code, message) in [
            (
                "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Message>The key &quot;a&amp;lt;b&quot; does not exist.</Message><Key>a</Key></Error>",
                Some("NoSuchKey"),
                "The key \"a&lt;b\" does not exist.",
            ),
            (
                "<ErrorResponse xmlns=\"https://x\"><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>",
                Some("Throttling"),
                "Rate exceeded",
            ),
            (
                "<s:Envelope xmlns:s=\"x\"><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>Invalid customer</faultstring></s:Fault></s:Body></s:Envelope>",
                Some("Client"),
                "Invalid customer",
            ),
            (
                "<error><message><![CDATA[a < b]]></message></error>",
                None,
                "a < b",
            ),
            (
                "<error><message/><message>late</message></error>",
                None,
                "late",
            ),
        ] {
            let error = of(body).unwrap_or_else(|| panic!("{body}"));
            assert_eq!(error.code.as_deref(), code, "{body}");
            assert_eq!(error.message, message, "{body}");
        }
    }

    #[test]
    fn other_documents_are_not_xml_errors() {
        for body in [
            "",
            "busy",
            "{\"Message\": \"a\"}",
            "<html><body><message>a</message></body></html>",
            "<!DOCTYPE html><html><head><title>502</title></head></html>",
            "<orders><order><id>7</id></order></orders>",
            "<Error><Message>",
            "<Error><Message>unclosed",
            "<Error><Messages>a</Messages></Error>",
            "<",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_not_read() {
        for (length, is_read) in [(TEXT_BYTES_LIMIT, true), (TEXT_BYTES_LIMIT + 1, false)] {
            let body = format!("<Error><Message>{}</Message></Error>", "a".repeat(length));
            assert_eq!(of(&body).is_some(), is_read, "{length}");
        }
    }

    #[test]
    fn no_part_of_a_document_panics() {
        let body = "<?xml ?><a:E x='é'><b><![CDATA[é]]></b><Message>&amp;é</Message><Code/></a:E>";
        for (start, _) in body.char_indices() {
            for (end, _) in body[start..].char_indices() {
                let _ = of(&body[start..start + end]);
            }
        }
    }
}
