//! Converts between Rust values and those of the database.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::errors::QueryError;

/// A text that the database accepts: it does not store the character NUL in texts. Texts that have to come back
/// unchanged are stored as bytes instead.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A column; a value of another type or null means that the row is damaged.
pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, number: usize) -> Result<T, QueryError> {
    row.try_get(number).map_err(|_| QueryError::Unreadable)
}

/// A number that is stored with a sign and has none.
pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, QueryError> {
    let number: i64 = self::column(row, column)?;
    T::try_from(number).map_err(|_| QueryError::Unreadable)
}

/// A digest.
pub(super) fn digest(bytes: &[u8]) -> Result<[u8; 32], QueryError> {
    bytes.try_into().map_err(|_| QueryError::Unreadable)
}

/// A text that is stored as bytes.
pub(super) fn text(bytes: &[u8]) -> Result<&str, QueryError> {
    str::from_utf8(bytes).map_err(|_| QueryError::Unreadable)
}

/// A duration as the database adds it to a time: at most the range of timestamps, so that no sum overflows.
pub(super) fn milliseconds(ms: u64) -> i64 {
    let longest = jiff::Timestamp::MAX.as_millisecond();
    i64::try_from(ms).unwrap_or(longest).min(longest)
}

/// The time of the database in milliseconds, or the time in parameter 1, which only tests set.
macro_rules! now {
    () => {
        "coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    };
}
pub(super) use now;

/// The last valid timestamp in milliseconds.
macro_rules! last {
    () => {
        "253402207200999"
    };
}
pub(super) use last;

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_timestamp_is_that_of_the_ports() {
        let last = jiff::Timestamp::MAX.as_millisecond();
        assert_eq!(last!(), last.to_string());
    }
}
