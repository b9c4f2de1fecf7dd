//! Finds the code and the message of an error in XML: those of object stores, of SOAP and of others with the same
//! element names.
//!
//! Reads the text of a few known elements and nothing else. An HTML page is not an error document.

use std::borrow::Cow;

use super::entities::unescaped;
use super::page::is_page;

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
/// Elements for the code of a SOAP fault, before those in its detail: SOAP 1.1, then 1.2.
const FAULT_CODES: [&str; 2] = ["faultcode", "Value"];
/// Elements for the message of a SOAP fault.
const FAULT_MESSAGES: [&str; 2] = ["faultstring", "Text"];
/// Codes of faults that the request caused: SOAP 1.1, then 1.2.
const REQUEST_FAULTS: [&str; 2] = ["Client", "Sender"];
/// The maximum length of the text of an element, in bytes.
const TEXT_BYTES_LIMIT: usize = 8 * 1024;

/// What an XML document states about an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct XmlError {
    /// The codes, most specific first.
    pub(super) codes: Vec<String>,
    pub(super) message: String,
    /// Whether it is a SOAP fault that the request caused.
    pub(super) is_request_fault: bool,
}

/// The error in a document, if it is XML and has a message.
pub(super) fn of(body: &str) -> Option<XmlError> {
    let body = body.trim_start_matches('\u{feff}').trim_start();
    if !body.starts_with('<') || is_page(body) {
        return None;
    }
    let first = |names: &[&str]| names.iter().find_map(|name| element_text(body, name));
    let fault = fault(body);
    let in_fault = |names: &[&str]| names.iter().find_map(|it| element_text(fault?, it));
    let message = in_fault(&FAULT_MESSAGES).or_else(|| first(&MESSAGES))?;
    let fault_code = in_fault(&FAULT_CODES).map(|it| local_name(&it).to_owned());
    let is_request_fault = fault_code.as_deref().is_some_and(|code| {
        let class = code.split('.').next().unwrap_or_default();
        REQUEST_FAULTS.contains(&class)
    });
    let code = first(&CODES).map(|it| local_name(&it).to_owned());
    let code = code.filter(|it| fault_code.as_ref() != Some(it));
    Some(XmlError {
        codes: fault_code.into_iter().chain(code).collect(),
        message,
        is_request_fault,
    })
}

/// The content of a SOAP fault: what follows its opening tag.
fn fault(body: &str) -> Option<&str> {
    let at = ["Fault>", "Fault "]
        .iter()
        .filter_map(|it| body.find(it))
        .min()?;
    let (before, fault) = body.split_at(at);
    let (_, tag) = before.rsplit_once('<')?;
    let is_prefix = tag.is_empty() || (tag.ends_with(':') && !tag.contains(char::is_whitespace));
    (is_prefix && before.contains("Envelope")).then_some(fault)
}

/// The text of the first element with this name that has only text, without its namespace prefix. Every byte is
/// passed once, whatever the document is.
fn element_text(body: &str, name: &str) -> Option<String> {
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find(['<', '>'])?;
        let tag = &rest[..end];
        if rest[end..].starts_with('<') {
            rest = &rest[end..];
            continue;
        }
        rest = &rest[end + 1..];
        let tag_name = tag.split_ascii_whitespace().next().unwrap_or_default();
        if local_name(tag_name) == name && !tag.ends_with('/') {
            let content = content(rest);
            let text = content.text.trim();
            if !text.is_empty() && text.len() <= TEXT_BYTES_LIMIT {
                return Some(text.to_owned());
            }
            rest = &rest[content.length..];
        }
    }
    None
}

/// The text after a tag; empty if it does not end.
#[derive(Default)]
struct Content<'a> {
    text: Cow<'a, str>,
    /// How many bytes of the document it takes.
    length: usize,
}

/// The text up to the next tag.
fn content(after: &str) -> Content<'_> {
    const OPENING: &str = "<![CDATA[";
    if let Some(data) = after.trim_start().strip_prefix(OPENING) {
        let data = &data[..data.floor_char_boundary(2 * TEXT_BYTES_LIMIT)];
        let text = data.split_once("]]>").map(|(text, _)| text);
        return Content {
            text: text.unwrap_or_default().into(),
            length: after.len() - after.trim_start().len()
                + OPENING.len()
                + text.unwrap_or(data).len(),
        };
    }
    match after.split_once('<') {
        Some((text, _)) => Content {
            text: unescaped(text),
            length: text.len(),
        },
        None => Content::default(),
    }
}

fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
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
            assert_eq!(error.codes.first().map(String::as_str), code, "{body}");
            assert_eq!(error.message, message, "{body}");
        }
    }

    #[test]
    fn a_soap_fault_says_whether_the_request_caused_it() {
        let old = |code: &str| {
            format!(
                "<s:Envelope><s:Body><s:Fault><faultcode>{code}</faultcode><faultstring>no such customer</faultstring><detail><code>VAT-17</code><Message>inner</Message></detail></s:Fault></s:Body></s:Envelope>"
            )
        };
        let new = |code: &str| {
            format!(
                "<env:Envelope><env:Body><env:Fault xmlns:m=\"m\"><env:Code><env:Value>{code}</env:Value><env:Subcode><env:Value>m:Late</env:Value></env:Subcode></env:Code><env:Reason><env:Text xml:lang=\"en\">no such customer</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>"
            )
        };
        for (body, code, is_request_fault) in [
            (old("s:Client"), "Client", true),
            (
                old("s:Client.Authentication"),
                "Client.Authentication",
                true,
            ),
            (old("Server"), "Server", false),
            (old("s:Server.Client"), "Server.Client", false),
            (old("wsse:FailedCheck"), "FailedCheck", false),
            (new("env:Sender"), "Sender", true),
            (new("env:Receiver"), "Receiver", false),
        ] {
            let error = of(&body).unwrap();
            assert_eq!(error.codes[0], code, "{body}");
            assert_eq!(error.message, "no such customer", "{body}");
            assert_eq!(error.is_request_fault, is_request_fault, "{body}");
        }
        let other = "<Error><Fault><Value>Client</Value><Text>a</Text></Fault><Code>Busy</Code><Message>b</Message></Error>";
        let other = of(other).unwrap();
        assert_eq!(
            (other.codes[0].as_str(), other.message.as_str()),
            ("Busy", "b")
        );
        assert!(!other.is_request_fault);
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

    /// A search that began again at every `<` would take hours.
    #[test]
    fn hostile_documents_are_passed_once() {
        const BYTES: usize = 1024 * 1024;
        for (part, end) in [
            ("<", ">"),
            ("<Message>", ""),
            ("<Message><![CDATA[", "]]>"),
            ("<Message <", ""),
            ("<a><Message>&amp;", "</Message>"),
        ] {
            let body = part.repeat(BYTES / part.len()) + end;
            let _ = of(&body);
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
