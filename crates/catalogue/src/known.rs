//! Lookup of codes: rows of the table, and members of the two families of HTTP statuses.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::entry::{DefaultRecovery, Entry};
use crate::facts::{Category, Domain, Effect, FlatCategory, Grpc, Remedies};
use crate::reverse::row_for_status;
use crate::{entries, table};

/// A code in the catalogue, with the facts it fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A row of the table.
    Row(&'static Entry),
    /// A member of a family; its facts are those of the row for the same status.
    Member {
        /// Which family.
        family: Family,
        /// The status in its name, 400 to 599.
        status: u16,
    },
}

/// Codes made of a prefix and an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `ERR_HTTP_<status>`: statuses without a row, from the built-in operation `http/call`.
    ErrHttp,
    /// `HTTP_<status>`: statuses from imported operations.
    Http,
}

const HTTP_PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/pages/HTTP_STATUS.md"));

static ROWS_BY_CODE: LazyLock<HashMap<&'static str, &'static Entry>> =
    LazyLock::new(|| entries().map(|entry| (entry.code, entry)).collect());

/// Looks a code up; `None` for codes that are not in the catalogue.
pub fn lookup(code: &str) -> Option<Known> {
    if let Some(row) = ROWS_BY_CODE.get(code) {
        return Some(Known::Row(row));
    }
    Family::ALL.iter().find_map(|&family| {
        let digits = code.strip_prefix(family.prefix())?;
        let status = digits.parse().ok()?;
        ((400..=599).contains(&status) && digits.len() == 3)
            .then_some(Known::Member { family, status })
    })
}

impl Family {
    /// Both families.
    pub const ALL: &'static [Family] = &[Family::ErrHttp, Family::Http];

    /// The part of the code before the status.
    pub const fn prefix(self) -> &'static str {
        match self {
            Family::ErrHttp => "ERR_HTTP_",
            Family::Http => "HTTP_",
        }
    }

    /// The offset from a status to the number of a member; its first digit is the domain.
    pub(crate) const fn number_base(self) -> u16 {
        match self {
            Family::ErrHttp => 2000,
            Family::Http => 9000,
        }
    }

    /// The page of all members.
    pub const fn page(self) -> &'static str {
        match self {
            Family::ErrHttp => table::UNLISTED_CLIENT_STATUS.page,
            Family::Http => HTTP_PAGE,
        }
    }
}

impl Known {
    /// The code itself.
    pub fn code(&self) -> Cow<'static, str> {
        match *self {
            Known::Row(row) => Cow::Borrowed(row.code),
            Known::Member { family, status } => Cow::Owned(format!("{}{status}", family.prefix())),
        }
    }

    /// The row whose facts apply: its own, or that of the same HTTP status. Category, retryability and effect
    /// of a status are the same in both families; the recovery may depend on who made the request.
    pub fn row(&self) -> &'static Entry {
        let own = match *self {
            Known::Row(row) => Some(row),
            Known::Member {
                family: Family::ErrHttp,
                status,
            } => table::own_request(status),
            Known::Member { .. } => None,
        };
        own.unwrap_or_else(|| row_for_status(self.http()))
    }

    /// A short heading, the same for every occurrence.
    pub fn title(&self) -> Cow<'static, str> {
        match *self {
            Known::Row(row) => Cow::Borrowed(row.title),
            Known::Member { status, .. } => Cow::Owned(format!("Upstream answered HTTP {status}")),
        }
    }

    /// The number, which is unique in the catalogue.
    pub fn number(&self) -> u16 {
        match *self {
            Known::Row(row) => row.number,
            Known::Member { family, status } => family.number_base() + status,
        }
    }

    /// The domain named by the first digit of the number.
    pub fn domain(&self) -> Domain {
        Domain::of_number(self.number())
    }

    /// The code in a JSON-RPC error object.
    pub fn jsonrpc(&self) -> i32 {
        match *self {
            Known::Row(row) => row.jsonrpc,
            Known::Member { .. } => i32::from(self.number()),
        }
    }

    /// The HTTP status of a response with this failure.
    pub fn http(&self) -> u16 {
        match *self {
            Known::Row(row) => row.http,
            Known::Member { status, .. } => status,
        }
    }

    /// The code in the flat dialect.
    pub fn flat_name(&self) -> Cow<'static, str> {
        let named = match *self {
            Known::Row(row) => row.flat_name,
            Known::Member { .. } => None,
        };
        named.map_or_else(
            || Cow::Owned(self.code().to_ascii_lowercase()),
            Cow::Borrowed,
        )
    }

    /// The text of its page, in Markdown.
    pub fn page(&self) -> &'static str {
        match *self {
            Known::Row(row) => row.page,
            // If the status has a code of its own, the page of that code says more.
            Known::Member {
                family: Family::ErrHttp,
                status,
            } => row_for_status(status).page,
            Known::Member { family, .. } => family.page(),
        }
    }

    /// The class the code belongs to.
    pub fn category(&self) -> Category {
        self.row().category
    }

    /// Whether the identical call may ever succeed later.
    pub fn retryable(&self) -> bool {
        self.row().retryable
    }

    /// The effect that is assumed when an occurrence states none.
    pub fn effect(&self) -> Effect {
        self.row().effect
    }

    /// What can turn the failure into a success.
    pub fn remedies(&self) -> Remedies {
        self.row().remedies
    }

    /// The code in a google.rpc.Status.
    pub fn grpc(&self) -> Grpc {
        self.row().grpc
    }

    /// The category in the flat dialect.
    pub fn flat_category(&self) -> FlatCategory {
        self.row().flat_category
    }

    /// The recovery of an occurrence that states none of its own.
    pub fn recovery(&self) -> &'static DefaultRecovery {
        &self.row().recovery
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_family_takes_the_facts_of_its_status() {
        for (code, category, retryable, http) in [
            ("HTTP_429", Category::RateLimit, true, 429),
            ("HTTP_404", Category::ClientError, false, 404),
            ("HTTP_408", Category::Timeout, true, 408),
            ("HTTP_418", Category::ClientError, false, 418),
            ("ERR_HTTP_418", Category::ClientError, false, 418),
            ("ERR_HTTP_599", Category::ServerError, true, 599),
            ("HTTP_501", Category::Permanent, false, 501),
            ("ERR_HTTP_505", Category::Permanent, false, 505),
            ("HTTP_506", Category::Permanent, false, 506),
            ("HTTP_507", Category::Resource, false, 507),
            ("HTTP_508", Category::ServerError, true, 508),
            ("HTTP_509", Category::ServerError, true, 509),
            ("HTTP_510", Category::Permanent, false, 510),
            ("HTTP_511", Category::Permanent, false, 511),
            ("HTTP_402", Category::ClientError, false, 402),
            ("HTTP_425", Category::Transient, true, 425),
        ] {
            let known = lookup(code).unwrap();
            assert_eq!(
                (known.category(), known.retryable(), known.http()),
                (category, retryable, http),
                "{code}"
            );
            assert_eq!(known.code(), code);
        }
    }

    #[test]
    fn only_statuses_from_400_to_599_make_a_member() {
        for code in [
            "HTTP_399",
            "HTTP_600",
            "HTTP_0404",
            "HTTP_4XX",
            "ERR_HTTP_",
            "HTTP_+40",
        ] {
            assert_eq!(lookup(code), None, "{code}");
        }
    }
}
