//! The shape of the file, by version: whose file it is, and how an older one becomes a current one.

use rusqlite::{Connection, TransactionBehavior};

/// Says in the header of the file whose it is: "PANP".
const APPLICATION_ID: i64 = 0x5041_4E50;

/// From each version to the next; the version of a file is how many of these it has seen.
///
/// What was released is never edited: a change of the shape is another entry.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/1_first.sql"),
    include_str!("migrations/2_without_effect.sql"),
    include_str!("migrations/3_room.sql"),
];

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recognised {
    /// Ours, or empty.
    Ours,
    OtherApplication,
    NewerVersion {
        found: i64,
        known: i64,
    },
}

/// Looks at the file without changing it, all at once: another process may be about to begin it.
pub(super) fn recognise(connection: &Connection) -> rusqlite::Result<Recognised> {
    let behaviour = TransactionBehavior::Deferred;
    let connection = &*rusqlite::Transaction::new_unchecked(connection, behaviour)?;
    let application = number(connection, "application_id")?;
    let found = version(connection)?;
    let known = newest(MIGRATIONS);
    Ok(match application {
        APPLICATION_ID if found > known => Recognised::NewerVersion { found, known },
        APPLICATION_ID => Recognised::Ours,
        0 if found == 0 && is_empty(connection)? => Recognised::Ours,
        _ => Recognised::OtherApplication,
    })
}

/// Brings the file to the newest version, whole or not at all.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    migrate_by(connection, MIGRATIONS)
}

fn migrate_by(connection: &Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    if version(connection)? >= newest(migrations) {
        return Ok(());
    }
    let behaviour = TransactionBehavior::Immediate;
    let transaction = rusqlite::Transaction::new_unchecked(connection, behaviour)?;
    // Another process may have done some of it before the lock was ours.
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    for migration in migrations.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    let version = newest(migrations).max(version(&transaction)?);
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

fn newest(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    number(connection, "user_version")
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    connection.query_row(sql, [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] = &[
        "CREATE TABLE first (a); INSERT INTO first VALUES (1);",
        "ALTER TABLE first ADD COLUMN b; UPDATE first SET b = a + 1;",
        "CREATE TABLE third (c);",
    ];

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn every_older_version_becomes_the_newest() {
        for older in 0..=STEPS.len() {
            let connection = memory();
            migrate_by(&connection, &STEPS[..older]).unwrap();
            assert_eq!(version(&connection).unwrap(), newest(&STEPS[..older]));
            migrate_by(&connection, STEPS).unwrap();
            assert_eq!(version(&connection).unwrap(), 3, "from {older}");
            let sum = "SELECT a + b + (SELECT count(*) FROM third) FROM first";
            let sum: i64 = connection.query_row(sum, [], |row| row.get(0)).unwrap();
            assert_eq!(sum, 3);
        }
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let connection = memory();
        migrate_by(&connection, &STEPS[..1]).unwrap();
        let broken = [STEPS[0], "CREATE TABLE second (a); NONSENSE;"];
        migrate_by(&connection, &broken).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 1);
        migrate_by(&connection, STEPS).unwrap();
        let second = "SELECT count(*) FROM sqlite_schema WHERE name = 'second'";
        let second: i64 = connection.query_row(second, [], |row| row.get(0)).unwrap();
        assert_eq!(second, 0);
    }

    #[test]
    fn only_empty_files_and_our_own_are_recognised() {
        let known = newest(MIGRATIONS);
        let newer = Recognised::NewerVersion {
            found: known + 1,
            known,
        };
        let ours = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version =");
        for (sql, expected) in [
            (String::new(), Recognised::Ours),
            (format!("{ours} 0"), Recognised::Ours),
            (format!("{ours} {known}"), Recognised::Ours),
            (format!("{ours} {}", known + 1), newer),
            (
                "CREATE TABLE a (b)".to_owned(),
                Recognised::OtherApplication,
            ),
            (
                "PRAGMA user_version = 1".to_owned(),
                Recognised::OtherApplication,
            ),
            (
                "PRAGMA application_id = 7".to_owned(),
                Recognised::OtherApplication,
            ),
        ] {
            let connection = memory();
            connection.execute_batch(&sql).unwrap();
            assert_eq!(recognise(&connection).unwrap(), expected, "{sql}");
        }
    }
}
