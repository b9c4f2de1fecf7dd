//! The flows, derived from the seed: random graphs of numbered tasks, each of which does what a numbered call does.

use panpan_flow::TaskId;
use serde_json::{Value, json};

use super::rules::{Ends, Task};
use crate::operations::{MAX_RETRIES, input};
use crate::plan::{Ending, Plan, Random};

/// The number of tasks of a flow.
pub(crate) const TASKS_PER_FLOW: usize = 100;

/// `max_attempts` of tasks with retry settings of their own: no task is busy that often.
const OWN_ATTEMPTS: u32 = 8;

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    /// The first is the root: a group of the others.
    pub(crate) tasks: Vec<TaskPlan>,
}

/// A task of a flow.
#[derive(Clone, Debug)]
pub(crate) struct TaskPlan {
    /// The number within the whole run.
    pub(crate) number: u64,
    pub(crate) priority: u8,
    /// The positions of its dependencies, and whether they are required.
    pub(crate) on: Vec<(usize, bool)>,
    /// What it calls; the root calls nothing.
    pub(crate) call: Option<Plan>,
    /// Whether it has retry settings of its own.
    pub(crate) retries: bool,
}

impl FlowPlan {
    pub(crate) fn of(seed: u64, flow: u64) -> Self {
        let mut random = Random::new(seed ^ flow.wrapping_mul(0xA24B_AED4_963E_E407));
        let tasks = (0..TASKS_PER_FLOW).map(|at| TaskPlan::of(seed, flow, at, &mut random));
        Self {
            tasks: tasks.collect(),
        }
    }

    /// The root.
    pub(crate) fn root(&self) -> TaskId {
        self.tasks[0].id()
    }

    /// The tasks as `tasks/execute` takes them.
    pub(crate) fn written(&self) -> Value {
        let written = |task: &TaskPlan| {
            let dependency = |(on, required): &(usize, bool)| json!({"id": self.tasks[*on].id(), "required": required});
            let mut written = json!({
                "id": task.id(),
                "name": format!("task {}", task.number),
                "priority": task.priority,
                "dependencies": task.on.iter().map(dependency).collect::<Vec<Value>>(),
            });
            if let Some(call) = &task.call {
                written["parent_id"] = json!(self.root());
                written["schemas"] = json!({"method": call.operation});
                written["inputs"] = input(task.number);
            }
            if task.retries {
                written["retry"] = json!({
                    "max_attempts": OWN_ATTEMPTS,
                    "backoff": "constant",
                    "initial_delay": 0.002,
                    "max_delay": 0.002,
                });
            }
            written
        };
        self.tasks.iter().map(written).collect()
    }

    /// The tasks of the model.
    pub(crate) fn model(&self) -> Vec<Task> {
        let released = |task: &TaskPlan| Task {
            is_released: true,
            ..Task::new(0, task.priority, task.on.clone())
        };
        self.tasks.iter().map(released).collect()
    }
}

impl TaskPlan {
    fn of(seed: u64, flow: u64, at: usize, random: &mut Random) -> Self {
        let number = flow * TASKS_PER_FLOW as u64 + at as u64;
        let is_root = at == 0;
        Self {
            number,
            priority: u8::try_from(random.below(4)).unwrap_or(0),
            on: match is_root {
                // The root waits for some tasks, and may run although they failed.
                true => dependencies(TASKS_PER_FLOW, random)
                    .into_iter()
                    .map(|(on, _)| (on, false))
                    .collect(),
                false => dependencies(at, random),
            },
            call: (!is_root).then(|| Plan::of(seed, number)),
            retries: !is_root && random.below(2) == 0,
        }
    }

    pub(crate) fn id(&self) -> TaskId {
        let id = format!("00000000-0000-4000-9000-{:012}", self.number);
        id.parse().expect("a UUID v4")
    }

    /// How it ends if no process is killed, and after how many attempts.
    pub(crate) fn ends(&self) -> (Ends, u32) {
        let attempts_max = match self.retries {
            true => OWN_ATTEMPTS,
            false => MAX_RETRIES + 1,
        };
        match self.call.map(|call| call.ending) {
            None | Some(Ending::Succeeds) => (Ends::Completed, 1),
            Some(Ending::FailsBeforeEffect | Ending::FailsAfterEffect) => (Ends::Failed, 1),
            Some(Ending::Busy { attempts }) if attempts < attempts_max => {
                (Ends::Completed, attempts + 1)
            }
            Some(Ending::Busy { .. }) => (Ends::Failed, attempts_max),
        }
    }
}

/// Dependencies on earlier tasks, half of them required.
fn dependencies(at: usize, random: &mut Random) -> Vec<(usize, bool)> {
    let count = if at == 1 { 0 } else { random.below(4) };
    let mut on: Vec<(usize, bool)> = (0..count)
        .map(|_| (below(random, 1, at), random.below(2) == 0))
        .collect();
    on.sort_unstable();
    on.dedup_by_key(|(on, _)| *on);
    on
}

fn below(random: &mut Random, first: usize, end: usize) -> usize {
    let count = u64::try_from(end - first).unwrap_or(u64::MAX);
    first + usize::try_from(random.below(count)).unwrap_or(0)
}
