//! Follows the events of a flow until it rests, and shows them.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use jiff::Timestamp;
use panpan_flow::{State, TaskId};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::super::call::End;
use super::super::terminal::{Colour, escape, write_document};
use super::flow::SeenFlow;
use super::load;
use super::operations::{Events, Interruption, Operations};
use super::render::{Drawing, heading};
use super::screen::{self, Screen};
use super::seen::SeenEvent;
use crate::signals::Signals;

/// How often the tree is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// How many tasks are read again before the tree is drawn.
const REFRESHED_AT_ONCE: usize = 16;

/// How often, and after which time, a lost connection is opened again if no event came meanwhile.
const RECONNECTS: u32 = 10;
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// How events are shown.
#[derive(Debug)]
pub(super) enum Shows {
    Nothing,
    /// One line of text for each event.
    Lines,
    /// One JSON document for each event.
    Json,
    /// The tree, on a terminal.
    Tree(Screen, Colour),
}

/// How watching ended.
#[derive(Debug)]
pub(super) enum Watched {
    /// No task can run without another command.
    Rests { flow: SeenFlow, succeeded: bool },
    /// There are no events any more.
    Lost(End),
}

/// A flow that is being watched.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    operations: &'a Operations,
    root: TaskId,
    flow: SeenFlow,
    shows: Shows,
    /// Events until this time are not shown.
    shown_after: Option<Timestamp>,
    /// The number of the last event.
    after: u64,
    /// Whether the flow rests after the last event.
    rests: bool,
    /// Tasks of which more is known than was read.
    stale: BTreeSet<TaskId>,
}

/// Where watching begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// After the event with this number.
    Event(u64),
    /// At the state that was read.
    Now,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        operations: &'a Operations,
        root: TaskId,
        flow: SeenFlow,
        since: Since,
        shows: Shows,
    ) -> Self {
        let (shown_after, after) = match since {
            Since::Event(number) => (None, number),
            Since::Now => (flow.updated_at(), 0),
        };
        Self {
            operations,
            root,
            flow,
            shows,
            shown_after,
            after,
            rests: false,
            stale: BTreeSet::new(),
        }
    }

    /// Follows the flow until it rests.
    pub(super) async fn run(mut self) -> anyhow::Result<Watched> {
        if let Shows::Lines = self.shows {
            print(&escape(&heading(&self.flow)))?;
        }
        let mut resizes = Signals::of_resizes()?;
        let mut reconnects = 0;
        loop {
            let before = self.after;
            let followed = match self.operations.events(self.root, self.after).await {
                Ok(events) => self.follow(events, &mut resizes).await?,
                Err(interruption) => Err(interruption),
            };
            reconnects = match self.after > before {
                true => 0,
                false => reconnects + 1,
            };
            match followed {
                Ok(()) if self.rests => return self.finish().await,
                Err(Interruption::Ends(failure)) => {
                    let replayed = false;
                    return Ok(Watched::Lost(End::Failed { failure, replayed }));
                }
                Err(Interruption::Lost(failure)) if reconnects > RECONNECTS => {
                    return Ok(Watched::Lost(End::NoResponse(failure)));
                }
                Ok(()) | Err(Interruption::Lost(_)) => sleep(RECONNECT_DELAY).await,
            }
        }
    }

    /// Follows one subscription to its end.
    async fn follow(
        &mut self,
        mut events: Events,
        resizes: &mut Signals,
    ) -> anyhow::Result<Result<(), Interruption>> {
        let is_tree = matches!(self.shows, Shows::Tree(..));
        let mut redraws = interval(REDRAW);
        redraws.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Ok(Some(event)) => self.take(&event).await?,
                    Ok(None) => return Ok(Ok(())),
                    Err(interruption) => return Ok(Err(interruption)),
                },
                _ = redraws.tick(), if is_tree => self.redraw(REFRESHED_AT_ONCE).await?,
                () = resizes.next(), if is_tree => self.resize()?,
            }
        }
    }

    async fn take(&mut self, item: &Value) -> anyhow::Result<()> {
        // A newer server may have events that this program does not know.
        let Some(event) = SeenEvent::read(item) else {
            return Ok(());
        };
        self.after = event.number;
        self.rests = event.is_final;
        let has_more = self.flow.apply(&event);
        let is_new = self.shown_after.is_none_or(|after| event.at > after);
        match self.shows {
            Shows::Json if is_new => write_document(item, false, &mut io::stdout().lock())?,
            Shows::Lines if is_new && !event.is_final => {
                if has_more {
                    self.refresh(event.task).await?;
                }
                print(&self.drawing().event(&self.flow, &event))?;
            }
            Shows::Tree(..) if has_more => {
                self.stale.insert(event.task);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a task again. If that fails, it is shown as the event describes it.
    async fn refresh(&mut self, id: TaskId) -> anyhow::Result<()> {
        if self.flow.find(id).is_some()
            && let Ok(task) = load::task(self.operations, &id.to_string()).await?
        {
            self.flow.replace(task);
        }
        Ok(())
    }

    async fn redraw(&mut self, refreshed: usize) -> anyhow::Result<()> {
        self.stale.extend(self.flow.due(Timestamp::now()));
        for _ in 0..refreshed {
            let Some(id) = self.stale.pop_first() else {
                break;
            };
            self.refresh(id).await?;
        }
        let drawing = self.drawing();
        if let Shows::Tree(screen, _) = &mut self.shows {
            screen.draw(drawing.lines(&self.flow), &mut io::stdout().lock())?;
        }
        Ok(())
    }

    fn resize(&mut self) -> io::Result<()> {
        match &mut self.shows {
            Shows::Tree(screen, _) => screen.resize(screen::size(), &mut io::stdout().lock()),
            _ => Ok(()),
        }
    }

    fn drawing(&self) -> Drawing {
        let (size, colour) = match &self.shows {
            Shows::Tree(screen, colour) => (Some(screen.size), *colour),
            _ => (None, Colour::Off),
        };
        Drawing {
            size,
            colour,
            now: Timestamp::now(),
        }
    }

    async fn finish(mut self) -> anyhow::Result<Watched> {
        if let Shows::Tree(..) = self.shows {
            self.redraw(usize::MAX).await?;
        }
        let mut succeeded = self.flow.has_succeeded();
        if self.flow.total > self.flow.rows().len() as u64 {
            let rows = self.flow.rows().iter();
            let shown = rows.filter(|row| row.task.state != State::Completed);
            let shown = shown.count() as u64;
            match load::not_completed(self.operations, self.root).await? {
                Ok(all) => succeeded &= all == shown,
                Err(end) => return Ok(Watched::Lost(end)),
            }
        }
        let flow = self.flow;
        Ok(Watched::Rests { flow, succeeded })
    }
}

/// Prints a line that is escaped already, or contains colours.
fn print(line: &str) -> io::Result<()> {
    use std::io::Write as _;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
