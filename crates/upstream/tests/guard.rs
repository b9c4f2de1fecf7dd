//! Blocked hosts are refused on every path to them, and public hosts are allowed.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod support;

use std::collections::BTreeMap;

use panpan_failure::{Effect, Failure};
use panpan_upstream::{Allowed, Trust, Url, check_url};
use support::{
    ScriptedLookup, Then, client, client_with, get, http, post, reason, server, server_once,
};

const BLOCKED: &str = include_str!("data/blocked-urls.json");
const PUBLIC: &str = include_str!("data/public-urls.json");

/// URLs and the reason that each is blocked.
fn blocked_urls() -> BTreeMap<String, String> {
    serde_json::from_str(BLOCKED).unwrap()
}

fn check(failure: &Failure, expected_reason: &str, url: &str) {
    let found = (failure.code().as_str(), reason(failure), failure.effect());
    let expected = ("ERR_BLOCKED_HOST", expected_reason, Effect::None);
    assert_eq!(found, expected, "{url}");
    assert!(!format!("{failure:?}").contains("password@"), "{url}");
}

#[tokio::test]
async fn a_blocked_url_is_neither_requested_nor_looked_up() {
    assert!(blocked_urls().len() >= 80);
    let lookup = ScriptedLookup::of(&[&["8.8.8.8"]]);
    let client = client_with(|settings| {
        settings.allowed = Allowed::default();
        settings.lookup = lookup.clone();
    });
    for (url, reason) in blocked_urls() {
        check(&client.send(get(&url)).await.unwrap_err(), &reason, &url);
        check(&client.send(post(&url)).await.unwrap_err(), &reason, &url);
        check(&client.open(get(&url)).await.unwrap_err(), &reason, &url);
    }
    assert_eq!(lookup.calls(), 0);
}

#[tokio::test]
async fn a_redirect_to_a_blocked_url_is_not_followed() {
    // The redirecting server itself is allowed, by its port only.
    for (blocked, reason) in blocked_urls() {
        let target = Url::parse(&blocked).unwrap();
        let redirect = http("302 Found", &format!("location: {target}\r\n"), "");
        let (url, _) = server_once(redirect).await;
        let allowed = Allowed::parse([url.trim_start_matches("http://")]).unwrap();
        let client = client_with(|settings| settings.allowed = allowed);
        let failure = client.send(get(&url)).await.unwrap_err();
        check(&failure, &reason, &blocked);
    }
}

#[tokio::test]
async fn a_name_that_resolves_to_a_blocked_address_is_refused() {
    let hosts = blocked_urls().into_keys().filter_map(|url| {
        let host = Url::parse(&url).unwrap().host_str()?.to_owned();
        let bare = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        bare.ok().map(|address| address.to_string())
    });
    let mut count = 0;
    for address in hosts.filter(|address| address != "8.8.8.8") {
        let lookup = ScriptedLookup::of(&[&[&address]]);
        let client = client_with(|settings| settings.lookup = lookup.clone());
        let failure = client.send(get("http://example.com/")).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST", "{address}");
        assert_eq!(lookup.calls(), 1);
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

#[test]
fn public_urls_are_allowed() {
    let urls: Vec<String> = serde_json::from_str(PUBLIC).unwrap();
    for text in urls {
        let url = Url::parse(&text).unwrap();
        assert_eq!(
            check_url(&url, &Allowed::default()),
            Ok(Trust::Public),
            "{text}"
        );
    }
}

#[tokio::test]
async fn one_private_address_blocks_a_name_with_public_ones() {
    let lookup = ScriptedLookup::of(&[&["8.8.8.8", "127.0.0.1"]]);
    let client = client_with(|settings| settings.lookup = lookup);
    let failure = client.send(get("http://example.com/")).await.unwrap_err();
    check(&failure, "loopback", "example.com");
}

#[tokio::test]
async fn a_name_is_checked_again_for_every_connection() {
    let (url, _) = server_once(http("200 OK", "", "first")).await;
    let port = Url::parse(&url).unwrap().port().unwrap();
    let lookup = ScriptedLookup::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = client_with(|settings| {
        // In place of a public address.
        settings.allowed = Allowed::parse(["127.0.0.1/32"]).unwrap();
        settings.lookup = lookup.clone();
    });
    let url = format!("http://rebinding.example:{port}/");
    assert_eq!(client.send(get(&url)).await.unwrap().body, "first");
    check(&client.send(get(&url)).await.unwrap_err(), "loopback", &url);
    assert_eq!(lookup.calls(), 2);
}

#[tokio::test]
async fn a_named_host_may_have_any_address_on_its_port() {
    let (url, _) = server(vec![(http("200 OK", "", "here"), Then::Closes)]).await;
    let port = Url::parse(&url).unwrap().port().unwrap();
    let client = client_with(|settings| {
        settings.allowed = Allowed::parse([format!("tools.corp:{port}").as_str()]).unwrap();
        settings.lookup = ScriptedLookup::of(&[&["127.0.0.1"]]);
    });
    let named = format!("http://tools.corp:{port}/");
    assert_eq!(client.send(get(&named)).await.unwrap().body, "here");
    for (other, reason) in [
        (format!("http://tools.corp:{}/", port ^ 1), "local_name"),
        (format!("http://other.corp:{port}/"), "local_name"),
        (format!("http://example.com:{port}/"), "loopback"),
        (format!("http://127.0.0.1:{port}/"), "loopback"),
    ] {
        let failure = client.send(get(&other)).await.unwrap_err();
        check(&failure, reason, &other);
    }
}

#[tokio::test]
async fn a_refusal_names_the_host_and_no_secret() {
    let url = "http://10.0.0.1/path?token=hunter2";
    let failure = client().send(get(url)).await.unwrap_err();
    assert_eq!(
        failure.message(),
        "requests to 10.0.0.1 are not allowed: the address is in a private network"
    );
    assert_eq!(failure.details().unwrap()["url"], "http://10.0.0.1/path");
    assert!(!format!("{failure:?}").contains("hunter2"));
}
