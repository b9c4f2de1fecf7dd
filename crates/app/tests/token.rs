//! `panpan token` as a person or a script meets it, each command a process of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// An empty folder that goes away with the test; one level below it data is kept.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-token-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        panpan(arguments)
            .env("PANPAN_DATA", self.data())
            .output()
            .unwrap()
    }

    /// Runs a command that goes well, and gives what it printed.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn listed(&self) -> Vec<Value> {
        serde_json::from_str(&self.printed(&["token", "list", "--json"])).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn panpan(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panpan"));
    command.args(arguments);
    for name in [
        "PANPAN_STORE",
        "PANPAN_DATA",
        "XDG_DATA_HOME",
        "HOME",
        "LOCALAPPDATA",
    ] {
        command.env_remove(name);
    }
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn is_token(text: &str) -> bool {
    text.len() == "panpan_".len() + 12 + 1 + 64 && text.starts_with("panpan_")
}

#[test]
fn a_new_token_stands_alone_on_stdout_and_what_it_may_do_on_stderr() {
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
    let said = stderr(&output);
    assert!(!said.contains(token) && !said.contains(token.rsplit('_').next().unwrap()));
    for part in [
        "ann",
        "scope orders",
        "resource disk",
        "resource file:write",
        "2999-01-01T00:00:00Z",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let [listed] = &folder.listed()[..] else {
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
fn a_token_is_made_listed_and_revoked_and_every_process_sees_it() {
    let folder = Folder::new();
    let told: Value =
        serde_json::from_str(&folder.printed(&["token", "new", "ann", "--json"])).unwrap();
    assert!(is_token(told["token"].as_str().unwrap()));
    let first = told["id"].as_str().unwrap();
    folder.printed(&["token", "new", "ann"]);
    folder.printed(&["token", "new", "bob"]);
    let state = |id: &str| {
        let listed = folder.listed();
        let found = listed.iter().find(|token| token["id"] == id).unwrap();
        found["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(first), "valid");
    assert_eq!(folder.printed(&["token", "revoke", first]), "");
    assert_eq!(state(first), "revoked");
    let again = folder.run(&["token", "revoke", first]);
    assert_eq!(again.status.code(), Some(0));
    assert!(
        stderr(&again).contains("was revoked before at 2"),
        "{}",
        stderr(&again)
    );
    folder.printed(&["token", "revoke", "ann"]);
    let table = folder.printed(&["token", "list"]);
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
fn a_name_nothing_goes_by_is_answered_with_the_nearest_and_exit_1() {
    let folder = Folder::new();
    let token = folder.printed(&["token", "new", "deployer"]);
    for (asked, said) in [
        ("deploier", "did you mean deployer?"),
        ("nobody-at-all", "`panpan token list` shows every token"),
    ] {
        let output = folder.run(&["token", "revoke", asked]);
        assert_eq!(output.status.code(), Some(1), "{asked}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
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
fn without_tokens_the_list_is_empty_and_says_how_to_make_one() {
    let folder = Folder::new();
    let output = folder.run(&["token", "list"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(
        stderr(&output).contains("panpan token new"),
        "{}",
        stderr(&output)
    );
    assert!(folder.listed().is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_and_makes_no_token() {
    let folder = Folder::new();
    let secret = "s3cr3t";
    let elsewhere = format!("postgres://app:{secret}@db/main");
    for (arguments, said) in [
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
        (&["new", "ann", "--expires", "soon"], "as 30d or 12h"),
        (
            &["new", "ann", "--expires", "2001-01-01"],
            "would never be valid",
        ),
        (&["new", "ann", "--expires", "999999999d"], "--expires"),
        (&["new"], "PRINCIPAL"),
        (
            &["list", "--store", "memory:"],
            "would be gone when this command ends",
        ),
        (
            &["new", "ann", "--store", &elsewhere],
            "postgres: is no kind of store",
        ),
        (&["revoke"], "ID|PRINCIPAL"),
    ] {
        let output = folder.run(&[&["token"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let told = stderr(&output);
        assert!(
            told.contains(said) && !told.contains(secret),
            "{arguments:?}: {told}"
        );
    }
    assert!(folder.listed().is_empty());
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_with_a_way_out() {
    let folder = Folder::new();
    std::fs::write(folder.data(), "a file, where a folder should be").unwrap();
    let output = folder.run(&["token", "new", "ann"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("cannot get at the tokens"), "{said}");
    assert!(said.contains("hint: set PANPAN_DATA"), "{said}");
    let homeless = panpan(&["token", "list"]).output().unwrap();
    assert_eq!(homeless.status.code(), Some(2));
    assert!(
        stderr(&homeless).contains("hint: set PANPAN_DATA"),
        "{}",
        stderr(&homeless)
    );
}

#[test]
fn a_named_store_is_used_instead_of_the_usual_one() {
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.0.join("other.db").display());
    folder.printed(&["token", "new", "ann", "--store", &file]);
    assert!(folder.listed().is_empty());
    let listed = panpan(&["token", "list", "--json"])
        .env("PANPAN_STORE", &file)
        .output()
        .unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["principal"], "ann");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_look_into_the_folder_or_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.printed(&["token", "new", "ann"]);
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
        let output = panpan(&[&["token"], arguments, &["--help"]].concat())
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
