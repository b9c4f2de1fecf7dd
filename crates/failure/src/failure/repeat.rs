//! What a caller may do next: repeat the identical call, or another move.
//!
//! `retryable` of a code means that the condition can pass. Whether this call may be repeated also depends
//! on its effect and on the operation; that is decided here, once for all dialects.

use panpan_catalogue::{Category, Effect, Remedy, codes};

use super::{Failure, Parts};

/// Whether a call may be repeated, beyond its code and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The operation may be repeated regardless of the effect: it only reads, it is idempotent, or the
    /// service recognises the idempotency key.
    Allowed,
    /// The operation must not be repeated if it may have taken effect.
    OnlyWithoutEffect,
    /// The service forbids to repeat it, although the condition can pass.
    Refused,
    /// The failure is stored under the idempotency key, so repeating the call returns it again.
    Frozen,
}

impl Repeat {
    /// All values.
    pub const ALL: [Repeat; 4] = [
        Repeat::Allowed,
        Repeat::OnlyWithoutEffect,
        Repeat::Refused,
        Repeat::Frozen,
    ];

    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Repeat::Allowed => "allowed",
            Repeat::OnlyWithoutEffect => "only_without_effect",
            Repeat::Refused => "refused",
            Repeat::Frozen => "frozen",
        }
    }

    /// The value of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|repeat| repeat.word() == word)
    }
}

/// One thing a caller can do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextMove {
    /// Wait, then repeat the identical call.
    Wait,
    /// Find out whether the call took effect.
    CheckOutcome,
    /// Send other input.
    ChangeInput,
    /// Change something outside this call first.
    ChangeState,
    /// Get another credential.
    Reauthenticate,
    /// Call another operation.
    UseAlternative,
    /// Ask a person.
    AskHuman,
}

impl NextMove {
    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            NextMove::Wait => "wait",
            NextMove::CheckOutcome => "check_outcome",
            NextMove::ChangeInput => "change_input",
            NextMove::ChangeState => "change_state",
            NextMove::Reauthenticate => "reauthenticate",
            NextMove::UseAlternative => "use_alternative",
            NextMove::AskHuman => "ask_human",
        }
    }

    fn of(remedy: Remedy) -> Self {
        match remedy {
            Remedy::Wait => NextMove::Wait,
            Remedy::ChangeInput => NextMove::ChangeInput,
            Remedy::ChangeState => NextMove::ChangeState,
            Remedy::Reauthenticate => NextMove::Reauthenticate,
            Remedy::UseAlternative => NextMove::UseAlternative,
            Remedy::AskHuman => NextMove::AskHuman,
        }
    }
}

impl Failure {
    /// Whether the identical call may be repeated: it can succeed later, and repeating it cannot apply an
    /// effect twice. Every dialect writes this as its boolean.
    pub fn may_repeat(&self) -> bool {
        self.0.may_repeat()
    }

    /// Whether the call may be repeated, as stated beyond its code and its effect.
    pub fn repeat(&self) -> Option<Repeat> {
        self.0.repeat
    }

    /// Sets whether the call may be repeated. A delay is dropped if it may not.
    pub fn with_repeat(mut self, repeat: Repeat) -> Self {
        self.0.repeat = Some(repeat);
        self
    }

    /// Whether repeating the call or correcting its input can help: `is_retryable` of the bot dialect.
    /// False for missing resources, credentials, conflicts and quotas.
    pub fn is_recoverable(&self) -> bool {
        self.may_repeat() || self.category() == Category::Validation
    }

    /// Whether a caller has to check the outcome first: this call, or another call with its key, may have
    /// taken effect.
    pub fn must_check_outcome(&self) -> bool {
        let may_have_happened = self.effect() == Effect::Unknown
            || self.code().as_str() == codes::ERR_IDEMPOTENCY_KEY_REUSED.code;
        may_have_happened && !self.may_repeat()
    }

    /// The moves of a caller, in the order to try them; at least one.
    pub fn next_moves(&self) -> Vec<NextMove> {
        let mut moves = Vec::new();
        if self.may_repeat() {
            moves.push(NextMove::Wait);
        } else if self.must_check_outcome() {
            moves.push(NextMove::CheckOutcome);
        }
        // An effect that was applied needs no other input and no second call.
        let is_applied = self.effect() == Effect::Applied && !self.may_repeat();
        let has_alternative = !self.recovery().alternatives.is_empty();
        let others = self.remedies().iter().map(NextMove::of);
        moves.extend(others.filter(|next| match next {
            NextMove::Wait => false,
            NextMove::UseAlternative => has_alternative,
            NextMove::AskHuman => true,
            _ => !is_applied,
        }));
        if moves.is_empty() {
            moves.push(NextMove::AskHuman);
        }
        moves
    }
}

/// Whether a sentence invites the reader to repeat the call. Such sentences of third parties are dropped
/// where the call must not be repeated.
pub fn invites_repeat(sentence: &str) -> bool {
    const BEGINNINGS: [&str; 6] = [
        "retry",
        "try again",
        "try the request again",
        "repeat",
        "resend",
        "wait",
    ];
    let sentence = sentence.trim_start().to_ascii_lowercase();
    let sentence = sentence.strip_prefix("please ").unwrap_or(&sentence);
    BEGINNINGS.iter().any(|it| {
        let rest = sentence.strip_prefix(it);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

impl Parts {
    pub(super) fn may_repeat(&self) -> bool {
        self.kind.retryable() && self.is_safe_to_repeat()
    }

    /// Whether repeating the call cannot apply an effect twice. If the operation is unknown, only an effect
    /// that was stated for this occurrence counts.
    fn is_safe_to_repeat(&self) -> bool {
        match self.repeat {
            Some(Repeat::Allowed) => true,
            Some(Repeat::OnlyWithoutEffect) => self.effect == Effect::None,
            Some(Repeat::Refused | Repeat::Frozen) => false,
            None => self.effect == Effect::None || self.effect == self.kind.default_effect(),
        }
    }

    /// A delay invites to repeat the call, so it is dropped where that is not allowed.
    pub(super) fn drop_delay_unless_repeatable(&mut self) {
        if !self.may_repeat() {
            self.recovery.retry_after_ms = None;
            self.recovery.max_retries = None;
        }
    }
}
