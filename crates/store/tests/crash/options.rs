//! The options that a parent passes to a child as arguments.

use std::ffi::OsString;
use std::path::PathBuf;

/// The first argument of a child.
pub(crate) const CHILD: &str = "--child";

/// The options of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChildOptions {
    /// The directory of the store and the effects.
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    /// The number of the first new call.
    pub(crate) first: u64,
    pub(crate) task: Task,
    pub(crate) defect: Defect,
    /// The address of a PostgreSQL database; without it, the store is a file in the directory.
    pub(crate) database: Option<String>,
}

/// What a child does besides repeating the calls whose numbers it reads from its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Makes new calls until it is killed.
    Load,
    /// Makes this many new calls.
    Calls(u64),
    /// Makes no new calls, and repeats each call until it has an outcome.
    Settle,
    /// Runs flows of tasks until all of them rest.
    Flows(FlowShare),
}

/// The flows that a child creates, unless they exist; it runs tasks of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowShare {
    /// The number of flows so far. All of them have to rest.
    pub(crate) flows: u64,
    /// The number of children.
    pub(crate) workers: u64,
    /// The number of this child: it creates the flows whose number has this remainder.
    pub(crate) worker: u64,
}

/// A planted defect of a child, to prove that it is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// No defect.
    None,
    /// Outcomes are acknowledged before they are written.
    AcknowledgesEarly,
    /// Operations that must run once are declared idempotent.
    RunsTwice,
    /// Outcomes are written but not synced.
    DoesNotSync,
    /// The dependents of a task learn of its end in a transaction of their own.
    WakesLater,
}

const DEFECTS: [(Defect, &str); 5] = [
    (Defect::None, "none"),
    (Defect::AcknowledgesEarly, "acknowledges-early"),
    (Defect::RunsTwice, "runs-twice"),
    (Defect::DoesNotSync, "does-not-sync"),
    (Defect::WakesLater, "wakes-later"),
];

impl ChildOptions {
    /// The options as arguments.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let defect = DEFECTS.iter().find(|(defect, _)| *defect == self.defect);
        let task = match self.task {
            Task::Load => "load".to_owned(),
            Task::Calls(calls) => calls.to_string(),
            Task::Settle => "settle".to_owned(),
            Task::Flows(share) => share.word(),
        };
        let mut arguments = vec![
            CHILD.into(),
            self.directory.clone().into(),
            self.seed.to_string().into(),
            self.first.to_string().into(),
            task.into(),
            defect.map_or("none", |(_, word)| word).into(),
        ];
        arguments.extend(self.database.as_ref().map(OsString::from));
        arguments
    }

    /// Parses the arguments after the first.
    pub(crate) fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let directory = arguments.next()?.into();
        let mut word = || arguments.next()?.into_string().ok();
        let (seed, first) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let task = match word()?.as_str() {
            "load" => Task::Load,
            "settle" => Task::Settle,
            word => match FlowShare::read(word) {
                Some(share) => Task::Flows(share),
                None => Task::Calls(word.parse().ok()?),
            },
        };
        let defect = word()?;
        let defect = DEFECTS.iter().find(|(_, word)| *word == defect)?.0;
        Some(Self {
            directory,
            seed,
            first,
            task,
            defect,
            database: word(),
        })
    }
}

impl FlowShare {
    fn word(self) -> String {
        let Self {
            flows,
            workers,
            worker,
        } = self;
        format!("flows-{flows}-{workers}-{worker}")
    }

    fn read(word: &str) -> Option<Self> {
        let mut numbers = word
            .strip_prefix("flows-")?
            .split('-')
            .map_while(|it| it.parse().ok());
        Some(Self {
            flows: numbers.next()?,
            workers: numbers.next()?,
            worker: numbers.next()?,
        })
    }
}

/// Options that are parsed are the options that were passed.
pub(crate) fn options_can_be_parsed() {
    let share = FlowShare {
        flows: 12,
        workers: 3,
        worker: 2,
    };
    for task in [Task::Load, Task::Calls(3), Task::Settle, Task::Flows(share)] {
        for (defect, word) in DEFECTS {
            let options = ChildOptions {
                directory: "a b".into(),
                seed: u64::MAX,
                first: 7,
                task,
                defect,
                database: (defect != Defect::None).then(|| word.to_owned()),
            };
            let arguments = options.arguments().into_iter().skip(1);
            assert_eq!(ChildOptions::read(arguments), Some(options));
        }
    }
}
