//! The billing service of the guides: it has no invoices, refuses every card and requires its key.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The key in the guides.
pub(crate) const KEY: &str = "your-key";

/// Starts the service for the rest of the test and returns its URL.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    url
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut request = String::new();
    reader.read_line(&mut request).ok()?;
    let (mut has_key, mut body_bytes) = (false, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        has_key |= name.eq_ignore_ascii_case("x-api-key") && value == KEY;
        if name.eq_ignore_ascii_case("content-length") {
            body_bytes = value.parse().ok()?;
        }
    }
    std::io::copy(&mut reader.take(body_bytes), &mut std::io::sink()).ok()?;
    let (status, body) = match request.split(' ').nth(1)?.split('/').collect::<Vec<_>>()[..] {
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
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .ok()
}
