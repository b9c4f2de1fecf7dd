//! Options of a call besides its input: idempotency key, retry seed, timeout and trace.
//!
//! Each protocol has its own names for them; their meaning and their checks are the same everywhere.

use panpan_failure::catalogue::nearest;
use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, SEED_META_KEY, TIMEOUT_META_KEY, TRACE_META_KEY};
use panpan_runtime::{CallRequest, IdempotencyKey, Trace, shown};
use serde_json::{Map, Value};

/// What a timeout has to be.
pub(crate) const TIMEOUT_FORM: &str = "a whole number of milliseconds, at least 1";

/// Call options, as the headers of a request state them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) retry_seed: Option<i64>,
    pub(crate) timeout_ms: Option<u64>,
}

impl CallOptions {
    /// Adds these options to a request that may have the same options from its body.
    ///
    /// Fails with INVALID_INPUT if an option differs between headers and body.
    pub(crate) fn apply(
        &self,
        names: &OptionNames,
        request: &mut CallRequest,
    ) -> Result<(), Failure> {
        let differs = |name| {
            let reason = format!("{name} differs from the value in the request headers");
            Failure::new(codes::INVALID_INPUT)
                .with_message(&*reason)
                .with_violation(Violation::value(joined(names.object, name), reason))
        };
        merge(&self.key, &mut request.key).ok_or_else(|| differs(names.key))?;
        merge(&self.retry_seed, &mut request.retry_seed).ok_or_else(|| differs(names.seed))?;
        merge(&self.timeout_ms, &mut request.timeout_ms).ok_or_else(|| differs(names.timeout))
    }

    /// Refuses options in the headers of a batch: one key cannot belong to several calls.
    pub(crate) fn refuse_in_batch(&self) -> Result<(), Failure> {
        let header = match self {
            Self { key: Some(_), .. } => "Idempotency-Key",
            Self {
                retry_seed: Some(_),
                ..
            } => "Panpan-Retry-Seed",
            Self {
                timeout_ms: Some(_),
                ..
            } => "Panpan-Timeout-Ms",
            _ => return Ok(()),
        };
        Err(refused_in_batch(header, "header").with_detail("header", header))
    }
}

fn refused_in_batch(name: &str, place: &str) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!(
            "the {place} {name} applies to a single call, but the request is a batch; no call was executed"
        ))
        .with_actions([format!(
            "Remove the {place} and set the option in each call, or send the calls one by one"
        )])
}

/// Fills a missing option; `None` if the option is there with another value.
fn merge<T: Clone + PartialEq>(header: &Option<T>, body: &mut Option<T>) -> Option<()> {
    let Some(header) = header else {
        return Some(());
    };
    let is_same = *body.get_or_insert_with(|| header.clone()) == *header;
    is_same.then_some(())
}

/// The members that hold the options in the messages of a protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionNames {
    /// The JSON pointer to the object with these members.
    pub(crate) object: &'static str,
    pub(crate) key: &'static str,
    pub(crate) seed: &'static str,
    pub(crate) timeout: &'static str,
    pub(crate) trace: &'static str,
}

/// The names in `_meta`.
pub(crate) const IN_META: OptionNames = OptionNames {
    object: "/_meta",
    key: IDEMPOTENCY_META_KEY,
    seed: SEED_META_KEY,
    timeout: TIMEOUT_META_KEY,
    trace: TRACE_META_KEY,
};

impl OptionNames {
    /// The names without a prefix, in the object at this JSON pointer.
    pub(crate) const fn plain(object: &'static str) -> Self {
        Self {
            object,
            key: "idempotency_key",
            seed: "retry_seed",
            timeout: "timeout_ms",
            trace: "traceparent",
        }
    }

    /// Adds the options among these members to the request.
    ///
    /// Fails with INVALID_INPUT for an invalid option; `null` means that an option is not set. An invalid trace is
    /// ignored, as Trace Context requires.
    pub(crate) fn apply(
        &self,
        members: &Map<String, Value>,
        request: &mut CallRequest,
    ) -> Result<(), Failure> {
        let stated = |name| members.get(name).filter(|it: &&Value| !it.is_null());
        if let Some(value) = stated(self.key) {
            request.key = Some(self.parse_key(value)?);
        }
        if let Some(value) = stated(self.seed) {
            let seed = value.as_i64();
            request.retry_seed =
                Some(seed.ok_or_else(|| self.invalid(self.seed, "a 64-bit integer", value))?);
        }
        if let Some(value) = stated(self.timeout) {
            let timeout_ms = value.as_u64().filter(|it| *it > 0);
            request.timeout_ms =
                Some(timeout_ms.ok_or_else(|| self.invalid(self.timeout, TIMEOUT_FORM, value))?);
        }
        let trace = members.get(self.trace).and_then(Value::as_str);
        request.trace = trace.and_then(Trace::parse);
        Ok(())
    }

    /// Refuses a member whose name is almost that of an option: a misspelt key could mean a second payment.
    pub(crate) fn refuse_misspelt(&self, members: &Map<String, Value>) -> Result<(), Failure> {
        let options = [self.key, self.seed, self.timeout];
        let unknown = members.keys().filter(|it| !options.contains(&it.as_str()));
        for name in unknown {
            let near = nearest(name, options);
            if let Some(option) = near.first() {
                let reason = format!("unknown member {name}; did you mean {option}?");
                let violation = Violation::value(joined(self.object, name), "unknown member");
                return Err(Failure::new(codes::INVALID_REQUEST)
                    .with_message(reason)
                    .with_violation(violation.expected(*option)));
            }
        }
        Ok(())
    }

    /// Refuses options among the members of a batch: one key cannot belong to several calls.
    pub(crate) fn refuse_in_batch(&self, members: &Map<String, Value>) -> Result<(), Failure> {
        let is_stated = |it: &&str| members.get(*it).is_some_and(|it| !it.is_null());
        let option = [self.key, self.seed, self.timeout]
            .into_iter()
            .find(is_stated);
        let Some(name) = option else {
            return Ok(());
        };
        Err(refused_in_batch(name, "_meta member").with_detail("member", name))
    }

    fn parse_key(&self, value: &Value) -> Result<IdempotencyKey, Failure> {
        let key = value.as_str().map(IdempotencyKey::new);
        let expected = IdempotencyKey::form;
        match key {
            Some(Ok(key)) => Ok(key),
            Some(Err(error)) => {
                let failure = self.invalid(self.key, &expected(), value);
                Err(failure.with_message(error.to_string()))
            }
            None => Err(self.invalid(self.key, &expected(), value)),
        }
    }

    fn invalid(&self, name: &str, expected: &str, actual: &Value) -> Failure {
        let reason = format!("{name} is not {expected}");
        let violation = Violation::value(joined(self.object, name), &*reason).expected(expected);
        Failure::new(codes::INVALID_INPUT)
            .with_message(reason)
            .with_violation(Violation {
                actual: shown(actual),
                ..violation
            })
    }
}
