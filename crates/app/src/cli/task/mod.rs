//! `panpan task`: runs, watches and changes flows with the operations `tasks/*`, on a server or in this process.
//!
//! `operations` calls them, `load` reads tasks, `unknown_id` suggests ids. `seen` and `flow` are what is known of a flow,
//! `render` draws it, `watch` follows it, and `execution` begins and ends that.

mod execution;
mod flow;
mod list;
mod load;
mod operations;
mod options;
mod render;
mod screen;
mod seen;
mod unknown_id;
mod watch;

use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use panpan_flow::TaskId;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::call::{End, Printer, input, interrupt, unless_interrupted};
use super::error::Hinted;
use super::terminal::Colour;
use super::{INTERRUPTED, Status};
use operations::Operations;
pub(super) use options::Args;
use options::{Command, Common};
use render::Drawing;

/// The largest file with tasks, in bytes.
const FILE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

const FILE_HINT: &str =
    "name a file with one task or a list of tasks as JSON, or write - to read stdin";

/// Runs the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let common = common(&args.command);
    let tasks = match &args.command {
        Command::Run(run) => read_tasks(&run.file)?,
        _ => NewTasks::default(),
    };
    let operations = Operations::open(common.target.target()?)?;
    let runtime = super::runtime()?;
    let console = Console {
        operations: &operations,
        common,
    };
    let exit_code = runtime.block_on(operations.run(console.run(&args.command, tasks)));
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

/// The tasks in a file.
#[derive(Debug, Default)]
struct NewTasks {
    /// The input of `tasks/execute`.
    input: Value,
    /// The id of the root, if the file says which one that is. It is known before anything is sent, so that the tasks are
    /// found even if no response comes.
    root: Option<String>,
}

fn read_tasks(file: &str) -> anyhow::Result<NewTasks> {
    let document = match file {
        "-" => input::read_document(io::stdin(), "stdin", FILE_BYTES_LIMIT),
        file => input::read_file(file, FILE_HINT, FILE_BYTES_LIMIT),
    }?;
    let mut input = match document {
        Value::Array(_) => json!({"tasks": document}),
        Value::Object(members) if members.contains_key("tasks") => Value::Object(members),
        Value::Object(_) => json!({"tasks": [document]}),
        other => {
            let found = panpan_failure::read::type_name(&other);
            let message = format!("{file:?} contains {found}, and no tasks");
            return Err(Hinted::new(message, FILE_HINT).into());
        }
    };
    let root = root_with_id(&mut input["tasks"]);
    Ok(NewTasks { input, root })
}

/// The id of the root among new tasks, which gets one if it has none.
fn root_with_id(tasks: &mut Value) -> Option<String> {
    let tasks = tasks.as_array_mut()?.iter_mut();
    let mut tasks = tasks.filter_map(Value::as_object_mut);
    let is_root = |task: &&mut Map<String, Value>| task.get("parent_id").is_none_or(Value::is_null);
    let root = tasks.find(is_root)?;
    let id = root.entry("id").or_insert(Value::Null);
    if id.is_null() {
        *id = TaskId::from_random(Uuid::new_v4()).to_string().into();
    }
    id.as_str().map(str::to_owned)
}

/// Runs commands and prints what comes of them.
struct Console<'a> {
    operations: &'a Operations,
    common: &'a Common,
}

impl Console<'_> {
    /// Runs a command and returns the exit code.
    async fn run(&self, command: &Command, tasks: NewTasks) -> anyhow::Result<u8> {
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
        let end = unless_interrupted(interrupt(), self.operations.call(operation, input)).await;
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
        let (End::Failed { failure, .. }, Some(id)) = (end, id) else {
            return Ok(exit_code);
        };
        let hint = unknown_id::hint(self.operations, id, failure);
        match unless_interrupted(interrupt(), hint).await {
            None => Ok(INTERRUPTED),
            Some(None) => Ok(exit_code),
            Some(Some(hint)) => {
                writeln!(io::stderr(), "\nhint: {hint}")?;
                Ok(exit_code)
            }
        }
    }

    async fn list(&self, args: &options::List) -> anyhow::Result<u8> {
        let is_table = !self.common.output.json;
        let end = self.call("tasks/list", args.input(is_table)).await?;
        match &end {
            End::Output { value, .. } if is_table => {
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
            match load::task(self.operations, id).await? {
                Ok(task) => load::flow(self.operations, &task, task.id).await,
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
