//! Valid configurations, with every setting of the table.

mod problems;

use std::collections::BTreeSet;

use clap::{CommandFactory as _, Parser as _};

use super::settings::SETTINGS;
use super::*;

/// A configuration under test: a text for the file, variables, arguments.
#[derive(Clone, Debug, Default)]
struct Setup {
    file: String,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Setup {
    fn file(text: &str) -> Self {
        Self::default().with_file(text)
    }

    fn with_file(mut self, text: &str) -> Self {
        self.file += text;
        self
    }

    fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with_argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    fn load(&self) -> Result<Config, Problems> {
        let mut assignments = file::parse(Path::new("panpan.toml"), &self.file);
        let home = ("HOME".to_owned(), "/home/ann".to_owned());
        let local = ("LOCALAPPDATA".to_owned(), "/home/ann".to_owned());
        let variables = self.variables.iter().cloned().chain([home, local]);
        let environment = variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        assignments.extend(assignment::from_environment(&environment));
        assignments.extend(flags(&self.arguments).assignments());
        Draft::default().build(assignments, &environment)
    }

    fn config(&self) -> Config {
        self.load()
            .unwrap_or_else(|problems| panic!("{self:?}: {problems}"))
    }

    /// The lines about problems, without the heading.
    fn problems(&self) -> Vec<String> {
        let text = self
            .load()
            .map(|config| panic!("{config:?}"))
            .unwrap_err()
            .to_string();
        text.lines()
            .skip(1)
            .map(|line| line.trim_start().to_owned())
            .collect()
    }
}

/// A command that takes the flags as `serve` does.
#[derive(Debug, clap::Parser)]
#[command(no_binary_name = true)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
}

fn flags(arguments: &[String]) -> Flags {
    Cli::try_parse_from(arguments).unwrap().flags
}

#[test]
fn all_settings_have_defaults() {
    let config = Setup::default().config();
    assert_eq!(config.listen.to_string(), "127.0.0.1:7077");
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.allow_anonymous, config.tls), (None, None));
    assert_eq!(
        (config.log.level.as_str(), config.log.format),
        ("info", LogFormat::Text)
    );
    assert_eq!((config.tools, config.drain_seconds), (ToolForm::Auto, 30));
    let StoreAddress::Sqlite(file) = config.store else {
        panic!("the default is a file");
    };
    assert!(
        file.starts_with("/home/ann") && file.ends_with("panpan.db"),
        "{file:?}"
    );
}

#[test]
fn a_whole_file_is_read() {
    let config = Setup::file(
        r#"
        listen = "[::1]:8080"
        store = "sqlite:data/panpan.db"
        allow_anonymous = false
        hosts = ["panpan.example.com", "localhost:7077", "[::1]:7077"]
        origins = ["https://app.example.com", "http://localhost:3000"]
        drain_seconds = 0

        [tls]
        certificate = "/etc/panpan/certificate.pem"
        key = "key.pem"

        [mcp]
        tools = "search"

        [log]
        level = "info,panpan=debug"
        format = "json"

        [limits]
        batch = 1_000
        calls_per_second = 0x10
        burst = 20
        head_timeout_seconds = 5
        "#,
    )
    .config();
    assert_eq!(config.listen.to_string(), "[::1]:8080");
    assert_eq!(config.store, StoreAddress::Sqlite("data/panpan.db".into()));
    assert_eq!(
        (config.allow_anonymous, config.drain_seconds),
        (Some(false), 0)
    );
    assert_eq!((config.hosts.len(), config.origins.len()), (3, 2));
    assert_eq!(config.tls.unwrap().key, Path::new("key.pem"));
    assert_eq!(
        (config.tools, config.log.format),
        (ToolForm::Search, LogFormat::Json)
    );
    let limits = config.limits;
    assert_eq!((limits.batch, limits.head_timeout.as_secs()), (1000, 5));
    assert_eq!(limits.calls_per_second.unwrap().get(), 16);
    assert_eq!(limits.body_timeout, Limits::default().body_timeout);
}

#[test]
fn paths_in_the_file_are_relative_to_its_folder() {
    let text = "store = \"sqlite:a.db\"\ntls.key = \"/abs/k\"\ntls.certificate = \"c\"";
    let assignments = file::parse(Path::new("/etc/panpan/panpan.toml"), text);
    let config = Draft::default()
        .build(assignments, &BTreeMap::new())
        .unwrap();
    assert_eq!(
        config.store,
        StoreAddress::Sqlite("/etc/panpan/a.db".into())
    );
    let tls = config.tls.unwrap();
    assert_eq!(
        (tls.certificate, tls.key),
        ("/etc/panpan/c".into(), "/abs/k".into())
    );
    let config = Setup::default()
        .with_argument("--store=sqlite:a.db")
        .config();
    assert_eq!(config.store, StoreAddress::Sqlite("a.db".into()));
}

/// Three different values of a setting, as written in a variable, and another setting that it requires.
fn samples(setting: &Setting) -> ([&'static str; 3], Option<(&'static str, &'static str)>) {
    let samples = match (setting.name, setting.kind) {
        ("store_mb" | "keys_kept_hours", _) => ["37", "38", "39"],
        (_, Kind::Number(..)) => ["7", "8", "9"],
        (_, Kind::Boolean(_)) => ["true", "false", "true"],
        ("listen", _) => ["[::1]:1", "[::1]:2", "[::1]:3"],
        ("store", _) => ["sqlite:a", "sqlite:b", "sqlite:c"],
        ("mcp.tools", _) => ["each", "search", "each"],
        ("log.level", _) => ["warn", "debug", "trace"],
        ("log.format", _) => ["json", "text", "json"],
        ("hosts", _) => ["a", "b", "c"],
        ("origins", _) => ["a://a", "b://b", "c://c"],
        ("tls.certificate" | "tls.key" | "overlays", _) => ["a", "b", "c"],
        ("openapi", _) => ["a.json", "b.json@https://b", "c=a.json"],
        ("allowed_hosts", _) => ["a.internal", "10.0.0.0/8", "b:80"],
        ("mcp_servers", _) => ["https://a", "b=https://a", "c=https://a"],
        ("mcp_commands", _) => ["a", "b c", "d=a"],
        ("builtin", _) => ["none", "json", "services"],
        ("enable", _) => ["http/call", "a/b", "c/d"],
        ("tasks.operation_limits", _) => ["a/b=1", "a/b=2", "c/d=1"],
        ("tasks.webhook_secret", _) => [
            "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB",
            "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC",
            "whsec_Q0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0ND",
        ],
        (name, _) => panic!("{name} has no samples"),
    };
    let other = match setting.name {
        "tls.certificate" => Some(("PANPAN_TLS_KEY", "k")),
        "tls.key" => Some(("PANPAN_TLS_CERTIFICATE", "k")),
        "limits.burst" => Some(("PANPAN_LIMITS_CALLS_PER_SECOND", "5")),
        _ => None,
    };
    (samples, other)
}

fn line(setting: &Setting, value: &str) -> String {
    let name = setting.name;
    match setting.kind {
        Kind::Number(..) | Kind::Boolean(_) => format!("{name} = {value}\n"),
        Kind::Text(..) => format!("{name} = \"{value}\"\n"),
        Kind::List(..) => format!("{name} = [\"{value}\"]\n"),
    }
}

#[test]
fn for_every_setting_a_flag_overrides_a_variable_and_a_variable_the_file() {
    for setting in &SETTINGS {
        let ([in_file, in_variable, in_flag], other) = samples(setting);
        let base = other.iter().fold(Setup::default(), |setup, (name, value)| {
            setup.with_variable(name, value)
        });
        let file = |setup: Setup| setup.with_file(&line(setting, in_file));
        let variable = |setup: Setup| setup.with_variable(&setting.variable(), in_variable);
        let by_file = file(base.clone()).config();
        let by_variable = variable(base.clone()).config();
        assert_ne!(by_file, by_variable, "{}", setting.name);
        assert_eq!(
            variable(file(base.clone())).config(),
            by_variable,
            "{}",
            setting.name
        );
        let Some(flag) = &setting.flag else { continue };
        let argument = format!("--{}={in_flag}", flag.name);
        let flag = |setup: Setup| setup.with_argument(&argument);
        let by_flag = flag(base.clone()).config();
        assert_ne!(by_flag, by_variable, "{}", setting.name);
        assert_eq!(
            flag(variable(file(base))).config(),
            by_flag,
            "{}",
            setting.name
        );
    }
}

#[test]
fn every_number_is_read_within_its_range_and_not_beyond() {
    for setting in &SETTINGS {
        let Kind::Number(from, to, _) = setting.kind else {
            continue;
        };
        let (_, other) = samples(setting);
        let base = other.iter().fold(Setup::default(), |setup, (name, value)| {
            setup.with_variable(name, value)
        });
        let with = |number: u64| {
            base.clone()
                .with_variable(&setting.variable(), &number.to_string())
        };
        for number in [from, to] {
            with(number).config();
        }
        let beyond = [from.checked_sub(1), Some(to + 1)];
        for number in beyond.into_iter().flatten() {
            assert_eq!(
                with(number).problems().len(),
                1,
                "{} {number}",
                setting.name
            );
        }
    }
}

#[test]
fn the_limit_of_a_body_has_a_limit() {
    let stated = |bytes: u64| {
        let variable = "PANPAN_LIMITS_BODY_BYTES";
        Setup::default().with_variable(variable, &bytes.to_string())
    };
    let largest = 64 * 1024 * 1024;
    assert_eq!(stated(largest).config().limits.body_bytes as u64, largest);
    assert_eq!(stated(largest + 1).problems().len(), 1);
}

#[test]
fn every_limit_has_a_setting() {
    let limits = SETTINGS.iter().filter(|it| it.table() == Some("limits"));
    let config = limits.fold(Setup::default(), |setup, setting| {
        setup.with_variable(&setting.variable(), "7")
    });
    // Without `..`, so that a new limit does not compile until it is checked here.
    let Limits {
        body_bytes,
        batch,
        calls_per_second,
        burst,
        calls_in_flight,
        calls_in_flight_per_caller,
        streams,
        streams_per_caller,
        connections,
        connections_per_address,
        unread_bytes,
        unread_bytes_per_caller,
        head_timeout,
        body_timeout,
        write_timeout,
    } = config.config().limits;
    for count in [
        body_bytes,
        batch,
        calls_in_flight,
        calls_in_flight_per_caller,
        streams,
        streams_per_caller,
        connections,
        connections_per_address,
        unread_bytes,
        unread_bytes_per_caller,
    ] {
        assert_eq!(count, 7);
    }
    for rate in [calls_per_second, burst] {
        assert_eq!(rate.unwrap().get(), 7);
    }
    for timeout in [head_timeout, body_timeout, write_timeout] {
        assert_eq!(timeout.as_secs(), 7);
    }
}

#[test]
fn names_variables_and_flags_are_unique() {
    let names: BTreeSet<&str> = SETTINGS.iter().map(|it| it.name).collect();
    let variables: BTreeSet<String> = SETTINGS.iter().map(Setting::variable).collect();
    let flags: Vec<&str> = SETTINGS
        .iter()
        .filter_map(|it| Some(it.flag.as_ref()?.name))
        .collect();
    assert_eq!(
        (names.len(), variables.len()),
        (SETTINGS.len(), SETTINGS.len())
    );
    assert_eq!(flags.iter().collect::<BTreeSet<_>>().len(), flags.len());
    assert!(variables.contains("PANPAN_LIMITS_BATCH") && variables.contains("PANPAN_STORE"));
}

#[test]
fn flags_are_parsed_and_their_debug_form_hides_the_values() {
    let arguments = [
        "--config=a.toml",
        "--host=a",
        "--host=b",
        "--allow-anonymous",
        "--log-level=warn",
    ];
    let flags = flags(&arguments.map(str::to_owned));
    assert_eq!(
        format!("{flags:?}"),
        "Flags { config: Some(\"a.toml\"), .. }"
    );
    assert_eq!(flags.config.as_deref(), Some(Path::new("a.toml")));
    let config = Draft::default()
        .build(
            flags.assignments(),
            &BTreeMap::from([("PANPAN_DATA".into(), "d".into())]),
        )
        .unwrap();
    assert_eq!(
        (config.hosts, config.allow_anonymous),
        (vec!["a".to_owned(), "b".to_owned()], Some(true))
    );
    Cli::command().debug_assert();
}

#[test]
fn every_setting_is_documented() {
    let guide = include_str!("../../../../docs/configuration.md");
    for setting in &SETTINGS {
        let flag = setting.flag.as_ref();
        let flag = flag.map_or_else(String::new, |flag| format!("`--{}`", flag.name));
        let row = format!("| `{}` | `{}` | {flag}", setting.name, setting.variable());
        assert!(guide.contains(row.trim_end()), "{row}");
    }
}

#[test]
fn call_settings_are_read_for_services_and_servers() {
    use panpan_contract::circuit::CircuitRule;
    use panpan_contract::operation::{CallSettings, Outputs, Redaction, TaskUse};
    use panpan_contract::retry::RetryRule;
    let config = Setup::file(
        r#"
[[openapi]]
file = "billing.yaml"
timeout_ms = 120000
retry = "off"
patience_ms = 0
circuit = "off"
outputs = "strict"
redaction = "strict"
key_argument = false
task = "preferred"

[openapi.operations."list*"]
retry = { categories = ["NETWORK"] }

[[mcp_servers]]
namespace = "files"
command = ["npx"]
call_timeout_seconds = 20
circuit = { row = 2 }

[mcp_servers.operations.read_file]
timeout_ms = 5
"#,
    )
    .config();
    let calls = &config.sources.services[0].calls;
    let all = CallSettings {
        timeout_ms: 120_000.try_into().ok(),
        retry: Some(RetryRule::OFF),
        patience_ms: Some(0),
        circuit: Some(CircuitRule::Off),
        outputs: Some(Outputs::Strict),
        redaction: Some(Redaction::Strict),
        key_argument: Some(false),
        task: Some(TaskUse::Preferred),
    };
    assert_eq!(calls.all, all);
    assert_eq!(calls.by_name[0].0, "billing/list*");
    let calls = &config.sources.servers[0].calls;
    assert_eq!(calls.all.timeout_ms, 20_000.try_into().ok());
    assert_eq!(calls.by_name[0].0, "files/read_file");
    assert!(matches!(calls.all.circuit, Some(CircuitRule::On(it)) if it.row == 2));
}
