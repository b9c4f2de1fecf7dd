//! Every row of the fault table through an imported operation, called over HTTP and MCP.
//!
//! Differences from the table are listed row by row. No fault of a service becomes INTERNAL, and no planted secret
//! appears in a response, in the log, in the metrics or in the store.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod gateway;
#[path = "../support/panpan_server.rs"]
mod panpan_server;

use futures_util::{StreamExt as _, stream};
use panpan_failure::Failure;
use panpan_failure::dialect::{Dialect, MCP_META_KEY};
use panpan_faulty::{Row, faults, leaked_in};
use serde_json::{Value, json};

use gateway::Gateway;
use panpan_server::differences_from_row;

/// How many rows run concurrently.
const CONCURRENT_ROWS: usize = 24;

/// What a caller gets: an output or a failure.
type Outcome = Result<Value, Failure>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_matches_the_table_and_leaks_no_secret() {
    let gateway = Gateway::start().await;
    let rows = faults().iter();
    let checks = stream::iter(rows.map(|row| check(&gateway, row)));
    let found: Vec<Vec<String>> = checks.buffered(CONCURRENT_ROWS).collect().await;
    let differences: Vec<String> = found.into_iter().flatten().collect();
    let internal = gateway.count_of("INTERNAL").await;
    println!(
        "{} faults, {internal} of them INTERNAL, {} differences",
        faults().len(),
        differences.len()
    );
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    assert_eq!(internal, 0);
    for (output, text) in gateway.other_outputs().await {
        assert_eq!(leaked_in(&text), [""; 0], "in {output}:\n{text}");
    }
}

/// The differences between a fault as callers see it and its row, over both protocols.
async fn check(gateway: &Gateway, row: &Row) -> Vec<String> {
    let mut differences = Vec::new();
    for (protocol, response) in [
        ("/call", gateway.call(row).await),
        ("MCP", gateway.call_tool(row).await),
    ] {
        let leaked = leaked_in(&response);
        if !leaked.is_empty() {
            differences.push(format!(
                "{} by {protocol}: {leaked:?} leaked: {response}",
                row.name
            ));
        }
        let outcome = match protocol {
            "/call" => in_call(&response),
            _ => in_mcp(&response),
        };
        let found = differences_from_row(row, &outcome);
        let found = found
            .iter()
            .map(|it| format!("{} by {protocol}: {it}", row.name));
        differences.extend(found);
    }
    let contradictions = gateway.contradictions(row).await;
    differences.extend(
        contradictions
            .iter()
            .map(|it| format!("{}: {it}", row.name)),
    );
    differences
}

fn in_call(response: &str) -> Outcome {
    let parsed = Dialect::Call.parse(response.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}: {response}"));
    parsed.outcome
}

fn in_mcp(response: &str) -> Outcome {
    let response: Value = serde_json::from_str(response).unwrap();
    let result = &response["result"];
    assert!(result.is_object(), "{response}");
    match result["isError"] == json!(true) {
        true => Err(Failure::from_canonical(result["_meta"][MCP_META_KEY].clone()).unwrap()),
        false => Ok(result["content"].clone()),
    }
}
