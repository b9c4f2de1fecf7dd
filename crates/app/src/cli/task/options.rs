//! The options of `panpan task`.

use clap::builder::PossibleValuesParser;
use panpan_flow::State;
use serde_json::{Map, Value, json};

use super::super::target::{OutputArgs, TargetArgs};

/// The options of `panpan task`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 a call or a required task failed, 2 the call could not be made, 130 interrupted by Ctrl-C.

Examples:
  panpan task run flow.json --watch
  panpan task list --roots --status failed
  panpan task retry 7a0c3a52-4c5f-4f0e-9d5b-0d6f0e6a4a01 --watch")]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Create the tasks in a file and run them.
    Run(Run),
    /// List tasks, oldest first.
    List(List),
    /// Print a task with its result or its failure.
    Get(ById),
    /// Print a task and the tasks below it, or watch its flow.
    Tree(Tree),
    /// Cancel a task that is pending or in progress.
    Cancel(Cancel),
    /// Run what failed again: the whole flow of a root, or one task.
    Retry(Retry),
    /// Copy a task as the root of a new flow.
    Copy(Copy),
    /// Delete a pending task without children and dependents.
    Delete(ById),
}

/// What all of them have.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// The file with one task, a list of tasks, or an object with the list in `tasks`, as JSON; - for stdin
    pub(super) file: String,
    /// Show the tasks while they run: as a tree on a terminal, as one line per event elsewhere
    #[arg(long)]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Only tasks with this status
    #[arg(long, value_parser = PossibleValuesParser::new(State::ALL.map(State::word)))]
    status: Option<String>,
    /// Only the flow with this root
    #[arg(long, value_name = "ID")]
    root: Option<String>,
    /// Only the roots of flows
    #[arg(long)]
    roots: bool,
    /// Only tasks with this user_id
    #[arg(long, value_name = "USER_ID")]
    user: Option<String>,
    /// How many tasks to print
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
    /// How many tasks to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct ById {
    /// The id of the task
    pub(super) id: String,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Tree {
    /// The id of the task
    pub(super) id: String,
    /// Show the whole flow until no task of it can run
    #[arg(long)]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Cancel {
    /// The id of the task
    pub(super) id: String,
    /// The reason, which the task keeps as its error
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Retry {
    /// The id of a root, whose flow runs what is left, or of one task that has ended
    pub(super) id: String,
    /// Do not run dependents again that have ended
    #[arg(long)]
    no_cascade: bool,
    /// Show the tasks while they run: as a tree on a terminal, as one line per event elsewhere
    #[arg(long)]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Copy {
    /// The id of the task
    pub(super) id: String,
    /// Copy the tasks below it, too
    #[arg(long)]
    children: bool,
    /// What the copy is: a link and an archive have the result of the original, which has to be completed
    #[arg(long, default_value = "copy", value_parser = ["copy", "link", "archive"])]
    origin: String,
    #[command(flatten)]
    pub(super) common: Common,
}

impl List {
    /// The input of `tasks/list`: a table needs neither inputs nor results.
    pub(super) fn input(&self, is_table: bool) -> Value {
        let mut input = Map::new();
        let texts = [
            ("status", &self.status),
            ("root_task_id", &self.root),
            ("user_id", &self.user),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                input.insert(name.to_owned(), value.as_str().into());
            }
        }
        if is_table {
            input.insert("fields".to_owned(), "summary".into());
        }
        input.insert("roots".to_owned(), self.roots.into());
        input.insert("limit".to_owned(), self.limit.into());
        input.insert("offset".to_owned(), self.offset.into());
        input.into()
    }

    /// The id in the arguments, if there is one.
    pub(super) fn id(&self) -> Option<&str> {
        self.root.as_deref()
    }
}

impl Cancel {
    /// The input of `tasks/cancel`.
    pub(super) fn input(&self) -> Value {
        match &self.message {
            Some(message) => json!({"task_id": self.id, "message": message}),
            None => json!({"task_id": self.id}),
        }
    }
}

impl Retry {
    /// The input of `tasks/execute`.
    pub(super) fn input(&self) -> Value {
        json!({"task_id": self.id, "cascade": !self.no_cascade})
    }
}

impl Copy {
    /// The input of `tasks/copy`.
    pub(super) fn input(&self) -> Value {
        json!({"task_id": self.id, "copy_children": self.children, "origin_type": self.origin})
    }
}
