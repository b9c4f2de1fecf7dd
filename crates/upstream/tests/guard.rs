//! What may not be asked is refused on every way out, and what is innocent is not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod support;

use std::collections::BTreeMap;

use panpan_failure::{Effect, Failure};
use panpan_upstream::{Allowed, Trust, Url, check_url};
use support::{Script, Then, client, client_with, get, http, one, post, reason, server};

const FORBIDDEN: &str = include_str!("data/forbidden.json");
const INNOCENT: &str = include_str!("data/innocent.json");

fn forbidden() -> BTreeMap<String, String> {
    serde_json::from_str(FORBIDDEN).unwrap()
}

fn check(failure: &Failure, why: &str, form: &str) {
    let found = (failure.code().as_str(), reason(failure), failure.effect());
    assert_eq!(found, ("ERR_BLOCKED_HOST", why, Effect::None), "{form}");
    assert!(!format!("{failure:?}").contains("password@"), "{form}");
}

#[tokio::test]
async fn nothing_forbidden_is_asked_or_even_looked_up() {
    assert!(forbidden().len() >= 80);
    let lookup = Script::of(&[&["8.8.8.8"]]);
    let client = client_with(|settings| {
        settings.allowed = Allowed::default();
        settings.lookup = lookup.clone();
    });
    for (form, why) in forbidden() {
        check(&client.send(get(&form)).await.unwrap_err(), &why, &form);
        check(&client.send(post(&form)).await.unwrap_err(), &why, &form);
        check(&client.open(get(&form)).await.unwrap_err(), &why, &form);
    }
    assert_eq!(lookup.asked(), 0);
}

#[tokio::test]
async fn no_redirect_leads_to_what_is_forbidden() {
    // The server itself is allowed, and by its port only.
    for (form, why) in forbidden() {
        let target = Url::parse(&form).unwrap();
        let redirect = http("302 Found", &format!("location: {target}\r\n"), "");
        let (url, _) = one(redirect).await;
        let allowed = Allowed::parse([url.trim_start_matches("http://")]).unwrap();
        let client = client_with(|settings| settings.allowed = allowed);
        check(&client.send(get(&url)).await.unwrap_err(), &why, &form);
    }
}

#[tokio::test]
async fn what_a_forbidden_address_hides_behind_a_name_is_refused() {
    let hosts = forbidden().into_keys().filter_map(|form| {
        let host = Url::parse(&form).unwrap().host_str()?.to_owned();
        let bare = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        bare.ok().map(|address| address.to_string())
    });
    let mut count = 0;
    for address in hosts.filter(|address| address != "8.8.8.8") {
        let lookup = Script::of(&[&[&address]]);
        let client = client_with(|settings| settings.lookup = lookup.clone());
        let failure = client.send(get("http://example.com/")).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST", "{address}");
        assert_eq!(lookup.asked(), 1);
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

#[test]
fn what_is_innocent_may_be_asked() {
    let innocent: Vec<String> = serde_json::from_str(INNOCENT).unwrap();
    for form in innocent {
        let url = Url::parse(&form).unwrap();
        assert_eq!(
            check_url(&url, &Allowed::default()),
            Ok(Trust::Public),
            "{form}"
        );
    }
}

#[tokio::test]
async fn one_private_address_among_public_ones_spoils_a_name() {
    let lookup = Script::of(&[&["8.8.8.8", "127.0.0.1"]]);
    let client = client_with(|settings| settings.lookup = lookup);
    let failure = client.send(get("http://example.com/")).await.unwrap_err();
    check(&failure, "loopback", "example.com");
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_looked_at_again() {
    let (url, _) = one(http("200 OK", "", "first")).await;
    let port = Url::parse(&url).unwrap().port().unwrap();
    let lookup = Script::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = client_with(|settings| {
        // Stands for a public address.
        settings.allowed = Allowed::parse(["127.0.0.1/32"]).unwrap();
        settings.lookup = lookup.clone();
    });
    let url = format!("http://rebinding.example:{port}/");
    assert_eq!(client.send(get(&url)).await.unwrap().body, "first");
    check(&client.send(get(&url)).await.unwrap_err(), "loopback", &url);
    assert_eq!(lookup.asked(), 2);
}

#[tokio::test]
async fn a_host_the_operator_named_may_have_any_address_and_only_on_its_port() {
    let (url, _) = server(vec![(http("200 OK", "", "here"), Then::Closes)]).await;
    let port = Url::parse(&url).unwrap().port().unwrap();
    let client = client_with(|settings| {
        settings.allowed = Allowed::parse([format!("tools.corp:{port}").as_str()]).unwrap();
        settings.lookup = Script::of(&[&["127.0.0.1"]]);
    });
    let named = format!("http://tools.corp:{port}/");
    assert_eq!(client.send(get(&named)).await.unwrap().body, "here");
    for (other, why) in [
        (format!("http://tools.corp:{}/", port ^ 1), "local_name"),
        (format!("http://other.corp:{port}/"), "local_name"),
        (format!("http://example.com:{port}/"), "loopback"),
        (format!("http://127.0.0.1:{port}/"), "loopback"),
    ] {
        check(&client.send(get(&other)).await.unwrap_err(), why, &other);
    }
}

#[tokio::test]
async fn a_refusal_says_what_it_is_about_and_nothing_secret() {
    let url = "http://10.0.0.1/path?token=hunter2";
    let failure = client().send(get(url)).await.unwrap_err();
    assert_eq!(
        failure.message(),
        "10.0.0.1 may not be asked: the address is of a private network"
    );
    assert_eq!(failure.details().unwrap()["url"], "http://10.0.0.1/path");
    assert!(!format!("{failure:?}").contains("hunter2"));
}
