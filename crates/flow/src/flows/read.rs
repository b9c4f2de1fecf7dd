//! What callers read of flows.

use super::Flows;
use crate::engine::{self, Caller, Fields, FoundTask, Generations, Listed};
use crate::error::TaskError;
use crate::ports::{Filter, JournalPage, Key, Page};
use crate::task::TaskId;

impl Flows {
    pub(crate) async fn get(&self, caller: &Caller, id: TaskId) -> Result<FoundTask, TaskError> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::find(rows, &visible, id).await })
        })
        .await
    }

    /// The outcomes of a task after a generation.
    pub(crate) async fn generations(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u32,
    ) -> Result<Generations, TaskError> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::generations(rows, &visible, id, after).await })
        })
        .await
    }

    pub(crate) async fn list(
        &self,
        caller: &Caller,
        filter: Filter,
        page: Page,
        fields: Fields,
    ) -> Result<Listed, TaskError> {
        let filter = Filter {
            owner: caller.visible.filter().owner,
            ..filter
        };
        self.read(move |rows| {
            let filter = filter.clone();
            Box::pin(async move { Ok(engine::list(rows, &filter, page, fields).await?) })
        })
        .await
    }

    /// How many tasks are in each state, in the order of [`State::ALL`](crate::State::ALL).
    pub(crate) async fn count(
        &self,
        caller: &Caller,
        filter: Filter,
    ) -> Result<[u64; 5], TaskError> {
        let filter = Filter {
            owner: caller.visible.filter().owner,
            ..filter
        };
        self.read(move |rows| {
            let filter = filter.clone();
            Box::pin(async move { Ok(rows.count(&filter).await?) })
        })
        .await
    }

    pub(crate) async fn children(
        &self,
        caller: &Caller,
        id: TaskId,
        page: Page,
        fields: Fields,
    ) -> Result<Listed, TaskError> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::children(rows, &visible, id, page, fields).await })
        })
        .await
    }

    pub(crate) async fn tree(
        &self,
        caller: &Caller,
        id: TaskId,
        fields: Fields,
    ) -> Result<Vec<FoundTask>, TaskError> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::tree(rows, &visible, id, fields).await })
        })
        .await
    }

    /// Announcements of the flow with this root after a number.
    pub(crate) async fn announcements(
        &self,
        (flow, root): (Key, TaskId),
        after: u64,
        limit: usize,
    ) -> Result<JournalPage, TaskError> {
        self.read(move |rows| {
            Box::pin(async move {
                let entries = rows.announcements(flow, after, limit).await?;
                let is_gone = entries.is_empty() && rows.load(&[flow]).await?.is_empty();
                match is_gone {
                    true => Err(TaskError::NotFound(root)),
                    false => Ok(entries),
                }
            })
        })
        .await
    }
}
