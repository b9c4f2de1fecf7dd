//! What is kept of calls: the outcomes of keyed ones, so that a key has one outcome for ever, and
//! recordings and counts for people who watch.
//!
//! The store keeps and compares; what a state means for a call is decided in the rooms `claim` and
//! `record`. The clock that leases and expiry go by is the store's own, since several gateways may
//! share one store.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::hex;
use panpan_contract::recording::Recording;
use panpan_failure::Code;
use uuid::Uuid;

use super::StoreError;
use crate::handler::BoxFuture;

/// Keeps outcomes.
///
/// What a method answered is durable, except for what [`note`](Self::note) and [`count`](Self::count)
/// took over. A future that is dropped may have done its work or not.
pub trait Outcomes: Send + Sync + fmt::Debug {
    /// Takes a key for one call, in one step: of any number of callers, one holds it.
    ///
    /// An outcome that has expired is as good as none, and so is a key that was set free longer than a
    /// day ago. A difference in the input is found first, whatever the state of the key. The key of a
    /// call whose lease ran out is taken over.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>>;

    /// Makes a lease last this much longer from now; `false` when it is held no more. One that ran out
    /// is held until somebody takes it over.
    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Ends what a claim began, if its lease is still the newest.
    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>>;

    /// The outcome of a key, unless it has expired.
    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>>;

    /// Sets a finished key free to run again; its outcome moves to [`earlier`](Self::earlier).
    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>>;

    /// The outcomes a key had before it was reopened, oldest first; they are forgotten with the key.
    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>>;

    /// Takes a recording over without making anyone wait; when too many wait, it is dropped and
    /// [`dropped`](Self::dropped) counts it.
    fn note(&self, recording: Recording);

    /// Takes counts over without making anyone wait; they are added to those of the same operation,
    /// code and hour.
    fn count(&self, counts: Vec<Count>);

    /// How many recordings were dropped since the store was opened.
    fn dropped(&self) -> u64;

    /// How much room there is and how much is taken.
    fn state(&self) -> StoreState {
        StoreState::default()
    }

    /// Waits until everything noted and counted before is durable.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The recording of a call.
    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>>;

    /// The recordings of the calls that came in last, newest first, at most `limit` of them; only
    /// failed ones if asked for.
    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>>;

    /// Counts of hours from this time on, ordered by operation, code and hour; those of success first.
    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>>;

    /// Deletes a bounded number of things nobody can ask for any more: outcomes that have expired,
    /// keys that were set free longer than a day ago, recordings and counts from before `recordings_before`.
    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>>;
}

/// How much room a store has and how much of it is taken. By default nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreState {
    /// What is taken, in bytes.
    pub used_bytes: u64,
    /// How much there may be; `None` where no limit is known.
    pub limit_bytes: Option<u64>,
    /// What recordings take of it, in bytes.
    pub recordings_bytes: u64,
    /// How much that may be.
    pub recordings_limit_bytes: Option<u64>,
    /// Whether only what was promised is still written: no key is taken and nothing is recorded.
    pub is_full: bool,
}

/// Which keyed call: a digest of the caller, the operation and the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(pub [u8; 32]);

/// A digest of what was asked, to tell a repeat from another call under the same key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scope({})", hex(&self.0[..8]))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({})", hex(&self.0[..8]))
    }
}

/// A wish to run a keyed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The keyed call.
    pub scope: Scope,
    /// What is asked.
    pub fingerprint: Fingerprint,
    /// The call that asks.
    pub call: Uuid,
    /// How long the key is held unless it is extended.
    pub lease_ms: u64,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// The key is held; whoever asked runs the operation.
    Held {
        /// What has to be shown to end it.
        lease: Lease,
        /// What happened under this key before.
        before: Before,
        /// 1, and one more each time the key was reopened or claimed for other input.
        generation: u32,
    },
    /// There is an outcome already.
    Replay(Kept),
    /// Somebody else holds the key.
    InFlight {
        /// How long at most, unless they extend it.
        remaining_ms: u64,
    },
    /// The key belongs to a call with other input, which may have had an effect.
    Reused,
}

/// A held key. Only the newest epoch of a key can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The keyed call.
    pub scope: Scope,
    /// Rises with every claim that was granted. It begins at the store's time in milliseconds, so that
    /// a key that was forgotten and used again does not come back to an epoch somebody still holds.
    pub epoch: u64,
}

/// What happened under a key before it was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// It was set free after so many attempts.
    Released {
        /// How many attempts; none after a reopening, which begins anew.
        attempts: u32,
        /// Whether one of them may have had an effect: repeating it was harmless, which is why the key was
        /// set free, but a later failure must not say that nothing happened.
        may_have_happened: bool,
    },
    /// Whoever held it stopped without a word: its effect may have happened.
    Abandoned {
        /// How many attempts are known of.
        attempts: u32,
        /// How often it was taken over since, this time included.
        recoveries: u32,
    },
}

impl Before {
    /// Whether something may have happened under the key.
    pub fn may_have_happened(self) -> bool {
        match self {
            Before::Nothing => false,
            Before::Released {
                may_have_happened, ..
            } => may_have_happened,
            Before::Abandoned { .. } => true,
        }
    }
}

/// The end of a held key.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// What was held.
    pub lease: Lease,
    /// All attempts made under this key so far.
    pub attempts: u32,
    /// What is to be kept.
    pub end: End,
    /// Whether nothing happened under the key. Then it belongs to what its caller intends and not to one
    /// input: another input claims it anew, as the next generation, and nothing can be done twice.
    pub without_effect: bool,
    /// What is to be recorded with it, in the same step. Few calls are, and a completion goes through
    /// several hands: the recording stays where it is.
    pub recording: Option<Box<Recording>>,
}

/// What is left of a keyed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its outcome, for at least so long.
    Keep {
        /// The outcome.
        outcome: KeptOutcome,
        /// How long from now.
        keep_ms: u64,
    },
    /// Nothing: the key is free, and the next call with the same input goes on.
    Release,
    /// That nobody knows: the key is as it was found, abandoned, and can be taken over at once. Having
    /// taken it over this time does not count as a recovery, and the lease is over for good.
    Abandon,
}

/// What became of a completion.
#[derive(Clone, Debug, PartialEq)]
pub enum Completed {
    /// It is written.
    Recorded {
        /// When the outcome expires; `None` for a key that was set free.
        expires_at: Option<Timestamp>,
    },
    /// Somebody has taken the key over; nothing was written.
    Superseded {
        /// The outcome there is, unless it is still being worked on.
        kept: Option<Kept>,
    },
}

/// An outcome as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The call that brought it about.
    pub call: Uuid,
    /// The outcome.
    pub outcome: KeptOutcome,
    /// When it is forgotten.
    pub expires_at: Timestamp,
    /// 1, and one more each time the key was reopened.
    pub generation: u32,
}

/// The outcome of a keyed call, as the text it is replayed from.
///
/// Its debug form tells how long the text is and never what it says.
#[derive(Clone, PartialEq, Eq)]
pub enum KeptOutcome {
    /// It succeeded; the output as JSON.
    Output(Arc<str>),
    /// It succeeded with more than is kept.
    LargeOutput {
        /// SHA-256 over the output's JSON.
        digest: [u8; 32],
        /// How long that JSON was.
        bytes: u64,
    },
    /// It failed for good; the failure as canonical JSON.
    Failure(Arc<str>),
}

impl fmt::Debug for KeptOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(text) => write!(formatter, "Output({} bytes)", text.len()),
            Self::LargeOutput { bytes, .. } => write!(formatter, "LargeOutput({bytes} bytes)"),
            Self::Failure(text) => write!(formatter, "Failure({} bytes)", text.len()),
        }
    }
}

/// A person's wish to run a finished key again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopening {
    /// The keyed call.
    pub scope: Scope,
    /// Who wishes it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// What became of a reopening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopened {
    /// The key is free.
    Free {
        /// The generation the next outcome will have.
        generation: u32,
    },
    /// There is no outcome to reopen.
    NothingKept,
    /// Somebody holds the key.
    InFlight {
        /// How long at most, unless they extend it.
        remaining_ms: u64,
    },
}

/// An outcome that was reopened, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// The outcome.
    pub kept: Kept,
    /// When it was reopened.
    pub at: Timestamp,
    /// Who did it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// How often something happened within an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The operation.
    pub operation: String,
    /// What calls ended with; `None` for success.
    pub code: Option<Code>,
    /// The beginning of the hour.
    pub hour: Timestamp,
    /// How many calls.
    pub calls: u64,
    /// How many of them took more than one attempt.
    pub retried: u64,
    /// How many of them were answered from the store.
    pub replayed: u64,
}

/// How much was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys.
    pub keys: u64,
    /// Recordings.
    pub recordings: u64,
    /// Counts.
    pub counts: u64,
}
