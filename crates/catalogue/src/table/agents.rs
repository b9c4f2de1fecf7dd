//! Codes that tools return about their own arguments, owners, artifacts and runs.

use crate::entry::{Entry, Mapping};
use crate::facts::{Effect, FlatCategory, Grpc, Remedy};

rows! {
    MISSING_ARGUMENT: 405, "Argument is missing", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Add the required arguments that the failure names"]);
    INVALID_ARGUMENT: 406, "Argument has an unusable value", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .canonical(&[Mapping::Flat])
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send a value within the range or set that the message names"]);
    INVALID_TYPE: 407, "Argument has the wrong type", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send the value with the type that the operation declares"]);
    NOT_OWNER: 306, "Caller does not own this", AuthFail =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
        .actions(&["Ask the owner to do it, or to transfer ownership"])
        .alternatives(&["Work on a copy that you own"]);
    NOT_AUTHORIZED: 305, "Caller is not authorized", AuthFail =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .canonical(&[Mapping::Flat])
        .remedies(&[Remedy::Reauthenticate, Remedy::AskHuman])
        .actions(&["Ask for the permission, or act as a principal that has it"]);
    DECLINED: 309, "A person declined the call", AuthFail =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::AskHuman])
        .actions(&["Do not make this call again in another form; ask the person what to do instead"]);
    INSUFFICIENT_FUNDS: 604, "Balance is too low", Resource =>
        .http(402)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::ChangeState, Remedy::ChangeInput])
        .actions(&["Add funds, or lower the amount below the available balance"]);
    ARTIFACT_NOT_FOUND: 601, "Requested object does not exist", ClientError =>
        .http(404)
        .grpc(Grpc::NotFound)
        .canonical(&[Mapping::Grpc, Mapping::Flat])
        .flat_as("not_found", FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Check the identifier; list or search what exists and use one of those"]);
    ALREADY_EXISTS: 602, "The name is taken", ClientError =>
        .http(409)
        .grpc(Grpc::AlreadyExists)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput, Remedy::UseAlternative])
        .actions(&["Choose another name"])
        .alternatives(&["Read or update the one that exists"]);
    ALREADY_LISTED: 603, "Item is already listed", ClientError =>
        .http(409)
        .grpc(Grpc::AlreadyExists)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::UseAlternative, Remedy::ChangeState])
        .actions(&["Withdraw the current listing before you list the item again"])
        .alternatives(&["Keep the current listing"]);
    EXECUTION_TIMEOUT: 410, "Code ran out of time", Timeout =>
        .http(504)
        .grpc(Grpc::DeadlineExceeded)
        .canonical(&[Mapping::Flat])
        .flat_as("timeout", FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait, Remedy::ChangeInput])
        .retries(2, 200)
        .actions(&["Give the code less to do in one run, or more time"]);
    RUNTIME_ERROR: 408, "Code failed while running", Permanent =>
        .http(500)
        .grpc(Grpc::Unknown)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::ChangeInput, Remedy::AskHuman])
        .actions(&["Find the failing line in the message, then correct the code or its input"]);
    SYNTAX_ERROR: 409, "Code does not parse", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Execution)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the code at the named line and column"]);
    INTERNAL_ERROR: 105, "Tool failed with an internal error", Permanent =>
        .http(500)
        .grpc(Grpc::Internal)
        .flat(FlatCategory::System)
        .canonical(&[Mapping::Flat])
        .effect(Effect::Unknown)
        .remedies(&[Remedy::AskHuman])
        .actions(&["Report the error id to the maintainers of the tool"]);
    NOT_CONFIGURED: 106, "Required setting is missing", Permanent =>
        .http(501)
        .grpc(Grpc::FailedPrecondition)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::System)
        .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
        .actions(&["Have the operator configure the setting that the message names"]);
    INVALID_INPUT_ERROR: 401, "A tool rejected its input", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the input parameters"]);
    TOOL_EXECUTION_ERROR: 402, "Tool failed without giving a reason", Permanent =>
        .http(500)
        .grpc(Grpc::Unknown)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
        .actions(&["Read the message; if it gives no reason, report it to the author of the tool"])
        .alternatives(&["Use another tool that serves the same goal"]);
}
