//! The options of `panpan call`, and the environment variables that replace missing options.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::ColorChoice;
use panpan_failure::dialect::Dialect;
use panpan_redact::Secret;
use panpan_runtime::IdempotencyKey;
use panpan_upstream::remote::RemoteSettings;

use super::super::error::Hinted;
use super::super::translate::dialects;
use crate::data_folder;
use crate::files;
use crate::store::StoreAddress;

/// The default server.
const DEFAULT_SERVER: &str = "http://127.0.0.1:7077";
/// How long to wait for a silent server. The server itself enforces the timeouts of operations, which may be long.
const SERVER_TIMEOUT: Duration = Duration::from_secs(600);
/// The maximum size of a file with a token or certificates.
const FILE_BYTES_LIMIT: usize = 1024 * 1024;

/// The options of `panpan call`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 the operation failed, 2 the call could not be made, 130 interrupted by Ctrl-C.

Examples:
  panpan call demo/divide dividend=4 divisor=2
  panpan call demo/order --key order-7 '{\"item\": \"tea\"}'
  echo '{\"text\": \"hello\"}' | panpan call demo/echo -
  panpan call --local demo/fail code=ERR_HTTP_429_RATE_LIMITED --dialect problem")]
pub(in crate::cli) struct Args {
    /// The operation, such as demo/echo
    pub(super) operation: String,
    /// The input: one JSON document, @FILE, - for stdin, or members as KEY=VALUE. A value that is valid JSON is used
    /// as JSON ('"7"' is a string), any other value as a string; a.b=1 sets a nested member
    #[arg(allow_negative_numbers = true)]
    pub(super) input: Vec<String>,
    /// The URL of the server [default: PANPAN_SERVER, or http://127.0.0.1:7077]
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    server: Option<String>,
    /// Call a built-in operation in this process, without a server
    #[arg(long)]
    local: bool,
    /// With --local, the store for outcomes of keyed calls: sqlite:PATH, postgres://USER:PASSWORD@HOST:PORT/DATABASE
    /// or memory: [default: PANPAN_STORE, or panpan.db in your data folder]
    // Not parsed by clap, whose message would repeat an invalid address with its password.
    #[arg(long, value_name = "ADDRESS", requires = "local")]
    store: Option<String>,
    /// The idempotency key: calls with the same key run the operation once
    #[arg(long, value_parser = IdempotencyKey::new)]
    pub(super) key: Option<IdempotencyKey>,
    /// The seed for the jitter of retry delays, to reproduce them
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seed: Option<i64>,
    /// The deadline of the call including all retries: 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(super) timeout: Option<u64>,
    /// Print the outcome as JSON in this dialect
    #[arg(long, value_parser = dialects())]
    pub(super) dialect: Option<Dialect>,
    /// The file with the caller's token [default: PANPAN_TOKEN, not used with --local]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file with certificates to trust besides those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "local")]
    ca: Option<PathBuf>,
    /// Print failures as JSON on stdout, even on a terminal
    #[arg(long)]
    pub(super) json: bool,
    /// When to use colour; NO_COLOR turns it off
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// Where the operation is called.
#[derive(Debug)]
pub(super) enum Target {
    /// In this process.
    Local {
        store: StoreAddress,
        token: Option<Secret<String>>,
    },
    Server(RemoteSettings),
}

impl Args {
    /// Where the operation is called.
    pub(super) fn target(&self) -> anyhow::Result<Target> {
        let token = self.token_file.as_deref().map(read_token).transpose()?;
        if self.local {
            let store = match &self.store {
                Some(store) => Some(store.clone()),
                None => environment("PANPAN_STORE")?,
            };
            let store = data_folder::store_address(store.as_deref())?;
            return Ok(Target::Local { store, token });
        }
        let token = match token {
            Some(token) => Some(token),
            None => environment("PANPAN_TOKEN")?.map(Secret::new),
        };
        Ok(Target::Server(RemoteSettings {
            url: match &self.server {
                Some(server) => server.clone(),
                None => environment("PANPAN_SERVER")?.unwrap_or_else(|| DEFAULT_SERVER.to_owned()),
            },
            token,
            ca: self.ca.as_deref().map(read_file).transpose()?,
            timeout: SERVER_TIMEOUT,
        }))
    }
}

/// The value of a variable; an empty variable counts as unset.
fn environment(name: &str) -> anyhow::Result<Option<String>> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.into_string();
    // The value may be a secret and is not repeated.
    let not_utf8 = |_| Hinted::new(format!("{name} is not UTF-8"), "set the variable again");
    Ok(Some(text.map_err(not_utf8)?))
}

fn read_token(path: &Path) -> anyhow::Result<Secret<String>> {
    let text = String::from_utf8(read_file(path)?).unwrap_or_default();
    let token = text.trim();
    if token.is_empty() {
        let message = format!("{} contains no token", path.display());
        return Err(Hinted::new(message, "write the token into the file, on one line").into());
    }
    Ok(Secret::new(token.to_owned()))
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    files::read_file(path, FILE_BYTES_LIMIT).with_context(|| {
        let hint = "check that it is the right file and that you may read it";
        Hinted::new(format!("cannot read {}", path.display()), hint)
    })
}

/// The units of durations, in milliseconds. `ms` precedes `s`, which it ends with.
const UNITS: [(&str, u64); 3] = [("ms", 1), ("s", 1000), ("m", 60_000)];

fn milliseconds(text: &str) -> Result<u64, String> {
    let parsed = UNITS.iter().find_map(|(unit, length_ms)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.parse::<u64>().ok()?.checked_mul(*length_ms)
    });
    parsed
        .filter(|milliseconds| *milliseconds > 0)
        .ok_or_else(|| "expected a whole number with a unit, such as 500ms, 5s or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_up_to_the_limit_is_read_and_a_larger_one_is_not() {
        let name = format!("panpan-call-file-{}", std::process::id());
        let path = env::temp_dir().join(name);
        for (length, is_read) in [(FILE_BYTES_LIMIT, true), (FILE_BYTES_LIMIT + 1, false)] {
            std::fs::write(&path, vec![b'a'; length]).unwrap();
            assert_eq!(read_file(&path).is_ok(), is_read, "{length}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("5s", Some(5000)),
            ("2m", Some(120_000)),
            ("5 s", Some(5000)),
            ("5", None),
            ("0s", None),
            ("-1s", None),
            ("1.5s", None),
            ("s", None),
            ("ms", None),
            ("", None),
            ("1h", None),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551615s", None),
        ] {
            assert_eq!(milliseconds(text).ok(), expected, "{text:?}");
        }
    }
}
