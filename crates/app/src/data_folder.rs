//! The data folder of a user, which contains the store if no other store is configured.
//!
//! Nothing is created here: the store creates the folder, readable only by its owner, when it opens its file.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::cli::Hinted;
use crate::store::StoreAddress;

/// The variable that sets the folder.
pub(crate) const DATA_VARIABLE: &str = "PANPAN_DATA";

/// The hint when there is no data folder, or no file can be created in it.
pub(crate) const HINT: &str =
    "set PANPAN_DATA to a folder you may write to, or name a file with --store sqlite:PATH";

/// The name of the store's file in the folder.
const STORE_FILE: &str = "panpan.db";

/// The environment names no data folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no data folder: neither {DATA_VARIABLE} nor {home} names a folder")]
pub(crate) struct NoDataFolder {
    home: &'static str,
}

/// Parses the address of a store; without one, returns the default store.
pub(crate) fn store_address(text: Option<&str>) -> anyhow::Result<StoreAddress> {
    match text {
        Some(text) => Ok(text.parse().context("cannot use --store")?),
        None => {
            let hinted = || Hinted::new("cannot find the store", HINT);
            default_store(&|name| env::var_os(name)).with_context(hinted)
        }
    }
}

/// The store that is used when none is configured, in this environment.
pub(crate) fn default_store(
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<StoreAddress, NoDataFolder> {
    let folder = folder_on(System::CURRENT, variable)?;
    Ok(StoreAddress::Sqlite(folder.join(STORE_FILE)))
}

/// The operating systems, which put data folders in different places.
#[derive(Clone, Copy, Debug)]
enum System {
    Linux,
    Mac,
    Windows,
}

impl System {
    const CURRENT: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The data folder, which may not exist yet.
fn folder_on(
    system: System,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, NoDataFolder> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = set(DATA_VARIABLE) {
        return Ok(PathBuf::from(folder));
    }
    // A relative folder would give each working directory its own store.
    let absolute = |name: &str| set(name).map(PathBuf::from).filter(|it| it.has_root());
    let (home, folder) = match system {
        System::Linux => ("HOME", ".local/share/panpan"),
        System::Mac => ("HOME", "Library/Application Support/panpan"),
        System::Windows => ("LOCALAPPDATA", "panpan"),
    };
    let xdg = || match system {
        System::Linux => absolute("XDG_DATA_HOME").map(|folder| folder.join("panpan")),
        System::Mac | System::Windows => None,
    };
    let in_home = || absolute(home).map(|home| home.join(folder));
    xdg().or_else(in_home).ok_or(NoDataFolder { home })
}

#[cfg(test)]
mod tests {
    use super::System::{Linux, Mac, Windows};
    use super::*;

    #[test]
    fn panpan_data_wins_over_the_default_folder_of_the_system() {
        let home = ("HOME", "/home/ann");
        let data = ("PANPAN_DATA", "here");
        let shared = ("XDG_DATA_HOME", "/shared");
        let local = ("LOCALAPPDATA", "/local");
        let none = |home| Err(NoDataFolder { home });
        for (system, variables, expected) in [
            (Linux, &[home][..], Ok("/home/ann/.local/share/panpan")),
            (Linux, &[home, shared], Ok("/shared/panpan")),
            (Linux, &[shared], Ok("/shared/panpan")),
            (Linux, &[home, shared, data], Ok("here")),
            (Linux, &[data], Ok("here")),
            (
                Linux,
                &[home, ("XDG_DATA_HOME", "shared")],
                Ok("/home/ann/.local/share/panpan"),
            ),
            (
                Linux,
                &[home, ("PANPAN_DATA", "")],
                Ok("/home/ann/.local/share/panpan"),
            ),
            (Linux, &[("HOME", "ann")], none("HOME")),
            (Linux, &[], none("HOME")),
            (
                Mac,
                &[home, shared],
                Ok("/home/ann/Library/Application Support/panpan"),
            ),
            (Mac, &[shared], none("HOME")),
            (Windows, &[home, local], Ok("/local/panpan")),
            (Windows, &[home], none("LOCALAPPDATA")),
        ] {
            let found = folder_on(system, &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            });
            assert_eq!(
                found,
                expected.map(PathBuf::from),
                "{system:?} {variables:?}"
            );
        }
    }
}
