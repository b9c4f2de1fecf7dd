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
}

const DEFECTS: [(Defect, &str); 4] = [
    (Defect::None, "none"),
    (Defect::AcknowledgesEarly, "acknowledges-early"),
    (Defect::RunsTwice, "runs-twice"),
    (Defect::DoesNotSync, "does-not-sync"),
];

impl ChildOptions {
    /// The options as arguments.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let defect = DEFECTS.iter().find(|(defect, _)| *defect == self.defect);
        let task = match self.task {
            Task::Load => "load".to_owned(),
            Task::Calls(calls) => calls.to_string(),
            Task::Settle => "settle".to_owned(),
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
            calls => Task::Calls(calls.parse().ok()?),
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

/// Options that are parsed are the options that were passed.
pub(crate) fn options_can_be_parsed() {
    for task in [Task::Load, Task::Calls(3), Task::Settle] {
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
