//! Tasks in PostgreSQL, against the same changes made with bare statements. The server writes to the disk.

use std::sync::Arc;

use panpan_flow::WorkerSettings;
use panpan_store::PostgresStore;
use panpan_testkit::PostgresServer;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

use crate::flows::{Folder, Running, TestBed, runtime};
use crate::goal::{Cost, Goal, Watch};
use crate::graphs::Graph;

/// The tasks of a round.
const TASKS: usize = 4000;

/// How many tasks one transaction ends and claims: as many as run at once in a worker.
const BATCH: i64 = 128;

const CLAIM: &str = "
    UPDATE panpan.task_runs SET queued = 2, due_at = $1::bigint + 30000, state = 1, epoch = epoch + 1,
        attempts = attempts + 1, is_held = true, started_at = $1, updated_at = $1
    WHERE key = ANY(ARRAY(
        SELECT key FROM panpan.task_runs WHERE queued = 1 ORDER BY priority, turn, key LIMIT $2
        FOR UPDATE SKIP LOCKED))
    RETURNING key, flow";

const DEFINITIONS: &str = "SELECT task, text FROM panpan.task_definitions WHERE task = ANY($1)";

const COMPLETE: &str = "
    UPDATE panpan.task_runs SET queued = 0, due_at = NULL, state = 2, epoch = epoch + 1,
        is_held = false, progress = 1, completed_at = $2, updated_at = $2
    WHERE key = ANY($1) AND state = 1";

const KEEP: &str = "
    INSERT INTO panpan.task_outcomes (task, generation, at, attempts, state, text)
    SELECT task, 1, $2::bigint, 1, 2, '{\"done\":true}' FROM unnest($1::bigint[]) AS task";

const ENTRIES: &str = "
    INSERT INTO panpan.task_journal (flow, number, task, at, what, state, progress)
    SELECT $3::bigint, $4::bigint + entry.at, tasks.id, $2::bigint, $5::smallint, 1, 0
    FROM unnest($1::bigint[]) WITH ORDINALITY AS entry (key, at)
    JOIN panpan.tasks ON tasks.key = entry.key";

/// The rate has to be at least 0.7 of that of the statements.
pub(crate) fn against_statements() -> Goal {
    let server = Arc::new(PostgresServer::start(&[
        "fsync=on",
        "synchronous_commit=on",
    ]));
    let runtime = Arc::new(runtime());
    let bed = bed(&server, &runtime);
    let raw_bed = self::bed(&server, &runtime);
    let raw = Raw::connect(raw_bed.1, runtime);
    Goal::Long {
        name: "a task in PostgreSQL, against statements".to_owned(),
        limit: 1.0 / 0.7,
        rounds: 9,
        work: Box::new(move || {
            bed.0.execute(Graph::Wide.request(TASKS));
            let watch = Watch::start();
            let running = Running::start(&bed.0, WorkerSettings::default());
            bed.0.wait_rest();
            let cost = watch.stop(TASKS);
            drop(running);
            cost
        }),
        baseline: Box::new(move || {
            // Stops the server after the last round.
            let _server = &server;
            raw_bed.0.execute(Graph::Wide.request(TASKS));
            raw.cost()
        }),
    }
}

/// Flows in a new database, and its address.
fn bed(server: &PostgresServer, runtime: &Arc<Runtime>) -> (TestBed, String) {
    let database = server.new_database();
    let address = database.parse().expect("the server has an address");
    let store = Arc::new(PostgresStore::open(&address).expect("the server runs"));
    let folder = Arc::new(Folder::new("postgres"));
    let bed = TestBed::over(store.clone(), store, folder, runtime.clone());
    (bed, database)
}

/// A plain connection.
struct Raw {
    runtime: Arc<Runtime>,
    client: Client,
    statements: [Statement; 5],
}

impl Raw {
    fn connect(address: String, runtime: Arc<Runtime>) -> Self {
        let (client, statements) = runtime.block_on(async {
            let connected = tokio_postgres::connect(&address, NoTls).await;
            let (client, connection) = connected.expect("the server runs");
            tokio::spawn(connection);
            let mut statements = Vec::new();
            for sql in [CLAIM, DEFINITIONS, COMPLETE, KEEP, ENTRIES] {
                statements.push(client.prepare(sql).await.expect("it is SQL"));
            }
            let statements: [Statement; 5] = statements.try_into().expect("there are five");
            (client, statements)
        });
        Self {
            runtime,
            client,
            statements,
        }
    }

    fn cost(&self) -> Cost {
        let watch = Watch::start();
        let done = self.runtime.block_on(self.run_all());
        assert_eq!(done.expect("every statement succeeds"), TASKS);
        watch.stop(TASKS)
    }

    /// Ends the tasks of the last batch and claims the next, until there are no more.
    async fn run_all(&self) -> Result<usize, tokio_postgres::Error> {
        let [claim, definitions, complete, keep, entries] = &self.statements;
        let (client, mut done, mut number) = (&self.client, 0, 0_i64);
        let mut held: Vec<i64> = Vec::new();
        let mut flow = 0_i64;
        loop {
            let now_ms = jiff::Timestamp::now().as_millisecond();
            client.batch_execute("BEGIN").await?;
            if !held.is_empty() {
                client.execute(complete, &[&held, &now_ms]).await?;
                client.execute(keep, &[&held, &now_ms]).await?;
                let ended: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                    [&held, &now_ms, &flow, &number, &2_i16];
                client.execute(entries, &ended).await?;
                number += BATCH;
                done += held.len();
            }
            let claimed = client.query(claim, &[&now_ms, &BATCH]).await?;
            held = claimed.iter().map(|row| row.get(0)).collect();
            flow = claimed.first().map_or(flow, |row| row.get(1));
            if !held.is_empty() {
                client.query(definitions, &[&held]).await?;
                let started: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                    [&held, &now_ms, &flow, &number, &0_i16];
                client.execute(entries, &started).await?;
                number += BATCH;
            }
            client.batch_execute("COMMIT").await?;
            if held.is_empty() {
                return Ok(done);
            }
        }
    }
}
