//! Failures without an HTTP status: connections, host names, certificates.

use crate::entry::Entry;
use crate::facts::{Effect, FlatCategory, Grpc, Remedy};

rows! {
    ERR_CONNECTION_REFUSED: 201, "Connection refused", Network =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 100)
        .actions(&["If it persists, ask the person responsible for this tool whether the service is running"]);
    ERR_TIMEOUT: 202, "No answer in time", Timeout =>
        .http(504)
        .grpc(Grpc::DeadlineExceeded)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 200)
        .actions(&["If it persists, ask for less in one call"]);
    ERR_DNS_FAILURE: 203, "Host name did not resolve", Network =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait, Remedy::ChangeInput])
        .retries(3, 100)
        .actions(&["If it persists, ask the person responsible for this tool to check the host name"]);
    ERR_SSL_ERROR: 204, "TLS handshake failed", Network =>
        .never_retried()
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
        .actions(&["Ask the person responsible for this tool to have the certificate of the service checked"]);
    ERR_SOCKET_ERROR: 205, "Connection broke", Network =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(3, 100)
        .actions(&["If it persists, report it to the person responsible for this tool"]);
    NETWORK_ERROR: 206, "Network failure", Network =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(3, 2000)
        .actions(&["Check network connection"]);
    NETWORK_CONNECTION_ERROR: 207, "Could not connect", Network =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 2000)
        .actions(&["Check network connection", "Verify that the service is operational"]);
    RATE_LIMIT_ERROR: 208, "Rate limit reached", RateLimit =>
        .http(429)
        .grpc(Grpc::ResourceExhausted)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(2, 5000)
        .actions(&["Wait before retrying"]);
    ERR_REDIRECT_FAILED: 220, "Redirect could not be followed", Permanent =>
        .http(502)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::AskHuman])
        .actions(&["Ask the person responsible for this tool to correct the address of the service"]);
    ERR_BLOCKED_HOST: 209, "Destination is not allowed", Permanent =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::ChangeInput, Remedy::AskHuman])
        .actions(&["Ask the person responsible for this tool to allow this host by name, or use an address that is allowed"]);
}
