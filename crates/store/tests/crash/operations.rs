//! The operations under load. Their effect is a line in a file, written with one system call: it is either
//! there or not, even if the process is killed.

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

/// How often a busy call is retried before its key is released.
pub(crate) const MAX_RETRIES: u32 = 1;

/// The state that the operations share.
#[derive(Debug)]
pub(crate) struct Operations {
    seed: u64,
    path: PathBuf,
    effects: File,
}

/// An effect: the number of the call, and the attempt that had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EffectRecord {
    pub(crate) number: u64,
    pub(crate) by: String,
}

impl Operations {
    pub(crate) fn open(directory: &Path, seed: u64) -> io::Result<Self> {
        let path = effects_path(directory);
        let effects = OpenOptions::new().append(true).create(true).open(&path)?;
        Ok(Self {
            seed,
            path,
            effects,
        })
    }

    /// All operations and these. With the defect, operations that must run once are declared idempotent.
    pub(crate) fn registry(
        self: &Arc<Self>,
        once_is_repeatable: bool,
        others: Vec<Registration>,
    ) -> Registry {
        let of_kind = |(kind, name): (Kind, &str)| {
            let name = OperationName::new(name).expect("valid names");
            let mut spec = OperationSpec::new(name, OperationType::Mutation);
            spec.idempotency.idempotent =
                kind == Kind::Repeatable || (kind == Kind::Once && once_is_repeatable);
            spec.idempotency.reconcilable = kind == Kind::Reconcilable;
            spec.retry = Some(retry_policy().into());
            self.registration(kind, spec)
        };
        let all = KINDS.into_iter().map(of_kind).chain(others);
        let builder = all.fold(Registry::builder(), |builder, it| builder.add(it));
        builder.build().expect("valid operations")
    }

    fn registration(self: &Arc<Self>, kind: Kind, spec: OperationSpec) -> Registration {
        let operations = Arc::clone(self);
        let run =
            move |context, input: Arc<Value>| Arc::clone(&operations).run(context, number(&input));
        let registration = Registration::new(spec, run);
        if kind != Kind::Reconcilable {
            return registration;
        }
        let operations = Arc::clone(self);
        registration.reconciled_by(move |_: Context, input: Arc<Value>| {
            let found = operations.reconcile(number(&input));
            async move { Ok::<_, Failure>(found) }
        })
    }

    async fn run(self: Arc<Self>, context: Context, number: u64) -> Result<Value, Failure> {
        let plan = Plan::of(self.seed, number);
        context.sleep(plan.before_ms).await;
        match plan.ending {
            Ending::FailsBeforeEffect => return Err(permanent_failure(number, Effect::None)),
            Ending::Busy { attempts } if context.attempt() <= attempts => return Err(busy()),
            _ => {}
        }
        let by = format!("{}/{}", context.call_id(), context.attempt());
        self.take_effect(number, &by);
        context.sleep(plan.after_ms).await;
        if plan.ending == Ending::FailsAfterEffect {
            return Err(permanent_failure(number, Effect::Applied));
        }
        Ok(output(number, &by))
    }

    fn take_effect(&self, number: u64, by: &str) {
        let effect = format!("{number} {by}");
        let line = format!("{effect:<width$}\n", width = LINE_BYTES - 1);
        assert_eq!(line.len(), LINE_BYTES, "an effect fits into its line");
        let written = (&self.effects).write(line.as_bytes());
        let written = written.expect("the effects can be written");
        assert_eq!(written, line.len(), "an effect is written with one call");
    }

    /// Reconciles a lost call with the recorded effects.
    fn reconcile(&self, number: u64) -> Reconciled {
        let text = std::fs::read_to_string(&self.path).expect("the effects can be read");
        match effects(&text).find(|effect| effect.number == number) {
            Some(effect) => Reconciled::Happened(output(number, &effect.by)),
            None => Reconciled::DidNotHappen,
        }
    }
}

/// The length of a line: a divisor of the page size, so that no line crosses a page. A killed process can leave
/// such a write half done.
const LINE_BYTES: usize = 64;

/// The path of the effects in a directory.
pub(crate) fn effects_path(directory: &Path) -> PathBuf {
    directory.join("effects")
}

/// The effects in the text of the file.
pub(crate) fn effects(text: &str) -> impl Iterator<Item = EffectRecord> {
    text.lines().map(|line| {
        let (number, by) = line
            .trim_end()
            .split_once(' ')
            .expect("an effect is written with one call");
        EffectRecord {
            number: number.parse().expect("an effect starts with its number"),
            by: by.to_owned(),
        }
    })
}

/// The output of a call: the attempt that had the effect, and a text to search for.
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

fn permanent_failure(number: u64, effect: Effect) -> Failure {
    Failure::new(codes::TOOL_FAILED)
        .with_message(format!("permanent failure: {}", marker(number)))
        .with_effect(effect)
}

fn busy() -> Failure {
    Failure::new(codes::ERR_RESOURCE_BUSY)
        .with_message("busy")
        .with_effect(Effect::None)
}

fn retry_policy() -> RetryPolicy {
    let settings = RetrySettings {
        max_retries: MAX_RETRIES,
        initial_delay_ms: 2,
        max_delay_ms: 2,
        ..RetrySettings::default()
    };
    settings.try_into().expect("a valid policy")
}
