//! Everything a person would copy out of the guides works: files are read, commands run, clients connect.
//!
//! A guide is walked from its top to its end, each snippet as its kind asks for. A kind that is not known
//! here fails, so that no snippet goes untried.

// A stand-in for a program is a script, and a server is asked for a reload by a signal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clients;
mod files;
mod markdown;
mod process;
mod service;
mod walk;

use clients::Asked;
use markdown::snippets;
use walk::{Tried, Walk};

const OPENAPI: &str = include_str!("../../../../docs/guides/openapi.md");
const MCP_SERVERS: &str = include_str!("../../../../docs/guides/mcp-servers.md");
const CLIENTS: &str = include_str!("../../../../docs/guides/clients.md");

const BILLING: Asked = Asked {
    tool: "billing__payInvoice",
    argument: ("id", "in-7"),
    code: "CARD_REFUSED",
};
const FILES: Asked = Asked {
    tool: "read_text_file",
    argument: ("path", "/home/ann/notes/missing.txt"),
    code: "ARTIFACT_NOT_FOUND",
};

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_openapi_is_true() {
    let mut walk = Walk::new(BILLING);
    for snippet in snippets(OPENAPI) {
        walk.take(&snippet).await;
    }
    assert!(
        walk.tried.servers >= 4 && walk.tried.outcomes >= 2,
        "{:?}",
        walk.tried
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_clients_is_true() {
    let mut walk = Walk::new(BILLING);
    // It goes on where the other one ends.
    for snippet in snippets(OPENAPI).iter().filter(|it| it.file.is_some()) {
        walk.take(snippet).await;
    }
    for snippet in snippets(CLIENTS) {
        walk.take(&snippet).await;
    }
    assert!(
        walk.tried.clients >= 9 && walk.tried.outcomes >= 1,
        "{:?}",
        walk.tried
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_mcp_servers_is_true() {
    let mut walk = Walk::new(FILES);
    for snippet in snippets(MCP_SERVERS) {
        walk.take(&snippet).await;
    }
    let Tried {
        servers,
        clients,
        outcomes,
    } = walk.tried;
    assert!(servers >= 2 && clients >= 1 && outcomes >= 2);
}

#[test]
fn every_link_between_guides_leads_somewhere() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    for guide in std::fs::read_dir(&folder).unwrap() {
        let text = std::fs::read_to_string(guide.unwrap().path()).unwrap();
        for target in markdown::links(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = folder.join(file);
            assert!(path.exists(), "{target}");
            if !heading.is_empty() {
                let text = std::fs::read_to_string(path).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let is_named = |line: &str| {
                    let words = line.trim_start_matches('#').trim();
                    words.to_lowercase().replace(' ', "-") == heading
                };
                assert!(headings.any(is_named), "{target}");
            }
        }
    }
}
