//! What a declaration may say about a code, and what is implied where it is silent.
//!
//! One judgement for the derive macro (which points at the attribute) and the contract (which
//! reports at registration): neither writes these rules again, so neither accepts what the other
//! refuses. The wording is theirs.

use crate::facts::{Category, Remedies, Remedy};
use crate::known::{Known, lookup};
use crate::{is_protocol_code, row_for_status};

/// The JSON-RPC number of declared codes that name none; all below it are reserved.
pub const DECLARED_JSONRPC_CODE: i64 = 1000;

/// What a declaration says about a code; everything left out is taken from the catalogue,
/// the status or the category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The category.
    pub category: Option<Category>,
    /// Whether the identical call may succeed later.
    pub retryable: Option<bool>,
    /// What can turn the failure into a success; an empty set counts as left out.
    pub remedies: Option<Remedies>,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The JSON-RPC number.
    pub jsonrpc_code: Option<i64>,
}

/// A fact the catalogue fixes for each of its codes. The status is not among them: a declared one
/// wins.
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

/// Why a declaration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Only the protocol itself gives this code.
    Protocol,
    /// The catalogue fixes another fact for this code.
    Contradiction {
        /// Which fact.
        fact: FixedFact,
        /// What the catalogue says.
        fixed: String,
        /// What the declaration says.
        declared: String,
    },
    /// Said to be retryable in a category that never is.
    NotRetryable(Category),
    /// The HTTP status is not one of a failure.
    Status(u16),
    /// The JSON-RPC number is reserved.
    JsonRpc(i64),
}

impl Facts {
    /// The category a declaration means: the stated one, that of the status, else the cautious one.
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

    /// Every reason why this may not be said about the code; none if it may.
    pub fn objections(self, code: &str) -> Vec<Objection> {
        let known = lookup(code).filter(|_| !is_protocol_code(code));
        let mut objections = Vec::new();
        if is_protocol_code(code) {
            objections.push(Objection::Protocol);
        } else if let Some(known) = known {
            objections.extend(self.contradictions(known));
        } else {
            objections.extend(self.vain_claim());
        }
        let status = self.http_status;
        let status = status.filter(|status| !(400..=599).contains(status));
        objections.extend(status.map(Objection::Status));
        let number = self.jsonrpc_code.filter(|_| known.is_none());
        let number = number.filter(|&number| number < DECLARED_JSONRPC_CODE);
        objections.extend(number.map(Objection::JsonRpc));
        objections
    }

    /// What the catalogue says otherwise.
    fn contradictions(self, known: Known) -> impl Iterator<Item = Objection> {
        let fixed = known.category().to_string();
        let declared = self.category.map(|it| it.to_string());
        let category = (FixedFact::Category, fixed, declared);
        let fixed = known.retryable().to_string();
        let declared = self.retryable.map(|it| it.to_string());
        let retryable = (FixedFact::Retryable, fixed, declared);
        let fixed = listed(known.remedies());
        let declared = self.remedies.filter(|it| !it.is_empty()).map(listed);
        let remedy = (FixedFact::Remedy, fixed, declared);
        let fixed = known.jsonrpc().to_string();
        let declared = self.jsonrpc_code.map(|it| it.to_string());
        let jsonrpc = (FixedFact::JsonRpc, fixed, declared);
        [category, retryable, remedy, jsonrpc]
            .into_iter()
            .filter_map(|(fact, fixed, declared)| {
                let declared = declared.filter(|declared| *declared != fixed)?;
                Some(Objection::Contradiction {
                    fact,
                    fixed,
                    declared,
                })
            })
    }

    /// A claim to be retryable in a category that never is.
    fn vain_claim(self) -> Option<Objection> {
        let category = self.implied_category();
        let vain = self.retryable == Some(true) && !category.retryable();
        vain.then_some(Objection::NotRetryable(category))
    }
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
    fn a_declaration_contradicts_neither_the_catalogue_nor_itself() {
        let status = |status| Facts {
            http_status: Some(status),
            ..SILENT
        };
        let retryable = |category| Facts {
            retryable: Some(true),
            category,
            ..SILENT
        };
        let number = |number| Facts {
            jsonrpc_code: Some(number),
            ..SILENT
        };
        let fixed = i64::from(lookup("ERR_TIMEOUT").unwrap().jsonrpc());
        let contradiction = |fact, fixed: &str, declared: &str| Objection::Contradiction {
            fact,
            fixed: fixed.to_owned(),
            declared: declared.to_owned(),
        };
        for (code, facts, expected) in [
            ("FILE_GONE", SILENT, vec![]),
            ("NOT_FOUND", SILENT, vec![Objection::Protocol]),
            (
                "NOT_FOUND",
                number(-32601),
                vec![Objection::Protocol, Objection::JsonRpc(-32601)],
            ),
            ("FILE_GONE", status(399), vec![Objection::Status(399)]),
            ("FILE_GONE", status(400), vec![]),
            ("FILE_GONE", status(599), vec![]),
            ("FILE_GONE", status(600), vec![Objection::Status(600)]),
            ("FILE_GONE", number(999), vec![Objection::JsonRpc(999)]),
            ("FILE_GONE", number(1000), vec![]),
            (
                "FILE_GONE",
                retryable(None),
                vec![Objection::NotRetryable(Category::Permanent)],
            ),
            ("FILE_GONE", retryable(Some(Category::Network)), vec![]),
            ("ERR_TIMEOUT", number(fixed), vec![]),
            (
                "ERR_TIMEOUT",
                Facts {
                    remedies: Some(Remedies::of(&[])),
                    ..SILENT
                },
                vec![],
            ),
            (
                "ERR_TIMEOUT",
                retryable(Some(Category::Network)),
                vec![contradiction(FixedFact::Category, "TIMEOUT", "NETWORK")],
            ),
        ] {
            assert_eq!(facts.objections(code), expected, "{code} {facts:?}");
        }
    }
}
