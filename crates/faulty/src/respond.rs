//! Well-formed responses: the head matches the body, and every response closes its connection.

use serde_json::Value;

/// A response with a JSON body.
pub(crate) fn json(status: u16, headers: &[(&str, &str)], body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let mut headers = headers.to_vec();
    headers.push(("Content-Type", "application/json"));
    let mut bytes = head(status, &headers, Length::Known(body.len() as u64));
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Known(u64),
    Chunked,
}

/// The head of a response. Header values are not checked, because their effect on a client is the point.
pub(crate) fn head(status: u16, headers: &[(&str, &str)], length: Length) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nConnection: close\r\n",
        reason(status)
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match length {
        _ if has_no_body(status) => {}
        Length::Known(bytes) => head.push_str(&format!("Content-Length: {bytes}\r\n")),
        Length::Chunked => head.push_str("Transfer-Encoding: chunked\r\n"),
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn has_no_body(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

/// A reason phrase, which clients ignore.
fn reason(status: u16) -> &'static str {
    match status {
        ..200 => "Wait",
        200..300 => "OK",
        300..400 => "Elsewhere",
        _ => "Failed",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_has_the_length_of_its_body() {
        let bytes = json(404, &[("X-Note", "a")], &json!({}));
        let expected = "HTTP/1.1 404 Failed\r\nConnection: close\r\nX-Note: a\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn a_response_without_a_body_has_no_length() {
        let bytes = head(204, &[], Length::Known(0));
        assert_eq!(bytes, b"HTTP/1.1 204 OK\r\nConnection: close\r\n\r\n");
    }
}
