//! Messages about invalid configurations.

use std::fs;

use super::*;

#[test]
fn every_invalid_call_setting_is_reported_with_its_line() {
    let text = r#"
[[openapi]]
file = "a.yaml"
timeout_ms = 0
retry = "sometimes"
patience_ms = -1
circuit = { row = 3, opens = 1 }
outputs = "loose"

[openapi.operations."list*"]
retry = { initial_delay_ms = 9000 }
circuit = { open_ms = 0 }

[[mcp_servers]]
namespace = "files"
command = ["npx"]
timeout_ms = 1000
call_timeout_seconds = 1
"#;
    let problems = Setup::file(text).problems();
    let expected = [
        "4:14: openapi.timeout_ms: invalid value: integer `0`, expected a nonzero u64",
        "5:9: openapi.retry: invalid value: string \"sometimes\", expected \"off\" or settings such as max_retries or categories",
        "6:15: openapi.patience_ms: invalid value: integer `-1`, expected u64",
        "7:22: openapi.circuit: unknown field `opens`",
        "8:11: openapi.outputs: unknown variant `loose`, expected `deliver` or `strict`",
        "11:9: openapi.operations.list*.retry: initial_delay_ms is 9000, above max_delay_ms 5000",
        "12:11: openapi.operations.list*.circuit: open_ms is 0: write at least 1",
        "14:1: mcp_servers: timeout_ms and call_timeout_seconds are the same setting; keep one",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (found, expected) in problems.iter().zip(expected) {
        let start = format!("panpan.toml:{expected}");
        assert!(found.starts_with(&start), "{found}");
    }
}

#[test]
fn a_problem_of_the_file_has_its_location_and_the_expected_value() {
    let number = "expected a whole number from 1 to 1000000, found";
    for (text, expected) in [
        (
            "listn = \"x\"",
            "1:1: listn: unknown setting; did you mean listen?",
        ),
        ("\n  colour = 1", "2:3: colour: unknown setting"),
        (
            "[limts]\nbatch = 1",
            "1:2: limts: unknown setting; did you mean limits?",
        ),
        (
            "[limits]\nbach = 1",
            "2:1: limits.bach: unknown setting; did you mean limits.batch?",
        ),
        (
            "batch = 1",
            "1:1: batch: unknown setting; did you mean limits.batch?",
        ),
        (
            "[limits]\nhead_timeout = 1",
            "2:1: limits.head_timeout: unknown setting; did you mean limits.head_timeout_seconds?",
        ),
        (
            "listen.port = 1",
            "1:1: listen: expected an address and a port, such as 127.0.0.1:7077, found a table",
        ),
        (
            "listen = \"localhost\"",
            "1:10: listen: expected an address and a port, such as 127.0.0.1:7077, found \"localhost\"",
        ),
        (
            "listen = 7077",
            "1:10: listen: expected an address and a port, such as 127.0.0.1:7077, found 7077",
        ),
        (
            "tls = true",
            "1:7: tls: expected a table, as in [tls], found true",
        ),
        (
            "[[log]]\nlevel = \"info\"",
            "1:1: log: expected a table, as in [log], found a list of other values",
        ),
        (
            "allow_anonymous = \"yes\"",
            "1:19: allow_anonymous: expected true or false, found \"yes\"",
        ),
        (
            "allow_anonymous = 1979-05-27",
            "1:19: allow_anonymous: expected true or false, found a date or a time",
        ),
        (
            "[limits]\nbatch = 0",
            &format!("2:9: limits.batch: {number} 0"),
        ),
        (
            "[limits]\nbatch = -1",
            &format!("2:9: limits.batch: {number} -1"),
        ),
        (
            "[limits]\nbatch = 1.5",
            &format!("2:9: limits.batch: {number} 1.5"),
        ),
        (
            "[limits]\nbatch = \"9\"",
            &format!("2:9: limits.batch: {number} \"9\""),
        ),
        (
            "[limits]\nbatch = 99999999999999999999",
            &format!("2:9: limits.batch: {number} 99999999999999999999"),
        ),
        (
            "hosts = \"a\"",
            "1:9: hosts: expected a list of host names, such as panpan.example.com or localhost:7077, found \"a\"",
        ),
        (
            "hosts = [\"a\", \"http://b\"]",
            "1:9: hosts: expected a list of host names, such as panpan.example.com or localhost:7077, found \"http://b\"",
        ),
        (
            "hosts = [1]",
            "1:9: hosts: expected a list of host names, such as panpan.example.com or localhost:7077, found a list of other values",
        ),
        (
            "origins = [\"https://a/b\"]",
            "1:11: origins: expected a list of origins, such as https://app.example.com, found \"https://a/b\"",
        ),
        (
            "mcp.tools = \"all\"",
            "1:13: mcp.tools: expected auto, each or search, found \"all\"",
        ),
        (
            "log.format = \"xml\"",
            "1:14: log.format: expected text or json, found \"xml\"",
        ),
        (
            "log.level = \"inof\"",
            "1:13: log.level: expected off, error, warn, info, debug or trace, or levels per target such as info,panpan=debug, found \"inof\"",
        ),
        (
            "[tls]\nkey = \"\"",
            "2:7: tls.key: expected the path of a PEM file with a private key, found \"\"",
        ),
        (
            "[tls]\nkey = \"key.pem\"",
            "2:7: tls.key: requires tls.certificate as well",
        ),
        (
            "[limits]\nburst = 5",
            "2:9: limits.burst: requires limits.calls_per_second as well",
        ),
        ("\"a\\nb\" = 1", "1:1: a\\nb: unknown setting"),
        ("'日本' = 1", "1:1: 日本: unknown setting"),
        (
            "log = { format = \"日本\", levl = 1 }",
            "1:18: log.format: expected text or json, found \"日本\"",
        ),
    ] {
        let problems = Setup::file(text).problems();
        assert_eq!(problems[0], format!("panpan.toml:{expected}"), "{text}");
    }
}

#[test]
fn invalid_toml_is_reported_with_its_line_and_the_rest_is_checked() {
    let problems =
        Setup::file("listen = \nhosts = [\"a b\"]\nlistn = 1\nstore = \"memory:\"\n").problems();
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(
        problems[0].starts_with("panpan.toml:1:10: invalid TOML: "),
        "{}",
        problems[0]
    );
    assert!(
        problems[1].starts_with("panpan.toml:2:9: hosts: "),
        "{}",
        problems[1]
    );
    assert!(
        problems[2].starts_with("panpan.toml:3:1: listn: "),
        "{}",
        problems[2]
    );
    let doubled = Setup::file("listen = \"[::1]:1\"\nlisten = \"[::1]:2\"\n").problems();
    assert!(
        doubled[0].starts_with("panpan.toml:2:1: invalid TOML: "),
        "{doubled:?}"
    );
}

#[test]
fn the_scopes_of_a_source_have_to_be_valid_in_tokens() {
    for (scopes, message) in [
        (r#"["pets:read", "pets:write"]"#, None),
        (r#"[""]"#, Some("the name of a scope is empty")),
        (r#"["pets read"]"#, Some("visible ASCII")),
        (r#""pets:read""#, Some("expected a sequence")),
    ] {
        for table in [
            "[[openapi]]\nfile = \"pets.yaml\"\n",
            "[[mcp_servers]]\nurl = \"https://mcp.example.com/mcp\"\n",
        ] {
            let setup = Setup::file(&format!("{table}scopes = {scopes}\n"));
            match message {
                None => drop(setup.config()),
                Some(message) => {
                    let problems = setup.problems();
                    assert!(problems[0].contains(message), "{problems:?}");
                }
            }
        }
    }
}

#[test]
fn a_server_rejects_settings_of_the_other_transport() {
    let (url, command) = (
        "url = \"https://mcp.example.com/mcp\"",
        "namespace = \"a\"\ncommand = [\"b\"]",
    );
    for (transport, extra, message) in [
        (url, "headers = { X-Key = \"k\" }", None),
        (command, "env = { KEY = \"k\" }", None),
        (
            url,
            "env = { KEY = \"k\" }",
            Some("for a server with a command"),
        ),
        (
            url,
            "directory = \"d\"",
            Some("for a server with a command"),
        ),
        (
            command,
            "headers = { X-Key = \"k\" }",
            Some("for a server with a url"),
        ),
        (
            "url = \"https://me:hunter2@mcp.example.com/mcp\"",
            "",
            Some("without credentials"),
        ),
    ] {
        let setup = Setup::file(&format!("[[mcp_servers]]\n{transport}\n{extra}\n"));
        match message {
            None => drop(setup.config()),
            Some(message) => {
                let problems = setup.problems().join("\n");
                assert!(problems.contains(message), "{extra}: {problems}");
                assert!(!problems.contains("hunter2"), "{problems}");
            }
        }
    }
}

#[test]
fn a_problem_of_a_variable_or_flag_names_it() {
    for (name, value, expected) in [
        (
            "PANPAN_LISTEN",
            "7077",
            "PANPAN_LISTEN: expected an address and a port, such as 127.0.0.1:7077, found \"7077\"",
        ),
        (
            "PANPAN_LIMITS_BATCH",
            "many",
            "PANPAN_LIMITS_BATCH: expected a whole number from 1 to 1000000, found \"many\"",
        ),
        (
            "PANPAN_ALLOW_ANONYMOUS",
            "yes",
            "PANPAN_ALLOW_ANONYMOUS: expected true or false, found \"yes\"",
        ),
        (
            "PANPAN_ORIGINS",
            "https://a, b",
            "PANPAN_ORIGINS: expected a list of origins, such as https://app.example.com, found \"b\"",
        ),
        (
            "PANPAN_TLS_KEY",
            "key.pem",
            "PANPAN_TLS_KEY: requires tls.certificate as well",
        ),
        (
            "PANPAN_LISTN",
            "x",
            "PANPAN_LISTN: unknown setting; did you mean PANPAN_LISTEN?",
        ),
        (
            "PANPAN_HOST",
            "x",
            "PANPAN_HOST: unknown setting; did you mean PANPAN_HOSTS?",
        ),
    ] {
        assert_eq!(
            Setup::default().with_variable(name, value).problems(),
            [expected]
        );
    }
    for (argument, expected) in [
        (
            "--listen=here",
            "--listen: expected an address and a port, such as 127.0.0.1:7077, found \"here\"",
        ),
        (
            "--allow-anonymous=no",
            "--allow-anonymous: expected true or false, found \"no\"",
        ),
        (
            "--host=a/b",
            "--host: expected a list of host names, such as panpan.example.com or localhost:7077, found \"a/b\"",
        ),
        (
            "--tls-certificate=c",
            "--tls-certificate: requires tls.key as well",
        ),
        (
            "--tools=",
            "--tools: expected auto, each or search, found \"\"",
        ),
    ] {
        assert_eq!(
            Setup::default().with_argument(argument).problems(),
            [expected]
        );
    }
}

#[test]
fn variables_of_other_programs_are_ignored() {
    let defaults = Setup::default().config();
    for (name, value) in [
        ("PANPAN_PORT", "tcp://10.0.0.1:7077"),
        ("PANPAN_SERVICE_HOST", "10.0.0.1"),
        ("PANPAN_PORT_7077_TCP_ADDR", "10.0.0.1"),
        ("PANPAN_CONFIG", ""),
        ("PANPAN_LISTEN", ""),
        ("LISTEN", "x"),
    ] {
        assert_eq!(
            Setup::default().with_variable(name, value).config(),
            defaults,
            "{name}"
        );
    }
}

#[test]
fn all_problems_are_reported_at_once_in_order() {
    let problems = Setup::file("hosts = 1\nlistn = 1\n")
        .with_variable("PANPAN_LISTEN", "x")
        .with_variable("PANPAN_DRAIN_SECONDS", "-1")
        .with_argument("--log-format=xml")
        .with_argument("--listen=[::1]:1")
        .problems();
    let locations: Vec<&str> = problems
        .iter()
        .map(|it| it.split(": ").next().unwrap())
        .collect();
    let expected = [
        "panpan.toml:1:9",
        "panpan.toml:2:1",
        "PANPAN_DRAIN_SECONDS",
        "PANPAN_LISTEN",
        "--log-format",
    ];
    assert_eq!(locations, expected);
}

#[test]
fn a_password_is_never_printed() {
    let secret = "hunter2";
    let address = format!("postgres://app:{secret}@db:port/main");
    for setup in [
        Setup::file(&format!("store = \"{address}\"")),
        Setup::file(&format!("store = \"{secret}\"")),
        Setup::file(&format!("store = \"{address}")),
        Setup::file(&format!("store = [\"{address}\"]")),
        Setup::file(&format!("listen = \"{address}\"")),
        Setup::default().with_variable("PANPAN_STORE", &address),
        Setup::default().with_variable("PANPAN_STORE", secret),
        Setup::default().with_variable("PANPAN_LOG_LEVEL", &address),
        Setup::default().with_argument(&format!("--store={address}")),
    ] {
        let text = setup.problems().join("\n");
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn without_a_data_folder_the_problem_says_how_to_set_the_store() {
    let environment = BTreeMap::new();
    let text = Draft::default()
        .build(Vec::new(), &environment)
        .unwrap_err()
        .to_string();
    assert!(text.contains("store: no data folder"), "{text}");
    assert!(text.contains("PANPAN_DATA"), "{text}");
    let store = BTreeMap::from([("PANPAN_STORE".into(), "x".into())]);
    let text = Draft::default()
        .build(assignment::from_environment(&store), &environment)
        .unwrap_err()
        .to_string();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_file_that_is_named_has_to_be_readable() {
    let folder = std::env::temp_dir().join(format!("panpan-config-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let loaded = |name: &str, file: Option<&Path>| {
        let path = folder.join(name);
        let environment = [("PANPAN_DATA", folder.as_path()), ("PANPAN_CONFIG", &path)];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        load(file, environment, &Flags::<false>::default())
    };
    fs::write(folder.join("good.toml"), "drain_seconds = 5").unwrap();
    fs::write(folder.join("bytes.toml"), b"listen = \xff").unwrap();
    fs::write(folder.join("large.toml"), "#".repeat(64 * 1024 + 1)).unwrap();
    fs::write(folder.join("largest.toml"), "#".repeat(64 * 1024)).unwrap();
    assert_eq!(loaded("good.toml", None).unwrap().drain_seconds, 5);
    assert_eq!(
        loaded("none.toml", Some(&folder.join("good.toml")))
            .unwrap()
            .drain_seconds,
        5
    );
    assert_eq!(loaded("largest.toml", None).unwrap().drain_seconds, 30);
    for (name, message) in [
        ("none.toml", "cannot read the file"),
        ("bytes.toml", "UTF-8"),
        ("large.toml", "65536"),
    ] {
        let text = loaded(name, None).unwrap_err().to_string();
        assert!(text.contains(name) && text.contains(message), "{text}");
    }
    assert!(file::read(&folder.join("none.toml"), false).is_empty());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn no_file_makes_the_parser_panic() {
    let text = "listen = \"[::1]:1\"\nhosts = [\"ä\", \"b\"]\n[tls]\nkey = '''x'''\n[log]\nlevel = \"日本\"\n";
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        for garbage in ["", "=", "[", "\"", "{", "\u{0}", "\r"] {
            let _ = Setup::file(&format!("{}{garbage}", &text[..end])).load();
        }
    }
    let deep = format!("hosts = {}", "[".repeat(100_000));
    assert!(Setup::file(&deep).load().is_err());
}
