//! The state of callers at a server that keeps state is kept apart.

use std::time::Duration;

use panpan_mcp::library::{List, Request};
use panpan_runtime::{Dispatcher, StateOwner};
use panpan_upstream::mcp::{
    McpCaller, McpServers, McpSessions, McpSettings, McpTimeouts, McpTransport, McpUpstream,
};
use serde_json::{Value, json};

use crate::fixture::{call_as, command, gateway, run};

fn ann() -> StateOwner {
    StateOwner::Caller("ann".into())
}

fn bob() -> StateOwner {
    StateOwner::Caller("bob".into())
}

/// A client without a token, in its own session.
fn guest() -> StateOwner {
    StateOwner::Session("mcp:1".into())
}

/// A server as a child process, with other session rules.
fn server(behaviour: &str, rules: impl FnOnce(&mut McpSessions)) -> McpUpstream {
    let mut settings = McpSettings::new("test", McpTransport::Stdio(command(behaviour)));
    settings.timeouts = McpTimeouts {
        start: Duration::from_secs(20),
        ..McpTimeouts::default()
    };
    rules(&mut settings.sessions_of_callers);
    McpUpstream::new(settings).unwrap()
}

async fn remember(gateway: &Dispatcher, owner: &StateOwner, text: &str) {
    let done = call_as(gateway, owner, "remember", json!({"text": text})).await;
    assert_eq!(done.unwrap(), "remembered");
}

async fn recalled(gateway: &Dispatcher, owner: &StateOwner) -> Value {
    let recalled = call_as(gateway, owner, "recall", json!({})).await;
    recalled.unwrap()
}

/// The resources that only this owner of state sees.
async fn remembered(servers: &McpServers, owner: StateOwner) -> Vec<String> {
    let caller = McpCaller {
        owner,
        ..McpCaller::default()
    };
    let listed = servers.request(&caller, Request::List(List::Resources));
    let listed = listed.await.unwrap();
    let uris = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap());
    let uris = uris.filter_map(|it| it.strip_prefix("test://remembered/"));
    uris.map(str::to_owned).collect()
}

pub(crate) fn callers_have_their_own_sessions() {
    run(async {
        let server = server("well", |_| {});
        let gateway = gateway(&server).await;
        let servers = McpServers::new([server.clone()]);
        remember(&gateway, &ann(), "a").await;
        remember(&gateway, &guest(), "g").await;
        for (owner, text) in [(ann(), "a"), (guest(), "g"), (bob(), "nothing")] {
            assert_eq!(recalled(&gateway, &owner).await, text, "{owner:?}");
        }
        assert_eq!(recalled(&gateway, &StateOwner::Anyone).await, "nothing");
        assert_eq!(remembered(&servers, ann()).await, ["a"]);
        assert_eq!(remembered(&servers, guest()).await, ["g"]);
        assert!(remembered(&servers, bob()).await.is_empty());
        // Requests of another caller reach its own session.
        let calls = (0..50).map(|number| {
            let gateway = &gateway;
            async move {
                let owner = StateOwner::Caller(format!("caller {}", number % 5).into());
                let text = format!("{}", number % 5);
                remember(gateway, &owner, &text).await;
                assert_eq!(recalled(gateway, &owner).await, text);
            }
        });
        futures_util::future::join_all(calls).await;
    });
}

pub(crate) fn a_shared_session_shares_state() {
    run(async {
        let server = server("well", |rules| rules.shared = true);
        let gateway = gateway(&server).await;
        remember(&gateway, &ann(), "a").await;
        assert_eq!(recalled(&gateway, &bob()).await, "a");
    });
}

pub(crate) fn a_stateless_server_is_reached_over_one_connection() {
    run(async {
        let server = server("modern", |_| {});
        let gateway = gateway(&server).await;
        remember(&gateway, &ann(), "a").await;
        assert_eq!(recalled(&gateway, &bob()).await, "a");
    });
}

pub(crate) fn the_number_of_sessions_is_limited() {
    run(async {
        let server = server("well", |rules| rules.limit = 1);
        let gateway = gateway(&server).await;
        remember(&gateway, &ann(), "a").await;
        // A session that no call uses makes room.
        remember(&gateway, &bob(), "b").await;
        assert_eq!(recalled(&gateway, &ann()).await, "nothing");
        let hanging = gateway.clone();
        let hanging =
            tokio::spawn(async move { call_as(&hanging, &ann(), "hang", json!({})).await });
        loop {
            let refused = call_as(&gateway, &bob(), "remember", json!({"text": "b"})).await;
            // The hanging call may not have begun.
            let Err(failure) = refused else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            assert_eq!(failure.code().as_str(), "ERR_OVERLOADED");
            assert!(failure.may_repeat(), "{failure:?}");
            break;
        }
        hanging.abort();
    });
}

pub(crate) fn an_idle_session_is_closed() {
    run(async {
        let server = server("well", |rules| rules.idle = Duration::from_millis(100));
        let gateway = gateway(&server).await;
        remember(&gateway, &ann(), "a").await;
        while recalled(&gateway, &ann()).await != "nothing" {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    });
}

pub(crate) fn closing_the_server_closes_all_sessions() {
    run(async {
        let server = server("well", |_| {});
        let gateway = gateway(&server).await;
        remember(&gateway, &ann(), "a").await;
        server.close().await;
        let failure = call_as(&gateway, &ann(), "recall", json!({})).await;
        assert!(failure.is_err());
    });
}

pub(crate) fn only_the_owner_is_notified_of_its_changed_lists() {
    run(async {
        let server = server("well", |_| {});
        let gateway = gateway(&server).await;
        let servers = McpServers::new([server.clone()]);
        let (mut of_ann, of_bob) = (servers.changes_for(&ann()), servers.changes_for(&bob()));
        recalled(&gateway, &bob()).await;
        remember(&gateway, &ann(), "a").await;
        of_ann.wait_for(|it| it.resources == 1).await.unwrap();
        assert_eq!(of_bob.borrow().resources, 0);
    });
}
