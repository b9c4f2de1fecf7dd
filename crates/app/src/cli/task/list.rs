//! A list of tasks as text.

use std::io::{self, Write};

use serde_json::Value;

use super::super::terminal::escape;
use super::render::spaced;
use super::seen::SeenTask;

/// Prints a table of the tasks, and on stderr how many there are if not all of them are in it.
pub(super) fn print(
    list: &Value,
    out: &mut impl Write,
    messages: &mut impl Write,
) -> io::Result<()> {
    let tasks = list["tasks"].as_array().into_iter().flatten();
    let tasks: Vec<SeenTask> = tasks.filter_map(SeenTask::read).collect();
    if !tasks.is_empty() {
        writeln!(out, "{:<36}  {:<11}  NAME", "ID", "STATUS")?;
    }
    for task in &tasks {
        let status = spaced(task.state);
        write!(out, "{}  {status:<11}  {}", task.id, escape(&task.name))?;
        match &task.problem {
            Some(problem) => writeln!(out, ": {}", escape(problem))?,
            None => writeln!(out)?,
        }
    }
    let number = |name: &str| list[name].as_u64().unwrap_or_default();
    let (offset, total) = (number("offset"), number("total"));
    let end = offset.saturating_add(tasks.len() as u64);
    if tasks.is_empty() && total == 0 {
        writeln!(
            messages,
            "panpan: there are no such tasks; `panpan task run FILE` creates some"
        )?;
    } else if tasks.is_empty() {
        writeln!(messages, "panpan: there are only {total} such tasks")?;
    } else if end < total {
        let shown = format!("{} to {end} of {total}", offset.saturating_add(1));
        writeln!(
            messages,
            "panpan: tasks {shown}; --offset {end} prints the next"
        )?;
    }
    out.flush()
}
