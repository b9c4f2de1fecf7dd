//! Who is served: everyone on this machine, only those with a token elsewhere, and under which names.

use crate::server::Server;
use crate::{Folder, talk};

const ECHO: &str = r#"{"operation": "demo/echo", "input": {"a": 1}}"#;

/// Starts a server that others could reach, and gives it with its address on this machine.
fn reachable(folder: &Folder, flags: &[&str]) -> Server {
    let listen = ["serve", "--listen", "0.0.0.0:0"];
    let mut server = Server::run(&mut folder.panpan(&[&listen, flags].concat()));
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    server
}

#[test]
fn a_server_nobody_could_call_is_not_started() {
    let folder = Folder::new();
    for flags in [
        &["--listen", "0.0.0.0:0"][..],
        &["--listen", "[::]:0"],
        &["--listen", "127.0.0.1:0", "--allow-anonymous=false"],
    ] {
        let arguments = [&["serve"], flags].concat();
        let output = folder.ran(&arguments);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        let said = talk(&output);
        assert!(said.contains("there are no tokens\n"), "{said}");
        assert!(
            said.contains("hint: make one with `panpan token new NAME`"),
            "{said}"
        );
    }
}

#[test]
fn a_server_others_can_reach_serves_those_with_a_token() {
    let folder = Folder::new();
    let token = folder.token("ann");
    let server = reachable(&folder, &[]);
    server.hear("travel unencrypted");
    let answer = server.call("", ECHO);
    assert_eq!(answer.status, 401, "{answer:?}");
    for (token, status) in [(token.as_str(), 200), ("panpan_0_0", 401)] {
        let bearer = format!("authorization: Bearer {token}\r\n");
        assert_eq!(server.call(&bearer, ECHO).status, status);
    }
}

#[test]
fn everyone_is_served_where_that_was_said() {
    let folder = Folder::new();
    let server = reachable(&folder, &["--allow-anonymous"]);
    assert_eq!(server.call("", ECHO).status, 200);
}

#[test]
fn a_server_answers_only_to_its_own_names() {
    let folder = Folder::new();
    let foreign = "host: panpan.example.com\r\n";
    let with_port = "host: panpan.example.com:8080\r\n";
    let own = "host: localhost\r\n";
    let other = "host: other.example.com\r\n";
    for (flags, served, refused) in [
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
        for (hosts, status) in [(served, 200), (refused, 403)] {
            for host in hosts {
                let answer = server.call(host, ECHO);
                assert_eq!(answer.status, status, "{flags:?} {host:?}: {answer:?}");
            }
        }
    }
}
