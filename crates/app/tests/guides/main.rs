//! Runs every snippet of the guides: parses files, runs commands and connects clients.
//!
//! A snippet in a language that the runner does not know fails the test, so that no snippet stays untested.

// The stub programs are shell scripts, and the reload uses a signal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod clients;
mod files;
mod markdown;
mod process;
mod runner;
mod service;

use clients::ToolCall;
use markdown::snippets;
use runner::{Counts, Runner};

const OPENAPI: &str = include_str!("../../../../docs/guides/openapi.md");
const MCP_SERVERS: &str = include_str!("../../../../docs/guides/mcp-servers.md");
const CLIENTS: &str = include_str!("../../../../docs/guides/clients.md");
const TASKS: &str = include_str!("../../../../docs/guides/tasks.md");

const BILLING: ToolCall = ToolCall {
    tool: "billing__payInvoice",
    argument: ("id", "in-7"),
    code: "CARD_REFUSED",
};
const FILES: ToolCall = ToolCall {
    tool: "read_text_file",
    argument: ("path", "/home/ann/notes/missing.txt"),
    code: "ARTIFACT_NOT_FOUND",
};

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_guide_works() {
    let mut runner = Runner::new(BILLING);
    for snippet in snippets(OPENAPI) {
        runner.run(&snippet).await;
    }
    assert!(
        runner.counts.servers >= 4 && runner.counts.outcomes >= 2,
        "{:?}",
        runner.counts
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_guide_works() {
    let mut runner = Runner::new(BILLING);
    // It continues after the OpenAPI guide and needs its files.
    for snippet in snippets(OPENAPI).iter().filter(|it| it.file.is_some()) {
        runner.run(snippet).await;
    }
    for snippet in snippets(CLIENTS) {
        runner.run(&snippet).await;
    }
    assert!(
        runner.counts.clients >= 9 && runner.counts.outcomes >= 1,
        "{:?}",
        runner.counts
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mcp_servers_guide_works() {
    let mut runner = Runner::new(FILES);
    for snippet in snippets(MCP_SERVERS) {
        runner.run(&snippet).await;
    }
    let Counts {
        servers,
        clients,
        outcomes,
        ..
    } = runner.counts;
    assert!(servers >= 2 && clients >= 1 && outcomes >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tasks_guide_works() {
    // No client calls a tool here.
    let mut runner = Runner::new(BILLING);
    for snippet in snippets(TASKS) {
        runner.run(&snippet).await;
    }
    assert!(
        runner.counts.servers == 1 && runner.counts.outcomes >= 2 && runner.counts.streams >= 2,
        "{:?}",
        runner.counts
    );
}

#[test]
fn every_link_between_guides_has_a_target() {
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
