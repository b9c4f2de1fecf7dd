//! Redirects: where they lead, with which method, and what is not taken along.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod support;

use panpan_failure::Effect;
use panpan_upstream::Method;
use support::{
    Then, client, client_with, get, http, one, post, reason, request, server, tls_server,
};

fn to(status: u16, target: &str) -> (String, Then) {
    let says = http(
        &format!("{status} There"),
        &format!("location: {target}\r\n"),
        "",
    );
    (says, Then::Closes)
}

fn here() -> (String, Then) {
    (http("200 OK", "", "here"), Then::Closes)
}

#[tokio::test]
async fn the_method_changes_only_where_it_should() {
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
        let (url, served) = server(vec![to(status, "next?a=b"), here()]).await;
        let mut outgoing = request(Method::from_bytes(method.as_bytes()).unwrap(), &url);
        if !["GET", "HEAD"].contains(&method) {
            outgoing.body = Some("{}".into());
            outgoing
                .headers
                .insert("content-type", "application/json".parse().unwrap());
        }
        let answer = client().send(outgoing).await.unwrap();
        assert_eq!((answer.status, answer.redirects), (200, 1));
        assert_eq!(answer.url.as_str(), format!("{url}/next?a=b"));
        let second = served.await.unwrap().remove(1);
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
async fn other_answers_below_400_are_answers() {
    for (status, headers) in [
        ("304 Not Modified", "location: /next\r\n"),
        ("300 Multiple", "location: /next\r\n"),
        ("302 Found", ""),
    ] {
        let (url, _) = one(http(status, headers, "")).await;
        let answer = client().send(get(&url)).await.unwrap();
        assert_eq!(answer.status.to_string(), status[..3]);
    }
    let (url, _) = server(vec![to(302, "/next")]).await;
    let mut outgoing = get(&url);
    outgoing.redirects_limit = 0;
    assert_eq!(client().send(outgoing).await.unwrap().status, 302);
}

#[tokio::test]
async fn credentials_stay_with_the_server_they_are_for() {
    let (other, elsewhere) = server(vec![here()]).await;
    let (url, served) = server(vec![to(307, "/same"), to(307, &other)]).await;
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
    for request in served.await.unwrap() {
        assert_eq!(request.matches("hunter2").count(), 4, "{request}");
    }
    let last = elsewhere.await.unwrap().remove(0);
    assert!(
        last.contains("x-trace: kept") && !last.contains("hunter2"),
        "{last}"
    );
}

#[tokio::test]
async fn what_was_sent_to_one_server_is_not_carried_to_another() {
    for status in [307, 308] {
        let (other, elsewhere) = server(vec![here()]).await;
        let (url, _) = server(vec![to(status, "/same"), to(status, &other)]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_REDIRECT_FAILED");
        assert_eq!(reason(&failure), "redirect_elsewhere");
        assert_eq!(failure.effect(), Effect::None);
        assert!(!elsewhere.is_finished());
    }
}

#[tokio::test]
async fn redirects_have_a_limit_and_both_sides_of_it_are_known() {
    let steps = |count: usize| (0..count).map(|step| to(302, &format!("/{step}")));
    for (count, arrives) in [(3, true), (4, false)] {
        let (url, _) = server(steps(count).chain([here()]).collect()).await;
        let mut outgoing = get(&url);
        outgoing.redirects_limit = 3;
        match client().send(outgoing).await {
            Ok(answer) => assert_eq!((answer.redirects, arrives), (3, true)),
            Err(failure) => {
                assert!(!arrives);
                assert_eq!(failure.code().as_str(), "ERR_REDIRECT_FAILED");
                assert_eq!(reason(&failure), "redirects_limit");
                assert!(!failure.retryable());
            }
        }
    }
}

#[tokio::test]
async fn a_circle_is_noticed_the_first_time_around() {
    let (url, _) = server(vec![to(302, "/a"), to(302, "/b"), to(302, "/a#part")]).await;
    let failure = client().send(get(&format!("{url}/"))).await.unwrap_err();
    let found = (failure.code().as_str(), reason(&failure), failure.effect());
    assert_eq!(
        found,
        ("ERR_REDIRECT_FAILED", "redirect_loop", Effect::None)
    );
    let (url, _) = server(vec![to(302, "http://[::1/")]).await;
    let failure = client().send(get(&url)).await.unwrap_err();
    assert_eq!(reason(&failure), "redirect_unusable");
}

#[tokio::test]
async fn nothing_leads_from_https_to_http() {
    let (plain, _) = server(vec![here()]).await;
    let ca = include_bytes!("data/loopback-ca.pem").to_vec();
    let pem = [
        &include_bytes!("data/loopback-cert.pem")[..],
        include_bytes!("data/loopback-key.pem"),
    ]
    .concat();
    let url = tls_server(&pem, to(302, &plain).0).await;
    let client = client_with(|settings| settings.ca = Some(ca));
    let failure = client.send(get(&url)).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST", "{failure:?}");
    assert_eq!(reason(&failure), "downgrade");
}

#[tokio::test]
async fn a_write_that_was_answered_by_see_other_was_perhaps_done() {
    for (status, code, effect) in [
        (303, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
        (302, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
        (307, "ERR_REDIRECT_FAILED", Effect::None),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let (url, _) = server(vec![to(status, &nobody)]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        assert_eq!((failure.code().as_str(), failure.effect()), (code, effect));
        let (url, _) = server(vec![to(status, "http://10.0.0.1/")]).await;
        let failure = client().send(post(&url)).await.unwrap_err();
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, ("ERR_BLOCKED_HOST", effect));
    }
}

#[tokio::test]
async fn what_fails_behind_a_redirected_write_does_not_say_that_nothing_was_done() {
    for (status, answer, effect) in [
        (303, "503 Away", Effect::Unknown),
        (303, "404 Not Found", Effect::Unknown),
        (302, "429 Slow Down", Effect::Unknown),
        (307, "503 Away", Effect::None),
        (307, "404 Not Found", Effect::None),
    ] {
        let fails = http(answer, "retry-after: 0\r\n", "");
        let (url, _) = server(vec![to(status, "next"), (fails, Then::Closes)]).await;
        let incoming = client().send(post(&url)).await.unwrap();
        let failure = incoming.failure(jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(failure.effect(), effect, "{status} {answer}");
    }
}
