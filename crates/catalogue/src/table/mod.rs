//! The rows of the catalogue, one file per group of codes.

/// Declares the rows of a group. A line gives the code (its page is the file of that name), number,
/// title and category; the columns after the arrow refine it. Each code becomes a constant of that name.
macro_rules! rows {
    ($($code:ident: $number:literal, $title:literal, $category:ident => $(.$column:ident($($value:tt)*))*;)+) => {
        $(
            #[doc = $title]
            pub const $code: &Entry = &Entry::new(
                stringify!($code),
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/pages/", stringify!($code), ".md")),
                $number,
                $title,
                $crate::facts::Category::$category,
            )$(.$column($($value)*))*;
        )+
        pub(crate) const ROWS: &[&Entry] = &[$($code,)+];
    };
}

pub(crate) mod agents;
pub(crate) mod http;
pub(crate) mod json;
pub(crate) mod llm;
pub(crate) mod network;
pub(crate) mod protocol;
pub(crate) mod runtime;
pub(crate) mod tasks;

use crate::entry::Entry;

pub(crate) use http::{SHARED, UNLISTED_CLIENT_STATUS, UNLISTED_SERVER_STATUS, own_request};

/// Every group of rows, in the order in which `panpan explain` lists them.
pub(crate) const GROUPS: &[&[&Entry]] = &[
    protocol::ROWS,
    runtime::ROWS,
    http::ROWS,
    network::ROWS,
    llm::ROWS,
    json::ROWS,
    agents::ROWS,
    tasks::ROWS,
];
