//! Invalid data: validation and JSON transformation.

use crate::entry::Entry;
use crate::facts::{FlatCategory, Grpc, Remedy};

rows! {
    ERR_VALIDATION_FAILED: 501, "Data does not match its schema", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the values listed in the violations"]);
    ERR_JSON_INVALID: 502, "Text is not valid JSON", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Repair the text at the named line and column"]);
    ERR_JSON_PATH_INVALID: 503, "Path expression is invalid", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Write the path as $.name, $['name'] or $.list[0]"]);
    ERR_JSON_SCHEMA_MISMATCH: 504, "JSON document does not match its schema", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Compare the document with the schema at the listed pointers"]);
    ERR_JSON_TRANSFORM_FAILED: 505, "Transformation cannot be applied", Permanent =>
        .http(422)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Execution)
        .remedies(&[Remedy::ChangeInput, Remedy::UseAlternative])
        .actions(&["Choose an operation that suits the type of the data"])
        .alternatives(&["Extract the part that has the right type first, then transform that"]);
    ERR_JSON_DEPTH_EXCEEDED: 506, "JSON is nested too deeply", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send a flatter document, or only the inner part"]);
    ERR_JSON_SIZE_EXCEEDED: 507, "JSON is too large", Validation =>
        .http(413)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send less at once: a page, a part, or only the fields that are needed"]);
}
