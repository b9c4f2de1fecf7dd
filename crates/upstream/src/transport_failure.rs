//! The kinds of transport failure, told apart by the types of errors and never by their texts.

use std::error::Error;
use std::io;
use std::time::Duration;

use panpan_failure::classify::NetworkFailure;
use rustls::CertificateError;

use crate::transport::{ConnectTimeout, NoAddress, TransportError};

/// The maximum number of sources of an error that are followed; a chain may be endless.
const CHAIN_LIMIT: usize = 32;

/// Declares the transport failures, each with the group that fixes its code, its reason and its message.
macro_rules! transport_failures {
    ($($failure:ident = $group:ident, $reason:literal, $message:literal;)+) => {
        /// What went wrong between a request and the end of its response.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum TransportFailure {
            $($failure,)+
        }

        impl TransportFailure {
            /// The group that fixes the code.
            pub(crate) fn network_failure(self) -> NetworkFailure {
                match self { $(Self::$failure => NetworkFailure::$group,)+ }
            }

            /// The value of the detail `reason`.
            pub(crate) fn reason(self) -> &'static str {
                match self { $(Self::$failure => $reason,)+ }
            }

            fn template(self) -> &'static str {
                match self { $(Self::$failure => $message,)+ }
            }
        }
    };
}

transport_failures! {
    Dns = Dns, "dns", "cannot resolve the host of {url}";
    Refused = Connection, "refused", "no server answers at {url}";
    Unreachable = Socket, "unreachable", "{url} cannot be reached";
    Reset = Socket, "reset", "the connection to {url} broke before the response was complete: connection reset";
    Cut = Socket, "cut", "the connection to {url} broke before the response was complete";
    NotHttp = Socket, "not_http", "the response of {url} is not valid HTTP";
    HeadTooLarge = Socket, "head_too_large", "the response headers of {url} exceed the limit";
    CertificateExpired = Tls, "certificate_expired", "the certificate of {url} is expired or not yet valid";
    CertificateIssuer = Tls, "certificate_issuer", "the certificate of {url} is not signed by a trusted issuer";
    CertificateName = Tls, "certificate_name", "the certificate of {url} is for a different host name";
    NotTls = Tls, "not_tls", "the server at {url} does not speak TLS";
    Tls = Tls, "tls", "the TLS handshake with {url} failed";
    ConnectTimeout = Timeout, "connect_timeout", "connecting to {url} timed out";
    HeadTimeout = Timeout, "head_timeout", "{url} did not answer within {timeout_ms} ms";
    BodyTimeout = Timeout, "body_timeout", "the response of {url} was not complete within {timeout_ms} ms";
    Connection = Socket, "connection", "the connection to {url} broke before the response was complete";
}

impl TransportFailure {
    /// The message of the failure.
    pub(crate) fn message(self, url: &str, timeout: Duration) -> String {
        let timeout_ms = timeout.as_millis().to_string();
        let message = self.template().replace("{timeout_ms}", &timeout_ms);
        message.replace("{url}", url)
    }

    /// The transport failure behind an error.
    pub(crate) fn of(error: &TransportError) -> Self {
        if find::<NoAddress>(error).is_some() {
            return Self::Dns;
        }
        if let Some(error) = find::<rustls::Error>(error) {
            return of_tls(error);
        }
        let found = chain(error).find_map(of_cause);
        match (found.unwrap_or(Self::Connection), error) {
            (Self::ConnectTimeout, TransportError::Interrupted(_)) => Self::BodyTimeout,
            (Self::ConnectTimeout, error) if error.had_connection() => Self::HeadTimeout,
            (found, _) => found,
        }
    }
}

fn of_tls(error: &rustls::Error) -> TransportFailure {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidMessage(_) => TransportFailure::NotTls,
        rustls::Error::InvalidCertificate(error) => match error {
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. } => TransportFailure::CertificateExpired,
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                TransportFailure::CertificateName
            }
            // A self-signed certificate has no trusted issuer either.
            Certificate::UnknownIssuer | Certificate::BadSignature | Certificate::Other(_) => {
                TransportFailure::CertificateIssuer
            }
            _ => TransportFailure::Tls,
        },
        _ => TransportFailure::Tls,
    }
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<TransportFailure> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return of_http(error);
    }
    if cause.is::<ConnectTimeout>() {
        return Some(TransportFailure::ConnectTimeout);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(TransportFailure::ConnectTimeout),
        io::ErrorKind::ConnectionRefused => Some(TransportFailure::Refused),
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::PermissionDenied => Some(TransportFailure::Unreachable),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Some(TransportFailure::Reset),
        io::ErrorKind::UnexpectedEof => Some(TransportFailure::Cut),
        _ => None,
    }
}

fn of_http(error: &hyper::Error) -> Option<TransportFailure> {
    if error.is_parse_too_large() {
        Some(TransportFailure::HeadTooLarge)
    } else if error.is_parse() {
        Some(TransportFailure::NotHttp)
    } else if error.is_incomplete_message() {
        Some(TransportFailure::Cut)
    } else {
        None
    }
}

/// The first error of this type in the chain of an error.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// An error and its sources. An error wrapped in an I/O error is part of the chain, although `source` does not
/// return it.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        inner.map_or_else(|| error.source(), |inner| Some(inner))
    })
    .take(CHAIN_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_wrapped_in_an_io_error_is_found() {
        let inner = rustls::Error::DecryptError;
        let error = io::Error::other(io::Error::other(inner));
        assert!(find::<rustls::Error>(&error).is_some());
        assert!(find::<hyper::Error>(&error).is_none());
    }

    #[test]
    fn a_chain_of_sources_is_followed_up_to_the_limit() {
        let wrapped = |depth: usize| {
            let innermost = io::Error::other(rustls::Error::DecryptError);
            (2..depth).fold(innermost, |inner, _| io::Error::other(inner))
        };
        for (depth, is_found) in [(CHAIN_LIMIT, true), (CHAIN_LIMIT + 1, false)] {
            let found = find::<rustls::Error>(&wrapped(depth)).is_some();
            assert_eq!(found, is_found, "{depth}");
        }
    }

    #[test]
    fn certificate_errors_are_told_apart() {
        let certificate = rustls::Error::InvalidCertificate;
        for (error, expected) in [
            (
                certificate(CertificateError::Expired),
                TransportFailure::CertificateExpired,
            ),
            (
                certificate(CertificateError::NotValidYet),
                TransportFailure::CertificateExpired,
            ),
            (
                certificate(CertificateError::NotValidForName),
                TransportFailure::CertificateName,
            ),
            (
                certificate(CertificateError::UnknownIssuer),
                TransportFailure::CertificateIssuer,
            ),
            (
                certificate(CertificateError::Revoked),
                TransportFailure::Tls,
            ),
            (rustls::Error::DecryptError, TransportFailure::Tls),
        ] {
            assert_eq!(of_tls(&error), expected, "{error}");
            assert_eq!(expected.network_failure(), NetworkFailure::Tls);
        }
    }
}
