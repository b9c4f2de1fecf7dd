//! Who calls: tokens, of which only hashes are kept.
//!
//! What a caller may do is held against an operation by the runtime; here it is only proved who calls.

mod kept;
mod names;
#[cfg(test)]
mod tests;
mod token;
mod tokens;

pub use kept::{TokenInfo, TokenState};
pub use names::{GRANTS_LIMIT, NAME_CHARACTERS_LIMIT, NameError, NameOf, check_scopes};
pub(crate) use token::id_of;
pub use tokens::{NewToken, Revoked, Tokens, TokensError};
