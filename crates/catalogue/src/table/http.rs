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

/// A row for some 4xx statuses, of which each is refused before anything is done.
const fn refused(number: u16, title: &'static str) -> Entry {
    unlisted(number, title, Category::ClientError)
        .http(number - 2000)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Validation)
}

/// Speaks for every 4xx status without a row of its own.
pub(crate) const UNLISTED_CLIENT_STATUS: Entry =
    refused(2400, "Upstream answered with a client error")
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

/// What several statuses without a code of their own have in common.
pub(crate) const SHARED: &[(&[u16], &Entry)] = &[
    (&[402], &PAYMENT_DUE),
    (REQUEST_STATUSES, &REQUEST_UNFIT),
    (&[410], &GONE),
    (&[412], &PRECONDITION_FAILED),
    (&[413, 414], &TOO_LARGE),
    (&[423, 424], &HELD),
    (&[425], &TOO_EARLY),
    (&[451], &WITHHELD),
    (&[499], &HUNG_UP),
    (PERMANENT_STATUSES, &PERMANENT_STATUS),
];

const PAYMENT_DUE: Entry = refused(2402, "Upstream wants to be paid first")
    .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
    .actions(&["Ask the person responsible for this tool to settle what the service wants to be paid; calling again does not help before"]);

/// Statuses about how a request is made: its method (405), its headers (406, 407, 411, 417, 428, 431), the type
/// of its body (415), where it goes (421) and by which protocol (426).
const REQUEST_STATUSES: &[u16] = &[405, 406, 407, 411, 415, 417, 421, 426, 428, 431];

/// Speaks for them where a tool makes the request, which no input changes.
const REQUEST_UNFIT: Entry = refused(2405, "Upstream does not take such requests")
    .remedies(&[Remedy::AskHuman])
    .actions(&["Ask the person responsible for this tool: the service does not take its requests, whatever the input"]);

/// Speaks for them where the caller itself makes the request.
const OWN_REQUEST_UNFIT: Entry = refused(2405, "Upstream does not take such requests")
    .remedies(&[Remedy::ChangeInput])
    .actions(&["Change the method, the headers or the type of the body as the status asks for, then call again"]);

/// The row for a status of a request that the caller itself made, where that is another.
pub(crate) fn own_request(status: u16) -> Option<&'static Entry> {
    REQUEST_STATUSES
        .contains(&status)
        .then_some(&OWN_REQUEST_UNFIT)
}

const GONE: Entry = refused(2410, "Upstream resource is gone")
    .grpc(Grpc::NotFound)
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeInput])
    .actions(&["Check the identifiers in the input: what they name does not exist any more"]);

const PRECONDITION_FAILED: Entry = refused(2412, "Upstream state is not the expected one")
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeState])
    .actions(&["Read the current state of the resource first, then send a request that fits it"]);

const TOO_LARGE: Entry = refused(2413, "Upstream takes less at once")
    .remedies(&[Remedy::ChangeInput])
    .actions(&["Send less in one call"]);

const HELD: Entry = refused(2423, "Blocked by something else")
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeState])
    .actions(&[
        "Find what holds the resource or failed before this call, and end or repair that first",
    ]);

/// RFC 8470: the request came before the connection was sure, and may be sent again as it is.
const TOO_EARLY: Entry = unlisted(
    2425,
    "Upstream wants the request again",
    Category::Transient,
)
.http(425)
.grpc(Grpc::Unavailable)
.flat(FlatCategory::System)
.remedies(&[Remedy::Wait])
.retries(3, 100)
.actions(&["If it goes on, report it to the person responsible for this tool"]);

const WITHHELD: Entry = refused(2451, "Upstream withholds it for legal reasons")
    .grpc(Grpc::PermissionDenied)
    .flat(FlatCategory::Permission)
    .remedies(&[Remedy::AskHuman])
    .actions(&["Ask a person: the service withholds this for legal reasons"]);

/// Said by proxies: the one before them left while the service was at work.
const HUNG_UP: Entry = refused(2499, "Someone on the way to the upstream hung up")
    .effect(Effect::Unknown)
    .remedies(&[Remedy::AskHuman])
    .actions(&["Report it to the person responsible for this tool: something on the way to the service ended the request"]);

/// Statuses that HTTP itself calls permanent: the server lacks the function (501), the version (505) or
/// the extension (510), is wrongly set up (506), or a person has to sign in to the network (511). The
/// identical request gets the same answer. Not 508: shared hosts answer it for a limit that passes.
const PERMANENT_STATUSES: &[u16] = &[501, 505, 506, 510, 511];

/// Speaks for the statuses that HTTP calls permanent.
const PERMANENT_STATUS: Entry = unlisted(
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
