//! The caller of a call: by the token of the call, or by that of the connection.

use panpan_redact::Secret;
use serde_json::{Value, json};

use super::client::{code, failed, requested_with, responded};
use super::server::Server;
use crate::identity::NewToken;

impl Server {
    /// A token of this principal with the scope of `test/limited`.
    async fn token(&self, principal: &str) -> Secret<String> {
        let new = NewToken {
            principal: principal.to_owned(),
            scopes: ["deep".to_owned()].into(),
            ..NewToken::default()
        };
        self.tokens.create(new).await.unwrap().0
    }
}

fn call(operation: &str, auth_token: Option<&str>) -> Value {
    let mut payload = json!({"operationId": operation});
    if let Some(token) = auth_token {
        payload["auth_token"] = json!(token);
    }
    requested_with("a", payload)
}

#[tokio::test]
async fn the_token_of_a_call_identifies_the_caller_of_that_call_only() {
    let server = Server::start().await;
    let (ann, bob) = (server.token("ann").await, server.token("bob").await);
    for (token_of_connection, connected) in [(None, json!(null)), (Some(&bob), json!("bob"))] {
        let mut client = match token_of_connection {
            Some(token) => server.client_with(token.expose()).await,
            None => server.client().await,
        };
        for (token, who) in [
            (None, &connected),
            (Some(ann.expose().as_str()), &json!("ann")),
            (Some("nobody"), &connected),
            (None, &connected),
        ] {
            let event = client.ask(&call("/test/who", token)).await;
            assert_eq!(event, responded("a", who.clone()), "{token:?}");
        }
        let allowed = client.ask(&call("/test/limited", Some(ann.expose()))).await;
        assert_eq!(allowed, responded("a", json!({})));
        let restricted = client.ask(&call("/test/limited", Some("nobody"))).await;
        match token_of_connection {
            Some(_) => assert_eq!(restricted, responded("a", json!({}))),
            None => assert_eq!(failed(&restricted), code("a", "FORBIDDEN")),
        }
    }
}

#[tokio::test]
async fn a_revoked_token_is_refused_on_open_connections() {
    let server = Server::start().await;
    let bob = server.token("bob").await;
    let mut client = server.client_with(bob.expose()).await;
    let who = call("/test/who", None);
    assert_eq!(client.ask(&who).await, responded("a", json!("bob")));
    server.tokens.revoke("bob").await.unwrap();
    for _ in 0..2 {
        assert_eq!(failed(&client.ask(&who).await), code("a", "FORBIDDEN"));
    }
    let ann = server.token("ann").await;
    let event = client.ask(&call("/test/who", Some(ann.expose()))).await;
    assert_eq!(event, responded("a", json!("ann")));
}
