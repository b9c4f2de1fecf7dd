//! The problems for which a registry is refused.

use std::fmt;

use panpan_contract::operation::OperationName;
use panpan_failure::{Code, KindError};

/// A problem of a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryProblem {
    /// Two operations have one name.
    #[error("operation {0} is registered twice; give one of them another name")]
    DuplicateOperation(OperationName),
    /// A declaration violates the rules for codes.
    #[error("operation {operation}: {problem}")]
    Declaration {
        /// The operation that declares it.
        operation: OperationName,
        /// What is wrong.
        problem: KindError,
    },
    /// One operation declares a code twice.
    #[error("operation {operation} declares {code} twice; keep one of the two")]
    DuplicateCode {
        /// The operation that declares it.
        operation: OperationName,
        /// The code.
        code: Code,
    },
    /// Two operations give one code different facts.
    #[error(
        "{code} has {fact} {theirs} in operation {first} and {ours} in operation {second}; \
         make them agree or choose another code"
    )]
    Contradiction {
        /// The code.
        code: Code,
        /// Which fact.
        fact: &'static str,
        /// The operation that declared it first.
        first: OperationName,
        /// Its value.
        theirs: String,
        /// The operation that declared it differently.
        second: OperationName,
        /// The other value.
        ours: String,
    },
    /// Two codes have one JSON-RPC number.
    #[error(
        "operation {operation}: {code} has JSON-RPC code {number}, which belongs to {owner}; give \
         one of them another number, or leave it out"
    )]
    SharedNumber {
        /// The operation that declares it.
        operation: OperationName,
        /// The code.
        code: Code,
        /// The number.
        number: i64,
        /// The code that had it first.
        owner: Code,
    },
    /// A handler does not fit the type of the operation.
    #[error("operation {operation} is a {op_type}, but its handler returns {returns}; {advice}")]
    HandlerKind {
        /// The operation.
        operation: OperationName,
        /// Its type.
        op_type: &'static str,
        /// What the handler returns.
        returns: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// An operation is allowed to call an unknown operation.
    #[error("operation {operation} may call {callee}, which is not registered{hint}")]
    UnknownCallee {
        /// The operation that calls.
        operation: OperationName,
        /// The operation that is missing.
        callee: OperationName,
        /// A similar name, if there is one.
        hint: String,
    },
    /// The declaration and the reconcile handler do not agree.
    #[error("operation {operation}: {problem}")]
    Reconciliation {
        /// The operation.
        operation: OperationName,
        /// What is wrong and what to do.
        problem: &'static str,
    },
    /// The order of the arguments does not fit the input.
    #[error("operation {operation}: {argument} in argument_order: {problem}")]
    ArgumentOrder {
        /// The operation.
        operation: OperationName,
        /// The name in the order.
        argument: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A schema does not compile.
    #[error("operation {operation}: the schema of {of} does not compile: {problem}")]
    Schema {
        /// The operation it belongs to.
        operation: OperationName,
        /// What it describes.
        of: String,
        /// What is wrong.
        problem: String,
    },
}

/// All problems of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryProblems(pub Vec<RegistryProblem>);

impl fmt::Display for RegistryProblems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(RegistryProblem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for RegistryProblems {}
