//! Short ways to the failures tools give most: one function per flat category.
//!
//! Each takes the codes of its category only, and the code alone decides about retrying.

use panpan_catalogue::{Entry, codes};

use crate::failure::Failure;

/// Declares the codes of one flat category and the function that makes failures of them.
macro_rules! factory {
    ($(#[$enum_doc:meta])* $codes:ident { $($(#[$doc:meta])* $variant:ident => $entry:ident,)+ } $(#[$doc_function:meta])* $function:ident) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $codes { $($(#[$doc])* $variant,)+ }

        impl $codes {
            /// The row of the catalogue.
            pub const fn entry(self) -> &'static Entry {
                match self { $($codes::$variant => codes::$entry,)+ }
            }
        }

        $(#[$doc_function])*
        pub fn $function(code: $codes, message: impl Into<String>) -> Failure {
            Failure::new(code.entry()).with_message(message)
        }
    };
}

factory! {
    /// What can be wrong with arguments.
    ValidationCode {
        /// One is missing.
        MissingArgument => MISSING_ARGUMENT,
        /// One has an unusable value.
        #[default]
        InvalidArgument => INVALID_ARGUMENT,
        /// One has the wrong type.
        InvalidType => INVALID_TYPE,
    }
    /// The caller's arguments are wrong.
    ///
    /// ```
    /// use crate::factories::{ValidationCode, validation_error};
    ///
    /// let failure = validation_error(ValidationCode::MissingArgument, "transfer requires [from_id, to_id, amount]")
    ///     .with_detail("required", vec!["from_id", "to_id", "amount"]);
    /// assert!(!failure.retryable());
    /// ```
    validation_error
}

factory! {
    /// What a caller may not do.
    PermissionCode {
        /// It belongs to someone else.
        NotOwner => NOT_OWNER,
        /// It is not allowed.
        #[default]
        NotAuthorized => NOT_AUTHORIZED,
        /// It cannot be paid.
        InsufficientFunds => INSUFFICIENT_FUNDS,
    }
    /// The caller may not do this.
    permission_error
}

factory! {
    /// What can be wrong with a thing.
    ResourceCode {
        /// It does not exist.
        #[default]
        NotFound => ARTIFACT_NOT_FOUND,
        /// It exists already.
        AlreadyExists => ALREADY_EXISTS,
        /// It is listed already.
        AlreadyListed => ALREADY_LISTED,
    }
    /// The thing is not there, or there already.
    resource_error
}

factory! {
    /// How running code can fail.
    ExecutionCode {
        /// It took too long.
        Timeout => EXECUTION_TIMEOUT,
        /// It failed.
        #[default]
        RuntimeError => RUNTIME_ERROR,
        /// It does not parse.
        SyntaxError => SYNTAX_ERROR,
    }
    /// Running the code failed.
    execution_error
}

factory! {
    /// How the system around a tool can fail.
    SystemCode {
        /// A defect.
        #[default]
        InternalError => INTERNAL_ERROR,
        /// A missing setting.
        NotConfigured => NOT_CONFIGURED,
    }
    /// The system around the tool failed.
    system_error
}
