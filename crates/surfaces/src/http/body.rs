//! Reading the body of a request: bounded in size and in time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use axum::BoxError;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use panpan_failure::{Failure, codes};
use panpan_runtime::CancellationToken;

use super::HttpState;
use crate::limits::{BufferFull, Limits};

/// Reads the whole body. Stops when the server stops.
pub(super) async fn read<B>(body: B, state: &HttpState) -> Result<Bytes, Failure>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    read_within(body, state.0.gateway.limits(), &state.0.stopping).await
}

async fn read_within<B>(
    body: B,
    limits: &Limits,
    stopping: &CancellationToken,
) -> Result<Bytes, Failure>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut whole = pin!(whole(Limited::new(body, limits.body_bytes)));
    // Most bodies arrive together with the head; only the others need a timer.
    let arrived = poll_fn(|task| Poll::Ready(whole.as_mut().poll(task))).await;
    let read = match arrived {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => tokio::select! {
            read = tokio::time::timeout(limits.body_timeout, whole) => read,
            () = stopping.cancelled() => return Err(server_stopping()),
        },
    };
    match read {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limits.body_bytes)),
        Ok(Err(error)) if error.is::<BufferFull>() => Err(buffer_full(error)),
        // The client has disconnected, so this is only logged.
        Ok(Err(error)) => Err(Failure::new(codes::PARSE_ERROR)
            .with_message("the request body ended early")
            .caused_by(error.source().unwrap_or(&*error))),
        Err(_) => Err(too_slow(limits)),
    }
}

fn buffer_full(error: BoxError) -> Failure {
    let refused = error.downcast::<BufferFull>();
    *refused.expect("the caller checked the type").0
}

fn server_stopping() -> Failure {
    Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and did not wait for the rest of the request")
}

/// All frames of a body. A body in a single frame is not copied.
async fn whole<B>(mut body: Limited<B>) -> Result<Bytes, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(data) if first.is_empty() => first = data,
            Ok(data) => {
                if rest.is_empty() {
                    rest.extend_from_slice(&first);
                }
                rest.extend_from_slice(&data);
            }
            // Trailers are ignored.
            Err(_) => {}
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

fn too_large(limit: usize) -> Failure {
    Failure::new(codes::ERR_JSON_SIZE_EXCEEDED)
        .with_message(format!("the request body exceeds {limit} bytes"))
        .with_detail("body_bytes_limit", limit)
        .with_actions(["Send a smaller request, or ask the operator to raise limits.body_bytes"])
}

fn too_slow(limits: &Limits) -> Failure {
    let seconds = limits.body_timeout.as_secs_f64();
    Failure::new(codes::PARSE_ERROR)
        .with_message(format!(
            "the request body did not arrive within {seconds} seconds"
        ))
        .with_detail("body_timeout_seconds", seconds)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_whole_and_within_its_limit_in_any_number_of_frames() {
        let limits = Limits {
            body_bytes: 6,
            ..Limits::default()
        };
        let stopping = CancellationToken::new();
        for (parts, expected) in [
            (&["abcdef"][..], Ok("abcdef")),
            (&["ab", "", "c", "def"], Ok("abcdef")),
            (&[""], Ok("")),
            (&[], Ok("")),
            (&["abcdefg"], Err("ERR_JSON_SIZE_EXCEEDED")),
            (&["abc", "defg"], Err("ERR_JSON_SIZE_EXCEEDED")),
        ] {
            let sent = stream::iter(parts.iter().map(|&part| Ok::<_, Infallible>(part)));
            let read = read_within(axum::body::Body::from_stream(sent), &limits, &stopping).await;
            let read = read.map_err(|failure| failure.code().to_string());
            let read = read.as_deref().map_err(String::as_str);
            assert_eq!(read, expected.map(str::as_bytes), "{parts:?}");
        }
    }
}
