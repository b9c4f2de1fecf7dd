//! The rows of tasks, written with prepared statements on a plain connection.

use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::flows::Folder;
use crate::goal::{Cost, Watch};

/// How many tasks one transaction writes, as many as a worker ends at once.
const BATCH: usize = 128;

const TASK: &str = "
    INSERT INTO tasks (id, flow, parent, owner, user_id, priority, turn, created_at, has_references,
        state, generation, epoch, attempts, recoveries, is_held, is_released, waiting, queued,
        due_at, progress, updated_at, started_at, completed_at)
    VALUES (?1, 1, 1, NULL, NULL, 2, ?2, ?3, 0, 2, 1, 2, 1, 0, 0, 1, 0, 0, NULL, 1.0, ?3, ?3, ?3)";

const DEFINITION: &str = "INSERT INTO task_definitions (text, authority) VALUES (?1, NULL)";

const OUTCOME: &str = "
    INSERT INTO task_outcomes (task, generation, at, attempts, state, error, text)
    VALUES (?1, 1, ?2, 1, 2, NULL, ?3)";

const ENTRY: &str = "
    INSERT INTO task_journal (flow, task, at, what, state, progress) VALUES (1, ?1, ?2, ?3, ?4, ?5)";

/// A plain connection to the tables of a store: SQLite with its default settings, but as durable as the store.
pub(crate) struct RawTasks {
    connection: Connection,
    _folder: Folder,
}

impl RawTasks {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        // Creates the tables.
        drop(folder.store());
        let connection = Connection::open(folder.file()).expect("the file is there");
        for (name, value) in [("synchronous", "FULL"), ("journal_size_limit", "67108864")] {
            connection
                .pragma_update(None, name, value)
                .expect("SQLite knows it");
        }
        Self {
            connection,
            _folder: folder,
        }
    }

    /// The cost of a task.
    pub(crate) fn cost_of(&self, tasks: usize) -> Cost {
        let watch = Watch::start();
        for first in (0..tasks).step_by(BATCH) {
            self.insert(first..tasks.min(first + BATCH));
        }
        watch.stop(tasks)
    }

    fn insert(&self, tasks: std::ops::Range<usize>) {
        let prepare = |sql| self.connection.prepare_cached(sql).expect("it is SQL");
        let run = |sql: &str| self.connection.execute_batch(sql);
        run("BEGIN IMMEDIATE").expect("no other connection writes");
        let (mut task, mut definition) = (prepare(TASK), prepare(DEFINITION));
        let (mut outcome, mut entry) = (prepare(OUTCOME), prepare(ENTRY));
        for turn in tasks.map(|it| i64::try_from(it).unwrap_or(i64::MAX)) {
            let id = Uuid::new_v4().into_bytes();
            let now_ms = jiff::Timestamp::now().as_millisecond();
            let text = format!(
                r#"{{"name":"task {turn}","inputs":{{"owner":"octo-org","page":{turn}}},"schemas":{{"method":"bench/noop"}}}}"#
            );
            let written = [
                task.execute(params![id, turn, now_ms]),
                definition.execute([text]),
                outcome.execute(params![
                    self.connection.last_insert_rowid(),
                    now_ms,
                    r#"{"done":true}"#
                ]),
                entry.execute(params![id, now_ms, 0, 1, 0.0]),
                entry.execute(params![id, now_ms, 2, 2, 1.0]),
            ];
            assert!(written.iter().all(|it| *it == Ok(1)), "{written:?}");
        }
        run("COMMIT").expect("the disk has room");
    }
}
