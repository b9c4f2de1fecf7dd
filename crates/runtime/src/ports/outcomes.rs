//! The store port: outcomes of keyed calls, and recordings and counts for operators.
//!
//! The store only keeps and compares states; the stages `claim` and `record` decide what they mean for a
//! call. Leases and expiry use the clock of the store, since several gateways may share one store.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::hex;
use panpan_contract::recording::Recording;
use uuid::Uuid;

use super::{Count, StoreError};
use crate::handler::BoxFuture;

/// Stores outcomes, recordings and counts.
///
/// A write is durable when its method returns, except for [`note`](Self::note) and [`count`](Self::count).
/// A future that is dropped may or may not have written.
pub trait Outcomes: Send + Sync + fmt::Debug {
    /// Claims a key for one call, atomically: of any number of concurrent callers, one holds it.
    ///
    /// An expired outcome is treated as none, and so is a key that was released more than a day ago.
    /// Different input is detected first, whatever the state of the key. A key whose lease expired is taken
    /// over.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>>;

    /// Extends a lease from now; `false` if it was lost. An expired lease can be extended until another call
    /// takes the key over.
    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Ends a claim, if its lease is still the newest.
    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>>;

    /// The outcome of a key, unless it has expired.
    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>>;

    /// Releases a finished key so that it can run again; its outcome moves to [`earlier`](Self::earlier).
    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>>;

    /// The outcomes of a key before it was reopened, oldest first; they are deleted with the key.
    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>>;

    /// Queues a recording without blocking. If the queue is full, the recording is dropped and counted by
    /// [`dropped`](Self::dropped).
    fn note(&self, recording: Recording);

    /// Queues counts without blocking; they are added to those of the same operation, code and hour.
    fn count(&self, counts: Vec<Count>);

    /// How many recordings were dropped since the store was opened.
    fn dropped(&self) -> u64;

    /// The size of the store and its limits.
    fn state(&self) -> StoreState {
        StoreState::default()
    }

    /// Waits until all queued recordings and counts are durable.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The recording of a call.
    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>>;

    /// The recordings of the latest calls, newest first, at most `limit`; only failed ones if requested.
    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>>;

    /// Counts of hours since this time, ordered by operation, code and hour; successes come first.
    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>>;

    /// Deletes a bounded amount of old data: expired outcomes, keys released more than a day ago, and
    /// recordings and counts from before `recordings_before`.
    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>>;
}

/// The size of a store and its limits. By default nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreState {
    /// The used space, in bytes.
    pub used_bytes: u64,
    /// The size limit; `None` if there is none.
    pub limit_bytes: Option<u64>,
    /// The space used by recordings, in bytes.
    pub recordings_bytes: u64,
    /// The limit for recordings.
    pub recordings_limit_bytes: Option<u64>,
    /// Whether the store is full: it still writes outcomes of held keys, but grants no key and records nothing.
    pub is_full: bool,
}

/// The scope of a key: a digest of the caller, the operation and the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(pub [u8; 32]);

/// A digest of the operation and its input, to distinguish a repeat from another call with the same key.
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

/// A request to hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The scope of the key.
    pub scope: Scope,
    /// The fingerprint of the call.
    pub fingerprint: Fingerprint,
    /// The id of the call.
    pub call: Uuid,
    /// The length of the lease.
    pub lease_ms: u64,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// The key is held; the call runs the operation.
    Held {
        /// The lease, needed to end the claim.
        lease: Lease,
        /// The history of the key.
        before: Before,
        /// 1, plus one for each time that the key was reopened or claimed with other input.
        generation: u32,
    },
    /// There is already an outcome.
    Replay(Kept),
    /// Another call holds the key.
    InFlight {
        /// The rest of its lease.
        remaining_ms: u64,
    },
    /// The key was used with different input, and that call may have taken effect.
    Reused,
}

/// A held key. Only the newest epoch of a key can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The scope of the key.
    pub scope: Scope,
    /// Rises with every granted claim. It starts at the time of the store in milliseconds, so that a key that
    /// was deleted and used again does not reuse an epoch.
    pub epoch: u64,
}

/// The history of a key before a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The key is new.
    Nothing,
    /// The key was released.
    Released {
        /// The number of attempts since the key was last reopened.
        attempts: u32,
        /// Whether one of them may have had an effect. The key was released because repeating is harmless, but
        /// a later failure must not report that there was no effect.
        may_have_happened: bool,
    },
    /// The holder ended without a recorded outcome; it may have taken effect.
    Abandoned {
        /// The number of known attempts.
        attempts: u32,
        /// How often the key was taken over since, including this time.
        recoveries: u32,
    },
}

impl Before {
    /// Whether an earlier call may have taken effect.
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
    /// The lease of the claim.
    pub lease: Lease,
    /// The number of all attempts with this key so far.
    pub attempts: u32,
    /// The final state of the key.
    pub end: End,
    /// Whether no call with the key had an effect. Then the key is not bound to one input: other input can
    /// claim it as the next generation.
    pub without_effect: bool,
    /// The recording to write in the same transaction. Boxed, because few calls have one.
    pub recording: Option<Box<Recording>>,
}

/// The final state of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Keeps the outcome.
    Keep {
        /// The outcome.
        outcome: KeptOutcome,
        /// How long at least, from now.
        keep_ms: u64,
    },
    /// Releases the key; the next call runs.
    Release,
    /// Leaves the key abandoned, so that it can be taken over at once. This take-over does not count as a
    /// recovery, and the lease ends.
    Abandon,
}

/// The result of a completion.
#[derive(Clone, Debug, PartialEq)]
pub enum Completed {
    /// It is written.
    Recorded {
        /// When the outcome expires; `None` for a released key.
        expires_at: Option<Timestamp>,
    },
    /// Another call has taken the key over; nothing was written.
    Superseded {
        /// The outcome of the other call, unless it is still running.
        kept: Option<Kept>,
    },
}

/// A stored outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The call that produced it.
    pub call: Uuid,
    /// The outcome.
    pub outcome: KeptOutcome,
    /// When it expires.
    pub expires_at: Timestamp,
    /// 1, plus one for each time that the key was reopened.
    pub generation: u32,
}

/// The outcome of a keyed call, as the text from which it is replayed.
///
/// Its debug form shows only the length of the text.
#[derive(Clone, PartialEq, Eq)]
pub enum KeptOutcome {
    /// The output, as JSON.
    Output(Arc<str>),
    /// An output that was too large to store.
    LargeOutput {
        /// SHA-256 of the JSON.
        digest: [u8; 32],
        /// The length of the JSON.
        bytes: u64,
    },
    /// The failure, as canonical JSON.
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

/// A request by an operator to run a finished key again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopening {
    /// The scope of the key.
    pub scope: Scope,
    /// The name of the operator.
    pub by: String,
    /// The reason.
    pub reason: String,
}

/// The result of a reopening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopened {
    /// The key is free.
    Free {
        /// The generation of the next outcome.
        generation: u32,
    },
    /// There is no outcome to reopen.
    NothingKept,
    /// A call holds the key.
    InFlight {
        /// The rest of its lease.
        remaining_ms: u64,
    },
}

/// An outcome whose key was reopened.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// The outcome.
    pub kept: Kept,
    /// When it was reopened.
    pub at: Timestamp,
    /// Who reopened it.
    pub by: String,
    /// The reason.
    pub reason: String,
}

/// The numbers of deleted entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys.
    pub keys: u64,
    /// Recordings.
    pub recordings: u64,
    /// Counts.
    pub counts: u64,
}
