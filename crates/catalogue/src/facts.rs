//! The vocabularies that describe a code: category, effect, remedy, domain, flat category, gRPC code.
//!
//! One table per vocabulary maps each value to its word and back. Codes and their numbers are not
//! here: see `entry` for the columns and `table` for the rows.

/// Declares an enum with one table of words for both directions.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word for this value.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The value of a word; `None` if the word is not in this vocabulary.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.word())
            }
        }
    };
}

words! {
    /// The group that a code belongs to; it decides the default retry policy.
    Category {
        /// A temporary failure that may pass.
        Transient = "TRANSIENT",
        /// The caller has to slow down.
        RateLimit = "RATE_LIMIT",
        /// The request itself was wrong.
        ClientError = "CLIENT_ERROR",
        /// The remote server failed.
        ServerError = "SERVER_ERROR",
        /// Authentication or authorization failed.
        AuthFail = "AUTH_FAIL",
        /// The network did not deliver the request or the response.
        Network = "NETWORK",
        /// The input does not match its schema.
        Validation = "VALIDATION",
        /// A budget, quota or capacity is used up.
        Resource = "RESOURCE",
        /// Time ran out.
        Timeout = "TIMEOUT",
        /// Repeating the call does not help.
        Permanent = "PERMANENT",
    }
}

impl Category {
    /// The one-letter form used in compact logs.
    pub const fn letter(self) -> char {
        match self {
            Category::Transient => 'T',
            Category::RateLimit => 'R',
            Category::ClientError => 'C',
            Category::ServerError => 'S',
            Category::AuthFail => 'A',
            Category::Network => 'N',
            Category::Validation => 'V',
            Category::Resource => 'X',
            Category::Timeout => 'O',
            Category::Permanent => 'P',
        }
    }

    /// The category with this letter.
    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|category| category.letter() == letter)
    }

    /// Whether codes of this category may succeed when the identical call is repeated.
    ///
    /// A code may differ from its category; one code in the catalogue does.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Category::Transient
                | Category::RateLimit
                | Category::ServerError
                | Category::Network
                | Category::Timeout
        )
    }
}

words! {
    /// Whether side effects happened before the call failed.
    Effect {
        /// Nothing happened.
        None = "none",
        /// It is not known whether something happened.
        Unknown = "unknown",
        /// The effect took place before the call failed.
        Applied = "applied",
    }
}

words! {
    /// One thing that can turn the failure into a success.
    Remedy {
        /// Let time pass, then repeat the identical call.
        Wait = "wait",
        /// Send different input.
        ChangeInput = "change_input",
        /// Change something outside the call: a budget, a setting, the state of a resource.
        ChangeState = "change_state",
        /// Get new or better credentials.
        Reauthenticate = "reauthenticate",
        /// Reach the goal with another operation.
        UseAlternative = "use_alternative",
        /// Ask a person.
        AskHuman = "ask_human",
    }
}

/// A set of remedies, in the fixed order of [`Remedy::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Remedies(u8);

impl Remedies {
    /// The set of the given remedies.
    pub const fn of(remedies: &[Remedy]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < remedies.len() {
            bits |= 1 << remedies[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Whether the remedy is in the set.
    pub const fn contains(self, remedy: Remedy) -> bool {
        self.0 & (1 << remedy as u8) != 0
    }

    /// Whether the two sets share a remedy.
    pub const fn intersects(self, other: Remedies) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The remedies of the set, in their fixed order.
    pub fn iter(self) -> impl Iterator<Item = Remedy> {
        Remedy::ALL
            .iter()
            .copied()
            .filter(move |remedy| self.contains(*remedy))
    }
}

impl FromIterator<Remedy> for Remedies {
    fn from_iter<I: IntoIterator<Item = Remedy>>(remedies: I) -> Self {
        Self(
            remedies
                .into_iter()
                .fold(0, |bits, remedy| bits | 1 << remedy as u8),
        )
    }
}

words! {
    /// The functional area a code belongs to: the first digit of its number.
    Domain {
        /// 1xx: the gateway and the framework around the tools.
        System = "system",
        /// 2xx: connections, names, certificates, HTTP.
        Network = "network",
        /// 3xx: authentication and authorization.
        Auth = "auth",
        /// 4xx: a tool's input, run and output.
        Tool = "tool",
        /// 5xx: the form of data.
        Data = "data",
        /// 6xx: resources that are missing, in use or used up.
        Resource = "resource",
        /// 7xx: the store.
        Database = "database",
        /// 8xx: tasks and their trees.
        Workflow = "workflow",
        /// 9xx: third parties.
        Integration = "integration",
    }
}

impl Domain {
    /// The domain a number belongs to: its first digit.
    pub const fn of_number(number: u16) -> Self {
        let mut digit = number;
        while digit >= 10 {
            digit /= 10;
        }
        match digit {
            2 => Domain::Network,
            3 => Domain::Auth,
            4 => Domain::Tool,
            5 => Domain::Data,
            6 => Domain::Resource,
            7 => Domain::Database,
            8 => Domain::Workflow,
            9 => Domain::Integration,
            _ => Domain::System,
        }
    }
}

words! {
    /// The five categories of the flat dialect.
    FlatCategory {
        /// Invalid input, bad arguments.
        Validation = "validation",
        /// Not authorized, wrong owner.
        Permission = "permission",
        /// Not found, already exists.
        Resource = "resource",
        /// Runtime error, timeout.
        Execution = "execution",
        /// Internal error, unexpected.
        System = "system",
    }
}

words! {
    /// The sixteen failing codes of google.rpc.Code.
    Grpc {
        /// 1
        Cancelled = "CANCELLED",
        /// 2
        Unknown = "UNKNOWN",
        /// 3
        InvalidArgument = "INVALID_ARGUMENT",
        /// 4
        DeadlineExceeded = "DEADLINE_EXCEEDED",
        /// 5
        NotFound = "NOT_FOUND",
        /// 6
        AlreadyExists = "ALREADY_EXISTS",
        /// 7
        PermissionDenied = "PERMISSION_DENIED",
        /// 8
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        /// 9
        FailedPrecondition = "FAILED_PRECONDITION",
        /// 10
        Aborted = "ABORTED",
        /// 11
        OutOfRange = "OUT_OF_RANGE",
        /// 12
        Unimplemented = "UNIMPLEMENTED",
        /// 13
        Internal = "INTERNAL",
        /// 14
        Unavailable = "UNAVAILABLE",
        /// 15
        DataLoss = "DATA_LOSS",
        /// 16
        Unauthenticated = "UNAUTHENTICATED",
    }
}

impl Grpc {
    /// The number on the wire, 1 to 16.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The code with this number; `None` for 0, which is success, and for undefined numbers.
    pub fn from_number(number: u64) -> Option<Self> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        Self::ALL.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_leads_back_to_its_value() {
        for category in Category::ALL {
            assert_eq!(Category::from_word(category.word()), Some(*category));
            assert_eq!(Category::from_letter(category.letter()), Some(*category));
        }
        for remedy in Remedy::ALL {
            assert_eq!(Remedy::from_word(remedy.word()), Some(*remedy));
        }
        for grpc in Grpc::ALL {
            assert_eq!(Grpc::from_number(u64::from(grpc.number())), Some(*grpc));
        }
        assert_eq!(Grpc::from_number(0), None);
        assert_eq!(Grpc::from_number(17), None);
    }

    #[test]
    fn letters_are_those_of_the_category_table() {
        let letters: String = Category::ALL
            .iter()
            .map(|category| category.letter())
            .collect();
        assert_eq!(letters, "TRCSANVXOP");
    }

    #[test]
    fn the_first_digit_of_a_number_names_its_domain() {
        for (number, domain) in [
            (101, Domain::System),
            (213, Domain::Network),
            (2418, Domain::Network),
            (812, Domain::Workflow),
            (9404, Domain::Integration),
        ] {
            assert_eq!(Domain::of_number(number), domain, "{number}");
        }
    }

    #[test]
    fn a_remedy_set_keeps_a_fixed_order() {
        let set = Remedies::of(&[Remedy::AskHuman, Remedy::Wait]);
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Remedy::Wait, Remedy::AskHuman]
        );
        assert_eq!(set.iter().collect::<Remedies>(), set);
    }
}
