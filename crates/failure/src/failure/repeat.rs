//! What a caller may do next: repeat the identical call, or another move.
//!
//! `retryable` of a code means that the condition can pass. Whether this call may be repeated also depends
//! on its effect and on the operation; that is decided here, once for all dialects.

use panpan_catalogue::{Category, Effect, codes};
use serde_json::Value;

use super::{Failure, Parts};

panpan_catalogue::words! {
    /// Whether a call may be repeated, beyond its code and its effect.
    Repeat {
        /// The operation may be repeated regardless of the effect: it only reads, it is idempotent, or the
        /// service recognises the idempotency key.
        Allowed = "allowed",
        /// The operation must not be repeated if it may have taken effect.
        OnlyWithoutEffect = "only_without_effect",
        /// The identical call must not be repeated if it may have taken effect, but the call with the idempotency
        /// key that the details name may: the service recognises that key.
        WithKey = "with_key",
        /// The service forbids to repeat it, although the condition can pass.
        Refused = "refused",
        /// The failure is stored under the idempotency key, so repeating the call returns it again.
        Frozen = "frozen",
    }
}

panpan_catalogue::words! {
    /// One thing a caller can do about a failure.
    NextMove {
        /// Wait, then repeat the identical call.
        Wait = "wait",
        /// Find out whether the call took effect.
        CheckOutcome = "check_outcome",
        /// Send other input.
        ChangeInput = "change_input",
        /// Change something outside this call first.
        ChangeState = "change_state",
        /// Get another credential.
        Reauthenticate = "reauthenticate",
        /// Call another operation.
        UseAlternative = "use_alternative",
        /// Ask a person.
        AskHuman = "ask_human",
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
        may_have_happened && !self.may_repeat() && !self.is_answered_by_key()
    }

    /// Whether the call with the key that the details name gives the outcome, so that nothing has to be checked.
    fn is_answered_by_key(&self) -> bool {
        self.repeat() == Some(Repeat::WithKey) && self.effect() == Effect::Unknown
    }

    /// The moves of a caller, in the order to try them; at least one.
    pub fn next_moves(&self) -> Vec<NextMove> {
        let first = self.first_move();
        let mut moves: Vec<NextMove> = first.into_iter().collect();
        // A remedy and its move have the same word.
        let others = self.remedies().iter();
        let others = others.filter_map(|it| NextMove::from_word(it.word()));
        moves.extend(others.filter(|next| Some(*next) != first && self.can_help(*next)));
        let waits_long = self.recovery().retry_after_ms > Some(LONG_DELAY_MS);
        if moves.is_empty() || (waits_long && !moves.contains(&NextMove::AskHuman)) {
            moves.push(NextMove::AskHuman);
        }
        moves
    }

    /// The move that this occurrence asks for, whatever its code says.
    fn first_move(&self) -> Option<NextMove> {
        // The input gets the key that the details name.
        let is_about_input = self.is_answered_by_key() || self.names_wrong_members();
        match () {
            () if self.may_repeat() => Some(NextMove::Wait),
            () if self.must_check_outcome() => Some(NextMove::CheckOutcome),
            () if is_about_input => Some(NextMove::ChangeInput),
            () => None,
        }
    }

    /// Whether the service refused the call without effect, and it is known which members of the input are wrong.
    fn names_wrong_members(&self) -> bool {
        let is_about_request = matches!(
            self.category(),
            Category::ClientError | Category::Validation
        );
        is_about_request && self.effect() == Effect::None && !self.violations().is_empty()
    }

    /// Whether a remedy of the code can help in this occurrence.
    fn can_help(&self, next: NextMove) -> bool {
        // An effect that was applied needs no other input and no second call.
        let is_applied = self.effect() == Effect::Applied && !self.may_repeat();
        match next {
            NextMove::Wait => false,
            NextMove::UseAlternative => !self.recovery().alternatives.is_empty(),
            NextMove::AskHuman => true,
            NextMove::ChangeInput => !is_applied && !self.is_outside_input(),
            _ => !is_applied,
        }
    }

    /// Whether no other input can change the cause: an address that is not in the input, or a service that was slow.
    fn is_outside_input(&self) -> bool {
        const ABOUT_ADDRESS: [&str; 2] =
            [codes::ERR_DNS_FAILURE.code, codes::ERR_BLOCKED_HOST.code];
        let is_about_address = ABOUT_ADDRESS.contains(&self.code().as_str());
        let names_address = |it: &Value| it.as_str().is_some_and(|it| it.contains("://"));
        let is_slow = self.category() == Category::Timeout && self.upstream().is_some();
        match self.parameters() {
            Some(input) if is_about_address => !input.values().any(names_address),
            _ => is_slow && self.may_repeat(),
        }
    }
}

/// A delay beyond this is too long to be waited for without asking a person, in milliseconds.
pub const LONG_DELAY_MS: u64 = 15 * 60 * 1000;

/// Whether a sentence invites the reader to repeat the identical call, and says nothing else. Such sentences of
/// third parties are dropped where the call must not be repeated. A sentence that demands something first or asks
/// for another call (`retry with confirm=true`, `wait until it is ready`) is not such an invitation.
pub fn invites_repeat(sentence: &str) -> bool {
    let sentence = sentence.to_ascii_lowercase();
    let is_separator = |it: char| it.is_ascii_whitespace() || matches!(it, ',' | ';');
    let ends = ['.', '!', '…', ' '];
    let sentence = sentence.trim().trim_end_matches(ends);
    let mut words = sentence.split(is_separator).filter(|it| !it.is_empty());
    let first = words.find(|it| *it != "please");
    let is_invited = match first {
        Some("try") => words.next().is_some_and(|it| {
            it == "again" || (it == "the" && words.clone().any(|it| it == "again"))
        }),
        Some(first) => INVITATIONS.contains(&first),
        None => false,
    };
    let is_amount = |it: &str| it.starts_with(|first: char| first.is_ascii_digit());
    is_invited
        && words.all(|it| is_amount(it) || INVITATION_WORDS.split(' ').any(|known| known == it))
}

/// The verbs that begin an invitation to repeat a call; `try again` is the other one.
const INVITATIONS: [&str; 5] = ["retry", "repeat", "resend", "resubmit", "wait"];

/// The words that may follow in an invitation: what is repeated, when, and how patiently.
const INVITATION_WORDS: &str = "again once more later soon shortly now the this that your same identical request call \
                                operation action command query message it and then please retry try repeat before \
                                retrying in after for at a an few some while bit time times moment moments second \
                                seconds minute minutes ms or with exponential backoff delay longer";

impl Parts {
    pub(super) fn may_repeat(&self) -> bool {
        self.kind.retryable() && self.is_safe_to_repeat()
    }

    /// Whether repeating the call cannot apply an effect twice. If the operation is unknown, only an effect
    /// that was stated for this occurrence counts.
    fn is_safe_to_repeat(&self) -> bool {
        match self.repeat {
            Some(Repeat::Allowed) => true,
            Some(Repeat::OnlyWithoutEffect | Repeat::WithKey) => self.effect == Effect::None,
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
