//! The operations under load. Their effect is a line in a file, written in one piece: it is there or
//! not, whatever becomes of the process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{Context, Reconciled, Registration, Registry};
use serde_json::{Value, json};

use crate::plan::{Ending, KINDS, Kind, Plan, marker};

/// How often a busy call is tried again before its key is set free.
const MAX_RETRIES: u32 = 1;

/// What the operations share.
#[derive(Debug)]
pub(crate) struct Stage {
    seed: u64,
    path: PathBuf,
    effects: File,
}

/// An effect: which call, and which process's attempt at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effected {
    pub(crate) number: u64,
    pub(crate) by: String,
}

impl Stage {
    pub(crate) fn open(directory: &Path, seed: u64) -> io::Result<Self> {
        let path = effects_path(directory);
        let effects = OpenOptions::new().append(true).create(true).open(&path)?;
        Ok(Self {
            seed,
            path,
            effects,
        })
    }

    /// All operations; when those that must run once are said to be repeatable, that is a defect.
    pub(crate) fn registry(self: &Arc<Self>, once_is_repeatable: bool) -> Registry {
        let mut builder = Registry::builder();
        for (kind, name) in KINDS {
            let name = OperationName::new(name).expect("the names are well formed");
            let mut spec = OperationSpec::new(name, OperationType::Mutation);
            spec.idempotency.idempotent =
                kind == Kind::Repeatable || (kind == Kind::Once && once_is_repeatable);
            spec.idempotency.reconcilable = kind == Kind::Reconcilable;
            spec.retry = Some(soon());
            builder = builder.add(self.registration(kind, spec));
        }
        builder.build().expect("the operations fit together")
    }

    fn registration(self: &Arc<Self>, kind: Kind, spec: OperationSpec) -> Registration {
        let stage = Arc::clone(self);
        let run = move |context, input: Arc<Value>| Arc::clone(&stage).run(context, number(&input));
        let registration = Registration::new(spec, run);
        if kind != Kind::Reconcilable {
            return registration;
        }
        let stage = Arc::clone(self);
        registration.reconciled_by(move |_: Context, input: Arc<Value>| {
            let found = stage.became(number(&input));
            async move { Ok::<_, Failure>(found) }
        })
    }

    async fn run(self: Arc<Self>, context: Context, number: u64) -> Result<Value, Failure> {
        let plan = Plan::of(self.seed, number);
        context.sleep(plan.before_ms).await;
        match plan.ending {
            Ending::FailsBefore => return Err(refused(number, Effect::None)),
            Ending::Busy { attempts } if context.attempt() <= attempts => return Err(busy()),
            _ => {}
        }
        let by = format!("{}/{}", context.call_id(), context.attempt());
        self.take_effect(number, &by);
        context.sleep(plan.after_ms).await;
        if plan.ending == Ending::FailsAfter {
            return Err(refused(number, Effect::Applied));
        }
        Ok(output(number, &by))
    }

    fn take_effect(&self, number: u64, by: &str) {
        let effect = format!("{number} {by}");
        let line = format!("{effect:<width$}\n", width = LINE_BYTES - 1);
        assert_eq!(line.len(), LINE_BYTES, "an effect fits into its line");
        let written = (&self.effects).write(line.as_bytes());
        let written = written.expect("there is room for the effects");
        assert_eq!(written, line.len(), "an effect is written in one piece");
    }

    /// What the other side says became of a lost call.
    fn became(&self, number: u64) -> Reconciled {
        let text = std::fs::read_to_string(&self.path).expect("the effects can be read");
        match effects(&text).find(|effected| effected.number == number) {
            Some(effected) => Reconciled::Happened(output(number, &effected.by)),
            None => Reconciled::DidNotHappen,
        }
    }
}

/// How long each line is: a part of a page, so that none goes across the end of one. A killed process leaves a write
/// that does half done.
const LINE_BYTES: usize = 64;

/// Where the effects of a directory are.
pub(crate) fn effects_path(directory: &Path) -> PathBuf {
    directory.join("effects")
}

/// The effects in the text of the file.
pub(crate) fn effects(text: &str) -> impl Iterator<Item = Effected> {
    text.lines().map(|line| {
        let (number, by) = line
            .trim_end()
            .split_once(' ')
            .expect("an effect is written in one piece");
        Effected {
            number: number.parse().expect("an effect begins with its number"),
            by: by.to_owned(),
        }
    })
}

/// The output of a call: who brought it about, and a text to be found again.
pub(crate) fn output(number: u64, by: &str) -> Value {
    json!({"by": by, "marker": marker(number)})
}

/// The input of a numbered call.
pub(crate) fn input(number: u64) -> Value {
    json!({"number": number})
}

fn number(input: &Value) -> u64 {
    input["number"].as_u64().expect("the input is a number")
}

fn refused(number: u64, effect: Effect) -> Failure {
    Failure::new(codes::TOOL_FAILED)
        .with_message(format!("it fails for good: {}", marker(number)))
        .with_effect(effect)
}

fn busy() -> Failure {
    Failure::new(codes::ERR_RESOURCE_BUSY)
        .with_message("it is busy")
        .with_effect(Effect::None)
}

fn soon() -> RetryPolicy {
    let settings = RetrySettings {
        max_retries: MAX_RETRIES,
        initial_delay_ms: 2,
        max_delay_ms: 2,
        ..RetrySettings::default()
    };
    settings.try_into().expect("the policy is sound")
}
