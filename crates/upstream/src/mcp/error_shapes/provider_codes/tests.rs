//! Codes of services in texts.

use super::*;

#[test]
fn codes_are_read_in_the_formats_of_clients() {
    for (text, code) in [
        (
            "An error occurred (ThrottlingException) when calling the DescribeInstances operation (reached max retries: 4): Rate exceeded",
            Some("ERR_HTTP_429_RATE_LIMITED"),
        ),
        (
            "An error occurred (ExpiredToken) when calling the ListBuckets operation: The provided token has expired.",
            Some("ERR_HTTP_401_UNAUTHORIZED"),
        ),
        (
            "Error executing tool x: An error occurred (AccessDenied) when calling the ListObjectsV2 operation: no",
            Some("ERR_HTTP_403_FORBIDDEN"),
        ),
        (
            "An error occurred (VpcLimitExceeded) when calling the CreateVpc operation: no",
            Some("ERR_RESOURCE_EXHAUSTED"),
        ),
        (
            "An error occurred (NoSuchUpload) when calling the UploadPart operation: no",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        (
            "failed to get job: rpc error: code = Unavailable desc = connection error",
            Some("ERR_HTTP_503_UNAVAILABLE"),
        ),
        (
            "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)",
            Some("ERR_HTTP_413"),
        ),
        (
            "rpc error: code = Unauthenticated desc = no",
            Some("ERR_HTTP_401_UNAUTHORIZED"),
        ),
        (
            "rpc error: code = Aborted desc = retry",
            Some("ERR_TRY_LATER"),
        ),
        (
            "rpc error: code = InvalidArgument desc = no",
            Some("INVALID_INPUT_ERROR"),
        ),
        (
            "rpc error: code = AlreadyExists desc = no",
            Some("ALREADY_EXISTS"),
        ),
        (
            "rpc error: code = FailedPrecondition desc = no",
            Some("ERR_HTTP_409_CONFLICT"),
        ),
        (
            "8 RESOURCE_EXHAUSTED: Quota exceeded",
            Some("ERR_HTTP_429_RATE_LIMITED"),
        ),
        (
            "4 DEADLINE_EXCEEDED: Deadline exceeded after 10.0s",
            Some("ERR_TIMEOUT"),
        ),
        (
            "Error from server (NotFound): pods \"web-7\" not found",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        (
            "Error from server (Conflict): no",
            Some("ERR_HTTP_409_CONFLICT"),
        ),
        (
            "Error from server (Forbidden): pods \"web\" is forbidden: exceeded quota: compute",
            Some("ERR_RESOURCE_EXHAUSTED"),
        ),
        (
            "ThrottlingException: Rate exceeded",
            Some("ERR_HTTP_429_RATE_LIMITED"),
        ),
        (
            "(ResourceNotFound) The Resource 'web1' was not found.",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        (
            "No alarm named 'An error occurred (ThrottlingException) when calling the X'",
            None,
        ),
        ("8 APPLES: eaten", None),
        ("Invalidated: no", None),
        ("KeyError: 'assignee'", None),
        ("(Optional) The parameter", None),
        ("exit code: 1\nError from server (NotFound): pods", None),
    ] {
        let failure = in_text(text);
        assert_eq!(
            failure.as_ref().map(|it| it.code().as_str()),
            code,
            "{text}"
        );
    }
}

#[test]
fn only_refusals_mean_that_nothing_was_done() {
    for (text, effect) in [
        (
            "An error occurred (SlowDown) when calling the PutObject operation: no",
            Effect::None,
        ),
        ("rpc error: code = InvalidArgument desc = no", Effect::None),
        (
            "Table was created. Then: rpc error: code = InvalidArgument desc = no",
            Effect::Unknown,
        ),
        ("rpc error: code = Unavailable desc = no", Effect::Unknown),
        ("rpc error: code = Aborted desc = no", Effect::Unknown),
        (
            "An error occurred (InternalServerError) when calling the PutItem operation: no",
            Effect::Unknown,
        ),
    ] {
        assert_eq!(in_text(text).unwrap().effect(), effect, "{text}");
    }
}
