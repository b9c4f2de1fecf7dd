//! What a request says about its call besides the input: key, seed, patience, trace.
//!
//! Each protocol has its own place for them; what they may be is the same everywhere.

use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{CallRequest, IdempotencyKey, Trace, shown};
use serde_json::{Map, Value};

/// The key in a request's `_meta` that holds the idempotency key.
pub const IDEMPOTENCY_META_KEY: &str = "dev.panpan/idempotency-key";
/// The key in a request's `_meta` that holds the retry seed.
pub const SEED_META_KEY: &str = "dev.panpan/retry-seed";
/// The key in a request's `_meta` that says how long the caller waits, in milliseconds.
pub(crate) const TIMEOUT_META_KEY: &str = "dev.panpan/timeout-ms";

/// What the headers of a request say about its call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) retry_seed: Option<i64>,
    pub(crate) timeout_ms: Option<u64>,
}

impl Terms {
    /// Puts them into a request that may say the same in its body.
    ///
    /// Fails with INVALID_INPUT where the body says something else.
    pub(crate) fn apply(&self, names: &Names, request: &mut CallRequest) -> Result<(), Failure> {
        let differs = |name| {
            let reason = format!("{name} differs from what the headers of the request say");
            Failure::new(codes::INVALID_INPUT)
                .with_message(&*reason)
                .with_violation(Violation::value(joined(names.within, name), reason))
        };
        agree(&self.key, &mut request.key).ok_or_else(|| differs(names.key))?;
        agree(&self.retry_seed, &mut request.retry_seed).ok_or_else(|| differs(names.seed))?;
        agree(&self.timeout_ms, &mut request.timeout_ms).ok_or_else(|| differs(names.timeout))
    }

    /// Refuses them where a request holds several calls: one key cannot be that of each.
    pub(crate) fn refuse_for_several(&self) -> Result<(), Failure> {
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
        Err(Failure::new(codes::INVALID_REQUEST)
            .with_message(format!(
                "the header {header} applies to one call, and this request holds several; none was executed"
            ))
            .with_detail("header", header)
            .with_actions(["Leave the header out and state it in the body of each call, or send the calls one by one"]))
    }
}

/// Takes over what was stated, unless something else is there.
fn agree<T: Clone + PartialEq>(stated: &Option<T>, place: &mut Option<T>) -> Option<()> {
    let Some(stated) = stated else {
        return Some(());
    };
    let is_same = *place.get_or_insert_with(|| stated.clone()) == *stated;
    is_same.then_some(())
}

/// Under which names a protocol keeps them, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// The pointer to the object that holds them.
    pub(crate) within: &'static str,
    pub(crate) key: &'static str,
    pub(crate) seed: &'static str,
    pub(crate) timeout: &'static str,
    pub(crate) trace: &'static str,
}

/// The names in `_meta`.
pub(crate) const IN_META: Names = Names {
    within: "/_meta",
    key: IDEMPOTENCY_META_KEY,
    seed: SEED_META_KEY,
    timeout: TIMEOUT_META_KEY,
    trace: "traceparent",
};

impl Names {
    /// Puts what the members say into the request.
    ///
    /// Fails with INVALID_INPUT for what cannot be used, except that a trace which is not well formed is
    /// ignored, as its specification says.
    pub(crate) fn apply(
        &self,
        members: &Map<String, Value>,
        request: &mut CallRequest,
    ) -> Result<(), Failure> {
        if let Some(stated) = members.get(self.key) {
            request.key = Some(self.key_of(stated)?);
        }
        if let Some(stated) = members.get(self.seed) {
            let seed = stated.as_i64();
            request.retry_seed =
                Some(seed.ok_or_else(|| {
                    self.unusable(self.seed, "a whole number of 64 bits", stated)
                })?);
        }
        if let Some(stated) = members.get(self.timeout) {
            let timeout_ms = stated.as_u64();
            request.timeout_ms = Some(timeout_ms.ok_or_else(|| {
                self.unusable(self.timeout, "a whole number of milliseconds", stated)
            })?);
        }
        let trace = members.get(self.trace).and_then(Value::as_str);
        request.trace = trace.and_then(Trace::parse);
        Ok(())
    }

    fn key_of(&self, stated: &Value) -> Result<IdempotencyKey, Failure> {
        let key = stated.as_str().map(IdempotencyKey::new);
        let expected = IdempotencyKey::form;
        match key {
            Some(Ok(key)) => Ok(key),
            Some(Err(error)) => {
                let failure = self.unusable(self.key, &expected(), stated);
                Err(failure.with_message(error.to_string()))
            }
            None => Err(self.unusable(self.key, &expected(), stated)),
        }
    }

    fn unusable(&self, name: &str, expected: &str, actual: &Value) -> Failure {
        let reason = format!("{name} is not {expected}");
        let violation = Violation::value(joined(self.within, name), &*reason).expected(expected);
        Failure::new(codes::INVALID_INPUT)
            .with_message(reason)
            .with_violation(Violation {
                actual: shown(actual),
                ..violation
            })
    }
}
