//! Constructors for the most common failures of tools: one function per flat category.
//!
//! Each accepts only the codes of its category; the code decides whether the failure is retryable.

use crate::classify::rows;

rows! {
    /// Codes for invalid arguments.
    ValidationCode {
        /// An argument is missing.
        MissingArgument => MISSING_ARGUMENT,
        /// An argument has an invalid value.
        #[default]
        InvalidArgument => INVALID_ARGUMENT,
        /// An argument has the wrong type.
        InvalidType => INVALID_TYPE,
    }
    /// A failure because the caller's arguments are invalid.
    ///
    /// ```
    /// use panpan_failure::factories::{ValidationCode, validation_error};
    ///
    /// let failure = validation_error(ValidationCode::MissingArgument, "transfer requires [from_id, to_id, amount]")
    ///     .with_detail("required", vec!["from_id", "to_id", "amount"]);
    /// assert!(!failure.retryable());
    /// ```
    validation_error
}

rows! {
    /// Codes for forbidden actions.
    PermissionCode {
        /// The resource belongs to another owner.
        NotOwner => NOT_OWNER,
        /// The caller is not authorized.
        #[default]
        NotAuthorized => NOT_AUTHORIZED,
        /// The balance is too low.
        InsufficientFunds => INSUFFICIENT_FUNDS,
    }
    /// A failure because the caller may not do this.
    permission_error
}

rows! {
    /// Codes for missing and existing resources.
    ResourceCode {
        /// The resource does not exist.
        #[default]
        NotFound => ARTIFACT_NOT_FOUND,
        /// The resource exists already.
        AlreadyExists => ALREADY_EXISTS,
        /// The resource is listed already.
        AlreadyListed => ALREADY_LISTED,
    }
    /// A failure because a resource is missing, or exists already.
    resource_error
}

rows! {
    /// Codes for failed execution.
    ExecutionCode {
        /// Execution timed out.
        Timeout => EXECUTION_TIMEOUT,
        /// Execution failed.
        #[default]
        RuntimeError => RUNTIME_ERROR,
        /// The code does not parse.
        SyntaxError => SYNTAX_ERROR,
    }
    /// A failure because execution failed.
    execution_error
}

rows! {
    /// Codes for failures of the system that runs a tool.
    SystemCode {
        /// An internal error.
        #[default]
        InternalError => INTERNAL_ERROR,
        /// A setting is missing.
        NotConfigured => NOT_CONFIGURED,
    }
    /// A failure of the system that runs the tool.
    system_error
}
