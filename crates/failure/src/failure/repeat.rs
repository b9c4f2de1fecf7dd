//! What a caller may do next: repeat the identical call, or which other move.
//!
//! `retryable` of a code says that the condition may pass. Whether this call may be repeated also
//! depends on what it left behind and on the operation, and that is decided here, once for every wire.

use panpan_catalogue::{Category, Effect, Remedy, codes};

use super::{Failure, Parts};

/// What is known about repeating a call, beyond its code and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The operation may be repeated whatever the effect: it reads, is idempotent, or the service
    /// recognises the key of the call.
    Allowed,
    /// The operation must not be repeated once it may have taken effect.
    OnlyWithoutEffect,
    /// It must not be repeated, although the condition may pass: the service says so.
    Refused,
    /// The failure is kept under the caller's idempotency key, so repeating the call returns it again.
    Frozen,
}

impl Repeat {
    /// All four.
    pub const ALL: [Repeat; 4] = [
        Repeat::Allowed,
        Repeat::OnlyWithoutEffect,
        Repeat::Refused,
        Repeat::Frozen,
    ];

    /// The word it is written as.
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
    /// Find out whether the call took effect before anything else.
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
    /// The word it is written as.
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
    /// Whether the identical call may be repeated: it can succeed later, and repeating it cannot do
    /// anything a second time. This is what every dialect writes as its boolean.
    pub fn may_repeat(&self) -> bool {
        self.0.may_repeat()
    }

    /// What was said about repeating the call, beyond its code and its effect.
    pub fn repeat(&self) -> Option<Repeat> {
        self.0.repeat
    }

    /// Says what is known about repeating the call. A delay is dropped where that is not allowed.
    pub fn with_repeat(mut self, repeat: Repeat) -> Self {
        self.0.repeat = Some(repeat);
        self
    }

    /// Whether an agent can get past it by repeating the call or by correcting its input: what the bot
    /// dialect calls retryable. Missing resources, credentials, conflicts and quotas are not meant.
    pub fn is_recoverable(&self) -> bool {
        self.may_repeat() || self.category() == Category::Validation
    }

    /// Whether a caller has to find out what happened before it does anything else: this call may have
    /// taken effect, or another one under its key.
    pub fn must_be_checked(&self) -> bool {
        let may_have_happened = self.effect() == Effect::Unknown
            || self.code().as_str() == codes::ERR_IDEMPOTENCY_KEY_REUSED.code;
        may_have_happened && !self.may_repeat()
    }

    /// What a caller can do, in the order it should be tried; at least one move.
    pub fn next_moves(&self) -> Vec<NextMove> {
        let mut moves = Vec::new();
        if self.may_repeat() {
            moves.push(NextMove::Wait);
        } else if self.must_be_checked() {
            moves.push(NextMove::CheckOutcome);
        }
        // What has been done needs no other input, and no second call of any kind.
        let is_done = self.effect() == Effect::Applied && !self.may_repeat();
        let has_alternative = !self.recovery().alternatives.is_empty();
        let others = self.remedies().iter().map(NextMove::of);
        moves.extend(others.filter(|next| match next {
            NextMove::Wait => false,
            NextMove::UseAlternative => has_alternative,
            NextMove::AskHuman => true,
            _ => !is_done,
        }));
        if moves.is_empty() {
            moves.push(NextMove::AskHuman);
        }
        moves
    }
}

/// Whether a sentence tells its reader to make the call again as it is. Where that is not allowed, no such
/// sentence of another author is passed on.
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
        self.kind.retryable() && self.is_harmless()
    }

    /// Whether repeating the call does nothing twice. Where the operation is not known, only an effect
    /// that was stated for this occurrence speaks against it.
    fn is_harmless(&self) -> bool {
        match self.repeat {
            Some(Repeat::Allowed) => true,
            Some(Repeat::OnlyWithoutEffect) => self.effect == Effect::None,
            Some(Repeat::Refused | Repeat::Frozen) => false,
            None => self.effect == Effect::None || self.effect == self.kind.default_effect(),
        }
    }

    /// A delay invites to repeat the call, so there is none where that is not allowed.
    pub(super) fn no_delay_unless_repeatable(&mut self) {
        if !self.may_repeat() {
            self.recovery.retry_after_ms = None;
            self.recovery.max_retries = None;
        }
    }
}
