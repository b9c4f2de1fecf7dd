//! The faults: their kinds, their rates, and how often each occurred.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use panpan_failure::catalogue::{Entry, representative};
use panpan_failure::{Category, codes};
use panpan_runtime::ports::StoreError;

use crate::random::Random;

/// A point where a gateway can crash or stall.
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
    /// Any await point.
    Anywhere,
}

impl Point {
    /// How often out of ten thousand times a gateway crashes or stalls here.
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
pub(crate) enum StoreRequest {
    Claim,
    Extend,
    Complete,
}

/// What a handler does instead of succeeding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HandlerFault {
    /// Fails with one of [`FAILURES`].
    Fail(usize),
    Hang,
    Panic,
}

/// What a caller does besides waiting for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallerBehaviour {
    RepeatAfterLostReply,
    RepeatAfterFailure,
    SendDifferentInput,
    CallTwice,
    WaitInFlight,
    Disconnect,
    Abort,
    Reopen,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Crash(Point),
    /// The whole gateway stalls, mostly for longer than a lease.
    Stall(Point),
    SlowRequest(StoreRequest),
    SlowReply(StoreRequest),
    /// The store returns one of [`STORE_ERRORS`] and does nothing.
    RequestFailed(StoreRequest, usize),
    /// The store does its work, but returns one of [`STORE_ERRORS`].
    ReplyLost(StoreRequest, usize),
    /// The handler fails before its effect.
    BeforeEffect(HandlerFault),
    /// The handler fails after its effect.
    AfterEffect(HandlerFault),
    /// The handler runs for about as long as a lease.
    SlowHandler,
    /// A reconciliation takes long.
    SlowReconcile,
    ReconcileFails,
    Caller(CallerBehaviour),
}

pub(crate) const STORE_ERRORS: [StoreError; 5] = [
    StoreError::Full,
    StoreError::Locked,
    StoreError::Damaged,
    StoreError::Unreachable,
    StoreError::Closed,
];

/// A failure of each category, and the only code whose facts differ from its category.
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

const STORE_REQUESTS: [StoreRequest; 3] = [
    StoreRequest::Claim,
    StoreRequest::Extend,
    StoreRequest::Complete,
];

const BEHAVIOURS: [CallerBehaviour; 8] = [
    CallerBehaviour::RepeatAfterLostReply,
    CallerBehaviour::RepeatAfterFailure,
    CallerBehaviour::SendDifferentInput,
    CallerBehaviour::CallTwice,
    CallerBehaviour::WaitInFlight,
    CallerBehaviour::Disconnect,
    CallerBehaviour::Abort,
    CallerBehaviour::Reopen,
];

impl Fault {
    /// Every fault.
    pub(crate) fn all() -> Vec<Self> {
        let handler_faults = || {
            let failures = (0..FAILURES.len()).map(HandlerFault::Fail);
            failures.chain([HandlerFault::Hang, HandlerFault::Panic])
        };
        let mut all: Vec<_> = POINTS.map(Self::Crash).into();
        all.extend(POINTS.map(Self::Stall));
        for port in STORE_REQUESTS {
            all.extend([Self::SlowRequest(port), Self::SlowReply(port)]);
            all.extend((0..STORE_ERRORS.len()).map(|error| Self::RequestFailed(port, error)));
            all.extend((0..STORE_ERRORS.len()).map(|error| Self::ReplyLost(port, error)));
        }
        all.extend(handler_faults().map(Self::BeforeEffect));
        all.extend(handler_faults().map(Self::AfterEffect));
        all.extend([Self::SlowHandler, Self::SlowReconcile, Self::ReconcileFails]);
        all.extend(BEHAVIOURS.map(Self::Caller));
        all
    }

    /// How often the fault occurs out of ten thousand chances; 0 if it is chosen elsewhere.
    fn rate(self) -> u64 {
        match self {
            Self::Crash(point) | Self::Stall(point) => point.rate(),
            Self::SlowReply(StoreRequest::Claim) => 500,
            Self::SlowRequest(_) | Self::SlowReply(_) => 250,
            Self::RequestFailed(StoreRequest::Extend, _)
            | Self::ReplyLost(StoreRequest::Extend, _) => 350,
            Self::RequestFailed(StoreRequest::Claim, _)
            | Self::ReplyLost(StoreRequest::Claim, _) => 50,
            Self::RequestFailed(StoreRequest::Complete, _)
            | Self::ReplyLost(StoreRequest::Complete, _) => 100,
            Self::SlowReconcile => 1500,
            Self::ReconcileFails => 2000,
            Self::Caller(CallerBehaviour::CallTwice) => 1500,
            Self::Caller(CallerBehaviour::WaitInFlight) => 1000,
            Self::Caller(CallerBehaviour::SendDifferentInput) => 400,
            Self::Caller(CallerBehaviour::Disconnect) => 600,
            Self::Caller(CallerBehaviour::Abort) => 300,
            Self::Caller(CallerBehaviour::Reopen) => 1000,
            Self::BeforeEffect(_) | Self::AfterEffect(_) | Self::SlowHandler | Self::Caller(_) => 0,
        }
    }

    fn label(self) -> String {
        match self {
            Self::RequestFailed(port, error) => {
                format!("RequestFailed({port:?}, {:?})", STORE_ERRORS[error])
            }
            Self::ReplyLost(port, error) => {
                format!("ReplyLost({port:?}, {:?})", STORE_ERRORS[error])
            }
            Self::BeforeEffect(HandlerFault::Fail(failure)) => {
                format!("BeforeEffect({})", FAILURES[failure].code)
            }
            Self::AfterEffect(HandlerFault::Fail(failure)) => {
                format!("AfterEffect({})", FAILURES[failure].code)
            }
            other => format!("{other:?}"),
        }
    }
}

/// Decides by chance whether faults occur, until they are turned off, and counts them.
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

    /// Whether the fault occurs now; counts it.
    pub(crate) fn occurs(&self, fault: Fault) -> bool {
        let occurs = !self.are_off() && self.random.happens(fault.rate());
        if occurs {
            self.count(fault);
        }
        occurs
    }

    /// Counts a fault that was chosen elsewhere.
    pub(crate) fn count(&self, fault: Fault) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(fault).or_default() += 1;
    }

    /// Turns all faults off.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_off(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// How often each fault occurred, including those that never did.
    pub(crate) fn counts(&self) -> Vec<(Fault, u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |fault| (fault, counts.get(&fault).copied().unwrap_or_default());
        Fault::all().into_iter().map(of).collect()
    }
}

/// The counts as a table.
pub(crate) fn table(counts: &[(Fault, u64)]) -> String {
    let mut table = String::new();
    for (fault, count) in counts {
        writeln!(table, "{count:>7}  {}", fault.label()).unwrap();
    }
    table
}
