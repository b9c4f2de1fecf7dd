//! What broke on the way, told by the types of errors and never by their texts.

use std::error::Error;
use std::io;
use std::time::Duration;

use panpan_failure::classify::NetworkFailure;
use rustls::CertificateError;

use crate::wire::{NoAddress, TooLong, WireError};

/// How many sources of an error are looked at; a chain may be endless.
const CHAIN_LIMIT: usize = 32;

/// What broke. The first word tells it to machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Dns,
    Refused,
    Unreachable,
    Reset,
    Cut,
    NotHttp,
    HeadTooLarge,
    CertificateExpired,
    CertificateIssuer,
    CertificateName,
    NotTls,
    Tls,
    ConnectTimeout,
    HeadTimeout,
    BodyTimeout,
    Connection,
}

impl Broken {
    /// The row of the network's table.
    pub(crate) fn way(self) -> NetworkFailure {
        self.facts().0
    }

    /// The word for machines.
    pub(crate) fn word(self) -> &'static str {
        self.facts().1
    }

    /// What happened, for people.
    pub(crate) fn sentence(self, url: &str, patience: Duration) -> String {
        let template = self.facts().2;
        let patience_ms = patience.as_millis().to_string();
        template
            .replace("{patience_ms}", &patience_ms)
            .replace("{url}", url)
    }

    /// Way, word and sentence.
    fn facts(self) -> (NetworkFailure, &'static str, &'static str) {
        use NetworkFailure::{Connection, Dns, Socket, Timeout, Tls};
        match self {
            Broken::Dns => (Dns, "dns", "the host of {url} has no address"),
            Broken::Refused => (Connection, "refused", "no server answers at {url}"),
            Broken::Unreachable => (Socket, "unreachable", "{url} cannot be reached"),
            Broken::Reset => (
                Socket,
                "reset",
                "the connection to {url} broke before the answer was complete: it was reset",
            ),
            Broken::Cut => (
                Socket,
                "cut",
                "the connection to {url} broke before the answer was complete",
            ),
            Broken::NotHttp => (Socket, "not_http", "what {url} answered is not valid HTTP"),
            Broken::HeadTooLarge => (
                Socket,
                "head_too_large",
                "the answer of {url} has more headers than are read",
            ),
            Broken::CertificateExpired => (
                Tls,
                "certificate_expired",
                "the certificate of {url} is not valid at this time",
            ),
            Broken::CertificateIssuer => (
                Tls,
                "certificate_issuer",
                "nobody who is trusted has signed the certificate of {url}",
            ),
            Broken::CertificateName => (
                Tls,
                "certificate_name",
                "the certificate of {url} is for another name",
            ),
            Broken::NotTls => (Tls, "not_tls", "what answers at {url} does not speak TLS"),
            Broken::Tls => (Tls, "tls", "no secure connection to {url} came about"),
            Broken::ConnectTimeout => (
                Timeout,
                "connect_timeout",
                "no connection to {url} came about in time",
            ),
            Broken::HeadTimeout => (
                Timeout,
                "head_timeout",
                "{url} did not answer within {patience_ms} ms",
            ),
            Broken::BodyTimeout => (
                Timeout,
                "body_timeout",
                "the answer of {url} did not end within {patience_ms} ms",
            ),
            Broken::Connection => (
                Socket,
                "connection",
                "the connection to {url} broke before the answer was complete",
            ),
        }
    }

    /// What an error says broke.
    pub(crate) fn of(error: &WireError) -> Self {
        if find::<NoAddress>(error).is_some() {
            return Broken::Dns;
        }
        if let Some(error) = find::<rustls::Error>(error) {
            return of_tls(error);
        }
        let broken = chain(error).find_map(of_cause);
        match (broken.unwrap_or(Broken::Connection), error) {
            (Broken::ConnectTimeout, WireError::Cut(_)) => Broken::BodyTimeout,
            (Broken::ConnectTimeout, error) if error.had_connection() => Broken::HeadTimeout,
            (broken, _) => broken,
        }
    }
}

fn of_tls(error: &rustls::Error) -> Broken {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidMessage(_) => Broken::NotTls,
        rustls::Error::InvalidCertificate(error) => match error {
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. } => Broken::CertificateExpired,
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                Broken::CertificateName
            }
            // A certificate that signed itself is one nobody trusted has signed.
            Certificate::UnknownIssuer | Certificate::BadSignature | Certificate::Other(_) => {
                Broken::CertificateIssuer
            }
            _ => Broken::Tls,
        },
        _ => Broken::Tls,
    }
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<Broken> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return of_http(error);
    }
    if cause.is::<TooLong>() {
        return Some(Broken::ConnectTimeout);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(Broken::ConnectTimeout),
        io::ErrorKind::ConnectionRefused => Some(Broken::Refused),
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::PermissionDenied => Some(Broken::Unreachable),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Some(Broken::Reset),
        io::ErrorKind::UnexpectedEof => Some(Broken::Cut),
        _ => None,
    }
}

fn of_http(error: &hyper::Error) -> Option<Broken> {
    if error.is_parse_too_large() {
        Some(Broken::HeadTooLarge)
    } else if error.is_parse() {
        Some(Broken::NotHttp)
    } else if error.is_incomplete_message() {
        Some(Broken::Cut)
    } else {
        None
    }
}

/// An error of this type among what led to an error.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// An error and what led to it. The error an I/O error was made of is part of the chain, though it is
/// not its source.
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
    fn an_error_inside_an_io_error_is_found() {
        let inner = rustls::Error::DecryptError;
        let error = io::Error::other(io::Error::other(inner));
        assert!(find::<rustls::Error>(&error).is_some());
        assert!(find::<hyper::Error>(&error).is_none());
    }

    #[test]
    fn a_chain_is_followed_to_its_limit() {
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
    fn certificates_are_told_apart() {
        let certificate = rustls::Error::InvalidCertificate;
        for (error, broken) in [
            (
                certificate(CertificateError::Expired),
                Broken::CertificateExpired,
            ),
            (
                certificate(CertificateError::NotValidYet),
                Broken::CertificateExpired,
            ),
            (
                certificate(CertificateError::NotValidForName),
                Broken::CertificateName,
            ),
            (
                certificate(CertificateError::UnknownIssuer),
                Broken::CertificateIssuer,
            ),
            (certificate(CertificateError::Revoked), Broken::Tls),
            (rustls::Error::DecryptError, Broken::Tls),
        ] {
            assert_eq!(of_tls(&error), broken, "{error}");
            assert_eq!(broken.way(), NetworkFailure::Tls);
        }
    }
}
