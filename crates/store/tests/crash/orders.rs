//! What a parent tells a child when it starts it: written as arguments, and read again.

use std::ffi::OsString;
use std::path::PathBuf;

/// The first argument of a child.
pub(crate) const CHILD: &str = "--child";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    /// Where the store and the effects are.
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    /// The number of the first call nobody has made yet.
    pub(crate) first: u64,
    pub(crate) work: Work,
    pub(crate) defect: Defect,
}

/// What a child does besides asking for the numbers that it reads from its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It makes new calls until it is killed.
    Load,
    /// It makes so many new calls.
    Some(u64),
    /// It makes none, and asks for each number until there is an outcome.
    Settle,
}

/// What is wrong with a child, to see that it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Nothing.
    None,
    /// Outcomes are answered before they are written.
    AnswersEarly,
    /// What must run once is said to be repeatable.
    RunsTwice,
    /// Outcomes are written and not synced.
    DoesNotSync,
}

const DEFECTS: [(Defect, &str); 4] = [
    (Defect::None, "none"),
    (Defect::AnswersEarly, "answers-early"),
    (Defect::RunsTwice, "runs-twice"),
    (Defect::DoesNotSync, "does-not-sync"),
];

impl Orders {
    /// The arguments of a child that is to do this.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let defect = DEFECTS.iter().find(|(defect, _)| *defect == self.defect);
        let work = match self.work {
            Work::Load => "load".to_owned(),
            Work::Some(calls) => calls.to_string(),
            Work::Settle => "settle".to_owned(),
        };
        vec![
            CHILD.into(),
            self.directory.clone().into(),
            self.seed.to_string().into(),
            self.first.to_string().into(),
            work.into(),
            defect.map_or("none", |(_, word)| word).into(),
        ]
    }

    /// Reads what comes after the first argument.
    pub(crate) fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let directory = arguments.next()?.into();
        let mut word = || arguments.next()?.into_string().ok();
        let (seed, first) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let work = match word()?.as_str() {
            "load" => Work::Load,
            "settle" => Work::Settle,
            calls => Work::Some(calls.parse().ok()?),
        };
        let defect = word()?;
        let defect = DEFECTS.iter().find(|(_, word)| *word == defect)?.0;
        Some(Self {
            directory,
            seed,
            first,
            work,
            defect,
        })
    }
}

/// Orders that are read are the orders that were given.
pub(crate) fn orders_survive_their_way() {
    for work in [Work::Load, Work::Some(3), Work::Settle] {
        for (defect, _) in DEFECTS {
            let orders = Orders {
                directory: "a b".into(),
                seed: u64::MAX,
                first: 7,
                work,
                defect,
            };
            let arguments = orders.arguments().into_iter().skip(1);
            assert_eq!(Orders::read(arguments), Some(orders));
        }
    }
}
