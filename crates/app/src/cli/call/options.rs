//! The options of `panpan call`, and what the environment says where they are silent.

use std::env;
use std::fs::File;
use std::io::Read;
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
use crate::place;
use crate::store::StoreAddress;

/// Where a server is asked when nobody says where.
const DEFAULT_SERVER: &str = "http://127.0.0.1:7077";
/// How long a server is waited for when nobody says how long. It ends calls at their own time, which may
/// be long and is not known here; this is for a server that says nothing at all.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(600);
/// The longest file with a token or certificates that is read, in bytes.
const FILE_BYTES_LIMIT: usize = 1024 * 1024;

/// What to call, where and how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the operation succeeded, 1 it failed, 2 it could not be asked, 130 it was stopped by Ctrl-C.

Examples:
  panpan call demo/divide dividend=4 divisor=2
  panpan call demo/order --key order-7 '{\"item\": \"tea\"}'
  echo '{\"text\": \"hello\"}' | panpan call demo/echo -
  panpan call --local demo/fail code=ERR_HTTP_429_RATE_LIMITED --dialect problem")]
pub(in crate::cli) struct Args {
    /// The operation, such as demo/echo
    pub(super) operation: String,
    /// The input: one JSON document, @FILE, - for standard input, or members as KEY=VALUE. A value that
    /// is JSON is taken as that ('"7"' is a text), any other as a text; a.b=1 sets a member of a member
    #[arg(allow_negative_numbers = true)]
    pub(super) input: Vec<String>,
    /// The server to ask; otherwise PANPAN_SERVER, otherwise http://127.0.0.1:7077
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    server: Option<String>,
    /// Call the operation in this process, without a server
    #[arg(long)]
    local: bool,
    /// With --local, where outcomes of calls with a key are kept: sqlite:PATH or memory:; otherwise
    /// PANPAN_STORE
    // Read here and not by the parser, which would repeat an address it refuses, password and all.
    #[arg(long, value_name = "ADDRESS", requires = "local")]
    store: Option<String>,
    /// The idempotency key: with the same key the operation never runs twice
    #[arg(long, value_parser = IdempotencyKey::new)]
    pub(super) key: Option<IdempotencyKey>,
    /// What the delays between retries are varied with, to have the same ones again
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seed: Option<i64>,
    /// How long the call may take, all retries together: 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(super) timeout: Option<u64>,
    /// Print the outcome as JSON in this dialect
    #[arg(long, value_parser = dialects())]
    pub(super) dialect: Option<Dialect>,
    /// The file with the token that says who calls; otherwise PANPAN_TOKEN, which counts for servers only
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The file with certificates to trust besides those of the system, as PEM
    #[arg(long, value_name = "FILE", conflicts_with = "local")]
    ca: Option<PathBuf>,
    /// Print a failure as JSON on standard output, on a terminal too
    #[arg(long)]
    pub(super) json: bool,
    /// When to use colour; NO_COLOR is respected
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// Where the operation is called.
#[derive(Debug)]
pub(super) enum Place {
    /// In this process.
    Here {
        /// Where outcomes are kept.
        store: StoreAddress,
        /// Who calls.
        token: Option<Secret<String>>,
    },
    /// At a server.
    There(RemoteSettings),
}

impl Args {
    /// Where the operation is called.
    pub(super) fn place(&self) -> anyhow::Result<Place> {
        let token = self.token_file.as_deref().map(token).transpose()?;
        if self.local {
            let store = match &self.store {
                Some(store) => Some(store.clone()),
                None => environment("PANPAN_STORE")?,
            };
            let store = place::store_at(store.as_deref())?;
            return Ok(Place::Here { store, token });
        }
        let token = match token {
            Some(token) => Some(token),
            None => environment("PANPAN_TOKEN")?.map(Secret::new),
        };
        Ok(Place::There(RemoteSettings {
            url: given_or(self.server.as_deref(), "PANPAN_SERVER", DEFAULT_SERVER)?,
            token,
            ca: self.ca.as_deref().map(file).transpose()?,
            timeout: DEFAULT_PATIENCE,
        }))
    }
}

fn given_or(given: Option<&str>, variable: &str, default: &str) -> anyhow::Result<String> {
    match given {
        Some(given) => Ok(given.to_owned()),
        None => Ok(environment(variable)?.unwrap_or_else(|| default.to_owned())),
    }
}

/// What a variable says; empty is silent.
fn environment(name: &str) -> anyhow::Result<Option<String>> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.into_string();
    // The value may be a secret and is not repeated.
    let text = text.map_err(|_| Hinted::new(format!("{name} is not UTF-8"), "set it anew"))?;
    Ok(Some(text))
}

fn token(path: &Path) -> anyhow::Result<Secret<String>> {
    let text = String::from_utf8(file(path)?).unwrap_or_default();
    let token = text.trim();
    if token.is_empty() {
        let message = format!("there is no token in {}", path.display());
        return Err(Hinted::new(message, "write the token into it, alone on one line").into());
    }
    Ok(Secret::new(token.to_owned()))
}

fn file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let limit = u64::try_from(FILE_BYTES_LIMIT)?.saturating_add(1);
    let read = file.take(limit).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() > FILE_BYTES_LIMIT {
        let message = format!("{} is longer than {FILE_BYTES_LIMIT} bytes", path.display());
        return Err(Hinted::new(message, "check that it is the file you meant").into());
    }
    Ok(bytes)
}

/// The units a time is given in, the longer name of two with the same end first.
const UNITS: [(&str, u64); 3] = [("ms", 1), ("s", 1000), ("m", 60_000)];

fn milliseconds(text: &str) -> Result<u64, String> {
    let parsed = UNITS.iter().find_map(|(unit, length_ms)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.parse::<u64>().ok()?.checked_mul(*length_ms)
    });
    parsed
        .filter(|milliseconds| *milliseconds > 0)
        .ok_or_else(|| "write a whole number with its unit, such as 500ms, 5s or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_limit_and_both_sides_of_it_are_known() {
        let name = format!("panpan-call-file-{}", std::process::id());
        let path = env::temp_dir().join(name);
        for (length, is_read) in [(FILE_BYTES_LIMIT, true), (FILE_BYTES_LIMIT + 1, false)] {
            std::fs::write(&path, vec![b'a'; length]).unwrap();
            assert_eq!(file(&path).is_ok(), is_read, "{length}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn times_are_whole_numbers_with_a_unit() {
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
