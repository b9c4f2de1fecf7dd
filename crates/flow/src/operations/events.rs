//! `tasks/events`: streams the journal of a flow until the flow rests.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt as _};
use panpan_failure::Failure;
use panpan_runtime::Context;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{caller, number};
use crate::flows::Flows;
use crate::ports::{Announced, Key};
use crate::state::State;
use crate::task::{TaskId, read_task_id};

/// How many entries are read at once.
const PAGE: usize = 500;

/// How often the journal is read although nothing is known to have changed.
const POLL_MS: u64 = 1000;

pub(super) fn open(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> impl Stream<Item = Result<Value, Failure>> + Send {
    let opened = async move {
        let id = read_task_id(&input, "task_id")?;
        let found = flows.get(&caller(&context), id).await?;
        let flow = (found.row.flow, found.root);
        let after = number(&input, "after");
        let after = reached(&flows, flow, after.unwrap_or_default()).await?;
        Ok(Events {
            changes: flows.tasks().changes(),
            flows,
            context,
            flow: found.row.flow,
            root: found.root,
            after,
            read: VecDeque::new(),
            is_over: false,
        })
    };
    stream::once(opened).flat_map(|opened: Result<Events, Failure>| match opened {
        Ok(events) => stream::unfold(events, Events::next).left_stream(),
        Err(failure) => stream::iter([Err(failure)]).right_stream(),
    })
}

/// Where to begin to read. A number that this flow has not reached is of another flow, so all of the journal is new.
async fn reached(flows: &Flows, flow: (Key, TaskId), after: u64) -> Result<u64, Failure> {
    if after == 0 {
        return Ok(0);
    }
    let entries = flows.announcements(flow, after - 1, 1).await?;
    Ok(if entries.is_empty() { 0 } else { after })
}

/// A journal that is being read.
struct Events {
    flows: Flows,
    context: Context,
    changes: watch::Receiver<u64>,
    flow: Key,
    root: TaskId,
    /// The number of the last entry that was read.
    after: u64,
    read: VecDeque<Value>,
    is_over: bool,
}

impl Events {
    async fn next(mut self) -> Option<(Result<Value, Failure>, Self)> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Some((Ok(event), self));
            }
            if self.is_over {
                return None;
            }
            self.changes.borrow_and_update();
            if let Err(failure) = self.read_more().await {
                self.is_over = true;
                return Some((Err(failure), self));
            }
            if self.read.is_empty() && !self.is_over {
                let poll = self.context.sleep(POLL_MS);
                tokio::select! {
                    _ = self.changes.changed() => {}
                    () = poll => {}
                }
            }
        }
    }

    async fn read_more(&mut self) -> Result<(), Failure> {
        // With the last entry that the reader has: if the flow rests since, none follows.
        let (known, flow) = (self.after, (self.flow, self.root));
        let entries = self
            .flows
            .announcements(flow, known.saturating_sub(1), PAGE);
        let entries = entries.await?;
        for (number, entry) in entries.iter().filter(|(number, _)| *number > known) {
            self.after = *number;
            let event = event(*number, entry, self.root);
            self.read.push_back(event);
        }
        // A flow that rested may have been executed again since.
        let ends = entries.last().is_some_and(|(_, entry)| entry.is_rest());
        self.is_over = ends && entries.len() < PAGE;
        Ok(())
    }
}

/// An event of the protocol.
fn event(number: u64, entry: &Announced, root: TaskId) -> Value {
    let is_final = entry.is_rest();
    let task = entry.task.unwrap_or(root);
    let status: State = entry.state;
    json!({
        "id": number,
        "event": entry.what.word(),
        "data": {
            "protocol": "jsonrpc",
            "task_id": task.to_string(),
            "root_task_id": root.to_string(),
            "status": status.word(),
            "progress": entry.progress,
            "timestamp": entry.at,
            "final": is_final,
        },
    })
}
