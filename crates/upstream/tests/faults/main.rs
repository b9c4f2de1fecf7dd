//! Every fault of the table, met by an imported operation and seen by callers over HTTP and MCP.
//!
//! The table was written before the code that meets it; what differs from it is told row by row. No
//! upstream fault is INTERNAL, and nothing that was planted as a secret is seen anywhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

#[path = "../../../surfaces/tests/shared/documented.rs"]
mod documented;
#[path = "../support/front.rs"]
mod front;
mod gateway;

use futures_util::{StreamExt as _, stream};
use panpan_failure::Failure;
use panpan_failure::dialect::{Dialect, MCP_META_KEY};
use panpan_faulty::{Row, faults, leaked_in};
use serde_json::{Value, json};

use front::judged;
use gateway::Gateway;

/// How many rows are met at a time.
const AT_A_TIME: usize = 24;

/// What a caller saw: a failure, or an output.
type Saw = Result<Value, Failure>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_see_of_every_fault_what_the_table_says_and_no_secret() {
    let gateway = Gateway::start().await;
    let rows = faults().iter();
    let met = stream::iter(rows.map(|row| meet(&gateway, row)));
    let met: Vec<Vec<String>> = met.buffered(AT_A_TIME).collect().await;
    let differences: Vec<String> = met.into_iter().flatten().collect();
    let internal = gateway.count_of("INTERNAL").await;
    println!(
        "{} faults, {internal} of them INTERNAL, {} differences",
        faults().len(),
        differences.len()
    );
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    assert_eq!(internal, 0);
    for (place, text) in gateway.told().await {
        assert_eq!(leaked_in(&text), [""; 0], "in {place}:\n{text}");
    }
}

/// Everything in which what is seen of a fault differs from its row, by either protocol.
async fn meet(gateway: &Gateway, row: &Row) -> Vec<String> {
    let mut differences = Vec::new();
    for (by, answer) in [
        ("/call", gateway.call(row).await),
        ("MCP", gateway.call_tool(row).await),
    ] {
        let leaked = leaked_in(&answer);
        if !leaked.is_empty() {
            differences.push(format!("{} by {by}: {leaked:?} leaked: {answer}", row.name));
        }
        let saw = match by {
            "/call" => in_call(&answer),
            _ => in_mcp(&answer),
        };
        let found = judged(row, &saw);
        let found = found.iter().map(|it| format!("{} by {by}: {it}", row.name));
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

fn in_call(answer: &str) -> Saw {
    let read = Dialect::Call.parse(answer.as_bytes());
    let read = read.unwrap_or_else(|error| panic!("{error}: {answer}"));
    read.outcome
}

fn in_mcp(answer: &str) -> Saw {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let result = &answer["result"];
    assert!(result.is_object(), "{answer}");
    match result["isError"] == json!(true) {
        true => Err(Failure::from_canonical(result["_meta"][MCP_META_KEY].clone()).unwrap()),
        false => Ok(result["content"].clone()),
    }
}
