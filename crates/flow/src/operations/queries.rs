//! Operations that read tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_runtime::Context;
use serde_json::{Map, Value, json};

use super::specs::LIST_DEFAULT;
use super::view::{beside, outcome, task};
use super::{caller, number};
use crate::engine::{Fields, FoundTask, Listed};
use crate::flows::Flows;
use crate::ports::{Filter, Key, Page};
use crate::state::State;
use crate::task::{TaskId, read_task_id};

pub(super) async fn get(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = read_task_id(&input, "task_id")?;
    let found = flows.get(&caller(&context), id).await?;
    context.set_extra(beside(found.outcome.as_ref()));
    task(&found, Fields::All)
}

pub(super) async fn generations(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = read_task_id(&input, "task_id")?;
    let after = number(&input, "after").unwrap_or_default();
    let after = u32::try_from(after).unwrap_or(u32::MAX);
    let found = flows.generations(&caller(&context), id, after).await?;
    let last = found.outcomes.last().filter(|_| found.is_cut);
    let outcomes: Result<Vec<Value>, Failure> = found.outcomes.iter().map(outcome).collect();
    let mut generations = json!({"task_id": id.to_string(), "generations": outcomes?});
    if let Some(last) = last {
        generations["next_after"] = last.generation.into();
    }
    Ok(generations)
}

pub(super) async fn list(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let filter = Filter {
        state: text("status").and_then(State::from_word),
        user_id: text("user_id").map(str::to_owned),
        roots: input
            .get("roots")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        flow: flow(&flows, &context, &input).await?,
        ..Filter::default()
    };
    listed(&flows, &context, filter, &input).await
}

pub(super) async fn running(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let filter = Filter {
        state: Some(State::InProgress),
        ..Filter::default()
    };
    listed(&flows, &context, filter, &input).await
}

async fn listed(
    flows: &Flows,
    context: &Context,
    filter: Filter,
    input: &Value,
) -> Result<Value, Failure> {
    let (page, fields) = (page(input), fields(input));
    let listed = flows.list(&caller(context), filter, page, fields).await?;
    let tasks = tasks(&listed.tasks, fields)?;
    let mut list = json!({
        "tasks": tasks, "total": listed.total, "limit": page.limit, "offset": page.offset,
    });
    add_next(&mut list, &listed, page);
    Ok(list)
}

/// If a page ends early because of its size, says where the rest of it begins.
fn add_next(list: &mut Value, listed: &Listed, page: Page) {
    if listed.is_cut {
        let count = listed.tasks.len() as u64;
        list["next_offset"] = page.offset.saturating_add(count).into();
    }
}

fn fields(input: &Value) -> Fields {
    match input.get("fields").and_then(Value::as_str) {
        Some("summary") => Fields::Summary,
        _ => Fields::All,
    }
}

/// The flow whose root the input names, if it names one.
async fn flow(flows: &Flows, context: &Context, input: &Value) -> Result<Option<Key>, Failure> {
    if input.get("root_task_id").is_none() {
        return Ok(None);
    }
    let id = read_task_id(input, "root_task_id")?;
    let found = flows.get(&caller(context), id).await?;
    Ok(Some(found.row.flow))
}

pub(super) async fn children(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = read_task_id(&input, "parent_id")?;
    let (page, fields) = (page(&input), fields(&input));
    let listed = flows.children(&caller(&context), id, page, fields).await?;
    let children = tasks(&listed.tasks, fields)?;
    let mut list = json!({"children": children, "total": listed.total});
    add_next(&mut list, &listed, page);
    Ok(list)
}

pub(super) async fn statistics(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let filter = Filter {
        flow: flow(&flows, &context, &input).await?,
        ..Filter::default()
    };
    let counts = flows.count(&caller(&context), filter).await?;
    Ok(json!({"total": counts.iter().sum::<u64>(), "by_status": State::counts(counts)}))
}

pub(super) async fn tree(
    flows: Flows,
    context: Context,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = read_task_id(&input, "task_id")?;
    let fields = fields(&input);
    let found = flows.tree(&caller(&context), id, fields).await?;
    nested(&found, fields)
}

/// Nests tasks that are listed each after its parent: `{task, children}`. Built from the last to the first, so that a
/// deep tree needs no deep recursion.
fn nested(found: &[FoundTask], fields: Fields) -> Result<Value, Failure> {
    let mut children: BTreeMap<TaskId, Vec<Value>> = BTreeMap::new();
    let mut top = Value::Null;
    for (position, one) in found.iter().enumerate().rev() {
        let mut below = children.remove(&one.row.id).unwrap_or_default();
        below.reverse();
        // The values are moved: a macro would copy everything below once for each level.
        let node = Map::from_iter([
            ("task".to_owned(), task(one, fields)?),
            ("children".to_owned(), Value::Array(below)),
        ]);
        let node = Value::Object(node);
        match one.parent {
            Some(parent) if position > 0 => children.entry(parent).or_default().push(node),
            _ => top = node,
        }
    }
    Ok(top)
}

fn tasks(found: &[FoundTask], fields: Fields) -> Result<Vec<Value>, Failure> {
    found.iter().map(|it| task(it, fields)).collect()
}

fn page(input: &Value) -> Page {
    Page {
        offset: number(input, "offset").unwrap_or_default(),
        limit: number(input, "limit").unwrap_or(LIST_DEFAULT),
    }
}
