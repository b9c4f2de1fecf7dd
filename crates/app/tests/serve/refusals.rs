//! Why a server does not start: a message, a hint and exit code 2.

use std::net::TcpListener;
use std::process::{Command, Output};

use panpan_testkit::{Folder, run, stderr};

/// Creates a certificate for localhost and its key.
pub(crate) fn certificate(folder: &Folder, name: &str) -> (String, String) {
    let path = |end: &str| format!("{}/{name}.{end}.pem", folder.0.display());
    let (certificate, key) = (path("certificate"), path("key"));
    let created = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args([
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(created.status.success(), "{created:?}");
    (certificate, key)
}

fn check_output(output: &Output, message: &str) {
    let messages = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{messages}");
    assert!(output.stdout.is_empty());
    assert!(messages.contains(message), "{message}: {messages}");
    let has_hint = messages.contains("\nhint: ") || messages.contains("\n  tip: ");
    assert!(has_hint, "{messages}");
    assert!(
        !messages.contains("serves") && !messages.contains("hunter2"),
        "{messages}"
    );
}

fn check(folder: &Folder, flags: &[&str], message: &str) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
    check_output(&folder.run(&arguments), message);
}

#[test]
fn an_address_that_cannot_be_used_is_reported() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    for (address, message) in [
        (
            taken.to_string(),
            format!("panpan: cannot serve: another program already listens on {taken}\n"),
        ),
        (
            "192.0.2.1:0".to_owned(),
            "panpan: cannot serve: this machine does not have the address 192.0.2.1:0\n".to_owned(),
        ),
        (
            "localhost".to_owned(),
            "--listen: expected an address and a port".to_owned(),
        ),
    ] {
        check(
            &folder,
            &["--allow-anonymous", "--listen", &address],
            &message,
        );
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_reported() {
    let folder = Folder::new();
    let text = folder.file("notes.txt", "this is no database. ".repeat(50));
    let here = folder.0.to_str().unwrap();
    for (store, message) in [
        (format!("sqlite:{here}"), format!("{here} is a folder")),
        (
            format!("sqlite:{text}"),
            format!("{text} is not a database"),
        ),
        (
            format!("sqlite:{text}/x/panpan.db"),
            "cannot create the folder".to_owned(),
        ),
        (
            "redis://ann:hunter2@host".to_owned(),
            "expected sqlite:PATH".to_owned(),
        ),
        (
            "postgres://ann:hunter2@127.0.0.1:1/main".to_owned(),
            "cannot connect to postgres://ann@127.0.0.1:1/main".to_owned(),
        ),
    ] {
        check(&folder, &["--store", &store], &message);
    }
    let before = std::fs::read_to_string(&text).unwrap();
    assert!(
        before.starts_with("this is no database"),
        "the file is unchanged"
    );
}

#[test]
fn a_data_folder_that_cannot_be_created_is_reported_with_a_hint() {
    let folder = Folder::new();
    folder.file("data", "a file, where a folder should be");
    check(
        &folder,
        &[],
        "panpan: cannot serve: cannot open the store: ",
    );
    let output = folder.run(&["serve"]);
    assert!(stderr(&output).contains("hint: set PANPAN_DATA"));
    let mut without_folder = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let output = run(without_folder.env_remove("PANPAN_DATA"), b"");
    check_output(&output, "no data folder");
}

#[test]
fn a_misspelled_argument_gets_a_suggestion() {
    let folder = Folder::new();
    check(&folder, &["--lisden", "x"], "'--listen'");
    let output = folder.run(&["serf"]);
    check_output(&output, "'serve'");
}

#[test]
fn all_problems_of_the_file_are_reported_with_their_lines() {
    let folder = Folder::new();
    folder.file("panpan.toml", "drain_seconds = -1\n\n[limits]\nbtach = 3\n");
    let problems = [
        "panpan.toml:1:17: drain_seconds: expected a whole number from 0 to 3600, found -1\n",
        "panpan.toml:4:1: limits.btach: unknown setting; did you mean limits.batch?\n",
    ];
    for problem in problems {
        check(&folder, &[], problem);
    }
    check(
        &folder,
        &["--config", "nowhere.toml"],
        "nowhere.toml: cannot read the file",
    );
}

#[test]
fn invalid_tls_files_are_reported() {
    let folder = Folder::new();
    let (certificate, key) = self::certificate(&folder, "one");
    let (_, other_key) = self::certificate(&folder, "other");
    let empty = folder.file("empty.pem", "");
    for (certificate, key, message) in [
        (
            "nowhere.pem",
            &*key,
            "panpan: cannot serve TLS: cannot read nowhere.pem".to_owned(),
        ),
        (
            &*certificate,
            "nowhere.pem",
            "cannot read nowhere.pem".to_owned(),
        ),
        (&empty, &key, format!("there is no certificate in {empty}")),
        (
            &certificate,
            &empty,
            format!("there is no private key in {empty}"),
        ),
        (
            &certificate,
            &other_key,
            format!("{certificate} cannot be used with the key in {other_key}"),
        ),
    ] {
        let flags = ["--tls-certificate", certificate, "--tls-key", key];
        check(&folder, &flags, &message);
    }
    check(
        &folder,
        &["--tls-key", &key],
        "--tls-key: requires tls.certificate as well",
    );
}
