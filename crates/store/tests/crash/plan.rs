//! What each numbered call is to do, drawn from the seed: the same number does the same in every process.

/// Small and good enough to choose moments; not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of the sequence called SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// What running twice means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Harm.
    Once,
    /// Nothing.
    Repeatable,
    /// Harm, but the other side can be asked.
    Reconcilable,
}

/// Every kind with the operation that stands for it.
pub(crate) const KINDS: [(Kind, &str); 3] = [
    (Kind::Once, "crash/once"),
    (Kind::Repeatable, "crash/repeatable"),
    (Kind::Reconcilable, "crash/reconcilable"),
];

/// How a call is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Succeeds,
    /// For good, and nothing happened.
    FailsBefore,
    /// For good, and it happened.
    FailsAfter,
    /// So many attempts find it busy, with nothing done; then it succeeds.
    Busy {
        attempts: u32,
    },
}

/// What a numbered call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) operation: &'static str,
    pub(crate) ending: Ending,
    pub(crate) before_ms: u64,
    pub(crate) after_ms: u64,
    /// Whether two callers ask at once. Not where a stalled but living holder could be taken over and
    /// its effect come after somebody asked for it: that is no crash.
    pub(crate) twice_at_once: bool,
}

impl Plan {
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let (kind, operation) = KINDS[usize::try_from(number % 3).unwrap_or(0)];
        let ending = match random.below(10) {
            0 => Ending::FailsBefore,
            1 => Ending::FailsAfter,
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
            twice_at_once: kind != Kind::Reconcilable && random.below(4) == 0,
        }
    }
}

/// The name of a numbered piece of work.
pub(crate) fn key(number: u64) -> String {
    format!("key-{number:06}")
}

/// A text that stands in the outcome of a numbered call and nowhere else.
pub(crate) fn marker(number: u64) -> String {
    format!("marker-{number:06}")
}
