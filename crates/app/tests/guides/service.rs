//! The billing service of the guides: it has no invoices, refuses every card and requires its key.

use panpan_testkit::http_response;

/// The key in the guides.
pub(crate) const KEY: &str = "your-key";

/// Starts the service for the rest of the test and returns its URL.
pub(crate) fn start() -> String {
    panpan_testkit::service(answer)
}

fn answer(request: &str) -> String {
    let key = format!("x-api-key: {KEY}");
    let has_key = request.lines().any(|line| line.eq_ignore_ascii_case(&key));
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match path.split('/').collect::<Vec<_>>()[..] {
        _ if !has_key => (
            "401 Unauthorized",
            r#"{"message": "who are you?"}"#.to_owned(),
        ),
        ["", "invoices", id] => (
            "404 Not Found",
            format!(r#"{{"message": "no invoice {id}"}}"#),
        ),
        ["", "invoices", _, "pay"] => (
            "200 OK",
            r#"{"paid": false, "reason": "the bank said no"}"#.to_owned(),
        ),
        _ => ("500 Internal Server Error", "{}".to_owned()),
    };
    http_response(status, "content-type: application/json\r\n", &body)
}
