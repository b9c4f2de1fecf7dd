//! Arguments by position: an array in place of the input object.
//!
//! Only for operations that declare the order of their arguments. The array becomes the object before anything else
//! looks at the input, so both forms are the same call.

use std::sync::Arc;

use panpan_failure::Violation;
use serde_json::{Map, Value};

use super::request::CallRequest;
use crate::registry::Operation;

/// How the expectation of a list of arguments begins.
pub(super) const LIST_OF_AT_MOST: &str = "a list of at most ";

/// Names the arguments of a call. Returns a violation if there are too many.
pub(super) fn name_arguments(
    operation: Option<&Operation>,
    request: &mut CallRequest,
) -> Option<Violation> {
    let order = operation.map_or(&[][..], |it| &it.spec().argument_order);
    if order.is_empty() || !request.input.is_array() {
        return None;
    }
    let input = std::mem::take(Arc::make_mut(&mut request.input));
    let Value::Array(arguments) = input else {
        return None;
    };
    let count = arguments.len();
    let named = order.iter().cloned().zip(arguments);
    request.input = Arc::new(Value::Object(named.collect::<Map<_, _>>()));
    // The values are not shown: without a name, nothing says whether they are secret.
    let expected = format!("{LIST_OF_AT_MOST}{}: {}", order.len(), order.join(", "));
    let reason = format!("{count} arguments were sent");
    (count > order.len()).then(|| Violation::value("", reason).expected(expected))
}
