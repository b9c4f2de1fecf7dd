//! Types that say which failures they can become, so that an operation declares exactly what its
//! handler returns. The derive macro writes the implementations; what that code calls is in
//! `support` and `details`.

pub(crate) mod details;
pub(crate) mod support;

use crate::ErrorDefinition;
use crate::failure::Failure;
use crate::kind::Kind;

/// A type whose every value is a declared failure.
///
/// Derive it with [`#[derive(Failure)]`](derive@crate::Failure) rather than by hand: the macro
/// checks the declaration against the catalogue while the program is compiled.
///
/// ```
/// use panpan_contract::{DeclareFailures, Failure};
///
/// #[derive(Debug, Failure)]
/// enum ReadFileError {
///     /// The file does not exist.
///     #[failure(code = "FILE_NOT_FOUND", http = 404, message = "no file at {path}")]
///     FileNotFound { path: String },
/// }
///
/// assert_eq!(ReadFileError::definitions()[0].description, "The file does not exist");
/// let failure: Failure = ReadFileError::FileNotFound { path: "/etc/none".to_owned() }.into();
/// assert_eq!(failure.message(), "no file at /etc/none");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare which failures it can become",
    label = "declares no failures",
    note = "add `#[derive(crate::Failure)]` to the enum `{Self}`",
    note = "or give the variant a code of its own, and mark the field `#[failure(source)]`"
)]
pub trait DeclareFailures: Into<Failure> {
    /// Every failure a value of this type can become, in the order of the declaration.
    fn definitions() -> Vec<ErrorDefinition>;

    /// The code of this value, with the facts fixed by it.
    fn kind(&self) -> Kind;
}
