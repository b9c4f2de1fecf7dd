//! Changes of an item whose version or state is another one, and refusals without a reason.

use panpan_failure::{Upstream, Violation};

use super::*;

fn refused(status: u16, message: &str) -> Failure {
    Failure::new(Kind::of(&format!("HTTP_{status}")).unwrap())
        .with_message(message)
        .with_upstream(Upstream::status(status))
}

fn change_of_item(version_argument: Option<&'static str>) -> Situation<'static> {
    Situation {
        shows_item: Some(SHOW),
        version_argument,
        ..write_with(Key::None)
    }
}

fn advised_in(failure: Failure, situation: Situation<'_>) -> (String, Vec<NextMove>) {
    let failure = failure.redacted();
    let before = failure.recovery().clone();
    let found = advised(failure, before, situation);
    (
        found.recovery().required_actions[0].clone(),
        found.next_moves(),
    )
}

#[test]
fn a_version_that_is_missing_or_old_is_read_and_sent() {
    let expected = "Call s/show, put the ETag or version that it shows into If-Match, then call again; ask a person if it \
                    shows none";
    for (status, message) in [
        (
            428,
            "This request is required to be conditional; try using If-Match",
        ),
        (412, "Precondition failed"),
        (409, "Version conflict: the order was modified"),
    ] {
        let (action, next) = advised_in(refused(status, message), change_of_item(Some("If-Match")));
        assert_eq!(action, expected, "{status}");
        assert_eq!(next[0], NextMove::ChangeInput, "{status}");
    }
    // Without such an argument, no input can carry the version.
    let (action, next) = advised_in(refused(428, "use If-Match"), change_of_item(None));
    assert!(action.contains("Ask the person responsible"), "{action}");
    assert_eq!(next, [NextMove::AskHuman]);
    // Without an operation that shows the item, or for a read, nothing is known about the version.
    let unknown = Situation {
        shows_item: None,
        ..change_of_item(Some("If-Match"))
    };
    assert!(
        !advised_in(refused(412, "no"), unknown)
            .0
            .contains("If-Match")
    );
}

#[test]
fn the_state_of_an_item_is_read_with_the_operation_that_shows_it() {
    for status in [409, 412] {
        let (action, _) = advised_in(refused(status, "the order is locked"), change_of_item(None));
        assert_eq!(
            action,
            "Call s/show to see the current state, then send a request that fits it"
        );
    }
}

#[test]
fn an_action_does_not_refer_to_a_message_that_says_nothing() {
    let meaning = "The order was refused.";
    let qty = Violation::value("/qty", "must be positive");
    let bare = || refused(400, "127.0.0.1 answered HTTP 400");
    let many: Vec<Violation> = (0..9)
        .map(|it| Violation::value(format!("/{it}"), "no"))
        .collect();
    for (failure, expected) in [
        (bare(), "Compare the input with the input schema"),
        (
            bare().with_meaning(meaning),
            "Change the input as the meaning says",
        ),
        (
            bare().with_meaning(meaning).with_violations([qty]),
            "Correct qty",
        ),
        (
            refused(400, "qty must be positive"),
            "Change the input as the message says",
        ),
        (
            bare().with_violations(many),
            "Change the input as the message says",
        ),
    ] {
        let (action, _) = advised_in(failure, write_with(Key::None));
        assert!(action.starts_with(expected), "{action}");
    }
}

#[test]
fn a_denial_for_another_reason_than_access_does_not_ask_for_a_credential() {
    for (message, asks_for_access) in [
        ("insufficient buying power", false),
        ("Repository was archived so is read-only.", false),
        ("User lacks the scope orders:write", true),
        ("api.example.com answered HTTP 403", true),
        ("Forbidden", true),
    ] {
        let failure = Failure::new(Kind::of("HTTP_403").unwrap())
            .with_message(message)
            .with_upstream(panpan_failure::Upstream::status(403));
        let found = actions(failure, write_with(Key::None));
        assert_eq!(
            found[0].contains("obtain access"),
            asks_for_access,
            "{found:?}"
        );
    }
}

#[test]
fn a_change_of_a_missing_item_is_never_redirected_to_another_item() {
    for code in ["ARTIFACT_NOT_FOUND", "ERR_HTTP_404_NOT_FOUND", "HTTP_410"] {
        for lists in [Some(LIST), None] {
            let situation = Situation {
                lists,
                ..write_with(Key::None)
            };
            let found = actions(Failure::new(Kind::of(code).unwrap()), situation);
            assert!(found[0].contains("do not change another item"), "{found:?}");
        }
    }
}

#[test]
fn an_existing_item_is_looked_at_before_another_one_is_created() {
    let failure =
        || Failure::new(Kind::of("HTTP_400").unwrap()).with_message("Order already exists: o-1");
    let write = write_with(Key::None);
    assert!(
        actions(failure(), write)[0].contains("call s/show to see it before doing anything else")
    );
    let read = Situation {
        is_read: true,
        is_harmless: true,
        ..write
    };
    assert!(!actions(failure(), read)[0].contains("already exist"));
}

#[test]
fn a_missing_item_is_listed_by_a_read_and_never_replaced_by_a_write() {
    let failure = || {
        Failure::new(Kind::of("HTTP_404").unwrap())
            .with_upstream(panpan_failure::Upstream::status(404))
    };
    let write = write_with(Key::None);
    let read = Situation {
        is_read: true,
        is_harmless: true,
        ..write
    };
    assert_eq!(
        actions(failure(), read),
        ["List what exists with s/list, then ask for one of those"]
    );
    assert_eq!(
        actions(failure(), write),
        [
            "Call s/list to see whether the item named in the input exists and is spelled correctly; \
             do not change another item instead"
        ]
    );
    // A delete whose first attempt lost its connection finds nothing the second time.
    let after_lost_connection = failure()
        .with_effect(Effect::Unknown)
        .with_repeat(Repeat::Allowed);
    let delete = Situation {
        is_harmless: true,
        ..write
    };
    assert_eq!(
        actions(after_lost_connection, delete)[0],
        "Call s/show to see whether this call took effect before doing anything else"
    );
}
