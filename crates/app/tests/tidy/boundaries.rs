//! What only one crate may do: SQL, listening, connecting. And that files are read with a size limit.

use crate::repository::{Repository, crate_of};

/// Something that may be named in some crates only.
struct Reserved {
    text: &'static str,
    crates: &'static [&'static str],
}

/// In sources. `faulty` is the service that tests call; it listens on loopback.
const IN_SOURCES: [Reserved; 6] = [
    Reserved {
        text: "rusqlite",
        crates: &["store"],
    },
    Reserved {
        text: "tokio_postgres",
        crates: &["store"],
    },
    Reserved {
        text: "TcpListener::bind",
        crates: &["faulty", "surfaces"],
    },
    Reserved {
        text: "TcpStream::connect",
        crates: &["upstream"],
    },
    Reserved {
        text: "hyper::client",
        crates: &["upstream"],
    },
    Reserved {
        text: "anyhow::",
        crates: &["app"],
    },
];

/// In `[dependencies]`.
const IN_MANIFESTS: [Reserved; 4] = [
    Reserved {
        text: "rusqlite",
        crates: &["store"],
    },
    Reserved {
        text: "tokio-postgres",
        crates: &["store"],
    },
    Reserved {
        text: "reqwest",
        crates: &[],
    },
    Reserved {
        text: "anyhow",
        crates: &["app"],
    },
];

/// Ways to read a whole file, however large it is. `app/src/files.rs` reads with a limit.
const UNBOUNDED_READS: [&str; 4] = [
    "fs::read(",
    "fs::read_to_string(",
    ".read_to_end(",
    ".read_to_string(",
];

/// The module that reads files and streams up to a limit.
const BOUNDED_READER: &str = "crates/app/src/files.rs";

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in repository.sources() {
        find(&IN_SOURCES, path, text, &mut findings);
    }
    for (path, text) in repository.ending_with("Cargo.toml") {
        let section = text
            .split_once("[dependencies]")
            .map_or("", |(_, after)| after);
        let section = section.split("\n[").next().unwrap_or_default();
        if path.starts_with("crates/") {
            find(&IN_MANIFESTS, path, section, &mut findings);
        }
    }
    findings
}

fn find(reserved: &[Reserved], path: &str, text: &str, findings: &mut Vec<String>) {
    for Reserved { text: name, crates } in reserved {
        let is_named = code(text).any(|line| line.contains(name));
        if is_named && !crates.contains(&crate_of(path)) {
            findings.push(format!(
                "{path} names {name}, which is reserved for {crates:?}"
            ));
        }
    }
}

pub(crate) fn check_file_reads(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in repository
        .sources()
        .filter(|(path, _)| *path != BOUNDED_READER)
    {
        for read in UNBOUNDED_READS {
            if code(text).any(|line| line.contains(read)) {
                findings.push(format!(
                    "{path} calls {read}..) instead of {BOUNDED_READER}"
                ));
            }
        }
    }
    findings
}

/// Lines that are not comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn sql_outside_the_store_is_noticed() {
    crate::notices(check, "crates/runtime/src/lib.rs", |text| {
        text.push_str("use rusqlite::Connection;\n");
    });
}

#[test]
fn a_listener_outside_the_surfaces_is_noticed() {
    crate::notices(check, "crates/upstream/src/lib.rs", |text| {
        text.push_str("fn f() { TcpListener::bind(1); }\n");
    });
}

#[test]
fn a_socket_outside_upstream_is_noticed() {
    crate::notices(check, "crates/surfaces/src/lib.rs", |text| {
        text.push_str("fn f() { TcpStream::connect(1); }\n");
    });
}

#[test]
fn an_unbounded_read_is_noticed() {
    crate::notices(check_file_reads, "crates/app/src/main.rs", |text| {
        text.push_str("fn f() { fs::read(path); }\n");
    });
}
