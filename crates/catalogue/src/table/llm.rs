//! Failures of language-model providers.

use crate::entry::{Entry, Mapping};
use crate::facts::{Effect, FlatCategory, Grpc, Remedy};

rows! {
    ERR_LLM_RATE_LIMITED: 901, "Model provider rate limit reached", RateLimit =>
        .http(429)
        .grpc(Grpc::ResourceExhausted)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait, Remedy::UseAlternative])
        .retries(3, 1000)
        .actions(&["Wait for the stated delay; send fewer or smaller requests meanwhile"])
        .alternatives(&["Use another model or provider with free capacity"]);
    ERR_LLM_CONTEXT_LENGTH: 902, "Input exceeds the model's context", Validation =>
        .http(400)
        .grpc(Grpc::OutOfRange)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput, Remedy::UseAlternative])
        .actions(&["Shorten or summarise the messages, or lower the output limit"])
        .alternatives(&["Use a model with a longer context"]);
    ERR_LLM_INVALID_MODEL: 903, "Model does not exist", ClientError =>
        .http(404)
        .grpc(Grpc::NotFound)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Use a model name from the provider's current list"]);
    ERR_LLM_CONTENT_FILTER: 904, "Content was rejected by a safety filter", Permanent =>
        .http(422)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Execution)
        .remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
        .actions(&["Do not send the same content again; let a person review it"])
        .alternatives(&["Rephrase the request without the rejected part"]);
    ERR_LLM_API_ERROR: 905, "Model provider failed", Transient =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait, Remedy::UseAlternative])
        .retries(3, 100)
        .actions(&["If it persists, report it to the person responsible for this tool"])
        .alternatives(&["Use another model or provider"]);
    ERR_LLM_AUTH_FAILURE: 307, "Model provider refused the credential", AuthFail =>
        .http(502)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate, Remedy::AskHuman])
        .actions(&["Renew the provider key configured for this tool"]);
    ERR_LLM_BAD_REQUEST: 906, "Model provider refused the request", ClientError =>
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the parameter that the provider names in its response"]);
}
