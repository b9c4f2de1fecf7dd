//! Checks that each answer was sent after its outcome was on the disk.

use std::collections::HashMap;

use super::read::SystemCall;

/// The start of the text that an outcome and its answers share.
const MARKER: &str = "marker-";
const MARKER_LENGTH: usize = MARKER.len() + 6;

/// The result of checking a trace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The number of answers that were sent after the sync of their outcome.
    pub(crate) proven: usize,
    /// The other answers, and the reasons.
    pub(crate) unproven: Vec<String>,
    /// Whether the parent of the store's folder was synced before the first answer.
    pub(crate) folder_synced: bool,
}

impl Proof {
    /// Checks every answer with a recorded outcome, and the folder that contains the store's folder.
    pub(crate) fn of(calls: &[SystemCall], parent_folder: &str) -> Self {
        let written = first_writes(calls);
        let mut proof = Self::default();
        if let Some(first) = calls.iter().find(|call| is_recorded_answer(call)) {
            let synced = |call| is_sync(call, parent_folder, first.began);
            proof.folder_synced = calls.iter().any(synced);
        }
        for answer in calls.iter().filter(|call| is_recorded_answer(call)) {
            match missing(answer, &written, calls) {
                None => proof.proven += 1,
                Some(what) => proof.unproven.push(format!("{what}: {}", answer.data)),
            }
        }
        proof
    }
}

/// The first write of each outcome. Later writes of the same page, and the writes of a checkpoint, prove nothing:
/// the answer may have been sent before.
fn first_writes(calls: &[SystemCall]) -> HashMap<&str, &SystemCall> {
    let mut first = HashMap::new();
    for call in calls.iter().filter(|call| call.name == "pwrite64") {
        for marker in markers(&call.data) {
            first.entry(marker).or_insert(call);
        }
    }
    first
}

fn is_recorded_answer(call: &SystemCall) -> bool {
    let mut words = call.data.split(' ');
    let start = (words.next(), words.nth(1));
    call.name == "write" && call.descriptor == 1 && start == (Some("answered"), Some("kept"))
}

fn missing(
    answer: &SystemCall,
    written: &HashMap<&str, &SystemCall>,
    calls: &[SystemCall],
) -> Option<&'static str> {
    let Some(marker) = markers(&answer.data).next() else {
        return Some("the answer has no marker");
    };
    let Some(write) = written.get(marker) else {
        return Some("its outcome was never written");
    };
    let written = write.ended.filter(|ended| *ended < answer.began);
    let Some(written) = written else {
        return Some("its outcome was not written before");
    };
    let between = &calls[calls.partition_point(|call| call.began <= written)..];
    let synced = between
        .iter()
        .take_while(|call| call.began < answer.began)
        .any(|call| is_sync(call, &write.path, answer.began));
    (!synced).then_some("its outcome was not synced before")
}

fn is_sync(call: &SystemCall, path: &str, before: usize) -> bool {
    matches!(call.name.as_str(), "fsync" | "fdatasync")
        && call.path == path
        && call.ended.is_some_and(|ended| ended < before)
}

fn markers(data: &str) -> impl Iterator<Item = &str> {
    let found = data.match_indices(MARKER);
    found.filter_map(|(start, _)| data.get(start..start + MARKER_LENGTH))
}

pub(crate) fn a_sync_counts_only_between_write_and_answer() {
    let call = |name: &str, path: &str, began, ended| SystemCall {
        name: name.to_owned(),
        descriptor: if name == "write" { 1 } else { 5 },
        path: path.to_owned(),
        data: match name {
            "write" => "answered 1 kept new ok marker-000001".to_owned(),
            "pwrite64" => "page with marker-000001 in it".to_owned(),
            _ => String::new(),
        },
        began,
        ended,
    };
    let sync = |path, began, ended| call("fsync", path, began, ended);
    for (syncs, expected) in [
        (vec![sync("wal", 4, Some(5))], true),
        (vec![call("fdatasync", "wal", 4, Some(9))], true),
        (vec![sync("wal", 1, Some(2)), sync("wal", 4, Some(9))], true),
        (vec![], false),
        // Started before the write ended, ended after the answer started, failed, or for another file.
        (vec![sync("wal", 2, Some(5))], false),
        (vec![sync("wal", 4, Some(11))], false),
        (vec![sync("wal", 4, None)], false),
        (vec![sync("database", 4, Some(5))], false),
    ] {
        let mut calls = syncs.clone();
        calls.push(call("pwrite64", "wal", 1, Some(3)));
        calls.push(call("write", "pipe", 10, Some(12)));
        // A later write and its sync do not matter.
        calls.push(call("pwrite64", "wal", 13, Some(14)));
        calls.push(sync("wal", 15, Some(16)));
        calls.sort_by_key(|call| call.began);
        assert_eq!(
            Proof::of(&calls, "").unproven.is_empty(),
            expected,
            "{syncs:?}"
        );
    }
}
