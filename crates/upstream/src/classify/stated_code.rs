//! Codes of services that say more than the status of their response: AWS reports an exceeded rate limit and an
//! expired credential with status 400.
//!
//! A code counts only in the exact spelling of its service, and only with a status that leaves its meaning open. The
//! codes of language-model providers are in `panpan_failure::classify`.

use panpan_failure::catalogue::{Entry, for_status};
use panpan_failure::classify::Condition;
use panpan_failure::{Kind, codes};

use super::statements::condition_code;

/// The condition that the codes of a response state.
pub(super) fn condition(codes: &[impl AsRef<str>]) -> Option<Condition> {
    let mut codes = codes.iter().map(AsRef::as_ref);
    codes.find_map(|code| {
        let listed = CONDITIONS.iter().find(|(names, _)| has(names, code));
        let by_ending = || {
            IN_PROGRESS
                .iter()
                .any(|it| code.ends_with(it))
                .then_some(Condition::Contention)
        };
        listed.map(|(_, condition)| *condition).or_else(by_ending)
    })
}

/// The status that the codes of a response mean, if that is not the status they came with.
pub(super) fn meant_status(codes: &[impl AsRef<str>], status: u16) -> Option<u16> {
    let mut codes = codes.iter().map(AsRef::as_ref);
    let meant = codes.find_map(|code| {
        let listed = STATUSES.iter().find(|(names, ..)| has(names, code))?;
        let (_, meant, from) = listed;
        from.contains(&status).then_some(*meant)
    });
    meant.filter(|it| *it != status)
}

/// The kind for a code in a response without a failing status.
pub(crate) fn stated_kind(code: &str) -> Option<Kind> {
    let listed = KINDS.iter().find(|(names, _)| has(names, code));
    let by_condition = || condition(&[code]).map(|it| condition_code(it).into());
    let by_status = || for_status(meant_status(&[code], 400)?).map(Kind::from);
    listed
        .map(|(_, entry)| Kind::from(*entry))
        .or_else(by_condition)
        .or_else(by_status)
}

/// Whether the codes state a quota that is used up for longer than a caller waits.
pub(super) fn is_quota_spent(codes: &[&str], status: u16) -> bool {
    let is_listed = |code: &&str| {
        let listed = SPENT_QUOTAS.iter().find(|(name, _)| name == code);
        listed.is_some_and(|(_, only)| only.is_none_or(|it| it == status))
    };
    codes.iter().any(is_listed)
}

fn has(names: &str, code: &str) -> bool {
    names.split_ascii_whitespace().any(|name| name == code)
}

/// Codes by the condition that they state.
const CONDITIONS: [(&str, Condition); 5] = [
    (
        "BandwidthLimitExceeded EC2ThrottledException ProvisionedThroughputExceededException \
         RATELIMITED RATE_LIMITED RATE_LIMIT_EXCEEDED RequestLimitExceeded RequestThrottled \
         RequestThrottledException SlowDown THROTTLED ThrottledException Throttling ThrottlingException \
         TooManyRequests TooManyRequestsException rateLimitExceeded rate_limit_exceeded rate_limited \
         ratelimited slow_down tooManyRequests too_many_requests userRateLimitExceeded",
        Condition::RateLimit,
    ),
    (
        "AuthFailure ExpiredToken ExpiredTokenException INVALID_SESSION_ID ITEM_LOGIN_REQUIRED \
         IncompleteSignature InvalidAccessKeyId InvalidAuthenticationToken InvalidClientTokenId \
         InvalidSignatureException MissingAuthenticationToken MissingAuthenticationTokenException \
         RequestExpired SignatureDoesNotMatch UnrecognizedClientException account_selection_required \
         consent_required interaction_required invalid_auth invalid_client invalid_grant login_required \
         not_authed token_expired token_revoked",
        Condition::SignIn,
    ),
    (
        "AnotherOperationInProgress OperationAborted PriorRequestNotComplete \
         TransactionConflictException TransactionInProgressException UNABLE_TO_LOCK_ROW \
         authorization_pending",
        Condition::Contention,
    ),
    ("idempotency_key_in_use", Condition::Unfinished),
    ("processing_error", Condition::Unavailable),
];

/// Endings of codes for other work that has to end first: `deployment_in_progress`.
const IN_PROGRESS: [&str; 4] = [
    "_in_progress",
    "_IN_PROGRESS",
    "InProgress",
    "InProgressException",
];

/// Statuses that leave the meaning of a code open.
const OPEN: &[u16] = &[400, 409, 422];

/// Codes by the status that they mean, with the statuses that leave it open.
const STATUSES: [(&str, u16, &[u16]); 4] = [
    (
        "ACCESS_DENIED AccessDenied AccessDeniedException AuthorizationError AuthorizationFailed \
         INSUFFICIENT_PERMISSIONS PERMISSION_DENIED PermissionDenied UnauthorizedOperation access_denied \
         insufficient_permissions insufficient_scope missing_scope permission_denied unauthorized_client",
        403,
        OPEN,
    ),
    (
        "ConditionalCheckFailedException FAILED_PRECONDITION INVALID_STATE IncorrectInstanceState \
         IncorrectState InvalidDBInstanceState InvalidState InvalidStateException failed_precondition \
         invalid_state not_in_channel",
        412,
        &[400, 422],
    ),
    ("NO_ACTIVE_DEVICE", 412, &[400, 404]),
    ("EDIT_LOCK_NOT_LOCK_OWNER", 423, OPEN),
];

/// Codes that name the problem, where the status of a response says the same: they count only where no status is
/// stated.
const KINDS: [(&str, &Entry); 2] = [
    (
        "AUTHENTICATION_REQUIRED AUTH_REQUIRED INVALID_API_KEY INVALID_TOKEN LOGIN_REQUIRED \
         NOT_AUTHENTICATED SESSION_EXPIRED TOKEN_EXPIRED UNAUTHENTICATED UNAUTHORIZED Unauthenticated \
         Unauthorized account_inactive auth_required authentication_required bad_credentials \
         expired_token invalid_api_key invalid_grant invalid_token login_required not_authenticated \
         session_expired token_invalid unauthenticated unauthorized",
        codes::ERR_HTTP_401_UNAUTHORIZED,
    ),
    (
        "ACCESS_DENIED AccessDenied AccessDeniedException AuthorizationFailed FORBIDDEN Forbidden \
         INSUFFICIENT_PERMISSION INSUFFICIENT_PERMISSIONS INSUFFICIENT_SCOPE MISSING_SCOPE \
         PERMISSION_DENIED PermissionDenied UnauthorizedOperation access_denied forbidden \
         insufficientPermissions insufficient_permissions insufficient_scope missing_scope no_permission \
         not_allowed_token_type permission_denied",
        codes::ERR_HTTP_403_FORBIDDEN,
    ),
];

/// Codes of spent quotas, with the only status at which they mean that.
const SPENT_QUOTAS: [(&str, Option<u16>); 10] = [
    ("LimitExceededException", Some(400)),
    ("ServiceQuotaExceededException", None),
    ("usage-capped", Some(429)),
    ("REQUEST_LIMIT_EXCEEDED", Some(403)),
    ("STORAGE_LIMIT_EXCEEDED", None),
    ("dailyLimitExceeded", None),
    ("quotaExceeded", None),
    ("QuotaExceeded", None),
    ("quota_exceeded", None),
    ("storageQuotaExceeded", None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_only_in_the_spelling_of_its_service() {
        for (code, expected) in [
            ("ThrottlingException", Some(Condition::RateLimit)),
            ("RATELIMITED", Some(Condition::RateLimit)),
            ("ExpiredTokenException", Some(Condition::SignIn)),
            ("UNABLE_TO_LOCK_ROW", Some(Condition::Contention)),
            ("THROTTLING_EXCEPTION_POLICY", None),
            ("invalid_rate_limit", None),
            ("REQUEST_LIMIT_EXCEEDED", None),
            ("ValidationException", None),
            ("ConditionalCheckFailedException", None),
            ("VersionConflict", None),
            ("deployment_in_progress", Some(Condition::Contention)),
            ("OperationInProgress", Some(Condition::Contention)),
            ("in_progress", None),
            ("authorization_pending", Some(Condition::Contention)),
            ("slow_down", Some(Condition::RateLimit)),
            ("invalid_grant", Some(Condition::SignIn)),
            ("idempotency_key_in_use", Some(Condition::Unfinished)),
            ("idempotency_key_reused", None),
            ("", None),
        ] {
            assert_eq!(condition(&[code]), expected, "{code}");
        }
    }

    #[test]
    fn a_code_names_a_missing_credential_or_permission() {
        for (code, expected) in [
            ("invalid_auth", Some("ERR_HTTP_401_UNAUTHORIZED")),
            ("AUTH_REQUIRED", Some("ERR_HTTP_401_UNAUTHORIZED")),
            ("missing_scope", Some("ERR_HTTP_403_FORBIDDEN")),
            ("INSUFFICIENT_PERMISSIONS", Some("ERR_HTTP_403_FORBIDDEN")),
            ("ratelimited", Some("ERR_HTTP_429_RATE_LIMITED")),
            ("INVALID_PAGE_TOKEN", None),
            ("INSUFFICIENT_STOCK", None),
            ("AUTHOR_REQUIRED", None),
        ] {
            let kind = stated_kind(code);
            assert_eq!(
                kind.as_ref().map(|it| it.code().as_str()),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn a_code_can_mean_another_status() {
        for (code, status, expected) in [
            ("AccessDeniedException", 400, Some(403)),
            ("PERMISSION_DENIED", 403, None),
            ("insufficient_scope", 401, None),
            ("IncorrectInstanceState", 400, Some(412)),
            ("FAILED_PRECONDITION", 409, None),
            ("NO_ACTIVE_DEVICE", 404, Some(412)),
            ("EDIT_LOCK_NOT_LOCK_OWNER", 400, Some(423)),
            ("INVALID_STATE_CODE", 400, None),
            ("AccessDenied", 500, None),
        ] {
            assert_eq!(meant_status(&[code], status), expected, "{code} {status}");
        }
    }

    #[test]
    fn a_code_of_a_spent_quota_may_depend_on_the_status() {
        for (code, status, expected) in [
            ("dailyLimitExceeded", 403, true),
            ("REQUEST_LIMIT_EXCEEDED", 403, true),
            ("REQUEST_LIMIT_EXCEEDED", 429, false),
            ("rateLimitExceeded", 403, false),
            ("storage_limit", 403, false),
        ] {
            assert_eq!(is_quota_spent(&[code], status), expected, "{code} {status}");
        }
    }
}
