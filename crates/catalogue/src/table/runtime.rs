//! Codes that the gateway raises around a call: keys, budgets, circuits, limits, the store.

use crate::entry::{Entry, Mapping};
use crate::facts::{Effect, FlatCategory, Grpc, Remedy};

rows! {
    TOOL_FAILED: 403, "The tool reported a failure of its own", Permanent =>
        .http(500)
        .grpc(Grpc::Unknown)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::ChangeInput, Remedy::UseAlternative, Remedy::AskHuman])
        .actions(&["Read the message; change the input if that is the reason it gives, else ask a person instead of repeating the call"])
        .alternatives(&["Reach the goal with another operation"]);
    ERR_CANCELLED: 111, "The call was cancelled", Permanent =>
        .http(499)
        .grpc(Grpc::Cancelled)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::ChangeState])
        .actions(&["Call again if the result is still wanted"]);
    ERR_MISSING_IDEMPOTENCY_KEY: 411, "An idempotency key is required", Validation =>
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Call again with an idempotency_key that is unique to this piece of work, and keep it for every repeat"]);
    ERR_IDEMPOTENCY_KEY_REUSED: 412, "Idempotency key was used with different input", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Call again with a new idempotency_key, or with the original input and this key"]);
    ERR_IDEMPOTENCY_IN_FLIGHT: 413, "The same call is still running", Transient =>
        .http(409)
        .grpc(Grpc::Aborted)
        .flat(FlatCategory::Execution)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["Repeat the call with the same idempotency_key after the stated delay to receive its outcome"]);
    ERR_OUTCOME_UNKNOWN: 414, "It is not known whether the call took effect", Permanent =>
        .http(409)
        .grpc(Grpc::Unknown)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::AskHuman])
        .actions(&["Find out whether this call took effect before doing anything else"]);
    ERR_OUTCOME_TOO_LARGE: 415, "The call succeeded; its output was too large to store", Permanent =>
        .http(410)
        .grpc(Grpc::OutOfRange)
        .flat(FlatCategory::Execution)
        .effect(Effect::Applied)
        .remedies(&[Remedy::UseAlternative])
        .actions(&["Do not run it again: it took effect the first time"])
        .alternatives(&["Read the result with another operation", "Ask for a smaller part of it under a new key"]);
    ERR_OUTPUT_INVALID: 416, "The response does not match its declared schema", Permanent =>
        .http(502)
        .grpc(Grpc::DataLoss)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
        .actions(&["Report the location that the message names to the operator of the service"])
        .alternatives(&["Reach the goal with another operation"]);
    ERR_CIRCUIT_OPEN: 107, "Calls to this upstream are paused", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait, Remedy::UseAlternative])
        .retries(3, 5000)
        .actions(&["Wait for the stated delay: calls are paused after repeated failures"]);
    ERR_RATE_LIMITED: 108, "Gateway rate limit reached", RateLimit =>
        .http(429)
        .grpc(Grpc::ResourceExhausted)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["Wait for the stated delay, then call more slowly"]);
    ERR_OVERLOADED: 109, "Gateway is at capacity", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["Wait, then send fewer concurrent requests"]);
    ERR_BUDGET_EXCEEDED: 605, "Budget is used up", Resource =>
        .http(402)
        .grpc(Grpc::ResourceExhausted)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
        .actions(&["Stop calls that cost money; have the owner of the budget raise it"]);
    ERR_RESOURCE_EXHAUSTED: 606, "A resource is used up", Resource =>
        .http(507)
        .grpc(Grpc::ResourceExhausted)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState])
        .actions(&["Free or enlarge the resource the message names, then call again"]);
    ERR_RESOURCE_BUSY: 607, "Resource is in use", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::Wait])
        .retries(3, 100)
        .actions(&["Wait until the resource is released, then repeat the call"]);
    ERR_STORE_UNAVAILABLE: 701, "The store cannot be reached", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait, Remedy::AskHuman])
        .retries(3, 1000)
        .actions(&["Repeat the call after the stated delay"]);
    ERR_RECOVERY_EXHAUSTED: 812, "Given up after repeated crashes", Permanent =>
        .http(500)
        .grpc(Grpc::DataLoss)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::ChangeInput, Remedy::AskHuman])
        .actions(&["Ask a person to find out why this work crashes its worker before it is started again"]);
}
