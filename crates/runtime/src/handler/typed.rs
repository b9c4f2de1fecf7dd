//! Handlers with Rust types: the types of input, output and failure define the schemas of the operation.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{DeclareFailures, Failure, Violation, codes};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BoxFuture, Handler, untyped};
use crate::context::Context;

/// An async function from a typed input to a typed output or a declared failure.
pub struct Typed<F, I, O, E> {
    run: F,
    types: PhantomData<fn(I) -> Result<O, E>>,
}

impl<F, I, O, E, Run> Typed<F, I, O, E>
where
    F: Fn(Context, I) -> Run + Send + Sync + 'static,
    Run: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
    E: DeclareFailures + 'static,
{
    /// Wraps the function.
    pub fn new(run: F) -> Self {
        Self {
            run,
            types: PhantomData,
        }
    }

    /// The contract that follows from the types: input, output and failures.
    pub fn spec(&self, name: OperationName, op_type: OperationType) -> OperationSpec {
        let mut spec = OperationSpec::new(name, op_type);
        spec.input_schema = schema_for!(I).to_value();
        spec.output_schema = schema_for!(O).to_value();
        spec.error_schemas = E::definitions();
        spec
    }
}

impl<F, I, O, E, Run> Handler for Typed<F, I, O, E>
where
    F: Fn(Context, I) -> Run + Send + Sync + 'static,
    Run: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
    E: DeclareFailures + 'static,
{
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        let run = match I::deserialize(&*input) {
            Ok(input) => (self.run)(context, input),
            Err(error) => {
                let failure = invalid_input(&error);
                return Box::pin(std::future::ready(Err(failure)));
            }
        };
        Box::pin(async move {
            let output = run.await.map_err(Into::into)?;
            let output = serde_json::to_value(output);
            output.map(Arc::new).map_err(|error| untyped(&error))
        })
    }
}

impl<F, I, O, E> fmt::Debug for Typed<F, I, O, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Typed")
    }
}

/// A schema can allow values that the type does not, such as an invalid date or a number out of range.
fn invalid_input(error: &serde_json::Error) -> Failure {
    let reason = error.to_string();
    Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message("the input matches the schema but cannot be read")
        .with_violation(Violation::value("", reason))
}
