//! Codes of the protocol itself, raised before or around an operation and never by a handler.

use crate::entry::{Entry, Mapping};
use crate::facts::{Effect, FlatCategory, Grpc, Remedy};

rows! {
    NOT_FOUND: 404, "Operation not found", ClientError =>
        .jsonrpc(-32601)
        .http(404)
        .grpc(Grpc::Unimplemented)
        .canonical(&[Mapping::Grpc])
        .flat_as("not_found", FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput, Remedy::UseAlternative])
        .actions(&["List the operations you may call and use a name from that list"])
        .alternatives(&["Search the operations by what they do instead of by name"]);
    FORBIDDEN: 303, "Not allowed to call this operation", AuthFail =>
        .jsonrpc(-32004)
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .canonical(&[Mapping::Grpc])
        .flat_as("not_authorized", FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate, Remedy::AskHuman])
        .actions(&["Call with a credential that carries the scope or resource named in the message"])
        .alternatives(&["Use an operation your credential already allows"]);
    INVALID_INPUT: 400, "Input does not match the schema", Validation =>
        .jsonrpc(-32602)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .canonical(&[Mapping::Grpc])
        .flat_as("invalid_argument", FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct every field listed in the violations, then call again"]);
    INVALID_OPERATION_TYPE: 104, "Wrong way to call this operation", ClientError =>
        .jsonrpc(-32600)
        .http(400)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::UseAlternative])
        .actions(&["Subscribe to a subscription; call a query or a mutation"]);
    INTERNAL: 100, "Internal error", Permanent =>
        .jsonrpc(-32603)
        .http(500)
        .grpc(Grpc::Internal)
        .canonical(&[Mapping::Grpc, Mapping::JsonRpc])
        .flat_as("internal_error", FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::AskHuman])
        .actions(&["Report the error id to the person responsible for this tool: the cause is in its log"]);
    TIMEOUT: 101, "Operation timed out", Timeout =>
        .jsonrpc(-32603)
        .http(504)
        .grpc(Grpc::DeadlineExceeded)
        .canonical(&[Mapping::Grpc])
        .flat_as("timeout", FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 200)
        .actions(&["If it persists, ask for less in one call"]);
    PARSE_ERROR: 102, "Request is not valid JSON", Validation =>
        .jsonrpc(-32700)
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send one complete JSON document in UTF-8"]);
    INVALID_REQUEST: 103, "Request is malformed", Validation =>
        .jsonrpc(-32600)
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .canonical(&[Mapping::JsonRpc])
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send the members the protocol requires, each with its required type"]);
}
