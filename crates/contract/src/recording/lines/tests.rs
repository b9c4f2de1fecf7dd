//! The format of a line, and the handling of invalid lines.

use super::*;

/// The exact text of one line. It changes only with the version, or by a new member.
const GOLDEN: &str = concat!(
    r#"{"panpan_recording":1,"#,
    r#""id":"00000000-0000-0000-0000-000000000007","#,
    r#""at":"2026-01-31T12:00:00Z","#,
    r#""operation":"weather/now","#,
    r#""caller":"agent-1","#,
    r#""input":{"city":"Bern"},"#,
    r#""retry_seed":42,"#,
    r#""terms":{"repeatable":true,"deadline":"2026-01-31T12:00:30Z","waiting":"inline"},"#,
    r#""steps":["#,
    r#"{"started_at":"2026-01-31T12:00:00Z","ended_at":"2026-01-31T12:00:01Z","#,
    r#""failed":{"code":"ERR_HTTP_429_RATE_LIMITED","category":"RATE_LIMIT","retryable":true,"effect":"none","hint_ms":900},"#,
    r#""decided":{"at":"2026-01-31T12:00:01Z","budget":true,"decision":{"again":{"delay_ms":965}}}},"#,
    r#"{"started_at":"2026-01-31T12:00:02Z","ended_at":"2026-01-31T12:00:03Z","#,
    r#""failed":{"code":"ERR_HTTP_404_NOT_FOUND","category":"CLIENT_ERROR","retryable":false,"effect":"none"},"#,
    r#""decided":{"at":"2026-01-31T12:00:03Z","decision":{"answer":"not_retryable"}}}],"#,
    r#""outcome":{"failed":{"code":"ERR_HTTP_404_NOT_FOUND","category":"CLIENT_ERROR","retryable":false,"#,
    r#""remedy":["change_input"],"effect":"none","message":"no such city","details":{"city":"Bern"},"#,
    r#""recovery":{"required_actions":["Look the city up first"]},"attempts":2}}}"#,
);

fn read(text: impl AsRef<[u8]>) -> Vec<Result<Recording, LineError>> {
    read_lines(text.as_ref()).collect()
}

fn golden() -> Recording {
    read(GOLDEN).remove(0).unwrap()
}

fn written(recordings: &[Recording]) -> String {
    let mut text = Vec::new();
    write_lines(recordings, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_line_has_this_format() {
    assert_eq!(written(&[golden()]), format!("{GOLDEN}\n"));
    let mut succeeded = golden();
    succeeded.steps.clear();
    succeeded.outcome = RecordedOutcome::Succeeded {
        output_digest: "00ff".to_owned(),
    };
    let line = written(&[succeeded.clone()]);
    let end = r#""waiting":"inline"},"outcome":{"succeeded":{"output_digest":"00ff"}}}"#;
    assert!(line.trim_end().ends_with(end), "{line}");
    assert_eq!(read(line).remove(0).unwrap(), succeeded);
}

#[test]
fn every_line_end_is_accepted() {
    for (text, count) in [
        (String::new(), 0),
        ("\n \r\n\t\n".to_owned(), 0),
        (GOLDEN.to_owned(), 1),
        (format!("{GOLDEN}\n{GOLDEN}"), 2),
        (format!("{GOLDEN}\r\n{GOLDEN}\r\n"), 2),
        (format!("\u{feff}{GOLDEN}\n\n\n{GOLDEN}\n\n"), 2),
        (format!("\u{feff}\n{GOLDEN}\n"), 1),
        ("\u{feff}".to_owned(), 0),
    ] {
        let recordings = read(&text);
        assert_eq!(recordings.len(), count, "{text}");
        for recording in recordings {
            assert_eq!(recording.unwrap(), golden());
        }
    }
}

#[test]
fn an_invalid_line_is_reported_with_its_number_and_reading_continues() {
    let replaced = |from: &str, to: &str| {
        assert!(GOLDEN.contains(from), "{from}");
        GOLDEN.replacen(from, to, 1)
    };
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    for (line, problem) in [
        (
            "{\"a\": }".to_owned(),
            "not valid JSON: expected value (column 7)",
        ),
        (deep, "nested more than 127 levels deep (column 128)"),
        (
            "\u{feff}{}".to_owned(),
            "not valid JSON: expected value (column 1)",
        ),
        (
            "[]".to_owned(),
            "not a recording: `panpan_recording` is missing or not a version number",
        ),
        (
            replaced("\"panpan_recording\":1,", ""),
            "not a recording: `panpan_recording` is missing or not a version number",
        ),
        (
            replaced("ing\":1", "ing\":\"1\""),
            "not a recording: `panpan_recording` is missing or not a version number",
        ),
        (
            replaced("ing\":1", "ing\":2"),
            "unsupported format version 2; this panpan reads version 1",
        ),
        (
            replaced("ing\":1", "ing\":0"),
            "unsupported format version 0; this panpan reads version 1",
        ),
        (
            replaced("\"retry_seed\":42,", ""),
            "at the top of the document: missing field `retry_seed`",
        ),
        (
            replaced("42", "4.5"),
            "at /retry_seed: invalid type: floating point `4.5`, expected i64",
        ),
        (
            replaced("\"budget\":true", "\"budget\":3"),
            "at /steps/0: invalid type: integer `3`, expected a boolean",
        ),
        (
            replaced("\"attempts\":2", "\"attempts\":0"),
            "at /outcome: at /attempts: expected a whole number of 1 or more, within range, found a number",
        ),
    ] {
        let mut found = read(format!("{GOLDEN}\n{line}\n{GOLDEN}")).into_iter();
        assert_eq!(found.next().unwrap().unwrap(), golden());
        let error = found.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), format!("line 2: {problem}"));
        assert_eq!(found.next().unwrap().unwrap(), golden(), "{problem}");
        assert!(found.next().is_none());
    }
}

#[test]
fn unknown_members_are_ignored() {
    for (from, to) in [
        ("\"retry_seed\"", "\"later\":{\"x\":[1]},\"retry_seed\""),
        ("\"budget\"", "\"later\":1,\"budget\""),
        ("\"waiting\"", "\"later\":1,\"waiting\""),
        ("\"hint_ms\"", "\"later\":1,\"hint_ms\""),
        ("\"attempts\"", "\"later\":1,\"attempts\""),
    ] {
        let line = GOLDEN.replacen(from, to, 1);
        assert_eq!(read(line).remove(0).unwrap(), golden(), "{from}");
    }
}

#[test]
fn the_length_of_a_line_is_limited() {
    let padded = |bytes: usize| {
        let padding = " ".repeat(bytes - GOLDEN.len());
        GOLDEN.replacen("{\"panpan", &format!("{padding}{{\"panpan"), 1)
    };
    for (line, fits) in [
        (padded(LINE_BYTES_LIMIT), true),
        (padded(LINE_BYTES_LIMIT + 1), false),
    ] {
        for (start, end) in [("", ""), ("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")] {
            let first = read(format!("{start}{line}{end}")).remove(0);
            assert_eq!(first.is_ok(), fits, "{start:?} {end:?}");
        }
        let read = read(format!("{line}\n{GOLDEN}"));
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].as_ref().unwrap(), &golden());
    }
    let endless = "x".repeat(3 * LINE_BYTES_LIMIT);
    let read = read(format!("{endless}\n{GOLDEN}"));
    assert!(matches!(
        read[0].as_ref().unwrap_err().problem,
        LineProblem::TooLong
    ));
    assert_eq!((read.len(), read[1].as_ref().unwrap()), (2, &golden()));
}

#[test]
fn a_recording_that_is_too_long_is_not_written() {
    let sized = |bytes: usize| Recording {
        input: Some("x".repeat(bytes).into()),
        ..golden()
    };
    let overhead = written(&[sized(0)]).len() - 1;
    let line = written(&[sized(LINE_BYTES_LIMIT - overhead)]);
    assert_eq!(line.len(), LINE_BYTES_LIMIT + 1);
    assert!(read(line)[0].is_ok());
    let mut text = Vec::new();
    let error = write_line(&sized(LINE_BYTES_LIMIT - overhead + 1), &mut text).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(text.is_empty());
}

#[test]
fn recordings_are_redacted_again_when_read() {
    let line = GOLDEN
        .replacen(r#"{"city":"Bern"}"#, r#"{"password":"tr0ub4dor"}"#, 1)
        .replacen("agent-1", "Bearer abcdefghijklmnop1234", 1)
        .replacen(
            "no such city",
            "Authorization: Bearer abcdefghijklmnop1234",
            1,
        );
    let text = written(&[read(line).remove(0).unwrap()]);
    for secret in ["tr0ub4dor", "abcdefghijklmnop1234"] {
        assert!(!text.contains(secret), "{text}");
    }
    let wrong = GOLDEN.replacen("42", "\"Bearer abcdefghijklmnop1234\"", 1);
    let error = read(wrong).remove(0).unwrap_err().to_string();
    assert!(!error.contains("abcdefghijklmnop1234"), "{error}");
}

#[test]
fn a_null_input_differs_from_an_omitted_one() {
    for input in [None, Some(Value::Null)] {
        let recording = Recording { input, ..golden() };
        let line = written(std::slice::from_ref(&recording));
        assert_eq!(read(line).remove(0).unwrap(), recording);
    }
}

#[test]
fn reading_stops_after_a_reader_error() {
    #[derive(Debug)]
    struct FailingReader;
    impl Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let reader = GOLDEN.as_bytes().chain(&b"\n"[..]).chain(FailingReader);
    let mut lines = read_lines(io::BufReader::new(reader));
    assert_eq!(lines.next().unwrap().unwrap(), golden());
    assert_eq!(
        lines.next().unwrap().unwrap_err().to_string(),
        "line 2: cannot be read: gone"
    );
    assert!(lines.next().is_none());
}
