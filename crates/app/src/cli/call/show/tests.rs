//! What stands where after a call: stdout, stderr and the exit code, for people and for programs.

use panpan_failure::Failure;
use serde_json::json;

use super::*;

const PROGRAM: Screen<'_> = Screen {
    is_terminal: false,
    json: false,
    dialect: None,
    key: Some("k"),
    paint: Paint::Plain,
};
const PERSON: Screen<'_> = Screen {
    is_terminal: true,
    ..PROGRAM
};

fn shown(screen: Screen<'_>, end: &End) -> (u8, String, String) {
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    let exit_code = screen.show(end, &mut out, &mut talk).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit_code, text(out), text(talk))
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
fn an_output_is_pretty_and_harmless_on_a_terminal_and_as_it_is_elsewhere() {
    let pretty = "{\n  \"a\": \"\\u009b2J\"\n}\n".to_owned();
    assert_eq!(shown(PERSON, &output(false)), (0, pretty, String::new()));
    let compact = "{\"a\":\"\u{9b}2J\"}\n".to_owned();
    assert_eq!(shown(PROGRAM, &output(false)), (0, compact, String::new()));
}

#[test]
fn a_replay_is_told_beside_the_output() {
    let (exit_code, _, talk) = shown(PROGRAM, &output(true));
    assert_eq!(exit_code, 0);
    assert_eq!(
        talk,
        "panpan: nothing ran: this is the outcome recorded under the key k\n"
    );
}

#[test]
fn a_failure_is_a_page_for_people_and_json_for_programs() {
    let (exit_code, out, talk) = shown(PERSON, &failed());
    assert_eq!((exit_code, out.as_str()), (1, ""));
    assert!(
        talk.starts_with("ERR_HTTP_404_NOT_FOUND: Upstream resource not found\n"),
        "{talk}"
    );
    let line = "panpan: ERR_HTTP_404_NOT_FOUND: no\\u001b[2J\n";
    let json = Screen {
        json: true,
        ..PERSON
    };
    for screen in [PROGRAM, json] {
        let (exit_code, out, talk) = shown(screen, &failed());
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((exit_code, talk.as_str()), (1, line));
        assert_eq!(document["code"], "ERR_HTTP_404_NOT_FOUND");
        assert!(document["panpan"].is_object(), "{document}");
    }
}

#[test]
fn a_dialect_counts_for_both_outcomes_and_for_people_too() {
    let screen = Screen {
        dialect: Some(Dialect::Outcome),
        ..PERSON
    };
    for (end, ok) in [(output(false), true), (failed(), false)] {
        let (_, out, _) = shown(screen, &end);
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["ok"], ok);
    }
}

#[test]
fn where_no_server_listens_people_are_told_how_to_start_one() {
    let refused = Failure::new(codes::ERR_CONNECTION_REFUSED)
        .with_message("no server answers at http://127.0.0.1:7077/")
        .redacted();
    let line = "panpan: no server answers at http://127.0.0.1:7077/: start one with `panpan serve`, \
                name another with --server, or add --local to call one of panpan's own operations in this process\n";
    let end = End::Unanswered(refused.clone());
    assert_eq!(shown(PERSON, &end), (2, String::new(), line.to_owned()));
    let (exit_code, out, talk) = shown(PROGRAM, &end);
    assert_eq!((exit_code, talk.as_str()), (2, line));
    assert!(
        out.starts_with("{\"code\":\"ERR_CONNECTION_REFUSED\""),
        "{out}"
    );
    // What an operation met behind the server is another matter.
    let end = End::Failed {
        failure: refused,
        replayed: false,
    };
    let (exit_code, _, talk) = shown(PERSON, &end);
    assert_eq!(exit_code, 1);
    assert!(talk.starts_with("ERR_CONNECTION_REFUSED: "), "{talk}");
}

#[test]
fn a_stopped_call_says_what_may_have_become_of_it() {
    let without_key = Screen {
        key: None,
        ..PROGRAM
    };
    for (screen, effect, said) in [
        (PROGRAM, Some(Effect::None), "nothing was done"),
        (
            PROGRAM,
            None,
            "call again with --key k to learn what became of it",
        ),
        (
            without_key,
            Some(Effect::Unknown),
            "it may have taken effect",
        ),
        (without_key, None, "it may have taken effect"),
    ] {
        let expected = format!("panpan: the call was stopped; {said}\n");
        assert_eq!(
            shown(screen, &End::Stopped(effect)),
            (130, String::new(), expected)
        );
    }
}

#[test]
fn a_reader_that_is_gone_does_not_make_a_failure_a_success() {
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
        PROGRAM.show(&failed(), &mut Gone, &mut Vec::new()).unwrap(),
        1
    );
    let written = PROGRAM.show(&output(false), &mut Gone, &mut Vec::new());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
}
