//! Everything that goes wrong: which faults there are, how often each strikes, how often it did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use panpan_failure::catalogue::{Entry, representative};
use panpan_failure::{Category, codes};
use panpan_runtime::ports::StoreError;

use crate::random::Random;

/// Where a gateway can stop dead or stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    BeforeClaim,
    AfterClaim,
    BeforeExtend,
    AfterExtend,
    BeforeComplete,
    AfterComplete,
    AfterSleep,
    HandlerEntered,
    AfterEffect,
    Reconciling,
    /// Whatever its tasks wait for at that time.
    Anywhere,
}

impl Point {
    /// How often of ten thousand times a gateway does not get past it.
    fn rate(self) -> u64 {
        match self {
            Self::BeforeClaim | Self::AfterClaim => 40,
            Self::AfterSleep => 60,
            Self::BeforeExtend | Self::AfterExtend => 250,
            Self::BeforeComplete | Self::AfterComplete => 100,
            Self::HandlerEntered | Self::AfterEffect => 150,
            Self::Reconciling => 1500,
            Self::Anywhere => 500,
        }
    }
}

/// A request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Port {
    Claim,
    Extend,
    Complete,
}

/// What a handler does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Misdeed {
    /// Fails with one of [`FAILURES`].
    Fails(usize),
    Hangs,
    Panics,
}

/// What a caller does besides waiting for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Manner {
    RepeatsAfterSilence,
    RepeatsAfterFailure,
    SendsOtherInput,
    CallsTwiceAtOnce,
    WaitsForAnother,
    Leaves,
    Aborts,
    Reopens,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Crash(Point),
    /// The whole gateway stands still, mostly for longer than a lease.
    Stall(Point),
    SlowRequest(Port),
    SlowAnswer(Port),
    /// The store does not do what it is asked; which of [`STORE_ERRORS`].
    Refused(Port, usize),
    /// The store does it, and the answer gets lost.
    AnswerLost(Port, usize),
    /// Before the effect.
    Before(Misdeed),
    /// After the effect.
    After(Misdeed),
    /// The handler works for about as long as a lease lasts.
    SlowHandler,
    /// It cannot be found out what became of a call: an error, silence, or a long time.
    SlowReconcile,
    Irreconcilable,
    Caller(Manner),
}

pub(crate) const STORE_ERRORS: [StoreError; 5] = [
    StoreError::Full,
    StoreError::Locked,
    StoreError::Damaged,
    StoreError::Unreachable,
    StoreError::Closed,
];

/// A failure of each category, and the one code that differs from its category.
pub(crate) const FAILURES: [&Entry; 11] = [
    representative(Category::Transient),
    representative(Category::RateLimit),
    representative(Category::ClientError),
    representative(Category::ServerError),
    representative(Category::AuthFail),
    representative(Category::Network),
    representative(Category::Validation),
    representative(Category::Resource),
    representative(Category::Timeout),
    representative(Category::Permanent),
    codes::ERR_SSL_ERROR,
];

const POINTS: [Point; 11] = [
    Point::BeforeClaim,
    Point::AfterClaim,
    Point::BeforeExtend,
    Point::AfterExtend,
    Point::BeforeComplete,
    Point::AfterComplete,
    Point::AfterSleep,
    Point::HandlerEntered,
    Point::AfterEffect,
    Point::Reconciling,
    Point::Anywhere,
];

const PORTS: [Port; 3] = [Port::Claim, Port::Extend, Port::Complete];

const MANNERS: [Manner; 8] = [
    Manner::RepeatsAfterSilence,
    Manner::RepeatsAfterFailure,
    Manner::SendsOtherInput,
    Manner::CallsTwiceAtOnce,
    Manner::WaitsForAnother,
    Manner::Leaves,
    Manner::Aborts,
    Manner::Reopens,
];

impl Fault {
    /// Every fault there is.
    pub(crate) fn all() -> Vec<Self> {
        let misdeeds = || {
            let failures = (0..FAILURES.len()).map(Misdeed::Fails);
            failures.chain([Misdeed::Hangs, Misdeed::Panics])
        };
        let mut all: Vec<_> = POINTS.map(Self::Crash).into();
        all.extend(POINTS.map(Self::Stall));
        for port in PORTS {
            all.extend([Self::SlowRequest(port), Self::SlowAnswer(port)]);
            all.extend((0..STORE_ERRORS.len()).map(|error| Self::Refused(port, error)));
            all.extend((0..STORE_ERRORS.len()).map(|error| Self::AnswerLost(port, error)));
        }
        all.extend(misdeeds().map(Self::Before));
        all.extend(misdeeds().map(Self::After));
        all.extend([Self::SlowHandler, Self::SlowReconcile, Self::Irreconcilable]);
        all.extend(MANNERS.map(Self::Caller));
        all
    }

    /// How often of ten thousand chances it strikes; none for what is chosen elsewhere.
    fn rate(self) -> u64 {
        match self {
            Self::Crash(point) | Self::Stall(point) => point.rate(),
            Self::SlowAnswer(Port::Claim) => 500,
            Self::SlowRequest(_) | Self::SlowAnswer(_) => 250,
            Self::Refused(Port::Extend, _) | Self::AnswerLost(Port::Extend, _) => 350,
            Self::Refused(Port::Claim, _) | Self::AnswerLost(Port::Claim, _) => 50,
            Self::Refused(Port::Complete, _) | Self::AnswerLost(Port::Complete, _) => 100,
            Self::SlowReconcile => 1500,
            Self::Irreconcilable => 2000,
            Self::Caller(Manner::CallsTwiceAtOnce) => 1500,
            Self::Caller(Manner::WaitsForAnother) => 1000,
            Self::Caller(Manner::SendsOtherInput) => 400,
            Self::Caller(Manner::Leaves) => 600,
            Self::Caller(Manner::Aborts) => 300,
            Self::Caller(Manner::Reopens) => 1000,
            Self::Before(_) | Self::After(_) | Self::SlowHandler | Self::Caller(_) => 0,
        }
    }

    fn label(self) -> String {
        match self {
            Self::Refused(port, error) => format!("Refused({port:?}, {:?})", STORE_ERRORS[error]),
            Self::AnswerLost(port, error) => {
                format!("AnswerLost({port:?}, {:?})", STORE_ERRORS[error])
            }
            Self::Before(Misdeed::Fails(failure)) => format!("Before({})", FAILURES[failure].code),
            Self::After(Misdeed::Fails(failure)) => format!("After({})", FAILURES[failure].code),
            other => format!("{other:?}"),
        }
    }
}

/// Strikes by chance until it is told to stop, and counts.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) random: Arc<Random>,
    counts: Mutex<BTreeMap<Fault, u64>>,
    over: AtomicBool,
}

impl Faults {
    pub(crate) fn new(random: Arc<Random>) -> Self {
        Self {
            random,
            counts: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Whether the fault strikes now.
    pub(crate) fn strikes(&self, fault: Fault) -> bool {
        let strikes = !self.are_over() && self.random.happens(fault.rate());
        if strikes {
            self.count(fault);
        }
        strikes
    }

    /// Counts a fault that was chosen elsewhere.
    pub(crate) fn count(&self, fault: Fault) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(fault).or_default() += 1;
    }

    /// From now on everything works.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// How often each fault struck, those that never did included.
    pub(crate) fn counts(&self) -> Vec<(Fault, u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |fault| (fault, counts.get(&fault).copied().unwrap_or_default());
        Fault::all().into_iter().map(of).collect()
    }
}

/// The counts as lines for people.
pub(crate) fn table(counts: &[(Fault, u64)]) -> String {
    let mut table = String::new();
    for (fault, count) in counts {
        writeln!(table, "{count:>7}  {}", fault.label()).unwrap();
    }
    table
}
