//! `panpan task`: runs, watches and changes flows with the operations `tasks/*`, on a server or in this process.
//!
//! `session` calls them, `load` reads tasks. `seen` and `flow` are what is known of a flow, `render` draws it, `watch`
//! follows it, and `execution` begins and ends that.

mod execution;
mod flow;
mod list;
mod load;
mod near;
mod options;
mod render;
mod screen;
mod seen;
mod session;
mod watch;

use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Status;
use super::call::{End, Printer, input, interrupt, unless_interrupted};
use super::error::Hinted;
use super::terminal::Colour;
pub(super) use options::Args;
use options::{Command, Common};
use render::Drawing;
use session::Session;

/// The largest file with tasks, in bytes.
const FILE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

const FILE_HINT: &str =
    "name a file with one task or a list of tasks as JSON, or write - to read stdin";

/// Runs the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let common = common(&args.command);
    let tasks = match &args.command {
        Command::Run(run) => read_tasks(&run.file)?,
        _ => Value::Null,
    };
    let session = Session::open(common.target.target()?)?;
    let runtime = super::runtime()?;
    let console = Console {
        session: &session,
        common,
    };
    let exit_code = runtime.block_on(session.run(console.run(&args.command, tasks)));
    // Unfinished work must not keep the process alive.
    runtime.shutdown_background();
    Ok(Status::Exit(exit_code?))
}

fn common(command: &Command) -> &Common {
    match command {
        Command::Run(it) => &it.common,
        Command::List(it) => &it.common,
        Command::Get(it) | Command::Delete(it) => &it.common,
        Command::Tree(it) => &it.common,
        Command::Cancel(it) => &it.common,
        Command::Retry(it) => &it.common,
        Command::Copy(it) => &it.common,
    }
}

/// The input of `tasks/execute` for the tasks in a file.
fn read_tasks(file: &str) -> anyhow::Result<Value> {
    let document = match file {
        "-" => input::read_document(io::stdin(), "stdin", FILE_BYTES_LIMIT),
        file => input::read_file(file, FILE_HINT, FILE_BYTES_LIMIT),
    }?;
    match document {
        Value::Array(_) => Ok(json!({"tasks": document})),
        Value::Object(members) if members.contains_key("tasks") => Ok(Value::Object(members)),
        Value::Object(_) => Ok(json!({"tasks": [document]})),
        other => {
            let found = panpan_failure::read::type_name(&other);
            let message = format!("{file:?} contains {found}, and no tasks");
            Err(Hinted::new(message, FILE_HINT).into())
        }
    }
}

/// Runs commands and prints what comes of them.
struct Console<'a> {
    session: &'a Session,
    common: &'a Common,
}

impl Console<'_> {
    /// Runs a command and returns the exit code.
    async fn run(&self, command: &Command, tasks: Value) -> anyhow::Result<u8> {
        let by_id = |id: &str| json!({"task_id": id});
        match command {
            Command::Run(it) => self.execute(tasks, it.watch).await,
            Command::List(it) => self.list(it).await,
            Command::Get(it) => self.simple("tasks/get", by_id(&it.id), &it.id).await,
            Command::Tree(it) if it.watch => self.watch_existing(&it.id).await,
            Command::Tree(it) => self.tree(&it.id).await,
            Command::Cancel(it) => self.simple("tasks/cancel", it.input(), &it.id).await,
            Command::Retry(it) => self.retry(it).await,
            Command::Copy(it) => self.simple("tasks/copy", it.input(), &it.id).await,
            Command::Delete(it) => self.simple("tasks/delete", by_id(&it.id), &it.id).await,
        }
    }

    async fn call(&self, operation: &str, input: Value) -> anyhow::Result<End> {
        let end = unless_interrupted(interrupt(), self.session.call(operation, input)).await;
        end.unwrap_or(Ok(End::Interrupted(None)))
    }

    /// Calls an operation and prints its outcome.
    async fn simple(&self, operation: &str, input: Value, id: &str) -> anyhow::Result<u8> {
        let end = self.call(operation, input).await?;
        self.print(operation, &end, Some(id)).await
    }

    /// Prints how a call ended, with a hint if it was about a task that does not exist.
    async fn print(&self, operation: &str, end: &End, id: Option<&str>) -> anyhow::Result<u8> {
        let output = self.common.output;
        let printer = Printer {
            operation,
            is_terminal: io::stdout().is_terminal(),
            json: output.json,
            dialect: None,
            key: None,
            colour: Colour::choose(output.color, io::stderr().is_terminal()),
        };
        let exit_code = printer.print(end, &mut io::stdout().lock(), &mut io::stderr().lock())?;
        if let (End::Failed { failure, .. }, Some(id)) = (end, id)
            && let Some(hint) = near::hint(self.session, id, failure).await
        {
            writeln!(io::stderr(), "\nhint: {hint}")?;
        }
        Ok(exit_code)
    }

    async fn list(&self, args: &options::List) -> anyhow::Result<u8> {
        let end = self.call("tasks/list", args.input()).await?;
        match &end {
            End::Output { value, .. } if !self.common.output.json => {
                list::print(value, &mut io::stdout().lock(), &mut io::stderr().lock())?;
                Ok(0)
            }
            _ => self.print("tasks/list", &end, args.id()).await,
        }
    }

    async fn tree(&self, id: &str) -> anyhow::Result<u8> {
        if self.common.output.json {
            return self.simple("tasks/tree", json!({"task_id": id}), id).await;
        }
        let read = async {
            match load::task(self.session, id).await? {
                Ok(task) => load::flow(self.session, &task, task.id).await,
                Err(end) => Ok(Err(end)),
            }
        };
        let read = unless_interrupted(interrupt(), read).await;
        match read.unwrap_or(Ok(Err(End::Interrupted(None))))? {
            Err(end) => self.print("tasks/tree", &end, Some(id)).await,
            Ok(flow) => {
                let drawing = Drawing {
                    size: None,
                    colour: self.colour(),
                    now: Timestamp::now(),
                };
                let mut out = io::stdout().lock();
                for line in drawing.lines(&flow) {
                    writeln!(out, "{line}")?;
                }
                Ok(0)
            }
        }
    }

    fn colour(&self) -> Colour {
        Colour::choose(self.common.output.color, io::stdout().is_terminal())
    }
}
