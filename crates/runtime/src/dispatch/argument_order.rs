//! Arguments by position: an array in place of the input object.
//!
//! Only for operations that declare the order of their arguments. The array becomes the object before anything else
//! looks at the input, so both forms are the same call.

use std::sync::Arc;

use panpan_failure::Violation;
use serde_json::{Map, Value};

use super::request::CallRequest;
use crate::registry::Operation;

/// Names the arguments of a call. Returns a violation for each argument that is too many.
pub(super) fn name_arguments(
    operation: Option<&Operation>,
    request: &mut CallRequest,
) -> Vec<Violation> {
    let order = operation.map_or(&[][..], |it| &it.spec().argument_order);
    if order.is_empty() || !request.input.is_array() {
        return Vec::new();
    }
    let input = std::mem::take(Arc::make_mut(&mut request.input));
    let Value::Array(mut arguments) = input else {
        return Vec::new();
    };
    let surplus = arguments.split_off(order.len().min(arguments.len()));
    let named = order.iter().cloned().zip(arguments);
    request.input = Arc::new(Value::Object(named.collect::<Map<_, _>>()));
    let expected = format!("only {}", order.join(", "));
    // The values are not shown: without a name, nothing says whether they are secret.
    let surplus = (order.len()..order.len() + surplus.len()).take(SURPLUS_LIMIT);
    surplus
        .map(|index| {
            Violation::value(format!("/{index}"), "the operation has no such argument")
                .expected(expected.as_str())
        })
        .collect()
}

/// How many arguments that are too many are reported.
const SURPLUS_LIMIT: usize = 10;
