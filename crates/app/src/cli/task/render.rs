//! A flow as lines of text: pure functions. Texts of tasks are escaped, and no line is wider than the terminal.

use jiff::Timestamp;
use panpan_flow::{State, TaskId};
use unicode_width::UnicodeWidthChar as _;

use super::super::terminal::{Colour, Style, escape};
use super::flow::{Doing, FlowRow, SeenFlow};
use super::seen::{SeenEvent, SeenTask};

/// The width of the longest word for what a task is doing.
const WORD_COLUMNS: usize = 11;

/// How many dependencies are named.
const NAMED_LIMIT: usize = 3;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// How a flow is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawing {
    /// `None` draws all tasks, in lines of any length.
    pub(super) size: Option<Size>,
    pub(super) colour: Colour,
    pub(super) now: Timestamp,
}

type Part = (Option<Style>, String);

impl Drawing {
    /// The flow: a heading, its tasks, and how many are hidden. With a size, one line of the terminal stays free for
    /// the cursor.
    pub(super) fn lines(&self, flow: &SeenFlow) -> Vec<String> {
        let limit = self.size.map_or(usize::MAX, |size| size.rows.max(2) - 1);
        let mut lines = vec![self.fit(vec![(Some(Style::HEADING), heading(flow))])];
        let not_loaded = flow.total.saturating_sub(flow.rows().len() as u64);
        let fits = not_loaded == 0 && flow.rows().len() < limit;
        let shown = match fits {
            true => vec![true; flow.rows().len()],
            false => selection(flow, limit.saturating_sub(2)),
        };
        let rows = flow.rows().iter().zip(&shown);
        let rows = rows.filter(|(_, shown)| **shown);
        lines.extend(rows.map(|(row, _)| self.row(flow, row)));
        let hidden = shown.iter().filter(|shown| !**shown).count() as u64 + not_loaded;
        if hidden > 0 && limit > 1 {
            let text = format!("… {hidden} more not shown");
            lines.push(self.fit(vec![(Some(Style::DIMMED), text)]));
        }
        lines
    }

    fn row(&self, flow: &SeenFlow, row: &FlowRow) -> String {
        let doing = flow.doing(&row.task);
        let columns = self.size.map_or(usize::MAX, |size| size.columns);
        let indent = row.depth.saturating_mul(2).min(columns / 4);
        // A deep tree must not fill memory with spaces either.
        let indent = " ".repeat(indent.min(40));
        let word = format!("{:<WORD_COLUMNS$}", word(&doing));
        let mut parts = vec![
            (style(&doing), word),
            (None, format!("  {indent}{}", row.task.name)),
        ];
        let details = self.details(flow, &row.task, &doing);
        if !details.is_empty() {
            parts.push((None, format!("  {details}")));
        }
        self.fit(parts)
    }

    /// An event as one line.
    pub(super) fn event(&self, flow: &SeenFlow, event: &SeenEvent) -> String {
        let (at, id) = (event.at, event.task);
        let Some(task) = flow.find(id) else {
            return format!("{at} {id} {}", spaced(event.state));
        };
        let as_of_event = SeenTask {
            state: event.state,
            progress: event.progress,
            // The task may have gone on since.
            attempts: match event.has_details {
                true => task.attempts,
                false => 0,
            },
            ..task.clone()
        };
        let doing = flow.doing(&as_of_event);
        let name = escape(&task.name);
        match self.details(flow, &as_of_event, &doing).as_str() {
            "" => format!("{at} {id} {} {name}", word(&doing)),
            details => format!("{at} {id} {} {name}: {}", word(&doing), escape(details)),
        }
    }

    fn details(&self, flow: &SeenFlow, task: &SeenTask, doing: &Doing) -> String {
        let mut details = Vec::new();
        match doing {
            Doing::Blocked(by) => details.push(format!("by {}", names(flow, by, true))),
            Doing::Waiting(on) => details.push(format!("waits for {}", names(flow, on, false))),
            Doing::State(state) => {
                if *state == State::InProgress {
                    details.extend(percent(task.progress));
                }
                details.extend(attempts(*state, task.attempts));
                if *state == State::InProgress {
                    details.extend(task.retry_at.map(|at| self.next_attempt(at)));
                }
            }
        }
        if matches!(doing, Doing::State(State::Failed | State::Cancelled)) {
            details.extend(task.problem.clone());
        }
        details.join(", ")
    }

    fn next_attempt(&self, at: Timestamp) -> String {
        let seconds = at.duration_since(self.now).as_secs().max(0);
        match seconds {
            0 => "next attempt soon".to_owned(),
            seconds => format!("next attempt in {seconds} s"),
        }
    }

    /// The parts as one line that is not wider than the terminal.
    fn fit(&self, parts: Vec<Part>) -> String {
        let mut left = self.size.map_or(usize::MAX, |size| size.columns);
        let mut line = String::new();
        for (style, text) in parts {
            let text = escape(&text);
            let width = width(&text);
            let text = match width > left {
                true => cut(&text, left),
                false => text,
            };
            line.push_str(&match style {
                Some(style) if !text.is_empty() => self.colour.styled(style, &text),
                _ => text,
            });
            left = left.saturating_sub(width);
        }
        line
    }
}

/// Which tasks are shown if not all fit: failed ones get up to half of the lines, those in progress the rest, and then
/// the others in the order of their urgency.
fn selection(flow: &SeenFlow, limit: usize) -> Vec<bool> {
    let mut by_rank: [Vec<usize>; 6] = Default::default();
    for (place, row) in flow.rows().iter().enumerate() {
        by_rank[rank(&flow.doing(&row.task))].push(place);
    }
    let failed_first = by_rank[0].len().min(limit.div_ceil(2));
    let more_failed = by_rank[0].split_off(failed_first);
    by_rank[2].splice(..0, more_failed);
    let mut shown = vec![false; flow.rows().len()];
    for place in by_rank.into_iter().flatten().take(limit) {
        shown[place] = true;
    }
    shown
}

const fn rank(doing: &Doing) -> usize {
    match doing {
        Doing::State(State::Failed) => 0,
        Doing::State(State::InProgress) => 1,
        Doing::State(State::Cancelled) => 2,
        Doing::Blocked(_) => 3,
        Doing::Waiting(_) | Doing::State(State::Pending) => 4,
        Doing::State(State::Completed) => 5,
    }
}

/// The name of the root, how many tasks are in each state, and the id of the root. Not escaped.
pub(super) fn heading(flow: &SeenFlow) -> String {
    let Some(top) = flow.rows().first() else {
        return "no tasks".to_owned();
    };
    format!("{}: {} ({})", top.task.name, summary(flow), top.task.id)
}

/// How many tasks are in each state.
pub(super) fn summary(flow: &SeenFlow) -> String {
    let counts = flow.counts();
    let completed = counts.of(State::Completed);
    let mut parts = vec![format!("{completed} of {} completed", flow.total)];
    let waiting = counts.of(State::Pending).saturating_sub(counts.blocked);
    for (count, what) in [
        (counts.of(State::InProgress), "in progress"),
        (counts.of(State::Failed), "failed"),
        (counts.of(State::Cancelled), "cancelled"),
        (counts.blocked, "blocked"),
        (waiting, "pending"),
    ] {
        parts.extend((count > 0).then(|| format!("{count} {what}")));
    }
    parts.join(", ")
}

fn word(doing: &Doing) -> &'static str {
    match doing {
        Doing::State(state) => spaced(*state),
        Doing::Blocked(_) => "blocked",
        Doing::Waiting(_) => "pending",
    }
}

/// The word for a state, for people.
pub(super) fn spaced(state: State) -> &'static str {
    match state {
        State::InProgress => "in progress",
        state => state.word(),
    }
}

fn style(doing: &Doing) -> Option<Style> {
    match doing {
        Doing::State(State::Failed | State::Cancelled) => Some(Style::ERROR),
        Doing::State(State::InProgress) => Some(Style::ACTIVE),
        Doing::State(State::Completed) => Some(Style::DIMMED),
        Doing::Blocked(_) => Some(Style::HEADING),
        Doing::Waiting(_) | Doing::State(State::Pending) => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The share is clamped.
fn percent(progress: f64) -> Option<String> {
    let percent = (progress.clamp(0.0, 1.0) * 100.0) as u8;
    (percent > 0).then(|| format!("{percent}%"))
}

fn attempts(state: State, attempts: u32) -> Option<String> {
    match state {
        _ if attempts < 2 => None,
        State::InProgress => Some(format!("attempt {attempts}")),
        _ => Some(format!("{attempts} attempts")),
    }
}

fn names(flow: &SeenFlow, ids: &[TaskId], with_states: bool) -> String {
    let named = ids.iter().take(NAMED_LIMIT).map(|id| match flow.find(*id) {
        Some(task) if with_states => format!("{} ({})", task.name, spaced(task.state)),
        Some(task) => task.name.clone(),
        None => id.to_string(),
    });
    let mut named: Vec<String> = named.collect();
    let more = ids.len().saturating_sub(NAMED_LIMIT);
    named.extend((more > 0).then(|| format!("{more} more")));
    named.join(", ")
}

/// The columns of escaped text. Each character counts for itself: a terminal that joins characters needs fewer.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|it| it.width().unwrap_or(0)).sum()
}

/// The beginning of a text that fits into some columns, with an ellipsis.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let mut left = columns.saturating_sub(1);
    let beginning = text.chars().take_while(|it| {
        let width = it.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    let mut cut: String = beginning.collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests;
