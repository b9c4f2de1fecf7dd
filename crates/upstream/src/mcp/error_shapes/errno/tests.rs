//! Errors of operating systems in texts.

use super::*;

#[test]
fn errors_are_read_where_the_text_states_them() {
    for (text, code) in [
        (
            "ENOENT: no such file, open '/a'",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        ("Error: EACCES: permission denied", Some("NOT_AUTHORIZED")),
        (
            "Error executing tool x: ENOENT: no such file",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        ("connect ETIMEDOUT 104.18.2.1:443", Some("ERR_TIMEOUT")),
        ("Error: read ECONNRESET", Some("ERR_SOCKET_ERROR")),
        ("write EPIPE", Some("ERR_SOCKET_ERROR")),
        ("getaddrinfo EAI_AGAIN a.example", Some("ERR_DNS_FAILURE")),
        (
            "EBUSY: resource busy or locked, unlink 'a'",
            Some("ERR_RESOURCE_BUSY"),
        ),
        (
            "ENOTEMPTY: directory not empty, rmdir 'a'",
            Some("ERR_HTTP_409_CONFLICT"),
        ),
        (
            "connect EHOSTUNREACH 10.0.0.1:80",
            Some("NETWORK_CONNECTION_ERROR"),
        ),
        (
            "connect ENETUNREACH 10.0.0.1:80",
            Some("NETWORK_CONNECTION_ERROR"),
        ),
        (
            "Error executing tool x: [Errno 13] Permission denied: '/a'",
            Some("NOT_AUTHORIZED"),
        ),
        (
            "[Errno 28] No space left on device",
            Some("ERR_RESOURCE_EXHAUSTED"),
        ),
        (
            "localhost:27017: [Errno 111] Connection refused (timeout 30s)",
            Some("ERR_CONNECTION_REFUSED"),
        ),
        (
            "Pool(host='a'): Max retries (Caused by NewConnectionError('<x>: Failed to connect: [Errno 111] Connection refused'))",
            Some("ERR_CONNECTION_REFUSED"),
        ),
        (
            "Error 111 connecting to localhost:6379. Connection refused.",
            Some("ERR_CONNECTION_REFUSED"),
        ),
        (
            "page.goto: net::ERR_NAME_NOT_RESOLVED at https://a.example/",
            Some("ERR_DNS_FAILURE"),
        ),
        ("spawn rg ENOENT", Some("NOT_CONFIGURED")),
        ("No results for 'x: ENOENT: y'", None),
        ("the code ENOENT means that a file is missing", None),
        ("ENOENTS: no", None),
        ("EVERYTHING: fine", None),
        ("exit code: 1\nnpm ERR! x: ENOENT: no such file", None),
        ("[Errno 7777] unknown", None),
        ("spawn camp", None),
    ] {
        let failure = in_text(text);
        assert_eq!(
            failure.as_ref().map(|it| it.code().as_str()),
            code,
            "{text}"
        );
    }
}

#[test]
fn only_an_error_that_is_the_whole_text_means_that_nothing_was_done() {
    for (text, effect) in [
        ("connect ECONNREFUSED 127.0.0.1:5432", Effect::None),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", Effect::None),
        ("ENOENT: no such file, open '/a'", Effect::None),
        (
            "Push failed: connect ECONNREFUSED 127.0.0.1:22",
            Effect::Unknown,
        ),
        (
            "Commit 7f created locally. Error: connect ECONNREFUSED 127.0.0.1:22",
            Effect::Unknown,
        ),
        ("write EPIPE", Effect::Unknown),
        ("ENOSPC: no space left on device, write", Effect::Unknown),
        ("connect ETIMEDOUT 10.0.0.1:443", Effect::Unknown),
    ] {
        assert_eq!(in_text(text).unwrap().effect(), effect, "{text}");
    }
}

#[test]
fn a_host_that_does_not_exist_is_not_waited_for() {
    for (text, may_repeat) in [
        ("getaddrinfo ENOTFOUND a.example", false),
        ("getaddrinfo EAI_AGAIN a.example", true),
    ] {
        assert_eq!(in_text(text).unwrap().may_repeat(), may_repeat, "{text}");
    }
}
