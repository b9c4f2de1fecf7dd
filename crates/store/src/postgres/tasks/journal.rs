//! The journals of flows: entries wait until the transaction is about to end, and get their numbers while the rows of
//! their flows are locked.
//!
//! The lock lasts until the transaction has ended, so a number never becomes visible before a lower one of the same
//! flow. It is taken last, because every transaction that changes a task of a flow needs it.

use std::collections::BTreeMap;

use panpan_flow::Announcement;
use panpan_flow::ports::{Announced, Key};
use panpan_runtime::ports::StoreError;

use super::super::session::Value;
use super::super::text::column;
use super::columns::{announcement_number, array, key, keys, limit, state_number};
use super::transaction::Transaction;

const LOCK: &str = "
    SELECT flow, last FROM panpan.task_flows WHERE flow = ANY($1) ORDER BY flow FOR UPDATE";

const APPEND: &str = "
    WITH numbered AS (
        UPDATE panpan.task_flows AS flows SET last = new.last
        FROM unnest($1::bigint[], $2::bigint[]) AS new (flow, last) WHERE flows.flow = new.flow)
    INSERT INTO panpan.task_journal (flow, number, task, at, what, state, progress)
    SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::uuid[], $6::bigint[], $7::smallint[],
        $8::smallint[], $9::double precision[])";

/// Numbers within a flow have no gaps. The entry before those that are kept stays as a mark.
const TRIM: &str = "
    WITH oldest AS (SELECT last - $2 AS number FROM panpan.task_flows WHERE flow = $1),
        marked AS (UPDATE panpan.task_journal AS journal SET what = $3 FROM oldest
            WHERE journal.flow = $1 AND journal.number = oldest.number)
    DELETE FROM panpan.task_journal AS journal USING oldest
    WHERE journal.flow = $1 AND journal.number < oldest.number";

/// The entries of a transaction that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Journal {
    announced: Vec<Announced>,
    /// How many entries of these flows are kept.
    trimmed: BTreeMap<Key, usize>,
    /// The last numbers of the flows that are locked.
    last: BTreeMap<Key, i64>,
}

impl Journal {
    /// Adds entries.
    pub(super) fn announce(&mut self, announced: &[Announced]) {
        self.announced.extend_from_slice(announced);
    }

    /// Keeps the newest entries of a flow, once the others are written.
    pub(super) fn trim(&mut self, flow: Key, keep: usize) {
        self.trimmed.insert(flow, keep);
    }

    /// Locks these flows and those that have entries, in the order of their keys.
    pub(super) async fn lock(
        &mut self,
        transaction: &mut Transaction<'_>,
        flows: &[Key],
    ) -> Result<(), StoreError> {
        let with_entries = self.announced.iter().map(|it| it.flow);
        let mut flows: Vec<Key> = with_entries.chain(flows.iter().copied()).collect();
        flows.retain(|flow| !self.last.contains_key(flow));
        flows.sort_unstable();
        flows.dedup();
        if flows.is_empty() {
            return Ok(());
        }
        let flow = |row: &_| Ok((key(row, 0)?, column(row, 1)?));
        let locked = transaction.select(LOCK, vec![keys(&flows)], flow);
        self.last.extend(locked.await?);
        Ok(())
    }

    /// The number of the last entry of a flow, with those that are not written yet.
    pub(super) async fn last_number(
        &mut self,
        transaction: &mut Transaction<'_>,
        flow: Key,
    ) -> Result<u64, StoreError> {
        self.lock(transaction, &[flow]).await?;
        let last = self.last.get(&flow).copied().unwrap_or_default();
        let waiting = self.announced.iter().filter(|it| it.flow == flow).count();
        Ok(last.cast_unsigned() + waiting as u64)
    }

    /// Writes the entries, then deletes old ones.
    pub(super) async fn write(
        &mut self,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), StoreError> {
        self.append(transaction).await?;
        for (flow, keep) in std::mem::take(&mut self.trimmed) {
            let values: Vec<Value> = vec![
                Box::new(flow.0),
                limit(keep),
                Box::new(announcement_number(Announcement::Dropped)),
            ];
            transaction.send(TRIM, values).await?;
        }
        Ok(())
    }

    /// Numbers and writes the entries. Those of a flow that was deleted meanwhile have no reader.
    async fn append(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.lock(transaction, &[]).await?;
        let announced = std::mem::take(&mut self.announced);
        let mut numbered = Vec::with_capacity(announced.len());
        for entry in announced {
            if let Some(last) = self.last.get_mut(&entry.flow) {
                *last += 1;
                numbered.push((*last, entry));
            }
        }
        if numbered.is_empty() {
            return Ok(());
        }
        let last: Vec<(Key, i64)> = self
            .last
            .iter()
            .map(|(flow, last)| (*flow, *last))
            .collect();
        let values: Vec<Value> = vec![
            array(&last, |(flow, _)| flow.0),
            array(&last, |(_, last)| *last),
            array(&numbered, |(_, entry)| entry.flow.0),
            array(&numbered, |(number, _)| *number),
            array(&numbered, |(_, entry)| entry.task.map(|it| it.uuid())),
            array(&numbered, |(_, entry)| entry.at.as_millisecond()),
            array(&numbered, |(_, entry)| announcement_number(entry.what)),
            array(&numbered, |(_, entry)| state_number(entry.state)),
            array(&numbered, |(_, entry)| entry.progress),
        ];
        transaction.send(APPEND, values).await
    }
}
