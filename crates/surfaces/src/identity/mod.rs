//! Identification of callers by tokens, of which only hashes are stored.
//!
//! Authorization is the runtime's: it compares the grants of an identity with an operation.

mod names;
mod stored;
#[cfg(test)]
mod tests;
mod token;
mod tokens;

pub use names::{GRANTS_LIMIT, NAME_CHARACTERS_LIMIT, NameOf, TokenNameError, check_scopes};
pub use stored::{TokenInfo, TokenState};
pub(crate) use token::id_of;
pub(crate) use tokens::token_required;
pub use tokens::{NewToken, Revoked, Tokens, TokensError};
