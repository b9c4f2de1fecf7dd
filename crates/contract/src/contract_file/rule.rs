//! The names of the rules for contract files.

/// Declares each rule once: its constant, its name, and its description.
macro_rules! rules {
    ($(#[doc = $description:literal] $rule:ident = $name:literal,)+) => {
        $(#[doc = $description] pub const $rule: &str = $name;)+

        /// Every rule, with its description.
        pub const ALL: &[(&str, &str)] = &[$(($name, $description)),+];
    };
}

rules! {
    /// The file is valid JSON.
    FILE_SYNTAX = "file.syntax",
    /// The file does not exceed the size limit.
    FILE_LARGE = "file.large",
    /// The file does not exceed the nesting limit.
    FILE_DEEP = "file.deep",
    /// The file can be read if it follows all other rules.
    FILE_UNREADABLE = "file.unreadable",
    /// No object has duplicate members.
    FILE_REPEATED_MEMBER = "file.repeated_member",
    /// Member names do not exceed the length limit.
    FILE_MEMBER_NAME = "file.member_name",
    /// Not a rule: more problems were found than are listed.
    FILE_MORE = "file.more",
    /// Required members are present.
    MEMBER_MISSING = "member.missing",
    /// Members are known, or start with x-.
    MEMBER_UNKNOWN = "member.unknown",
    /// Values have the right type.
    MEMBER_TYPE = "member.type",
    /// Enum values are known.
    MEMBER_WORD = "member.word",
    /// Numbers are within their bounds.
    MEMBER_RANGE = "member.range",
    /// Texts are not blank and lists not empty where content is required.
    MEMBER_EMPTY = "member.empty",
    /// Lists do not exceed their length limit.
    MEMBER_LONG = "member.long",
    /// Operation names are well formed.
    OPERATION_NAME = "operation.name",
    /// The namespace matches the operation name.
    OPERATION_NAMESPACE = "operation.namespace",
    /// Operation names are unique.
    OPERATION_REPEATED = "operation.repeated",
    /// Codes are well formed.
    ERROR_CODE = "error.code",
    /// An operation declares each code once.
    ERROR_REPEATED = "error.repeated",
    /// Protocol codes are not declared.
    ERROR_PROTOCOL_CODE = "error.protocol_code",
    /// A catalogue code keeps the facts that the catalogue fixes.
    ERROR_CATALOGUE_FACT = "error.catalogue_fact",
    /// A code is retryable only in a retryable category.
    ERROR_RETRYABLE = "error.retryable",
    /// `wait` is a remedy if and only if the code is retryable.
    ERROR_REMEDY = "error.remedy",
    /// An HTTP status is an error status.
    ERROR_HTTP_STATUS = "error.http_status",
    /// A JSON-RPC code is not reserved.
    ERROR_JSONRPC_CODE = "error.jsonrpc_code",
    /// No two codes share a JSON-RPC code, except the default one.
    ERROR_JSONRPC_SHARED = "error.jsonrpc_shared",
    /// All operations declare a code with the same category, retryability, remedies and JSON-RPC code.
    ERROR_CONFLICT = "error.conflict",
    /// A resource action has a resource type.
    ACCESS_RESOURCE_TYPE = "access.resource_type",
    /// A pointer into the input is a JSON Pointer.
    IDEMPOTENCY_POINTER = "idempotency.pointer",
    /// Only mutations require a key.
    IDEMPOTENCY_KEY = "idempotency.key",
    /// The settings of a retry policy are consistent.
    RETRY_POLICY = "retry.policy",
    /// The settings of a circuit are consistent.
    CIRCUIT = "circuit.settings",
    /// The name of a shared definition can be used in a reference.
    SCHEMA_NAME = "schema.name",
    /// A schema uses a known draft.
    SCHEMA_DRAFT = "schema.draft",
    /// A schema is valid JSON Schema.
    SCHEMA_INVALID = "schema.invalid",
    /// A schema of details accepts objects.
    SCHEMA_DETAILS = "schema.details",
    /// A pattern is a regular expression.
    SCHEMA_PATTERN = "schema.pattern",
    /// A reference points to a schema in the file.
    SCHEMA_REFERENCE = "schema.reference",
    /// A reference does not leave the file.
    SCHEMA_REMOTE = "schema.remote",
    /// References do not form a cycle.
    SCHEMA_ENDLESS = "schema.endless",
    /// A schema keeps its meaning when it is embedded elsewhere.
    SCHEMA_IDENTITY = "schema.identity",
    /// A local definition does not shadow a shared one.
    SCHEMA_SHADOWED = "schema.shadowed",
}
