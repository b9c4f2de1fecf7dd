//! The schema of the file: recognises our files by their header, and migrates older versions.

use rusqlite::{Connection, TransactionBehavior};

/// The `application_id` in the header of our files: "PANP".
const APPLICATION_ID: i64 = 0x5041_4E50;

/// The migrations, in order; the version of a file is the number of migrations applied to it.
///
/// A released migration is never edited: a change of the schema is a new entry.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/1_first.sql"),
    include_str!("migrations/2_without_effect.sql"),
    include_str!("migrations/3_sizes.sql"),
    include_str!("migrations/4_tasks.sql"),
];

/// The program that a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// This program, or the file is empty.
    Ours,
    OtherApplication,
    NewerVersion {
        found: i64,
        known: i64,
    },
}

/// Reads the header without changing the file, in one transaction: another process may be creating it.
pub(super) fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    let behaviour = TransactionBehavior::Deferred;
    let connection = &*rusqlite::Transaction::new_unchecked(connection, behaviour)?;
    let application = pragma(connection, "application_id")?;
    let found = version(connection)?;
    let known = newest(MIGRATIONS);
    Ok(match application {
        APPLICATION_ID if found > known => Owner::NewerVersion { found, known },
        APPLICATION_ID => Owner::Ours,
        0 if found == 0 && is_empty(connection)? => Owner::Ours,
        _ => Owner::OtherApplication,
    })
}

/// Migrates the file to the newest version in one transaction.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    migrate_by(connection, MIGRATIONS)
}

fn migrate_by(connection: &Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    if version(connection)? >= newest(migrations) {
        return Ok(());
    }
    let behaviour = TransactionBehavior::Immediate;
    let transaction = rusqlite::Transaction::new_unchecked(connection, behaviour)?;
    // Another process may have migrated the file before this one got the lock.
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
    pragma(connection, "user_version")
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
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
    fn every_older_version_is_migrated_to_the_newest() {
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
    fn a_failed_migration_changes_nothing() {
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
    fn only_empty_files_and_our_own_are_accepted() {
        let known = newest(MIGRATIONS);
        let newer = Owner::NewerVersion {
            found: known + 1,
            known,
        };
        let ours = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version =");
        for (sql, expected) in [
            (String::new(), Owner::Ours),
            (format!("{ours} 0"), Owner::Ours),
            (format!("{ours} {known}"), Owner::Ours),
            (format!("{ours} {}", known + 1), newer),
            ("CREATE TABLE a (b)".to_owned(), Owner::OtherApplication),
            (
                "PRAGMA user_version = 1".to_owned(),
                Owner::OtherApplication,
            ),
            (
                "PRAGMA application_id = 7".to_owned(),
                Owner::OtherApplication,
            ),
        ] {
            let connection = memory();
            connection.execute_batch(&sql).unwrap();
            assert_eq!(owner(&connection).unwrap(), expected, "{sql}");
        }
    }
}
