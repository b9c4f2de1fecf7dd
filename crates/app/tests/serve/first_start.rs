//! The first start, without any configuration.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use panpan_testkit::{Folder, Server};
use serde_json::Value;

/// Runs the command after `try` in the banner.
fn run_example(server: &Server, token: &str) -> Value {
    server.wait_for_line("stop with Ctrl-C");
    let lines = server.lines();
    let before = lines
        .iter()
        .position(|line| line.starts_with("try"))
        .unwrap();
    let command = lines[before + 1].trim();
    assert!(command.starts_with("curl "), "{command}");
    let output = Command::new("sh")
        .args(["-c", command])
        .env("PANPAN_TOKEN", token)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{command}: {output:?}"))
}

#[test]
fn the_banner_contains_all_addresses() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &[]);
    server.wait_for_line("stop with Ctrl-C");
    let banner = server.lines().join("\n");
    let url = format!("http://{}", server.address);
    for part in [
        format!(" serves 29 built-in operations at {url}\n"),
        format!("{url}/mcp\n"),
        format!("{url}/call, /batch, /subscribe, /operations/NAME"),
        format!("{url}/rpc\n"),
        format!("ws://{}/ws\n", server.address),
        format!("{url}/errors, /openapi.json, /contract.json, /healthz, /readyz, /metrics"),
        format!("sqlite:{}/panpan.db\n", folder.data().display()),
        "everyone who can connect".to_owned(),
    ] {
        assert!(banner.contains(&part), "{part}: {banner}");
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
    let stdout = server.stop().stdout;
    assert!(stdout.is_empty(), "messages belong on stderr");
}

#[test]
fn only_the_owner_can_read_the_data() {
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    assert_eq!(server.order("k").status, 200);
    let mut paths = vec![(folder.data(), 0o700)];
    for entry in std::fs::read_dir(folder.data()).unwrap() {
        paths.push((entry.unwrap().path(), 0o600));
    }
    assert!(paths.len() > 1);
    for (path, expected) in paths {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn the_example_in_the_banner_works() {
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
        let answer = run_example(&server, &token);
        assert_eq!(answer["code"], "DIVISION_BY_ZERO", "{flags:?}: {answer}");
    }
}
