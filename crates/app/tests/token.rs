//! `panpan token`: each command is a separate process.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use panpan_testkit::{Folder, panpan, stderr};
use serde_json::{Value, json};

fn listed(folder: &Folder) -> Vec<Value> {
    serde_json::from_str(&folder.stdout(&["token", "list", "--json"])).unwrap()
}

fn is_token(text: &str) -> bool {
    text.len() == "panpan_".len() + 12 + 1 + 64 && text.starts_with("panpan_")
}

#[test]
fn a_new_token_is_on_stdout_and_its_permissions_on_stderr() {
    let folder = Folder::new();
    let output = folder.run(&[
        "token",
        "new",
        "ann",
        "--scope",
        "panpan:watch",
        "--scope",
        "orders",
        "--resource",
        "file:read",
        "--resource",
        "file:write",
        "--resource",
        "disk",
        "--expires",
        "2999-01-01",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let token = printed.strip_suffix('\n').unwrap();
    assert!(is_token(token), "{token}");
    let messages = stderr(&output);
    assert!(!messages.contains(token) && !messages.contains(token.rsplit('_').next().unwrap()));
    for part in [
        "ann",
        "scope orders",
        "resource disk",
        "resource file:write",
        "2999-01-01T00:00:00Z",
    ] {
        assert!(messages.contains(part), "{part} is not in {messages}");
    }
    let [listed] = &listed(&folder)[..] else {
        panic!("one token was made");
    };
    assert_eq!(
        listed["resources"],
        json!({"disk": [], "file": ["read", "write"]})
    );
    assert_eq!(listed["scopes"], json!(["orders", "panpan:watch"]));
    assert_eq!(listed["state"], "valid");
    assert!(token.contains(listed["id"].as_str().unwrap()));
}

#[test]
fn tokens_are_created_listed_and_revoked_across_processes() {
    let folder = Folder::new();
    let created: Value =
        serde_json::from_str(&folder.stdout(&["token", "new", "ann", "--json"])).unwrap();
    assert!(is_token(created["token"].as_str().unwrap()));
    let first = created["id"].as_str().unwrap();
    folder.stdout(&["token", "new", "ann"]);
    folder.stdout(&["token", "new", "bob"]);
    let state = |id: &str| {
        let listed = listed(&folder);
        let found = listed.iter().find(|token| token["id"] == id).unwrap();
        found["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(first), "valid");
    assert_eq!(folder.stdout(&["token", "revoke", first]), "");
    assert_eq!(state(first), "revoked");
    let again = folder.run(&["token", "revoke", first]);
    assert_eq!(again.status.code(), Some(0));
    assert!(
        stderr(&again).contains("was already revoked at 2"),
        "{}",
        stderr(&again)
    );
    folder.stdout(&["token", "revoke", "ann"]);
    let table = folder.stdout(&["token", "list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[0].starts_with("ID "), "{table}");
    for line in &lines[1..] {
        let word = if line.contains(" bob ") {
            "valid"
        } else {
            "revoked"
        };
        assert!(line.contains(word), "{line}");
    }
}

#[test]
fn an_unknown_name_gets_suggestions_and_exit_code_1() {
    let folder = Folder::new();
    let token = folder.stdout(&["token", "new", "deployer"]);
    for (name, message) in [
        ("deploier", "did you mean deployer?"),
        ("zzz-unknown", "`panpan token list` shows every token"),
    ] {
        let output = folder.run(&["token", "revoke", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    let most_of_it = &token[..60];
    let output = folder.run(&["token", "revoke", most_of_it]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        !stderr(&output).contains(&most_of_it[30..]),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_empty_list_says_how_to_create_a_token() {
    let folder = Folder::new();
    let output = folder.run(&["token", "list"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(
        stderr(&output).contains("panpan token new"),
        "{}",
        stderr(&output)
    );
    assert!(listed(&folder).is_empty());
}

#[test]
fn invalid_arguments_create_no_token() {
    let folder = Folder::new();
    let secret = "s3cr3t";
    let elsewhere = format!("redis://app:{secret}@db/main");
    for (arguments, message) in [
        (&["new", "an n"][..], "visible ASCII"),
        (&["new", ""], "the name of a principal is empty"),
        (
            &["new", "ann", "--scope", ""],
            "the name of a scope is empty",
        ),
        (
            &["new", "ann", "--resource", ":read"],
            "the name of a resource type is empty",
        ),
        (
            &["new", "ann", "--resource", "file:"],
            "the name of an action is empty",
        ),
        (&["new", "ann", "--expires", "soon"], "such as 30d or 12h"),
        (
            &["new", "ann", "--expires", "2001-01-01"],
            "would never be valid",
        ),
        (&["new", "ann", "--expires", "999999999d"], "--expires"),
        (&["new"], "PRINCIPAL"),
        (
            &["list", "--store", "memory:"],
            "would be lost when this command ends",
        ),
        (
            &["new", "ann", "--store", &elsewhere],
            "unknown store scheme redis:",
        ),
        (&["revoke"], "ID|PRINCIPAL"),
    ] {
        let output = folder.run(&[&["token"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let text = stderr(&output);
        assert!(
            text.contains(message) && !text.contains(secret),
            "{arguments:?}: {text}"
        );
    }
    assert!(listed(&folder).is_empty());
}

#[test]
fn a_data_folder_that_cannot_be_written_is_reported_with_a_hint() {
    let folder = Folder::new();
    std::fs::write(folder.data(), "a file, where a folder should be").unwrap();
    let output = folder.run(&["token", "new", "ann"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("cannot read the tokens"), "{text}");
    assert!(text.contains("hint: set PANPAN_DATA"), "{text}");
    let without_folder = panpan(["token", "list"]).output().unwrap();
    assert_eq!(without_folder.status.code(), Some(2));
    assert!(
        stderr(&without_folder).contains("hint: set PANPAN_DATA"),
        "{}",
        stderr(&without_folder)
    );
}

#[test]
fn a_configured_store_replaces_the_default() {
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.0.join("other.db").display());
    folder.stdout(&["token", "new", "ann", "--store", &file]);
    assert!(listed(&folder).is_empty());
    let listed = panpan(["token", "list", "--json"])
        .env("PANPAN_STORE", &file)
        .output()
        .unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["principal"], "ann");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_folder_and_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.stdout(&["token", "new", "ann"]);
    for (path, expected) in [
        (folder.data(), 0o700),
        (folder.data().join("panpan.db"), 0o600),
    ] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn help_is_given_for_every_command() {
    for arguments in [&[][..], &["new"], &["list"], &["revoke"]] {
        let output = panpan([&["token"], arguments, &["--help"]].concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("--store"),
            "{arguments:?}"
        );
    }
}
