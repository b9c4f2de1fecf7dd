//! Codes for errors of the operating system.

use std::io::ErrorKind;

use panpan_catalogue::{Entry, codes};

/// The catalogue row for a kind of I/O error; RUNTIME_ERROR for kinds without a row.
pub fn io_failure(kind: ErrorKind) -> &'static Entry {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => codes::ARTIFACT_NOT_FOUND,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => codes::NOT_AUTHORIZED,
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => codes::ALREADY_EXISTS,
        ErrorKind::ConnectionRefused => codes::ERR_CONNECTION_REFUSED,
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown => codes::ERR_SOCKET_ERROR,
        ErrorKind::TimedOut => codes::ERR_TIMEOUT,
        ErrorKind::InvalidInput
        | ErrorKind::InvalidData
        | ErrorKind::InvalidFilename
        | ErrorKind::IsADirectory
        | ErrorKind::ArgumentListTooLong => codes::ERR_VALIDATION_FAILED,
        ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::FileTooLarge
        | ErrorKind::OutOfMemory
        | ErrorKind::TooManyLinks => codes::ERR_RESOURCE_EXHAUSTED,
        ErrorKind::AddrInUse
        | ErrorKind::ResourceBusy
        | ErrorKind::ExecutableFileBusy
        | ErrorKind::Deadlock
        | ErrorKind::StaleNetworkFileHandle
        | ErrorKind::WouldBlock
        | ErrorKind::Interrupted => codes::ERR_RESOURCE_BUSY,
        ErrorKind::AddrNotAvailable | ErrorKind::Unsupported => codes::NOT_CONFIGURED,
        _ => codes::RUNTIME_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_error_kinds_map_to_codes() {
        for (kind, code) in [
            (ErrorKind::NotFound, "ARTIFACT_NOT_FOUND"),
            (ErrorKind::PermissionDenied, "NOT_AUTHORIZED"),
            (ErrorKind::ConnectionRefused, "ERR_CONNECTION_REFUSED"),
            (ErrorKind::ConnectionReset, "ERR_SOCKET_ERROR"),
            (ErrorKind::BrokenPipe, "ERR_SOCKET_ERROR"),
            (ErrorKind::TimedOut, "ERR_TIMEOUT"),
            (ErrorKind::AlreadyExists, "ALREADY_EXISTS"),
            (ErrorKind::InvalidData, "ERR_VALIDATION_FAILED"),
            (ErrorKind::StorageFull, "ERR_RESOURCE_EXHAUSTED"),
            (ErrorKind::OutOfMemory, "ERR_RESOURCE_EXHAUSTED"),
            (ErrorKind::ResourceBusy, "ERR_RESOURCE_BUSY"),
            (ErrorKind::Unsupported, "NOT_CONFIGURED"),
            (ErrorKind::Other, "RUNTIME_ERROR"),
        ] {
            assert_eq!(io_failure(kind).code, code, "{kind:?}");
        }
    }
}
