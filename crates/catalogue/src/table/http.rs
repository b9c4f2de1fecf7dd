//! HTTP statuses an upstream answered with, and the rows that speak for statuses not listed.

use crate::entry::{Entry, Mapping};
use crate::facts::{Category, Effect, FlatCategory, Grpc, Remedy};

rows! {
    ERR_HTTP_400_BAD_REQUEST: 210, "Upstream refused the request", ClientError =>
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Change the input as the message says, then call again"]);
    ERR_HTTP_401_UNAUTHORIZED: 301, "Upstream wants a valid credential", AuthFail =>
        .http(401)
        .grpc(Grpc::Unauthenticated)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate])
        .actions(&["Ask the person responsible for this tool to renew its credential; calling again does not help before"]);
    ERR_HTTP_403_FORBIDDEN: 302, "Upstream denies access", AuthFail =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate, Remedy::AskHuman])
        .actions(&["Ask the person responsible for this tool to get access for its credential; calling again does not help before"]);
    ERR_HTTP_404_NOT_FOUND: 211, "Upstream resource not found", ClientError =>
        .http(404)
        .grpc(Grpc::NotFound)
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Check the identifiers in the input: what they name does not exist"]);
    ERR_HTTP_408_TIMEOUT: 212, "Upstream gave up waiting for the request", Timeout =>
        .http(408)
        .grpc(Grpc::DeadlineExceeded)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 200)
        .actions(&["If it goes on, send less in one call"]);
    ERR_HTTP_409_CONFLICT: 213, "Upstream state conflicts with the request", ClientError =>
        .http(409)
        .grpc(Grpc::Aborted)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::Resource)
        .remedies(&[Remedy::ChangeState, Remedy::ChangeInput])
        .actions(&["Read the current state of the resource, then send a request that fits it"]);
    ERR_HTTP_422_UNPROCESSABLE: 214, "Upstream cannot process the content", Validation =>
        .http(422)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Correct the values the message names, then call again"]);
    ERR_HTTP_429_RATE_LIMITED: 215, "Upstream rate limit reached", RateLimit =>
        .http(429)
        .grpc(Grpc::ResourceExhausted)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["Wait for the stated delay, then repeat the call"]);
    ERR_HTTP_500_SERVER_ERROR: 216, "Upstream failed", ServerError =>
        .http(500)
        .grpc(Grpc::Internal)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait, Remedy::AskHuman])
        .retries(2, 500)
        .actions(&["If it goes on, report it to the person responsible for this tool"]);
    ERR_HTTP_502_BAD_GATEWAY: 217, "A proxy got no usable answer", ServerError =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 500)
        .actions(&["If it goes on, report it to the person responsible for this tool"]);
    ERR_HTTP_503_UNAVAILABLE: 218, "Upstream is unavailable", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(3, 100)
        .actions(&["If it goes on, report it to the person responsible for this tool"]);
    ERR_HTTP_504_GATEWAY_TIMEOUT: 219, "A proxy waited too long for the answer", Timeout =>
        .http(504)
        .grpc(Grpc::DeadlineExceeded)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 200)
        .actions(&["If it goes on, ask for less in one call"]);
    ERR_TRY_LATER: 221, "Upstream refuses for now and says when to ask again", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["If it goes on, see in the message or the meaning what the service is waiting for"]);
}

/// The rows that speak for statuses without one of their own; they are not codes themselves.
const fn unlisted(number: u16, title: &'static str, category: Category) -> Entry {
    const PAGE: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/pages/ERR_HTTP_STATUS.md"
    ));
    Entry::new("ERR_HTTP_STATUS", PAGE, number, title, category)
}

/// Speaks for every 4xx status without a row of its own.
pub(crate) const UNLISTED_CLIENT_STATUS: Entry = unlisted(
    2400,
    "Upstream answered with a client error",
    Category::ClientError,
)
.http(400)
.grpc(Grpc::FailedPrecondition)
.flat(FlatCategory::Validation)
.remedies(&[Remedy::ChangeInput])
.actions(&["Change the input as the message says, then call again"]);

/// Speaks for every 5xx status without a row of its own.
pub(crate) const UNLISTED_SERVER_STATUS: Entry = unlisted(
    2500,
    "Upstream answered with a server error",
    Category::ServerError,
)
.http(500)
.grpc(Grpc::Unknown)
.flat(FlatCategory::System)
.effect(Effect::Unknown)
.remedies(&[Remedy::Wait, Remedy::AskHuman])
.retries(2, 500)
.actions(&["If it goes on, report it to the person responsible for this tool"]);

/// Statuses that HTTP itself calls permanent: the server lacks the function (501), the version (505) or
/// the extension (510), is wrongly set up (506), or a person has to sign in to the network (511). The
/// identical request gets the same answer. Not 508: shared hosts answer it for a limit that passes.
pub(crate) const PERMANENT_STATUSES: [u16; 5] = [501, 505, 506, 510, 511];

/// Speaks for the statuses that HTTP calls permanent.
pub(crate) const PERMANENT_STATUS: Entry = unlisted(
    2501,
    "Upstream cannot serve such requests",
    Category::Permanent,
)
.http(501)
.grpc(Grpc::Unimplemented)
.flat(FlatCategory::System)
.remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
.actions(&["Report the status to the operator of the service; repeating the call changes nothing"])
.alternatives(&["Reach the goal with another operation"]);
