//! Types that declare their failures, so that an operation declares exactly what its handler returns.
//! The derive macro writes the implementations; the helpers they call are in `support` and `details`.

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
/// use panpan_failure::{DeclareFailures, Failure};
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
    message = "`{Self}` does not declare its failures",
    label = "declares no failures",
    note = "add `#[derive(panpan_failure::Failure)]` to the enum `{Self}`",
    note = "or give the variant its own code, and mark the field `#[failure(source)]`"
)]
pub trait DeclareFailures: Into<Failure> {
    /// All failures that values of this type can become, in declaration order.
    fn definitions() -> Vec<ErrorDefinition>;

    /// The code of this value with its facts.
    fn kind(&self) -> Kind;
}
