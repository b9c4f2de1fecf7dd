//! Where things are kept when nobody said where: one folder for each person.
//!
//! Nothing is made here: whoever opens a file makes its folder, readable by nobody else.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::cli::Hinted;
use crate::store::StoreAddress;

/// What names the folder outright.
pub(crate) const DATA_VARIABLE: &str = "PANPAN_DATA";

/// What to do when there is no such folder, or no file can be made in it.
pub(crate) const HINT: &str =
    "set PANPAN_DATA to a folder you may write to, or name a file with --store sqlite:PATH";

/// The name of the store's file in the folder.
const STORE_FILE: &str = "panpan.db";

/// There is no place for this person's data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no place to keep data: neither {DATA_VARIABLE} nor {home} names a folder")]
pub(crate) struct NoPlace {
    home: &'static str,
}

/// The store of this name, or the one that is used when none is named.
pub(crate) fn store_at(named: Option<&str>) -> anyhow::Result<StoreAddress> {
    match named {
        Some(named) => Ok(named
            .parse()
            .context("cannot tell where the store is (--store)")?),
        None => {
            let hinted = || Hinted::new("cannot tell where the store is", HINT);
            default_store().with_context(hinted)
        }
    }
}

/// The store that is used when none is named.
pub(crate) fn default_store() -> Result<StoreAddress, NoPlace> {
    default_store_in(&|name| env::var_os(name))
}

/// The same, where the environment is this one.
pub(crate) fn default_store_in(
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<StoreAddress, NoPlace> {
    let folder = folder_on(System::HERE, variable)?;
    Ok(StoreAddress::Sqlite(folder.join(STORE_FILE)))
}

/// Systems differ in where such folders are.
#[derive(Clone, Copy, Debug)]
enum System {
    Linux,
    Mac,
    Windows,
}

impl System {
    const HERE: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// The folder of this person's data, whether or not it is there yet.
fn folder_on(
    system: System,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, NoPlace> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = set(DATA_VARIABLE) {
        return Ok(PathBuf::from(folder));
    }
    // A folder that depends on where one stands would give every command its own store.
    let absolute = |name: &str| set(name).map(PathBuf::from).filter(|it| it.has_root());
    let (home, folder) = match system {
        System::Linux => ("HOME", ".local/share/panpan"),
        System::Mac => ("HOME", "Library/Application Support/panpan"),
        System::Windows => ("LOCALAPPDATA", "panpan"),
    };
    let shared = || match system {
        System::Linux => absolute("XDG_DATA_HOME").map(|shared| shared.join("panpan")),
        System::Mac | System::Windows => None,
    };
    let personal = || absolute(home).map(|home| home.join(folder));
    shared().or_else(personal).ok_or(NoPlace { home })
}

#[cfg(test)]
mod tests {
    use super::System::{Linux, Mac, Windows};
    use super::*;

    #[test]
    fn the_folder_is_the_one_named_or_the_one_the_system_has_for_it() {
        let home = ("HOME", "/home/ann");
        let data = ("PANPAN_DATA", "here");
        let shared = ("XDG_DATA_HOME", "/shared");
        let local = ("LOCALAPPDATA", "/local");
        let nothing = |home| Err(NoPlace { home });
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
            (Linux, &[("HOME", "ann")], nothing("HOME")),
            (Linux, &[], nothing("HOME")),
            (
                Mac,
                &[home, shared],
                Ok("/home/ann/Library/Application Support/panpan"),
            ),
            (Mac, &[shared], nothing("HOME")),
            (Windows, &[home, local], Ok("/local/panpan")),
            (Windows, &[home], nothing("LOCALAPPDATA")),
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
