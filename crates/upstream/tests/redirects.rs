//! Redirects: the target, the method, and the headers and bodies that are not sent there.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod support;

use panpan_failure::Effect;
use panpan_upstream::Method;
use support::{
    Then, client, client_with, get, http, post, reason, request, server, server_once, tls_server,
};

fn redirect(status: u16, target: &str) -> (String, Then) {
    let response = http(
        &format!("{status} There"),
        &format!("location: {target}\r\n"),
        "",
    );
    (response, Then::Closes)
}

fn target() -> (String, Then) {
    (http("200 OK", "", "target"), Then::Closes)
}

#[tokio::test]
async fn the_method_changes_as_browsers_change_it() {
    for (status, method, next) in [
        (301, "GET", "GET"),
        (301, "POST", "GET"),
        (301, "PUT", "PUT"),
        (302, "POST", "GET"),
        (302, "DELETE", "DELETE"),
        (302, "HEAD", "HEAD"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (303, "HEAD", "HEAD"),
        (307, "POST", "POST"),
        (307, "PATCH", "PATCH"),
        (308, "POST", "POST"),
        (308, "GET", "GET"),
    ] {
        let (url, requests) = server(vec![redirect(status, "next?a=b"), target()]).await;
        let mut outgoing = request(Method::from_bytes(method.as_bytes()).unwrap(), &url);
        if !["GET", "HEAD"].contains(&method) {
            outgoing.body = Some("{}".into());
            outgoing
                .headers
                .insert("content-type", "application/json".parse().unwrap());
        }
        let response = client().send(outgoing).await.unwrap();
        assert_eq!((response.status, response.redirects), (200, 1));
        assert_eq!(response.url.as_str(), format!("{url}/next?a=b"));
        let second = requests.await.unwrap().remove(1);
        assert!(
            second.starts_with(&format!("{next} /next?a=b HTTP/1.1\r\n")),
            "{second}"
        );
        let keeps_body = next == method && !["GET", "HEAD"].contains(&method);
        assert_eq!(
            second.ends_with("\r\n\r\n{}"),
            keeps_body,
            "{status} {second}"
        );
        assert_eq!(
            second.contains("application/json"),
            keeps_body,
            "{status} {second}"
        );
    }
}

#[tokio::test]
async fn other_responses_below_400_are_returned() {
    for (status, headers) in [
        ("304 Not Modified", "location: /next\r\n"),
        ("300 Multiple", "location: /next\r\n"),
        ("302 Found", ""),
    ] {
        let (url, _) = server_once(http(status, headers, "")).await;
        let response = client().send(get(&url)).await.unwrap();
        assert_eq!(response.status.to_string(), status[..3]);
    }
    let (url, _) = server(vec![redirect(302, "/next")]).await;
    let mut outgoing = get(&url);
    outgoing.redirects_limit = 0;
    assert_eq!(client().send(outgoing).await.unwrap().status, 302);
}

#[tokio::test]
async fn credentials_are_not_sent_to_another_server() {
    let (other, other_requests) = server(vec![target()]).await;
    let (url, requests) = server(vec![redirect(307, "/same"), redirect(307, &other)]).await;
    let mut outgoing = get(&url);
    for (name, value) in [
        ("authorization", "Bearer hunter2"),
        ("cookie", "session=hunter2"),
        ("x-api-key", "hunter2"),
        ("x-trace", "kept"),
    ] {
        outgoing.headers.insert(name, value.parse().unwrap());
    }
    let mut marked: panpan_upstream::header::HeaderValue = "hunter2".parse().unwrap();
    marked.set_sensitive(true);
    outgoing.headers.insert("x-mine", marked);
    client().send(outgoing).await.unwrap();
    for request in requests.await.unwrap() {
        assert_eq!(request.matches("hunter2").count(), 4, "{request}");
    }
    let last = other_requests.await.unwrap().remove(0);
    assert!(
        last.contains("x-trace: kept") && !last.contains("hunter2"),
        "{last}"
    );
}

#[tokio::test]
async fn a_body_is_not_sent_to_another_server() {
    for status in [307, 308] {
        let (other, other_requests) = server(vec![target()]).await;
        let (url, _) = server(vec![redirect(status, "/same"), redirect(status, &other)]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_REDIRECT_FAILED");
        assert_eq!(reason(&failure), "redirect_elsewhere");
        assert_eq!(failure.effect(), Effect::None);
        assert!(!other_requests.is_finished());
    }
}

#[tokio::test]
async fn redirects_are_followed_up_to_the_limit() {
    let steps = |count: usize| (0..count).map(|step| redirect(302, &format!("/{step}")));
    for (count, is_within) in [(3, true), (4, false)] {
        let (url, _) = server(steps(count).chain([target()]).collect()).await;
        let mut outgoing = get(&url);
        outgoing.redirects_limit = 3;
        match client().send(outgoing).await {
            Ok(response) => assert_eq!((response.redirects, is_within), (3, true)),
            Err(failure) => {
                assert!(!is_within);
                assert_eq!(failure.code().as_str(), "ERR_REDIRECT_FAILED");
                assert_eq!(reason(&failure), "redirects_limit");
                assert!(!failure.retryable());
            }
        }
    }
}

#[tokio::test]
async fn a_loop_is_detected_at_the_first_repetition() {
    let (url, _) = server(vec![
        redirect(302, "/a"),
        redirect(302, "/b"),
        redirect(302, "/a#part"),
    ])
    .await;
    let failure = client().send(get(&format!("{url}/"))).await.unwrap_err();
    let found = (failure.code().as_str(), reason(&failure), failure.effect());
    assert_eq!(
        found,
        ("ERR_REDIRECT_FAILED", "redirect_loop", Effect::None)
    );
    let (url, _) = server(vec![redirect(302, "http://[::1/")]).await;
    let failure = client().send(get(&url)).await.unwrap_err();
    assert_eq!(reason(&failure), "redirect_unusable");
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_not_followed() {
    let (plain, _) = server(vec![target()]).await;
    let ca = include_bytes!("data/loopback-ca.pem").to_vec();
    let pem = [
        &include_bytes!("data/loopback-cert.pem")[..],
        include_bytes!("data/loopback-key.pem"),
    ]
    .concat();
    let url = tls_server(&pem, redirect(302, &plain).0).await;
    let client = client_with(|settings| settings.ca = Some(ca));
    let failure = client.send(get(&url)).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST", "{failure:?}");
    assert_eq!(reason(&failure), "downgrade");
}

#[tokio::test]
async fn a_write_redirected_as_get_may_have_taken_effect() {
    for (status, code, effect) in [
        (303, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
        (302, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
        (307, "ERR_REDIRECT_FAILED", Effect::None),
    ] {
        let (url, _) = server(vec![redirect(status, &support::refusing_url())]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        assert_eq!((failure.code().as_str(), failure.effect()), (code, effect));
        let (url, _) = server(vec![redirect(status, "http://10.0.0.1/")]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, ("ERR_BLOCKED_HOST", effect));
    }
}

#[tokio::test]
async fn a_failure_after_a_redirected_write_does_not_claim_no_effect() {
    for (status, next_status, effect) in [
        (303, "503 Away", Effect::Unknown),
        (303, "404 Not Found", Effect::Unknown),
        (302, "429 Slow Down", Effect::Unknown),
        (307, "503 Away", Effect::None),
        (307, "404 Not Found", Effect::None),
    ] {
        let error = http(next_status, "retry-after: 0\r\n", "");
        let (url, _) = server(vec![redirect(status, "next"), (error, Then::Closes)]).await;
        let incoming = client().send(post(&url)).await.unwrap();
        let failure = incoming
            .failure(false, jiff::Timestamp::UNIX_EPOCH)
            .unwrap();
        assert_eq!(failure.effect(), effect, "{status} {next_status}");
    }
}
