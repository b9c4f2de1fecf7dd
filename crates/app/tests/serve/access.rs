//! Access to a server: anonymous callers, tokens and host names.

use panpan_testkit::{Folder, Server, stderr};

const ECHO: &str = r#"{"operation": "demo/echo", "input": {"a": 1}}"#;

/// Starts a server on all addresses.
fn on_all_addresses(folder: &Folder, flags: &[&str]) -> Server {
    let listen = ["serve", "--listen", "0.0.0.0:0"];
    let mut server = Server::run(&mut folder.panpan(&[&listen, flags].concat()));
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    server
}

#[test]
fn a_server_that_requires_tokens_does_not_start_without_any() {
    let folder = Folder::new();
    for flags in [
        &["--listen", "0.0.0.0:0"][..],
        &["--listen", "[::]:0"],
        &["--listen", "127.0.0.1:0", "--allow-anonymous=false"],
    ] {
        let arguments = [&["serve"], flags].concat();
        let output = folder.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        let messages = stderr(&output);
        assert!(messages.contains("there are no tokens\n"), "{messages}");
        assert!(
            messages.contains("hint: create one with `panpan token new NAME`"),
            "{messages}"
        );
    }
}

#[test]
fn a_server_on_all_addresses_serves_callers_with_a_token() {
    let folder = Folder::new();
    let token = folder.token("ann");
    let server = on_all_addresses(&folder, &[]);
    server.wait_for_line("travel unencrypted");
    let answer = server.call("", ECHO);
    assert_eq!(answer.status, 401, "{answer:?}");
    for (token, status) in [(token.as_str(), 200), ("panpan_0_0", 401)] {
        let bearer = format!("authorization: Bearer {token}\r\n");
        assert_eq!(server.call(&bearer, ECHO).status, status);
    }
}

#[test]
fn allow_anonymous_serves_callers_without_a_token() {
    let folder = Folder::new();
    let server = on_all_addresses(&folder, &["--allow-anonymous"]);
    assert_eq!(server.call("", ECHO).status, 200);
}

#[test]
fn requests_with_another_host_name_are_refused() {
    let folder = Folder::new();
    let foreign = "host: panpan.example.com\r\n";
    let with_port = "host: panpan.example.com:8080\r\n";
    let own = "host: localhost\r\n";
    let other = "host: other.example.com\r\n";
    for (flags, accepted, refused) in [
        (&[][..], &[own, ""][..], &[foreign, with_port, other][..]),
        (
            &["--host", "panpan.example.com"],
            &[own, "", foreign, with_port],
            &[other],
        ),
        (
            &["--host", "panpan.example.com:7077"],
            &[own, "", foreign, with_port],
            &[other],
        ),
    ] {
        let server = Server::start(&folder, flags);
        for (hosts, status) in [(accepted, 200), (refused, 403)] {
            for host in hosts {
                let answer = server.call(host, ECHO);
                assert_eq!(answer.status, status, "{flags:?} {host:?}: {answer:?}");
            }
        }
    }
}
