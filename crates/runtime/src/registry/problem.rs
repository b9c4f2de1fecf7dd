//! Why a set of operations is refused.

use std::fmt;

use panpan_contract::operation::OperationName;
use panpan_failure::{Code, KindError};

/// Why operations are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Two operations have one name.
    #[error("operation {0} is registered twice; give one of them another name")]
    DuplicateOperation(OperationName),
    /// A declaration breaks a rule of codes.
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
        /// What it said.
        theirs: String,
        /// The operation that declared it differently.
        second: OperationName,
        /// What that one said.
        ours: String,
    },
    /// Two codes have one JSON-RPC number.
    #[error(
        "operation {operation}: {code} has JSON-RPC code {number}, which is that of {owner}; give \
         one of the two another number, or leave it out"
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
    /// A handler cannot give what the operation's type promises.
    #[error("operation {operation} is a {op_type} and its handler gives {gives}; {advice}")]
    HandlerKind {
        /// The operation.
        operation: OperationName,
        /// Its type.
        op_type: &'static str,
        /// What the handler gives.
        gives: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// An operation wants to call one that does not exist.
    #[error("operation {operation} is to call {callee}, which is not registered{hint}")]
    UnknownCallee {
        /// The operation that calls.
        operation: OperationName,
        /// The operation that is missing.
        callee: OperationName,
        /// A similar name, if there is one.
        hint: String,
    },
    /// Whether an operation is reconcilable and whether it can reconcile disagree.
    #[error("operation {operation}: {problem}")]
    Reconciliation {
        /// The operation.
        operation: OperationName,
        /// What is wrong and what to do.
        problem: &'static str,
    },
    /// A schema is none.
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

/// Every reason why a set of operations is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}
