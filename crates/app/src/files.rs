//! Reads files and streams up to a size limit. The program reads no file in any other way.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file; one with more bytes than the limit is an error.
pub(crate) fn read_file(path: &Path, bytes_limit: usize) -> io::Result<Vec<u8>> {
    let bytes = read_up_to(File::open(path)?, bytes_limit)?;
    if bytes.len() > bytes_limit {
        let message = format!("it has more than {bytes_limit} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a file of text; one that is not UTF-8 is an error.
pub(crate) fn read_text_file(path: &Path, bytes_limit: usize) -> io::Result<String> {
    String::from_utf8(read_file(path, bytes_limit)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not valid UTF-8"))
}

/// Reads a stream up to one byte beyond the limit, so that a parser with the same limit refuses more.
pub(crate) fn read_up_to(input: impl Read, bytes_limit: usize) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(bytes_limit).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    input
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_to_one_byte_beyond_the_limit() {
        let read = |length: usize| read_up_to(&vec![b'a'; length][..], 10).unwrap().len();
        assert_eq!([read(9), read(10), read(11), read(1000)], [9, 10, 11, 11]);
    }

    #[test]
    fn an_endless_file_is_refused() {
        let error = read_file(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
