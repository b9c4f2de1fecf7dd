//! The contracts of the operations. Members of tasks are described, not restricted: `task::read` reports all of their
//! violations with the codes of the protocol.

use panpan_contract::operation::{OperationName, OperationSpec, OperationType, Visibility};
use serde_json::{Value, json};

use crate::engine::{GENERATIONS_LIMIT, NOTIFY};
use crate::plan::TASKS_LIMIT;

/// The default and the largest number of tasks of a list.
pub(super) const LIST_DEFAULT: u64 = 100;
pub(super) const LIST_LIMIT: u64 = 1000;

/// The largest number in an input that all JSON parsers read exactly.
const NUMBER_LIMIT: u64 = (1 << 53) - 1;

fn spec(name: &str, op_type: OperationType, description: &str, input: Value) -> OperationSpec {
    let name = OperationName::new(name).expect("the names of the protocol are operation names");
    let mut spec = OperationSpec::new(name, op_type);
    spec.description = Some(description.to_owned());
    spec.input_schema = input;
    spec
}

fn by_id(name: &str, op_type: OperationType, description: &str) -> OperationSpec {
    spec(
        name,
        op_type,
        description,
        object(json!({"task_id": id()}), &["task_id"]),
    )
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn id() -> Value {
    json!({"description": "The id of the task, a UUID v4."})
}

/// Members of a task. Their types are checked with the task.
fn task() -> Value {
    json!({
        "id": {"description": "A UUID v4; generated if left out."},
        "name": {"description": "1 to 255 characters."},
        "parent_id": {"description": "The id of the task above it in the tree."},
        "priority": {"description": "0 (urgent), 1 (high), 2 (normal) or 3 (low)."},
        "schemas": {"description": "`method` names the operation to call, or its tool; `input_schema` describes its inputs."},
        "inputs": {"description": "The input of the operation. {\"$from\": \"<task id>\", \"pointer\": \"/a\"} \
            is replaced by a value in the result of a dependency; the inputs as a whole may be one, too."},
        "dependencies": {"description": "Tasks that have to end first: [{\"id\": …, \"required\": true}]."},
        "params": {"description": "Settings. `call` has the options of the call: `idempotency_key`, shared with direct \
            calls of the same operation, and `timeout_ms` for each attempt."},
        "retry": {"description": "{\"max_attempts\": 3, \"backoff\": \"exponential\", \"initial_delay\": 1.0, \
            \"max_delay\": 60.0}, delays in seconds; by default the failure decides."},
    })
}

/// The address may contain a secret, so it is not shown with failures either.
fn webhook() -> Value {
    json!({
        "description": "{\"url\": …}: where a signed message is sent whenever no task of the flow can run any more. \
            Each message is a task of its own below the root.",
        "writeOnly": true,
    })
}

/// Sends a message to a webhook; only tasks of the engine call it.
pub(super) fn notify() -> OperationSpec {
    let members = json!({"webhook_id": {"type": "string"}, "message": {"type": "object"}});
    let mut spec = spec(
        NOTIFY,
        OperationType::Mutation,
        "Sends a message about a flow to its webhook.",
        object(members, &["webhook_id", "message"]),
    );
    spec.visibility = Visibility::Internal;
    // The receiver recognises a message by its id.
    spec.idempotency.idempotent = true;
    spec
}

pub(super) fn create() -> OperationSpec {
    let mut members = task();
    members["tasks"] = json!({
        "description": format!("Several tasks at once, at most {TASKS_LIMIT}: one root, the others with parent_id."),
    });
    members["webhook_config"] = webhook();
    spec(
        "tasks/create",
        OperationType::Mutation,
        "Creates a task, or a tree of tasks with `tasks`. They run when they are executed.",
        object(members, &[]),
    )
}

pub(super) fn execute() -> OperationSpec {
    let members = json!({
        "task_id": {"description": "A task to run: a root runs its whole tree."},
        "tasks": {"description": "New tasks to create and run at once, as for tasks/create."},
        "cascade": {"type": "boolean", "default": true,
            "description": "Whether dependents that have ended run again, too."},
        "webhook_config": webhook(),
    });
    spec(
        "tasks/execute",
        OperationType::Mutation,
        "Runs a task or a tree of tasks: dependencies first, then by priority. Returns as soon as they are \
         scheduled. A task that has ended runs again as a new generation. `events_after` in the output is where \
         tasks/events begins to stream this execution.",
        object(members, &[]),
    )
}

pub(super) fn update() -> OperationSpec {
    let members = json!({
        "task_id": id(),
        "updates": {"description": "The members to change, as for tasks/create. Nothing changes while the task is \
            in progress, and dependencies change only while it is pending. `status` may be cancelled or, after a \
            failure, pending: such a task runs when it is executed."},
    });
    spec(
        "tasks/update",
        OperationType::Mutation,
        "Changes a task.",
        object(members, &["task_id", "updates"]),
    )
}

pub(super) fn copy() -> OperationSpec {
    let members = json!({
        "task_id": id(),
        "copy_children": {"type": "boolean", "default": false,
            "description": "Whether all tasks below it are copied, too."},
        "origin_type": {"enum": ["copy", "link", "archive"], "default": "copy",
            "description": "A link and an archive have the result of the original, which has to be completed; an \
                archive cannot be changed."},
    });
    spec(
        "tasks/copy",
        OperationType::Mutation,
        "Copies a task as the root of a new flow. Dependencies on tasks that are not copied are dropped and listed.",
        object(members, &["task_id"]),
    )
}

pub(super) fn cancel() -> OperationSpec {
    let members = json!({
        "task_id": id(),
        "message": {"type": "string", "maxLength": 1000, "description": "The reason."},
    });
    spec(
        "tasks/cancel",
        OperationType::Mutation,
        "Cancels a task that is pending or in progress, and stops it if it runs.",
        object(members, &["task_id"]),
    )
}

pub(super) fn delete() -> OperationSpec {
    let about = "Deletes a pending task without children and dependents.";
    by_id("tasks/delete", OperationType::Mutation, about)
}

pub(super) fn get() -> OperationSpec {
    by_id("tasks/get", OperationType::Query, "Returns a task.")
}

pub(super) fn generations() -> OperationSpec {
    let members = json!({
        "task_id": id(),
        "after": {"type": "integer", "minimum": 0, "maximum": NUMBER_LIMIT, "default": 0,
            "description": "Only later generations."},
    });
    let about = format!(
        "Returns the outcomes of the generations of a task, oldest first; the newest {GENERATIONS_LIMIT} are kept. If \
         they do not fit in an answer, `next_after` is where the rest begins."
    );
    spec(
        "tasks/generations",
        OperationType::Query,
        &about,
        object(members, &["task_id"]),
    )
}

pub(super) fn tree() -> OperationSpec {
    spec(
        "tasks/tree",
        OperationType::Query,
        "Returns a task with all tasks below it.",
        object(json!({"task_id": id(), "fields": fields()}), &["task_id"]),
    )
}

pub(super) fn children() -> OperationSpec {
    let mut members = json!({"parent_id": id()});
    add_page(&mut members);
    spec(
        "tasks/children",
        OperationType::Query,
        "Returns the tasks directly below a task.",
        object(members, &["parent_id"]),
    )
}

pub(super) fn list() -> OperationSpec {
    let mut members = json!({
        "status": {"enum": ["pending", "in_progress", "completed", "failed", "cancelled"]},
        "user_id": {"type": "string"},
        "root_task_id": {"description": "Only tasks of the flow with this root."},
        "roots": {"type": "boolean", "description": "Only roots."},
    });
    add_page(&mut members);
    spec(
        "tasks/list",
        OperationType::Query,
        "Lists tasks, oldest first. A list that would be too large ends early, and `next_offset` says where the rest begins.",
        object(members, &[]),
    )
}

pub(super) fn running() -> OperationSpec {
    let mut members = json!({});
    add_page(&mut members);
    let about = "Lists the tasks that are in progress.";
    spec(
        "tasks/running",
        OperationType::Query,
        about,
        object(members, &[]),
    )
}

pub(super) fn statistics() -> OperationSpec {
    let members = json!({"root_task_id": {"description": "Only the flow with this root."}});
    let about = "Counts tasks by status.";
    spec(
        "tasks/statistics",
        OperationType::Query,
        about,
        object(members, &[]),
    )
}

pub(super) fn events() -> OperationSpec {
    let members = json!({
        "task_id": id(),
        "after": {"type": "integer", "minimum": 0, "maximum": NUMBER_LIMIT, "default": 0,
            "description": "The number of the last event that was received."},
    });
    spec(
        "tasks/events",
        OperationType::Subscription,
        "Streams what happens to the tasks of a flow, until no task of it can run.",
        object(members, &["task_id"]),
    )
}

fn fields() -> Value {
    json!({"enum": ["all", "summary"], "default": "all",
        "description": "A summary has no inputs, params and result."})
}

fn add_page(members: &mut Value) {
    members["fields"] = fields();
    members["limit"] = json!({
        "type": "integer", "minimum": 1, "maximum": LIST_LIMIT, "default": LIST_DEFAULT,
    });
    members["offset"] = json!({
        "type": "integer", "minimum": 0, "maximum": NUMBER_LIMIT, "default": 0,
    });
}
