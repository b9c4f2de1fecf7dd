//! What is in the store is there for whoever uses it, at once.

use crate::Folder;
use crate::server::Server;

const ECHO: &str = r#"{"operation": "demo/echo", "input": {}}"#;

#[test]
fn a_call_through_one_server_is_replayed_by_another_on_the_same_data() {
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
fn a_token_works_when_it_is_made_and_no_more_when_it_is_revoked() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let token = folder.token("ann");
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(server.call(&bearer, ECHO).status, 200);
    let revoked = folder.ran(&["token", "revoke", "ann"]);
    assert!(revoked.status.success(), "{revoked:?}");
    let answer = server.call(&bearer, ECHO);
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(answer.header("www-authenticate").is_some(), "{answer:?}");
}
