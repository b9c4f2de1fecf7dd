//! What each numbered call does, derived from the seed: the same in every process.

/// A small random generator; not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The kind of an operation: the effect of running it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Must run at most once.
    Once,
    /// Can be repeated.
    Repeatable,
    /// Must run at most once, and can be reconciled.
    Reconcilable,
}

/// Every kind with its operation.
pub(crate) const KINDS: [(Kind, &str); 3] = [
    (Kind::Once, "crash/once"),
    (Kind::Repeatable, "crash/repeatable"),
    (Kind::Reconcilable, "crash/reconcilable"),
];

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Succeeds,
    /// Fails permanently, without effect.
    FailsBeforeEffect,
    /// Fails permanently, after its effect.
    FailsAfterEffect,
    /// Is busy for this many attempts, without effect; then succeeds.
    Busy {
        attempts: u32,
    },
}

/// The plan of a numbered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) operation: &'static str,
    pub(crate) ending: Ending,
    pub(crate) before_ms: u64,
    pub(crate) after_ms: u64,
    /// Whether two callers make the call at once. Not for reconcilable calls: a stalled holder could be
    /// taken over and have its effect after the reconciliation, which is not a crash.
    pub(crate) called_twice: bool,
}

impl Plan {
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let (kind, operation) = KINDS[usize::try_from(number % 3).unwrap_or(0)];
        let ending = match random.below(10) {
            0 => Ending::FailsBeforeEffect,
            1 => Ending::FailsAfterEffect,
            2 | 3 => Ending::Busy {
                attempts: 1 + u32::try_from(random.below(4)).unwrap_or(0),
            },
            _ => Ending::Succeeds,
        };
        Self {
            kind,
            operation,
            ending,
            before_ms: random.below(5),
            after_ms: random.below(5),
            called_twice: kind != Kind::Reconcilable && random.below(4) == 0,
        }
    }
}

/// The key of a numbered call.
pub(crate) fn key(number: u64) -> String {
    format!("key-{number:06}")
}

/// A text that occurs in the outcome of a numbered call only.
pub(crate) fn marker(number: u64) -> String {
    format!("marker-{number:06}")
}
