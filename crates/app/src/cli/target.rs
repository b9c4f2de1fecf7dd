//! Where a command calls operations, at a server or in this process, and how it prints; with the environment
//! variables that replace missing options.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::ColorChoice;
use panpan_redact::Secret;
use panpan_upstream::remote::RemoteSettings;

use super::error::Hinted;
use super::terminal::escape;
use crate::data_folder;
use crate::files;
use crate::store::StoreAddress;

/// The default server.
const DEFAULT_SERVER: &str = "http://127.0.0.1:7077";
/// How long to wait for a silent server. The server itself enforces the timeouts of operations, which may be long.
const SERVER_TIMEOUT: Duration = Duration::from_secs(600);
/// The maximum size of a file with a token or certificates.
const FILE_BYTES_LIMIT: usize = 1024 * 1024;

/// The options of commands that call operations.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// The URL of the server [default: PANPAN_SERVER, or http://127.0.0.1:7077]
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    server: Option<String>,
    /// Use the built-in operations in this process, without a server
    #[arg(long)]
    local: bool,
    /// With --local, the store: sqlite:PATH, postgres://USER:PASSWORD@HOST:PORT/DATABASE or memory:
    /// [default: PANPAN_STORE, or panpan.db in your data folder]
    // Not parsed by clap, whose message would repeat an invalid address with its password.
    #[arg(long, value_name = "ADDRESS", requires = "local")]
    store: Option<String>,
    /// The file with the caller's token [default: PANPAN_TOKEN, not used with --local]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file with certificates to trust besides those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "local")]
    ca: Option<PathBuf>,
}

/// The options about output.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct OutputArgs {
    /// Print JSON on stdout, even on a terminal
    #[arg(long)]
    pub(super) json: bool,
    /// When to use colour; NO_COLOR turns it off
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// Where operations are called.
#[derive(Debug)]
pub(super) enum Target {
    /// In this process.
    Local {
        store: StoreAddress,
        token: Option<Secret<String>>,
    },
    Server(RemoteSettings),
}

impl TargetArgs {
    /// These options, as a hint about another command repeats them; without an address that may have a password.
    pub(super) fn repeated(&self) -> String {
        let store = self.store.as_deref();
        let store = store.filter(|it| it.starts_with("sqlite:"));
        let file = |path: &Option<PathBuf>| path.as_ref().map(|it| it.display().to_string());
        let mut options = String::new();
        for (name, value) in [
            ("--local", self.local.then(String::new)),
            ("--store", store.map(str::to_owned)),
            ("--server", self.server.clone()),
            ("--token-file", file(&self.token_file)),
            ("--ca", file(&self.ca)),
        ] {
            if let Some(value) = value {
                options = format!("{options} {name} {value}").trim_end().to_owned();
            }
        }
        escape(&options)
    }

    /// Where operations are called.
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
}
