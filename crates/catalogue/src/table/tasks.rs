//! Codes of the task protocol, with their own JSON-RPC numbers.

use crate::entry::{Entry, Mapping};
use crate::facts::{FlatCategory, Grpc, Remedy};

rows! {
    TASK_NOT_FOUND: 801, "Task not found", ClientError =>
        .jsonrpc(-32001)
        .http(404)
        .grpc(Grpc::NotFound)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["List the tasks and use the id of one of them"]);
    CIRCULAR_DEPENDENCY: 802, "Circular dependency", Validation =>
        .jsonrpc(-32002)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Remove one of the dependencies listed in the cycle"]);
    EXECUTOR_NOT_FOUND: 803, "Executor not found", ClientError =>
        .jsonrpc(-32003)
        .http(404)
        .grpc(Grpc::NotFound)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput, Remedy::ChangeState])
        .actions(&[
            "Set schemas.method to a registered operation, or have the missing operation registered",
        ]);
    UNAUTHORIZED: 304, "Unauthorized", AuthFail =>
        .jsonrpc(-32004)
        .http(401)
        .grpc(Grpc::Unauthenticated)
        .canonical(&[Mapping::JsonRpc, Mapping::Grpc])
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate])
        .actions(&["Send a valid bearer token"]);
    TASK_NOT_OWNED: 308, "Task of another caller", AuthFail =>
        .jsonrpc(-32004)
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Use a task of your own: tasks/list returns them"]);
    INVALID_TASK_SCHEMA: 804, "Invalid task schema", Validation =>
        .jsonrpc(-32005)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the listed fields of the task"]);
    INVALID_STATE_TRANSITION: 805, "Invalid state transition", ClientError =>
        .jsonrpc(-32006)
        .http(409)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState])
        .actions(&["Read the current status of the task and request only a transition that it allows"]);
    DEPENDENCY_NOT_SATISFIED: 806, "Dependency not satisfied", ClientError =>
        .jsonrpc(-32007)
        .http(409)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState])
        .actions(&["Run or repair the tasks it depends on first"])
        .alternatives(&["Execute the root, which runs the whole tree in order"]);
    TASK_ALREADY_EXECUTING: 807, "Task already executing", ClientError =>
        .jsonrpc(-32008)
        .http(409)
        .grpc(Grpc::Aborted)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::UseAlternative, Remedy::ChangeState])
        .actions(&["Follow the current run instead of starting another"])
        .alternatives(&["Cancel it first if it has to start again"]);
    CANNOT_DELETE_TASK: 808, "Cannot delete task", ClientError =>
        .jsonrpc(-32009)
        .http(409)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState])
        .actions(&["Delete its children and dependents first; only a pending task can be deleted"])
        .alternatives(&["Cancel the task and keep it for the record"]);
    INVALID_PARENT_REFERENCE: 809, "Invalid parent reference", Validation =>
        .jsonrpc(-32010)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Set parent_id to a task of the same tree, or leave it out for a root"]);
    INVALID_DEPENDENCY_REFERENCE: 810, "Invalid dependency reference", Validation =>
        .jsonrpc(-32011)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Point every dependency at another task of the same tree"]);
    TASK_TREE_VALIDATION_FAILED: 811, "Task tree validation failed", Validation =>
        .jsonrpc(-32012)
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Send a tree with one root, known parents and no loop among them"]);
}
