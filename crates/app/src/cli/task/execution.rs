//! Executes and watches flows: with a worker in this process if there is no server, and with a clear end.

use std::io::{self, IsTerminal, Write};

use panpan_failure::{Effect, Redacted, Violation};
use panpan_flow::TaskId;
use panpan_runtime::CancellationToken;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::super::INTERRUPTED;
use super::super::call::{End, unless_interrupted};
use super::super::error::NEGATIVE;
use super::super::terminal::is_dumb;
use super::flow::SeenFlow;
use super::operations::STOP_TIMEOUT;
use super::render::summary;
use super::screen::{self, Screen};
use super::watch::{Shows, Since, Watch, Watched};
use super::{Console, NewTasks, load, options};
use crate::signals::Signals;

const EXECUTE: &str = "tasks/execute";

/// Another command would open another store.
const NOT_KEPT: &str = "the store memory: keeps no tasks after this command; correct the file and run it again, or run it \
    with a file as --store to look at its tasks and run them again";

/// Whether tasks were refused because the one with this id already exists.
fn has_run_before(failure: &Redacted, id: &str) -> bool {
    let is_existing =
        |it: &Violation| it.reason.contains(id) && it.reason.contains("already exists");
    failure.violations().iter().any(is_existing)
}

impl Console<'_> {
    /// Creates tasks and runs them.
    pub(super) async fn execute(&self, tasks: NewTasks, is_shown: bool) -> anyhow::Result<u8> {
        let end = self.call(EXECUTE, tasks.input).await?;
        let exit_code = self.after_execute(&end, None, is_shown).await?;
        let is_unknown = match &end {
            End::Interrupted(effect) => *effect != Some(Effect::None),
            End::NoResponse(failure) => failure.effect() != Effect::None,
            _ => false,
        };
        let created = tasks.root.filter(|_| self.operations.keeps_tasks());
        if let Some(id) = created.as_ref().filter(|_| is_unknown) {
            let options = self.common.target.repeated();
            writeln!(
                io::stderr(),
                "\nhint: `panpan task tree {id}{options}` shows the tasks if they were created"
            )?;
        }
        if let (Some(id), End::Failed { failure, .. }) = (&created, &end)
            && has_run_before(failure, id)
        {
            let options = self.common.target.repeated();
            writeln!(
                io::stderr(),
                "\nhint: `panpan task tree {id}{options}` shows the tasks that exist, \
                 `panpan task retry {id}{options}` runs what is left of them"
            )?;
        }
        Ok(exit_code)
    }

    /// Runs tasks again.
    pub(super) async fn retry(&self, args: &options::Retry) -> anyhow::Result<u8> {
        let end = self.call(EXECUTE, args.input()).await?;
        self.after_execute(&end, Some(&args.id), args.watch).await
    }

    /// Prints that tasks were executed, or watches them. In this process they run only while it waits, so it waits
    /// until the flow rests.
    async fn after_execute(
        &self,
        end: &End,
        id: Option<&str>,
        is_shown: bool,
    ) -> anyhow::Result<u8> {
        let output = match end {
            End::Output { value, .. } => value,
            _ => &Value::Null,
        };
        let root = output["root_task_id"].as_str();
        let root: Option<TaskId> = root.and_then(|root| root.parse().ok());
        let since = Since::Event(output["events_after"].as_u64().unwrap_or_default());
        // The tree and the lines about events name the flow themselves.
        let is_named = is_shown && !self.common.output.json;
        let exit_code = match root {
            Some(_) if is_named => 0,
            _ => self.print(EXECUTE, end, id).await?,
        };
        match root {
            Some(root) if is_shown || self.operations.is_local() => {
                self.watch(root, since, is_shown).await
            }
            _ => Ok(exit_code),
        }
    }

    /// Watches the flow of a task.
    pub(super) async fn watch_existing(&self, id: &str) -> anyhow::Result<u8> {
        match load::task(self.operations, id).await? {
            Ok(task) => self.watch(task.root, Since::Now, true).await,
            Err(end) => self.print("tasks/get", &end, Some(id)).await,
        }
    }

    async fn watch(&self, root: TaskId, since: Since, is_shown: bool) -> anyhow::Result<u8> {
        let stop = CancellationToken::new();
        let worker = self.operations.worker(root);
        let worker = worker.map(|it| tokio::spawn(it.run(stop.clone())));
        let mut signals = Signals::to_stop()?;
        let following = self.follow(root, since, is_shown);
        let watched = unless_interrupted(signals.next(), following).await;
        stop.cancel();
        if let Some(worker) = worker {
            self.wait_for(worker, &mut signals, watched.is_none())
                .await?;
        }
        match watched {
            Some(watched) => self.report(root, watched?).await,
            None => {
                writeln!(io::stderr(), "{}", self.interrupted(root))?;
                Ok(INTERRUPTED)
            }
        }
    }

    async fn follow(&self, root: TaskId, since: Since, is_shown: bool) -> anyhow::Result<Watched> {
        let can_draw = io::stdout().is_terminal() && !is_dumb();
        let shows = match (is_shown, self.common.output.json) {
            (false, _) => Shows::Nothing,
            (true, true) => Shows::Json,
            (true, false) if can_draw => Shows::Tree(Screen::new(screen::size()), self.colour()),
            (true, false) => Shows::Lines,
        };
        match load::flow_of(self.operations, &root.to_string()).await? {
            Ok((root, flow)) => {
                let watch = Watch::new(self.operations, root, flow, since, shows);
                watch.run().await
            }
            Err(end) => Ok(Watched::Lost(end)),
        }
    }

    /// Waits until the tasks that run in this process have ended; another interrupt ends it at once.
    async fn wait_for(
        &self,
        mut worker: JoinHandle<()>,
        signals: &mut Signals,
        is_interrupted: bool,
    ) -> io::Result<()> {
        if is_interrupted && !worker.is_finished() {
            let message = "panpan: waiting for running tasks; press Ctrl-C again to stop at once";
            writeln!(io::stderr(), "{message}")?;
        }
        let ended = tokio::time::timeout(STOP_TIMEOUT, &mut worker);
        if unless_interrupted(signals.next(), ended).await.is_none() {
            self.operations.exit_at_once();
        }
        Ok(())
    }

    async fn report(&self, root: TaskId, watched: Watched) -> anyhow::Result<u8> {
        let (flow, succeeded) = match watched {
            Watched::Rests { flow, succeeded } => (flow, succeeded),
            Watched::Lost(end) => {
                let exit_code = self.print("tasks/events", &end, None).await?;
                writeln!(io::stderr(), "\nhint: {}", self.continue_hint(root))?;
                return Ok(exit_code);
            }
        };
        let mut messages = io::stderr().lock();
        writeln!(messages, "panpan: the flow rests: {}", summary(&flow))?;
        if succeeded {
            return Ok(0);
        }
        writeln!(messages, "\nhint: {}", self.failed_hint(root, &flow))?;
        Ok(NEGATIVE)
    }

    fn failed_hint(&self, root: TaskId, flow: &SeenFlow) -> String {
        if !self.operations.keeps_tasks() {
            return NOT_KEPT.to_owned();
        }
        let options = self.common.target.repeated();
        let failures = format!(
            "`panpan task list --root {root} --status failed{options}` prints the failures"
        );
        let retry = format!("`panpan task retry {root}{options}` runs what failed again");
        let unclear = flow.rows().iter().find(|row| row.task.may_have_happened);
        match unclear {
            Some(row) => {
                let id = row.task.id;
                format!(
                    "{failures}. Check first whether task {id} took effect: {retry}, also tasks that did"
                )
            }
            None => format!("{failures}; {retry}"),
        }
    }

    fn interrupted(&self, root: TaskId) -> String {
        let what = match (self.operations.is_local(), self.operations.keeps_tasks()) {
            (false, _) => "stopped watching; the flow continues on the server",
            (true, true) => "interrupted; tasks that have not run stay in the store",
            (true, false) => {
                return "panpan: interrupted; the store memory: keeps no tasks".to_owned();
            }
        };
        format!("panpan: {what}\n\nhint: {}", self.continue_hint(root))
    }

    fn continue_hint(&self, root: TaskId) -> String {
        if !self.operations.keeps_tasks() {
            return NOT_KEPT.to_owned();
        }
        let options = self.common.target.repeated();
        match self.operations.is_local() {
            true => format!(
                "`panpan task tree {root}{options} --watch` continues the flow, and so does a server with the same store"
            ),
            false => format!(
                "`panpan task tree {root}{options} --watch` shows the flow again, `panpan task cancel ID{options}` cancels a task"
            ),
        }
    }
}
