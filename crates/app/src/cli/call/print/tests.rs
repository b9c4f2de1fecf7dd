//! The output of a call: stdout, stderr and the exit code, on a terminal and elsewhere.

use panpan_failure::Failure;
use serde_json::json;

use super::*;

const PIPE: Printer<'_> = Printer {
    operation: "demo/order",
    is_terminal: false,
    json: false,
    dialect: None,
    key: Some("k"),
    colour: Colour::Off,
};
const TERMINAL: Printer<'_> = Printer {
    is_terminal: true,
    ..PIPE
};

fn printed(printer: Printer<'_>, end: &End) -> (u8, String, String) {
    let (mut out, mut messages) = (Vec::new(), Vec::new());
    let exit_code = printer.print(end, &mut out, &mut messages).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit_code, text(out), text(messages))
}

fn output(replayed: bool) -> End {
    End::Output {
        value: json!({"a": "\u{9b}2J"}),
        call: None,
        replayed,
    }
}

fn failed() -> End {
    End::Failed {
        failure: Failure::new(codes::ERR_HTTP_404_NOT_FOUND)
            .with_message("no\u{1b}[2J")
            .redacted(),
        replayed: false,
    }
}

#[test]
fn an_output_is_pretty_and_escaped_on_a_terminal_and_compact_elsewhere() {
    let pretty = "{\n  \"a\": \"\\u009b2J\"\n}\n".to_owned();
    assert_eq!(
        printed(TERMINAL, &output(false)),
        (0, pretty, String::new())
    );
    let compact = "{\"a\":\"\u{9b}2J\"}\n".to_owned();
    assert_eq!(printed(PIPE, &output(false)), (0, compact, String::new()));
}

#[test]
fn a_replay_is_reported_on_stderr() {
    let (exit_code, _, messages) = printed(PIPE, &output(true));
    assert_eq!(exit_code, 0);
    assert_eq!(
        messages,
        "panpan: replayed the outcome recorded under the key k; the operation did not run again\n"
    );
}

#[test]
fn a_failure_is_a_report_on_a_terminal_and_json_elsewhere() {
    let (exit_code, out, messages) = printed(TERMINAL, &failed());
    assert_eq!((exit_code, out.as_str()), (1, ""));
    assert!(
        messages.starts_with("ERR_HTTP_404_NOT_FOUND: Upstream resource not found\n"),
        "{messages}"
    );
    let line = "panpan: ERR_HTTP_404_NOT_FOUND: no\\u001b[2J\n";
    let json = Printer {
        json: true,
        ..TERMINAL
    };
    for printer in [PIPE, json] {
        let (exit_code, out, messages) = printed(printer, &failed());
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((exit_code, messages.as_str()), (1, line));
        assert_eq!(document["code"], "ERR_HTTP_404_NOT_FOUND");
        assert!(document["panpan"].is_object(), "{document}");
    }
}

#[test]
fn a_dialect_is_used_for_both_outcomes_and_on_a_terminal() {
    let printer = Printer {
        dialect: Some(Dialect::Outcome),
        ..TERMINAL
    };
    for (end, ok) in [(output(false), true), (failed(), false)] {
        let (_, out, _) = printed(printer, &end);
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["ok"], ok);
    }
}

#[test]
fn if_no_server_listens_the_hint_says_how_to_start_one() {
    let refused = Failure::new(codes::ERR_CONNECTION_REFUSED)
        .with_message("no server answers at http://127.0.0.1:7077/")
        .redacted();
    let end = End::NoResponse(refused.clone());
    let built_in = "start a server with `panpan serve`, name another with --server, or add --local to call \
                    demo/order in this process";
    let own = "start the server that has billing/pay, with `panpan serve --openapi FILE@URL` or `panpan serve \
               --mcp-stdio COMMAND`, or name another with --server";
    for (operation, hint) in [("demo/order", built_in), ("billing/pay", own)] {
        let message =
            format!("panpan: no server answers at http://127.0.0.1:7077/\n\nhint: {hint}\n");
        let on_terminal = Printer {
            operation,
            ..TERMINAL
        };
        let expected = (2, String::new(), message.clone());
        assert_eq!(printed(on_terminal, &end), expected);
        let (exit_code, out, messages) = printed(Printer { operation, ..PIPE }, &end);
        assert_eq!((exit_code, messages), (2, message));
        assert!(
            out.starts_with("{\"code\":\"ERR_CONNECTION_REFUSED\""),
            "{out}"
        );
    }
    // The same code from the operation itself is an ordinary failure.
    let end = End::Failed {
        failure: refused,
        replayed: false,
    };
    let (exit_code, _, messages) = printed(TERMINAL, &end);
    assert_eq!(exit_code, 1);
    assert!(
        messages.starts_with("ERR_CONNECTION_REFUSED: "),
        "{messages}"
    );
}

#[test]
fn an_interrupted_call_reports_its_possible_effect() {
    let without_key = Printer { key: None, ..PIPE };
    for (printer, effect, message) in [
        (PIPE, Some(Effect::None), "nothing was changed"),
        (PIPE, None, "call again with --key k to get its outcome"),
        (
            without_key,
            Some(Effect::Unknown),
            "it may have taken effect",
        ),
        (without_key, None, "it may have taken effect"),
    ] {
        let expected = format!("panpan: the call was interrupted; {message}\n");
        assert_eq!(
            printed(printer, &End::Interrupted(effect)),
            (130, String::new(), expected)
        );
    }
}

#[test]
fn a_closed_stdout_does_not_change_the_exit_code_of_a_failure() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(
        PIPE.print(&failed(), &mut Gone, &mut Vec::new()).unwrap(),
        1
    );
    let written = PIPE.print(&output(false), &mut Gone, &mut Vec::new());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
}
