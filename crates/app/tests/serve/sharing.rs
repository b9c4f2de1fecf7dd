//! Processes that share a store see each other's outcomes and tokens.

use panpan_testkit::{Folder, Server};

const ECHO: &str = r#"{"operation": "demo/echo", "input": {}}"#;

#[test]
fn a_server_replays_an_outcome_that_another_server_recorded() {
    let folder = Folder::new();
    let servers = [Server::start(&folder, &[]), Server::start(&folder, &[])];
    for (key, first, second) in [("a", 0, 1), ("b", 1, 0)] {
        let placed = servers[first].order(key);
        assert!(placed.status == 200 && !placed.is_replayed(), "{placed:?}");
        let again = servers[second].order(key);
        assert!(again.is_replayed(), "{again:?}");
        assert_eq!(placed.json()["output"], again.json()["output"]);
    }
}

#[test]
fn new_and_revoked_tokens_take_effect_at_once() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let token = folder.token("ann");
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(server.call(&bearer, ECHO).status, 200);
    let revoked = folder.run(&["token", "revoke", "ann"]);
    assert!(revoked.status.success(), "{revoked:?}");
    let answer = server.call(&bearer, ECHO);
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(answer.header("www-authenticate").is_some(), "{answer:?}");
}
