//! What keeps a server from starting: a plain sentence, a hint, exit 2.

use std::net::TcpListener;
use std::process::{Command, Output};

use crate::{Folder, ran, talk};

/// A certificate for this machine and its key, made for the test.
pub(crate) fn certificate(folder: &Folder, name: &str) -> (String, String) {
    let path = |end: &str| format!("{}/{name}.{end}.pem", folder.0.display());
    let (certificate, key) = (path("certificate"), path("key"));
    let made = Command::new("openssl")
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
    assert!(made.status.success(), "{made:?}");
    (certificate, key)
}

fn refused(output: &Output, sentence: &str) {
    let said = talk(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    assert!(said.contains(sentence), "{sentence}: {said}");
    let hinted = said.contains("\nhint: ") || said.contains("\n  tip: ");
    assert!(hinted, "{said}");
    assert!(
        !said.contains("serves") && !said.contains("hunter2"),
        "{said}"
    );
}

fn check(folder: &Folder, flags: &[&str], sentence: &str) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
    refused(&folder.ran(&arguments), sentence);
}

#[test]
fn an_address_that_cannot_be_listened_on_is_named() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    for (address, sentence) in [
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
            &sentence,
        );
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_named() {
    let folder = Folder::new();
    let text = folder.file("notes.txt", &"this is no database. ".repeat(50));
    let here = folder.0.to_str().unwrap();
    for (store, sentence) in [
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
    ] {
        check(&folder, &["--store", &store], &sentence);
    }
    let before = std::fs::read_to_string(&text).unwrap();
    assert!(
        before.starts_with("this is no database"),
        "it is left as it was"
    );
}

#[test]
fn a_data_folder_that_cannot_be_made_is_named_with_a_way_out() {
    let folder = Folder::new();
    folder.file("data", "a file, where a folder should be");
    check(
        &folder,
        &[],
        "panpan: cannot serve: cannot open the store: ",
    );
    let output = folder.ran(&["serve"]);
    assert!(talk(&output).contains("hint: set PANPAN_DATA"));
    let mut homeless = folder.panpan(&["serve", "--listen", "127.0.0.1:0"]);
    let output = ran(homeless.env_remove("PANPAN_DATA"));
    refused(&output, "there is no place to keep data");
}

#[test]
fn a_word_that_is_misspelled_is_answered_with_the_nearest() {
    let folder = Folder::new();
    check(&folder, &["--lisden", "x"], "'--listen'");
    let output = folder.ran(&["serf"]);
    refused(&output, "'serve'");
}

#[test]
fn all_that_is_wrong_with_a_file_is_told_at_once_with_its_lines() {
    let folder = Folder::new();
    folder.file("panpan.toml", "drain_seconds = -1\n\n[limits]\nbtach = 3\n");
    let told = [
        "panpan.toml:1:17: drain_seconds: expected a whole number from 0 to 3600, found -1\n",
        "panpan.toml:4:1: limits.btach: there is no such setting; did you mean limits.batch?\n",
    ];
    for sentence in told {
        check(&folder, &[], sentence);
    }
    check(
        &folder,
        &["--config", "nowhere.toml"],
        "nowhere.toml: the file cannot be read",
    );
}

#[test]
fn tls_that_cannot_be_served_names_the_file() {
    let folder = Folder::new();
    let (certificate, key) = self::certificate(&folder, "one");
    let (_, other_key) = self::certificate(&folder, "other");
    let empty = folder.file("empty.pem", "");
    for (certificate, key, sentence) in [
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
        check(&folder, &flags, &sentence);
    }
    check(
        &folder,
        &["--tls-key", &key],
        "--tls-key: this means nothing without tls.certificate",
    );
}
