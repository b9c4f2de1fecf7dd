//! The status that a response means, where its service uses another one than HTTP has for it.

use serde_json::Value;

use super::{ErrorBody, ErrorResponse, xml_error};

/// The status of a wrong request.
const BAD_REQUEST: u16 = 400;

/// The status that a response means; `None` if it is not a failure.
pub(super) fn meant_status(response: &ErrorResponse<'_>, document: Option<&Value>) -> Option<u16> {
    match response.status {
        // SOAP sends every fault with 500, also those that the request caused.
        500 if is_request_fault(response.body) => Some(BAD_REQUEST),
        // A redirect to nowhere whose body is an error: some services number their errors from 300.
        300..400 if states_error(response, document) => Some(BAD_REQUEST),
        status => (status >= 400).then_some(status),
    }
}

fn is_request_fault(body: &str) -> bool {
    xml_error::of(body).is_some_and(|it| it.is_request_fault)
}

fn states_error(response: &ErrorResponse<'_>, document: Option<&Value>) -> bool {
    let is_location = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("location");
    if response.status == 304 || response.headers.iter().any(is_location) {
        return false;
    }
    let body = match document {
        Some(document) => ErrorBody::of_json(document),
        None => ErrorBody::of_text(response.body),
    };
    let is_message = body.message.is_some() && !body.is_searched;
    is_message && !(body.codes.is_empty() && body.violations.is_empty())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use panpan_failure::Effect;
    use panpan_failure::classify::InputMembers;

    use super::*;
    use crate::classify::{RequestContext, classify_for};

    #[test]
    fn a_status_means_what_the_body_says() {
        let error = r#"{"code": 300, "message": "Validation Failed.", "errors": [{"field": "a", "message": "Invalid field."}]}"#;
        let choices = r#"{"message": "Multiple choices", "choices": ["a", "b"]}"#;
        let moved = "<Error><Code>PermanentRedirect</Code><Message>use the other endpoint</Message></Error>";
        let fault = |code: &str| {
            format!(
                "<Envelope><Body><Fault><faultcode>{code}</faultcode><faultstring>no such customer</faultstring></Fault></Body></Envelope>"
            )
        };
        let (client, server) = (fault("Client"), fault("Server"));
        let location = &[("Location", "/b")][..];
        for (status, headers, body, meant) in [
            (300, &[][..], error, Some(400)),
            (301, &[], moved, Some(400)),
            (300, location, error, None),
            (304, &[], error, None),
            (300, &[], choices, None),
            (
                302,
                &[],
                "<html><h1>Moved to another place</h1></html>",
                None,
            ),
            (302, &[], "", None),
            (200, &[], error, None),
            (400, &[], "", Some(400)),
            (500, &[], "no such customer", Some(500)),
            (500, &[], &client, Some(400)),
            (500, &[], &server, Some(500)),
            (503, &[], &client, Some(503)),
        ] {
            let response = ErrorResponse {
                status,
                headers,
                body,
                provider: None,
            };
            let document = super::super::error_body::parse_json(body);
            let found = meant_status(&response, document.as_ref());
            assert_eq!(found, meant, "{status} {body}");
        }
    }

    #[test]
    fn a_wrong_request_keeps_the_status_that_was_received() {
        let fault = "<s:Envelope><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>no such customer</faultstring></s:Fault></s:Body></s:Envelope>";
        let error = r#"{"message": "Validation Failed.", "errors": [{"field": "type", "message": "Invalid field."}]}"#;
        for (status, body, message) in [
            (500, fault, "no such customer"),
            (300, error, "Invalid field."),
        ] {
            let response = ErrorResponse {
                status,
                headers: &[],
                body,
                provider: None,
            };
            let request = RequestContext {
                members: &InputMembers::default(),
                declared: None,
                input: &Value::Null,
                kind_by_rule: None,
                reads: false,
            };
            let failure = classify_for(&response, request, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(failure.code().as_str(), "ERR_HTTP_400_BAD_REQUEST");
            assert_eq!(failure.effect(), Effect::None);
            assert_eq!(failure.upstream().unwrap().status, Some(status));
            assert_eq!(failure.message(), message);
        }
    }
}
