//! HTTP statuses of upstreams, and the rows for statuses that have no code of their own.

use crate::entry::{Entry, Mapping};
use crate::facts::{Category, Effect, FlatCategory, Grpc, Remedy};

rows! {
    ERR_HTTP_400_BAD_REQUEST: 210, "Upstream refused the request", ClientError =>
        .http(400)
        .grpc(Grpc::InvalidArgument)
        .flat(FlatCategory::Validation)
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Change the input as the message says, then call again"]);
    ERR_HTTP_401_UNAUTHORIZED: 301, "Upstream requires a valid credential", AuthFail =>
        .http(401)
        .grpc(Grpc::Unauthenticated)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate])
        .actions(&["Ask the person responsible for this tool to renew its credential; calling again does not help before that"]);
    ERR_HTTP_403_FORBIDDEN: 302, "Upstream denies access", AuthFail =>
        .http(403)
        .grpc(Grpc::PermissionDenied)
        .flat(FlatCategory::Permission)
        .remedies(&[Remedy::Reauthenticate, Remedy::AskHuman])
        .actions(&["Ask the person responsible for this tool to obtain access for its credential; calling again does not help before that"]);
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
        .actions(&["If it persists, send less in one call"]);
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
        .actions(&["If it persists, report it to the person responsible for this tool"]);
    ERR_HTTP_502_BAD_GATEWAY: 217, "Proxy got no valid response from the upstream", ServerError =>
        .http(502)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 500)
        .actions(&["If it persists, report it to the person responsible for this tool"]);
    ERR_HTTP_503_UNAVAILABLE: 218, "Upstream is unavailable", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .canonical(&[Mapping::Grpc])
        .flat(FlatCategory::System)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(3, 100)
        .actions(&["If it persists, report it to the person responsible for this tool"]);
    ERR_HTTP_504_GATEWAY_TIMEOUT: 219, "Proxy waited too long for the upstream", Timeout =>
        .http(504)
        .grpc(Grpc::DeadlineExceeded)
        .flat(FlatCategory::Execution)
        .effect(Effect::Unknown)
        .remedies(&[Remedy::Wait])
        .retries(2, 200)
        .actions(&["If it persists, ask for less in one call"]);
    ERR_TRY_LATER: 221, "Upstream refuses for now and says when to ask again", Transient =>
        .http(503)
        .grpc(Grpc::Unavailable)
        .flat(FlatCategory::System)
        .remedies(&[Remedy::Wait])
        .retries(3, 1000)
        .actions(&["If it persists, read in the message or the meaning what the service is waiting for"]);
}

/// A row shared by statuses that have no row of their own; it is not a code itself.
const fn unlisted(number: u16, title: &'static str, category: Category) -> Entry {
    const PAGE: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/pages/ERR_HTTP_STATUS.md"
    ));
    Entry::new("ERR_HTTP_STATUS", PAGE, number, title, category)
}

/// A row for 4xx statuses with which an upstream refuses a request before doing anything.
const fn refused(number: u16, title: &'static str) -> Entry {
    unlisted(number, title, Category::ClientError)
        .http(number - 2000)
        .grpc(Grpc::FailedPrecondition)
        .flat(FlatCategory::Validation)
}

/// The row for every 4xx status without a row of its own.
pub(crate) const UNLISTED_CLIENT_STATUS: Entry =
    refused(2400, "Upstream answered with a client error")
        .remedies(&[Remedy::ChangeInput])
        .actions(&["Change the input as the message says, then call again"]);

/// The row for every 5xx status without a row of its own.
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
.actions(&["If it persists, report it to the person responsible for this tool"]);

/// Statuses without a code of their own, and the row that each group shares.
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
    (&[507], &STORAGE_FULL),
];

const PAYMENT_DUE: Entry = refused(2402, "Upstream requires payment")
    .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
    .actions(&["Ask a person for what is missing: another means of payment, a confirmation, a plan; calling again does not help before that"]);

/// Statuses about the form of a request: its method (405), its headers (406, 407, 411, 417, 428, 431), its media
/// type (415), its target (421) and its protocol (426).
const REQUEST_STATUSES: &[u16] = &[405, 406, 407, 411, 415, 417, 421, 426, 428, 431];

/// The row for these statuses where a tool makes the request, so that no input can change its form.
const REQUEST_UNFIT: Entry = refused(2405, "Upstream does not accept this kind of request")
    .remedies(&[Remedy::AskHuman])
    .actions(&["Ask the person responsible for this tool: the service does not accept its requests, whatever the input"]);

/// The row for these statuses where the caller itself makes the request.
const OWN_REQUEST_UNFIT: Entry = refused(2405, "Upstream does not accept this kind of request")
    .remedies(&[Remedy::ChangeInput])
    .actions(&[
        "Change the method, the headers or the media type as the status requires, then call again",
    ]);

/// The row for a status of a request that the caller itself made, where it differs from that of a tool.
pub(crate) fn own_request(status: u16) -> Option<&'static Entry> {
    REQUEST_STATUSES
        .contains(&status)
        .then_some(&OWN_REQUEST_UNFIT)
}

const GONE: Entry = refused(2410, "Upstream resource is gone")
    .grpc(Grpc::NotFound)
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeInput])
    .actions(&[
        "Check the identifiers in the input: what they name does not exist any more, or has moved",
    ]);

const PRECONDITION_FAILED: Entry = refused(2412, "Upstream state does not meet the precondition")
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeState])
    .actions(&["Read the current state of the resource first, then send a request that fits it"]);

const TOO_LARGE: Entry = refused(2413, "Request is too large for the upstream")
    .remedies(&[Remedy::ChangeInput])
    .actions(&["Send less in one call"]);

const HELD: Entry = refused(2423, "Resource is locked or a dependency failed")
    .flat(FlatCategory::Resource)
    .remedies(&[Remedy::ChangeState])
    .actions(&[
        "Find what locks the resource or failed before this call, and release or fix that first",
    ]);

/// RFC 8470: the request was sent as early data, and may be sent again unchanged.
const TOO_EARLY: Entry = unlisted(
    2425,
    "Upstream asks for the request again",
    Category::Transient,
)
.http(425)
.grpc(Grpc::Unavailable)
.flat(FlatCategory::System)
.remedies(&[Remedy::Wait])
.retries(3, 100)
.actions(&["If it persists, report it to the person responsible for this tool"]);

const WITHHELD: Entry = refused(2451, "Upstream withholds the resource for legal reasons")
    .grpc(Grpc::PermissionDenied)
    .flat(FlatCategory::Permission)
    .remedies(&[Remedy::AskHuman])
    .actions(&["Ask a person: the service withholds this for legal reasons"]);

/// Sent by proxies: their client closed the connection while the service was working.
const HUNG_UP: Entry = refused(2499, "Request was cut off on the way to the upstream")
    .effect(Effect::Unknown)
    .remedies(&[Remedy::AskHuman])
    .actions(&["Report it to the person responsible for this tool: something on the way to the service closed the connection"]);

/// Statuses that HTTP defines as permanent: the server lacks the function (501), the version (505) or
/// the extension (510), is misconfigured (506), or a person has to sign in to the network (511). The
/// identical request gets the same response. Not 508: shared hosts send it for temporary limits.
const PERMANENT_STATUSES: &[u16] = &[501, 505, 506, 510, 511];

/// The row for the statuses that HTTP defines as permanent.
const PERMANENT_STATUS: Entry = unlisted(
    2501,
    "Upstream cannot serve this kind of request",
    Category::Permanent,
)
.http(501)
.grpc(Grpc::Unimplemented)
.flat(FlatCategory::System)
.remedies(&[Remedy::UseAlternative, Remedy::AskHuman])
.actions(&["Report the status to the operator of the service; repeating the call changes nothing"])
.alternatives(&["Reach the goal with another operation"]);

/// RFC 4918: the request must not be repeated until a user asks for it.
const STORAGE_FULL: Entry = unlisted(2507, "Upstream has no room left", Category::Resource)
    .http(507)
    .grpc(Grpc::ResourceExhausted)
    .flat(FlatCategory::Resource)
    .effect(Effect::Unknown)
    .remedies(&[Remedy::ChangeState, Remedy::AskHuman])
    .actions(&[
        "Free or enlarge the storage, or ask a person to do it; calling again does not help before that",
    ]);
