//! What a declaration may state about a code, and what is implied where it states nothing.
//!
//! The derive macro (which points at the attribute) and the contract (which reports at
//! registration) share these rules, so neither accepts what the other refuses. Each words its own
//! messages.

use crate::facts::{Category, Remedies, Remedy};
use crate::known::{Known, lookup};
use crate::{for_jsonrpc, is_protocol_code, row_for_status};

/// The JSON-RPC number of declared codes that state none; all numbers below it are reserved.
pub const DECLARED_JSONRPC_CODE: i64 = 1000;

/// What a declaration states about a code; the rest is taken from the catalogue, the status or
/// the category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The category.
    pub category: Option<Category>,
    /// Whether the identical call may succeed later.
    pub retryable: Option<bool>,
    /// What can turn the failure into a success; an empty set counts as not stated.
    pub remedies: Option<Remedies>,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The JSON-RPC number.
    pub jsonrpc_code: Option<i64>,
}

/// Endings of code names that imply an HTTP status, where a declaration states neither category nor status.
/// None of these statuses is retryable: a name does not promise that a failure passes.
const STATUS_BY_ENDING: &[(&str, u16)] = &[
    ("NOT_FOUND", 404),
    ("NO_LONGER_EXISTS", 410),
    ("ALREADY_EXISTS", 409),
    ("CONFLICT", 409),
    ("PERMISSION_DENIED", 403),
    ("ACCESS_DENIED", 403),
    ("FORBIDDEN", 403),
    ("UNAUTHORIZED", 401),
    ("UNAUTHENTICATED", 401),
    ("TOO_LARGE", 413),
    ("UNSUPPORTED", 422),
    ("INVALID", 422),
];

/// The same for beginnings of names.
const STATUS_BY_BEGINNING: &[(&str, u16)] =
    &[("INVALID", 422), ("UNSUPPORTED", 422), ("UNKNOWN", 404)];

/// The status that the name of a code implies, if any.
fn status_in_name(code: &str) -> Option<u16> {
    // Whole words only.
    let ends = |(words, status): &(&str, u16)| {
        let before = code.strip_suffix(words)?;
        (before.is_empty() || before.ends_with('_')).then_some(*status)
    };
    let begins = |(words, status): &(&str, u16)| {
        let after = code.strip_prefix(words)?;
        after.starts_with('_').then_some(*status)
    };
    let by_ending = STATUS_BY_ENDING.iter().find_map(ends);
    by_ending.or_else(|| STATUS_BY_BEGINNING.iter().find_map(begins))
}

/// A fact that the catalogue fixes for each of its codes. The status is not one of them: a declared
/// status wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedFact {
    /// The category.
    Category,
    /// Whether the identical call may succeed later.
    Retryable,
    /// What can turn the failure into a success.
    Remedy,
    /// The JSON-RPC number.
    JsonRpc,
}

impl FixedFact {
    /// Every fact, in the order in which declarations write them.
    pub const ALL: &'static [FixedFact] = &[
        FixedFact::Category,
        FixedFact::Retryable,
        FixedFact::Remedy,
        FixedFact::JsonRpc,
    ];

    /// The member of a declared error that states the fact.
    pub const fn member(self) -> &'static str {
        match self {
            FixedFact::Category => "category",
            FixedFact::Retryable => "retryable",
            FixedFact::Remedy => "remedy",
            FixedFact::JsonRpc => "jsonrpc_code",
        }
    }

    /// The name of the fact in a message.
    pub const fn word(self) -> &'static str {
        match self {
            FixedFact::Category => "category",
            FixedFact::Retryable => "retryable",
            FixedFact::Remedy => "remedy",
            FixedFact::JsonRpc => "the JSON-RPC code",
        }
    }
}

/// Why a declaration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The code is reserved for the protocol.
    Protocol,
    /// The catalogue fixes a different fact for this code.
    Contradiction {
        /// Which fact.
        fact: FixedFact,
        /// The value in the catalogue.
        fixed: String,
        /// What the declaration says.
        declared: String,
    },
    /// Declared as retryable in a category that never is.
    NotRetryable(Category),
    /// The identical call never succeeds, but waiting is among the remedies.
    VainWait,
    /// The identical call may succeed later, but waiting is not among the stated remedies.
    MissingWait,
    /// The HTTP status is not that of a failure (400 to 599).
    Status(u16),
    /// The code names one HTTP status, but the declaration states another.
    FamilyStatus {
        /// The status in the name.
        named: u16,
        /// What the declaration says.
        declared: u16,
    },
    /// The JSON-RPC number is reserved.
    JsonRpc(i64),
    /// The JSON-RPC number belongs to a code of the catalogue.
    TakenNumber {
        /// The number.
        number: i64,
        /// The code it belongs to.
        owner: String,
    },
}

impl Facts {
    /// The facts of a code with this name: where neither a category nor a status is stated, the name may imply
    /// the status.
    pub fn named(self, code: &str) -> Self {
        let is_silent = self.category.is_none() && self.http_status.is_none();
        Self {
            http_status: self
                .http_status
                .or_else(|| status_in_name(code).filter(|_| is_silent)),
            ..self
        }
    }

    /// The category of a declaration: as stated, else that of the status, else `Permanent`.
    pub fn implied_category(self) -> Category {
        self.category.unwrap_or_else(|| match self.http_status {
            Some(status) => row_for_status(status).category,
            None => Category::Permanent,
        })
    }

    /// Whether the identical call may succeed later: as stated, where the category allows it.
    pub fn implied_retryable(self) -> bool {
        self.retryable.unwrap_or(true) && self.implied_category().retryable()
    }

    /// The stated value of a fact as text; `None` where it is not stated.
    pub fn text_of(self, fact: FixedFact) -> Option<String> {
        match fact {
            FixedFact::Category => self.category.map(|it| it.to_string()),
            FixedFact::Retryable => self.retryable.map(|it| it.to_string()),
            FixedFact::Remedy => self.stated_remedies().map(listed),
            FixedFact::JsonRpc => self.jsonrpc_code.map(|it| it.to_string()),
        }
    }

    /// Every reason why these facts may not be declared for the code; empty if they may.
    ///
    /// Facts that belong to no particular code are checked with an empty code.
    pub fn objections(self, code: &str) -> Vec<Objection> {
        let known = lookup(code).filter(|_| !is_protocol_code(code));
        let mut objections = Vec::new();
        if is_protocol_code(code) {
            objections.push(Objection::Protocol);
        } else if let Some(known) = known {
            objections.extend(self.contradictions(known));
        } else {
            let named = self.named(code);
            objections.extend(
                named
                    .retryable_objection()
                    .or_else(|| named.remedy_objection()),
            );
        }
        objections.extend(self.status_objection(known));
        if known.is_none() {
            objections.extend(self.jsonrpc_code.and_then(number_objection));
        }
        objections
    }

    fn stated_remedies(self) -> Option<Remedies> {
        self.remedies.filter(|remedies| !remedies.is_empty())
    }

    /// The facts in which the declaration contradicts the catalogue.
    fn contradictions(self, known: Known) -> impl Iterator<Item = Objection> {
        FixedFact::ALL.iter().filter_map(move |&fact| {
            let fixed = Facts::from(known).text_of(fact)?;
            let declared = self.text_of(fact).filter(|declared| *declared != fixed)?;
            Some(Objection::Contradiction {
                fact,
                fixed,
                declared,
            })
        })
    }

    /// The objection to a code that is declared as retryable in a category that never is.
    fn retryable_objection(self) -> Option<Objection> {
        let category = self.implied_category();
        let is_wrong = self.retryable == Some(true) && !category.retryable();
        is_wrong.then_some(Objection::NotRetryable(category))
    }

    /// Waiting is a remedy exactly where the identical call may succeed later.
    fn remedy_objection(self) -> Option<Objection> {
        let waits = self.stated_remedies()?.contains(Remedy::Wait);
        match (self.implied_retryable(), waits) {
            (false, true) => Some(Objection::VainWait),
            (true, false) => Some(Objection::MissingWait),
            _ => None,
        }
    }

    fn status_objection(self, known: Option<Known>) -> Option<Objection> {
        let declared = self.http_status?;
        match known {
            Some(Known::Member { status: named, .. }) => {
                (declared != named).then_some(Objection::FamilyStatus { named, declared })
            }
            _ => (!(400..=599).contains(&declared)).then_some(Objection::Status(declared)),
        }
    }
}

impl From<Known> for Facts {
    fn from(known: Known) -> Self {
        Self {
            category: Some(known.category()),
            retryable: Some(known.retryable()),
            remedies: Some(known.remedies()),
            http_status: Some(known.http()),
            jsonrpc_code: Some(known.jsonrpc().into()),
        }
    }
}

/// Why a code that is not in the catalogue may not have this number.
fn number_objection(number: i64) -> Option<Objection> {
    if number < DECLARED_JSONRPC_CODE {
        return Some(Objection::JsonRpc(number));
    }
    let owner = for_jsonrpc(number)?;
    Some(Objection::TakenNumber {
        number,
        owner: owner.code().into_owned(),
    })
}

fn listed(remedies: Remedies) -> String {
    remedies
        .iter()
        .map(Remedy::word)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Facts = Facts {
        category: None,
        retryable: None,
        remedies: None,
        http_status: None,
        jsonrpc_code: None,
    };

    #[test]
    fn a_name_implies_its_status_where_none_is_stated() {
        for (code, status, category) in [
            ("FILE_NOT_FOUND", Some(404), Category::ClientError),
            ("UNKNOWN_ARTICLE", Some(404), Category::ClientError),
            ("PERMISSION_DENIED", Some(403), Category::AuthFail),
            ("INVALID_PATH", Some(422), Category::Validation),
            ("PATH_INVALID", Some(422), Category::Validation),
            ("CONTEXT_OVERFLOW", None, Category::Permanent),
            ("FILENOT_FOUND", None, Category::Permanent),
            ("NOT_FOUNDED", None, Category::Permanent),
            ("NOT_FOUND_HANDLER_MISSING", None, Category::Permanent),
        ] {
            let named = SILENT.named(code);
            assert_eq!(named.http_status, status, "{code}");
            assert_eq!(named.implied_category(), category, "{code}");
            assert!(!named.implied_retryable(), "{code}");
        }
        let stated = Facts {
            category: Some(Category::Resource),
            ..SILENT
        };
        assert_eq!(stated.named("FILE_NOT_FOUND"), stated);
    }

    #[test]
    fn no_name_promises_that_a_failure_passes() {
        for (words, status) in STATUS_BY_ENDING.iter().chain(STATUS_BY_BEGINNING) {
            assert!(!row_for_status(*status).retryable, "{words}");
        }
    }

    fn check(code: &str, facts: Facts, expected: &[Objection]) {
        assert_eq!(facts.objections(code), expected, "{code} {facts:?}");
    }

    #[test]
    fn a_declaration_does_not_contradict_the_catalogue() {
        let number = |number| Facts {
            jsonrpc_code: Some(number),
            ..SILENT
        };
        let retryable = Facts {
            retryable: Some(true),
            category: Some(Category::Network),
            ..SILENT
        };
        let contradiction = Objection::Contradiction {
            fact: FixedFact::Category,
            fixed: "TIMEOUT".to_owned(),
            declared: "NETWORK".to_owned(),
        };
        let no_remedy = Facts {
            remedies: Some(Remedies::of(&[])),
            ..SILENT
        };
        let fixed = i64::from(lookup("ERR_TIMEOUT").unwrap().jsonrpc());
        let protocol = [Objection::Protocol, Objection::JsonRpc(-32601)];
        check("NOT_FOUND", SILENT, &[Objection::Protocol]);
        check("NOT_FOUND", number(-32601), &protocol);
        check("ERR_TIMEOUT", number(fixed), &[]);
        check("HTTP_404", number(9404), &[]);
        check("ERR_TIMEOUT", no_remedy, &[]);
        check("ERR_TIMEOUT", retryable, &[contradiction]);
    }

    #[test]
    fn a_status_is_a_failure_and_matches_the_family_member() {
        let family = |named, declared| Objection::FamilyStatus { named, declared };
        for (code, status, expected) in [
            ("FILE_GONE", 399, Some(Objection::Status(399))),
            ("FILE_GONE", 400, None),
            ("FILE_GONE", 599, None),
            ("FILE_GONE", 600, Some(Objection::Status(600))),
            ("HTTP_404", 404, None),
            ("HTTP_404", 500, Some(family(404, 500))),
            ("ERR_HTTP_418", 200, Some(family(418, 200))),
            ("ERR_HTTP_429_RATE_LIMITED", 503, None),
        ] {
            let facts = Facts {
                http_status: Some(status),
                ..SILENT
            };
            check(code, facts, expected.as_slice());
        }
    }

    #[test]
    fn a_number_belongs_to_no_code_of_the_catalogue() {
        let taken = |number, owner: &str| {
            let owner = owner.to_owned();
            Some(Objection::TakenNumber { number, owner })
        };
        for (number, expected) in [
            (-1, Some(Objection::JsonRpc(-1))),
            (999, Some(Objection::JsonRpc(999))),
            (1000, None),
            (2399, None),
            (2400, taken(2400, "ERR_HTTP_400")),
            (2599, taken(2599, "ERR_HTTP_599")),
            (2600, None),
            (9399, None),
            (9400, taken(9400, "HTTP_400")),
            (9599, taken(9599, "HTTP_599")),
            (9600, None),
        ] {
            let facts = Facts {
                jsonrpc_code: Some(number),
                ..SILENT
            };
            check("FILE_GONE", facts, expected.as_slice());
            check("", facts, expected.as_slice());
        }
    }

    #[test]
    fn waiting_is_a_remedy_exactly_where_the_code_is_retryable() {
        use Category::{ClientError, Permanent, Transient};
        let not_retryable = |category| Some(Objection::NotRetryable(category));
        let wait: &[Remedy] = &[Remedy::Wait];
        let other: &[Remedy] = &[Remedy::ChangeInput];
        let both: &[Remedy] = &[Remedy::Wait, Remedy::ChangeInput];
        for (category, retryable, remedies, expected) in [
            (None, Some(true), &[][..], not_retryable(Permanent)),
            (Some(Transient), Some(true), &[], None),
            (Some(Transient), None, wait, None),
            (Some(Transient), None, both, None),
            (Some(Transient), None, other, Some(Objection::MissingWait)),
            (Some(Transient), Some(false), other, None),
            (
                Some(Transient),
                Some(false),
                wait,
                Some(Objection::VainWait),
            ),
            (Some(ClientError), None, other, None),
            (Some(ClientError), None, both, Some(Objection::VainWait)),
            (None, None, wait, Some(Objection::VainWait)),
            // Only `retryable` is wrong; the remedy agrees with it.
            (
                Some(ClientError),
                Some(true),
                wait,
                not_retryable(ClientError),
            ),
        ] {
            let facts = Facts {
                category,
                retryable,
                remedies: Some(Remedies::of(remedies)),
                ..SILENT
            };
            check("FILE_GONE", facts, expected.as_slice());
        }
    }
}
