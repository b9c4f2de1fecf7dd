//! The first start: nothing is configured, nothing is there yet.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::Folder;
use crate::server::Server;

/// What the line after `try` says, run as it is.
fn tried(server: &Server, token: &str) -> Value {
    server.hear("stop with Ctrl-C");
    let said = server.said();
    let before = said
        .iter()
        .position(|line| line.starts_with("try"))
        .unwrap();
    let command = said[before + 1].trim();
    assert!(command.starts_with("curl "), "{command}");
    let output = Command::new("sh")
        .args(["-c", command])
        .env("PANPAN_TOKEN", token)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{command}: {output:?}"))
}

#[test]
fn a_server_starts_without_any_configuration_and_says_where_everything_is() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    server.hear("stop with Ctrl-C");
    let said = server.said().join("\n");
    let url = format!("http://{}", server.address);
    for part in [
        format!(" serves 15 operations at {url}\n"),
        format!("{url}/mcp\n"),
        format!("{url}/call, /batch, /subscribe, /operations/NAME"),
        format!("{url}/rpc\n"),
        format!("ws://{}/ws\n", server.address),
        format!("{url}/errors, /openapi.json, /contract.json, /healthz, /readyz, /metrics"),
        format!("sqlite:{}/panpan.db\n", folder.data().display()),
        "anyone who can reach it".to_owned(),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/errors",
        "/openapi.json",
    ] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let data = server.stopped().stdout;
    assert!(data.is_empty(), "talk does not belong on stdout");
}

#[test]
fn what_is_kept_is_for_nobody_elses_eyes() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    assert_eq!(server.order("k").status, 200);
    let mut kept = vec![(folder.data(), 0o700)];
    for entry in std::fs::read_dir(folder.data()).unwrap() {
        kept.push((entry.unwrap().path(), 0o600));
    }
    assert!(kept.len() > 1);
    for (path, expected) in kept {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn the_command_to_try_works_as_it_is_printed() {
    let folder = Folder::new();
    let token = folder.token("ann");
    let (certificate, key) = crate::refusals::certificate(&folder, "server");
    let tls = ["--tls-certificate", &certificate, "--tls-key", &key];
    let everywhere = ["--listen", "0.0.0.0:0", "--host", "panpan.example.com"];
    for flags in [
        &[][..],
        &["--allow-anonymous=false"],
        &tls,
        &[&everywhere[..], &tls].concat(),
    ] {
        let server = Server::start(&folder, flags);
        let answer = tried(&server, &token);
        assert_eq!(answer["code"], "DIVISION_BY_ZERO", "{flags:?}: {answer}");
    }
}
