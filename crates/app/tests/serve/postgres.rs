//! Servers and commands with a store in a PostgreSQL database.

use panpan_testkit::{Folder, PostgresServer, Server, run, stderr, until};

#[test]
fn two_servers_and_the_token_command_share_one_database() {
    let database = PostgresServer::shared();
    let (address, folder) = (database.new_database(), Folder::new());
    let mut first = Server::start(&folder, &["--store", &address]);
    let mut second = Server::run(
        folder
            .panpan(&["serve", "--listen", "127.0.0.1:0"])
            .env("PANPAN_STORE", &address),
    );
    let (ordered, replayed) = (first.order("k"), second.order("k"));
    assert!(!ordered.is_replayed() && replayed.is_replayed());
    assert_eq!(ordered.json()["output"], replayed.json()["output"]);
    let token = folder.stdout(&["token", "new", "ann", "--store", &address]);
    assert!(!token.trim().is_empty());
    assert!(
        folder
            .stdout(&["token", "list", "--store", &address])
            .contains("ann")
    );
    for server in [&mut first, &mut second] {
        let lines = server.lines().join("\n");
        assert!(lines.contains("postgres://panpan@127.0.0.1:"), "{lines}");
        assert!(!lines.contains(database.password()), "{lines}");
        let metrics = server.get("/metrics").text();
        assert!(!metrics.contains(database.password()));
        server.stop();
    }
}

#[test]
fn a_local_call_replays_the_outcome_of_a_server() {
    let (address, folder) = (PostgresServer::shared().new_database(), Folder::new());
    let call = [
        "call",
        "demo/order",
        "item=tea",
        "--local",
        "--key",
        "k",
        "--store",
        &address,
    ];
    let outputs = [(); 2].map(|()| folder.stdout(&call));
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn a_server_waits_for_its_database_and_continues() {
    let database = PostgresServer::start(&[]);
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--store", &database.new_database()]);
    database.stop();
    until("the refusal", || {
        server.order("k").code() == "ERR_STORE_UNAVAILABLE"
    });
    assert_eq!(server.get("/readyz").status, 503);
    database.start_again();
    until("the recovery", || server.get("/readyz").status == 200);
    until("an order", || server.order("other").status == 200);
    let lines = server.lines().join("\n");
    assert!(!lines.contains(database.password()), "{lines}");
    server.stop();
}

#[test]
fn a_command_names_the_database_that_does_not_exist() {
    let address = PostgresServer::shared().address("panpan", "hunter2", "missing");
    let folder = Folder::new();
    for arguments in [
        &["mcp", "--store", &address][..],
        &["token", "list", "--store", &address],
    ] {
        let output = run(&mut folder.panpan(arguments), b"");
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{messages}");
        let named = messages.contains("there is no database postgres://panpan@127.0.0.1:");
        assert!(named && messages.contains("\nhint: "), "{messages}");
        assert!(!messages.contains("hunter2"), "{messages}");
    }
}
