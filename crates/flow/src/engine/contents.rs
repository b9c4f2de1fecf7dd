//! Reads what tasks need to run: their definitions, and the results that these refer to.
//!
//! A worker holds all of it in memory, so sizes are asked for before results are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use crate::limits::{RUNNING_BYTES_LIMIT, Room};
use crate::ports::{Ending, Key, Row, Rows, StoredDefinition};
use crate::references::{REFERRED_BYTES_LIMIT, may_have_references, referred};
use crate::task::{Definition, TaskId, original_with_result};

/// How many definitions are read at once.
const READ_AT_ONCE: usize = 32;

/// What a task needs to run. Its debug form does not show the texts.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Contents {
    /// The definition, as JSON.
    pub(crate) definition: Arc<str>,
    /// The authority with which it runs, as JSON.
    pub(crate) authority: Option<Arc<str>>,
    /// The results of the dependencies that its inputs refer to; `None` for one without a result.
    pub(crate) results: BTreeMap<TaskId, Option<Arc<str>>>,
    /// The bytes of these results, if they are too large together to be read.
    pub(crate) oversized_results: Option<usize>,
    /// The result of the original of a link or an archive, if it is completed.
    pub(crate) original: Option<Arc<str>>,
}

impl Contents {
    /// What it takes in memory as long as the task runs, about.
    pub(crate) fn bytes(&self) -> usize {
        let results = self.results.values().flatten().chain(&self.original);
        self.definition.len() + results.map(|it| it.len()).sum::<usize>()
    }
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (definition, results) = (self.definition.len(), self.results.len());
        write!(formatter, "Contents({definition} bytes, {results} results)")
    }
}

/// Reads the contents of tasks, in their order, as far as there is room for their bytes in this process. Leaves out those
/// whose owner has too many, and those that come after the last one for which there is room.
pub(super) async fn prepare(
    rows: &mut dyn Rows,
    tasks: Vec<Row>,
    room: &mut Room,
) -> Result<Vec<(Row, Contents)>, StoreError> {
    let (mut prepared, mut used) = (Vec::with_capacity(tasks.len()), room.bytes());
    for chunk in tasks.chunks(READ_AT_ONCE) {
        let keys: Vec<Key> = chunk.iter().map(|row| row.key).collect();
        let definitions = rows.definitions(&keys).await?.into_iter();
        let mut definitions: BTreeMap<Key, StoredDefinition> =
            definitions.map(|it| (it.key, it)).collect();
        let needed = needed(rows, &definitions).await?;
        let (mut fitting, mut read) = (Vec::new(), BTreeSet::new());
        let mut is_full = false;
        for row in chunk {
            if !room.has_bytes_for(row) {
                continue;
            }
            let (definition, authority) = match definitions.remove(&row.key) {
                Some(stored) => (stored.text, stored.authority),
                None => Default::default(),
            };
            let needed = needed.get(&row.key).cloned().unwrap_or_default();
            used += definition.len() + needed.bytes_without(&read);
            is_full = used > RUNNING_BYTES_LIMIT && !(prepared.is_empty() && fitting.is_empty());
            if is_full {
                break;
            }
            room.take_bytes(row, definition.len() + needed.bytes());
            read.extend(needed.to_read());
            let contents = Contents {
                definition,
                authority,
                ..Contents::default()
            };
            fitting.push((row.clone(), contents, needed));
        }
        let read: Vec<Key> = read.into_iter().collect();
        let results = completed(rows, &read).await?;
        prepared.extend(fitting.into_iter().map(|(row, contents, needed)| {
            let contents = needed.fill(contents, &results);
            (row, contents)
        }));
        if is_full {
            break;
        }
    }
    Ok(prepared)
}

/// What a task needs of others.
#[derive(Clone, Debug, Default)]
struct Needed {
    /// The dependencies that its inputs refer to.
    dependencies: Vec<Source>,
    /// The original of a link or an archive.
    original: Option<Source>,
}

/// A task whose result is needed, and the size of its result if it is completed.
#[derive(Clone, Copy, Debug)]
struct Source {
    id: TaskId,
    key: Key,
    bytes: Option<usize>,
}

impl Needed {
    fn oversized(&self) -> Option<usize> {
        let bytes = self.dependencies.iter().filter_map(|it| it.bytes);
        Some(bytes.sum()).filter(|sum| *sum > REFERRED_BYTES_LIMIT)
    }

    /// The completed tasks whose results are read.
    fn read(&self) -> impl Iterator<Item = &Source> {
        let dependencies: &[Source] = match self.oversized() {
            Some(_) => &[],
            None => &self.dependencies,
        };
        let all = dependencies.iter().chain(&self.original);
        all.filter(|it| it.bytes.is_some())
    }

    /// The bytes of what is read.
    fn bytes(&self) -> usize {
        self.read().filter_map(|it| it.bytes).sum()
    }

    fn to_read(&self) -> impl Iterator<Item = Key> {
        self.read().map(|it| it.key)
    }

    /// The bytes that it adds to what is read.
    fn bytes_without(&self, read: &BTreeSet<Key>) -> usize {
        let added = self.read().filter(|it| !read.contains(&it.key));
        added.filter_map(|it| it.bytes).sum()
    }

    fn fill(&self, contents: Contents, results: &BTreeMap<Key, Arc<str>>) -> Contents {
        let result = |it: &Source| (it.id, results.get(&it.key).cloned());
        let original = self.original.as_ref();
        Contents {
            results: self.dependencies.iter().map(result).collect(),
            oversized_results: self.oversized(),
            original: original.and_then(|it| results.get(&it.key).cloned()),
            ..contents
        }
    }
}

/// What tasks with these definitions need of others; those that need nothing are left out.
async fn needed(
    rows: &mut dyn Rows,
    definitions: &BTreeMap<Key, StoredDefinition>,
) -> Result<BTreeMap<Key, Needed>, StoreError> {
    let referred = |it: &StoredDefinition| Some((it.key, referred_tasks(&it.text)?));
    let referred: BTreeMap<Key, BTreeSet<TaskId>> =
        definitions.values().filter_map(referred).collect();
    let original = |it: &StoredDefinition| Some((it.key, original_with_result(&it.text)?));
    let originals: BTreeMap<Key, TaskId> = definitions.values().filter_map(original).collect();
    let ids: BTreeSet<TaskId> = referred.values().flatten().copied().collect();
    let ids: Vec<TaskId> = ids.iter().chain(originals.values()).copied().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = rows.find(&ids).await?.into_iter();
    let keys: BTreeMap<TaskId, Key> = found.map(|row| (row.id, row.key)).collect();
    let all: Vec<Key> = keys.values().copied().collect();
    let sizes: BTreeMap<Key, usize> = rows.result_sizes(&all).await?.into_iter().collect();
    let source = |id: &TaskId| {
        let key = *keys.get(id)?;
        let bytes = sizes.get(&key).copied();
        Some(Source {
            id: *id,
            key,
            bytes,
        })
    };
    let mut needed: BTreeMap<Key, Needed> = BTreeMap::new();
    // Inputs can refer to nothing but dependencies, whatever is stored.
    let referring: Vec<Key> = referred.keys().copied().collect();
    let edges = rows.dependencies(&referring).await?.into_iter();
    let edges: BTreeSet<(Key, Key)> = edges.map(|edge| (edge.task, edge.on)).collect();
    for (task, ids) in &referred {
        let sources = ids.iter().filter_map(source);
        let sources = sources.filter(|it| edges.contains(&(*task, it.key)));
        needed.entry(*task).or_default().dependencies = sources.collect();
    }
    for (task, id) in &originals {
        needed.entry(*task).or_default().original = source(id);
    }
    Ok(needed)
}

/// The tasks that the inputs of a stored definition refer to. Definitions without references are not parsed.
fn referred_tasks(definition: &str) -> Option<BTreeSet<TaskId>> {
    if !may_have_references(definition) {
        return None;
    }
    let definition = Definition::from_text(definition).ok()?;
    Some(referred(&definition.inputs)).filter(|it| !it.is_empty())
}

/// The results of those tasks that are completed.
async fn completed(
    rows: &mut dyn Rows,
    keys: &[Key],
) -> Result<BTreeMap<Key, Arc<str>>, StoreError> {
    let outcomes = rows.outcomes(keys).await?.into_iter();
    let results = outcomes.filter_map(|it| match it.ending {
        Ending::Completed { result } => Some((it.key, result)),
        Ending::Failed { .. } | Ending::Cancelled { .. } => None,
    });
    Ok(results.collect())
}
