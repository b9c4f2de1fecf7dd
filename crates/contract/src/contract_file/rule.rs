//! The names of the rules a contract file is checked by.

/// Declares each rule once: its constant, its name, and what it asks for.
macro_rules! rules {
    ($(#[doc = $meaning:literal] $rule:ident = $name:literal,)+) => {
        $(#[doc = $meaning] pub const $rule: &str = $name;)+

        /// Every rule, with what it asks for.
        pub const ALL: &[(&str, &str)] = &[$(($name, $meaning)),+];
    };
}

rules! {
    /// The file is JSON.
    FILE_SYNTAX = "file.syntax",
    /// The file has no more bytes than a document may have.
    FILE_LARGE = "file.large",
    /// The file is nested no deeper than a document may be.
    FILE_DEEP = "file.deep",
    /// The file can be read once it follows all other rules.
    FILE_UNREADABLE = "file.unreadable",
    /// No member is written twice in one object.
    FILE_REPEATED_MEMBER = "file.repeated_member",
    /// The names of members are of bearable length.
    FILE_MEMBER_NAME = "file.member_name",
    /// Not a rule: so many problems were found that not all are listed.
    FILE_MORE = "file.more",
    /// A member that has to be there is there.
    MEMBER_MISSING = "member.missing",
    /// A member is known, or starts with x-.
    MEMBER_UNKNOWN = "member.unknown",
    /// A value has the right type.
    MEMBER_TYPE = "member.type",
    /// A word is one of the known ones.
    MEMBER_WORD = "member.word",
    /// A number is within its bounds.
    MEMBER_RANGE = "member.range",
    /// A text is not blank, and a list not empty, where it has to say something.
    MEMBER_EMPTY = "member.empty",
    /// A list is not longer than allowed.
    MEMBER_LONG = "member.long",
    /// An operation has a well-formed name.
    OPERATION_NAME = "operation.name",
    /// A namespace fits the name.
    OPERATION_NAMESPACE = "operation.namespace",
    /// No two operations have one name.
    OPERATION_REPEATED = "operation.repeated",
    /// A code is well formed.
    ERROR_CODE = "error.code",
    /// An operation declares a code once.
    ERROR_REPEATED = "error.repeated",
    /// The codes of the protocol are not declared.
    ERROR_PROTOCOL_CODE = "error.protocol_code",
    /// A code of the catalogue keeps the facts the catalogue fixes.
    ERROR_CATALOGUE_FACT = "error.catalogue_fact",
    /// A code is retryable only in a category that can be.
    ERROR_RETRYABLE = "error.retryable",
    /// Waiting is a remedy exactly where a code is retryable.
    ERROR_REMEDY = "error.remedy",
    /// An HTTP status is one of a failure.
    ERROR_HTTP_STATUS = "error.http_status",
    /// A JSON-RPC number is not a reserved one.
    ERROR_JSONRPC_CODE = "error.jsonrpc_code",
    /// No two codes have one JSON-RPC number, other than that of codes which name none.
    ERROR_JSONRPC_SHARED = "error.jsonrpc_shared",
    /// All operations give a code the same category, retryability, remedies and JSON-RPC number.
    ERROR_CONFLICT = "error.conflict",
    /// A resource action names the type of resource it is about.
    ACCESS_RESOURCE_TYPE = "access.resource_type",
    /// A place in the input is a JSON Pointer.
    IDEMPOTENCY_POINTER = "idempotency.pointer",
    /// Only mutations require a key.
    IDEMPOTENCY_KEY = "idempotency.key",
    /// A retry policy is sound as a whole.
    RETRY_POLICY = "retry.policy",
    /// The settings of a circuit are sound as a whole.
    CIRCUIT = "circuit.settings",
    /// A shared definition has a name that can be referred to.
    SCHEMA_NAME = "schema.name",
    /// A schema is of a known draft.
    SCHEMA_DRAFT = "schema.draft",
    /// A schema is a valid JSON Schema.
    SCHEMA_INVALID = "schema.invalid",
    /// A schema of details allows objects, which details always are.
    SCHEMA_DETAILS = "schema.details",
    /// A pattern is a regular expression.
    SCHEMA_PATTERN = "schema.pattern",
    /// A reference points at a schema in the file.
    SCHEMA_REFERENCE = "schema.reference",
    /// A reference stays in the file.
    SCHEMA_REMOTE = "schema.remote",
    /// Following references comes to an end.
    SCHEMA_ENDLESS = "schema.endless",
    /// References mean the same wherever the schema is put.
    SCHEMA_IDENTITY = "schema.identity",
    /// A definition of a schema's own does not hide a shared one.
    SCHEMA_SHADOWED = "schema.shadowed",
}
