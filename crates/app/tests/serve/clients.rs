//! Connected clients are served during the shutdown and do not delay it.

use std::io::{Read, Write};

use panpan_testkit::http::{open, read_until, request};
use panpan_testkit::{Folder, Server};

const UPGRADE: &str = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const ACCEPT: &str =
    "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";

#[test]
fn idle_connections_do_not_delay_the_shutdown() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let mut idle = open(&server.address, "GET", "/healthz", "", "");
    read_until(&mut idle, "\r\n\r\n");
    let mut socket = open(&server.address, "GET", "/ws", UPGRADE, "");
    let head = read_until(&mut socket, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    // A connection without a request.
    let mut silent = std::net::TcpStream::connect(&server.address).unwrap();
    let mut halting = std::net::TcpStream::connect(&server.address).unwrap();
    halting.write_all(b"GET / HT").unwrap();
    let half_a_body = b"POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let mut half = std::net::TcpStream::connect(&server.address).unwrap();
    half.write_all(half_a_body).unwrap();
    server.stop();
    for stream in [&mut idle, &mut socket, &mut silent] {
        // The connection is closed or reset.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

#[test]
fn a_websocket_gets_a_close_frame_when_the_server_stops() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let mut socket = open(&server.address, "GET", "/ws", UPGRADE, "");
    read_until(&mut socket, "\r\n\r\n");
    server.signal("TERM");
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    const CLOSE: u8 = 0x88;
    assert!(rest.contains(&CLOSE), "{rest:?}");
    assert_eq!(server.wait_for_end(), Some(0));
}

/// A short frame as clients send it, masked with zeros.
fn frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    assert!(length < 126, "longer frames have another head");
    let head = [0x81, 0x80 | length, 0, 0, 0, 0];
    [&head, text.as_bytes()].concat()
}

#[test]
fn a_websocket_call_in_flight_is_answered_before_the_end() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let mut socket = open(&server.address, "GET", "/ws", UPGRADE, "");
    read_until(&mut socket, "\r\n\r\n");
    let call = r#"{"type":"call.requested","id":"1","payload":{"operationId":"demo/wait","input":{"ms":1000}}}"#;
    socket.write_all(&frame(call)).unwrap();
    server.until_running(1);
    server.signal("TERM");
    read_until(&mut socket, "waited_ms");
    assert_eq!(server.wait_for_end(), Some(0));
}

/// Starts an MCP session of 2025-11-25 and returns the headers of its requests.
fn session(server: &Server) -> String {
    let hello = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}}}"#;
    let answer = request(&server.address, "POST", "/mcp", ACCEPT, hello);
    let session = answer.header("mcp-session-id").unwrap();
    let version = "mcp-protocol-version: 2025-11-25";
    let headers = format!("{ACCEPT}mcp-session-id: {session}\r\n{version}\r\n");
    let ready = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    let answer = request(&server.address, "POST", "/mcp", &headers, ready);
    assert_eq!(answer.status, 202, "{answer:?}");
    headers
}

#[test]
fn an_mcp_session_does_not_delay_the_shutdown() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let headers = session(&server);
    let mut stream = open(&server.address, "GET", "/mcp", &headers, "");
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    server.stop();
}

#[test]
fn an_mcp_call_in_flight_is_answered_before_the_end() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    let headers = session(&server);
    let _stream = open(&server.address, "GET", "/mcp", &headers, "");
    let call = r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "demo__wait", "arguments": {"ms": 1000}}}"#;
    let mut call = open(&server.address, "POST", "/mcp", &headers, call);
    server.until_running(1);
    server.signal("TERM");
    read_until(&mut call, "waited_ms");
    assert_eq!(server.wait_for_end(), Some(0));
}
