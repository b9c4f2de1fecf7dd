//! The methods of the tasks extension, in 2026-07-28: `tasks/get`, `tasks/update` and `tasks/cancel`.

use rmcp::ErrorData;
use rmcp::model::{GetTaskResult, InputResponses};

use super::stored::TaskPhase;
use crate::caller::Caller;
use crate::mcp::features::failure_error;
use crate::mcp::resume::ResumeInput;
use crate::mcp::rpc_error;
use crate::mcp::server::Server;

impl Server {
    /// The task with its result, its error or its open questions.
    pub(in crate::mcp) async fn detailed_task(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.stored_task(caller, id).await?;
        let queue = self.questions_of(&task);
        let open = queue.map(|queue| queue.requests()).unwrap_or_default();
        Ok(GetTaskResult::new(task.detailed(&self.shared, open)))
    }

    /// Delivers replies to the questions of a task.
    pub(in crate::mcp) async fn answer_task(
        &self,
        caller: &Caller,
        id: &str,
        responses: InputResponses,
    ) -> Result<(), ErrorData> {
        // Only its owner sees it.
        let task = self.stored_task(caller, id).await?;
        let queue = self.questions_of(&task);
        let is_empty = responses.is_empty();
        let responses = ResumeInput::of(None, Some(responses));
        match (queue, responses) {
            (Some(queue), Some(responses)) => queue
                .answer(&responses)
                .map_err(|refused| failure_error(refused.failure(false))),
            (None, Some(_)) if !is_empty && task.phase() == TaskPhase::Working => {
                let message = format!(
                    "task {} does not wait for input here: ask the gateway that runs it, or poll it with tasks/get",
                    task.id()
                );
                Err(rpc_error::invalid_params(message))
            }
            _ => Ok(()),
        }
    }

    /// Cancels a task; one that has ended stays as it is.
    pub(in crate::mcp) async fn cancel_task_of(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(), ErrorData> {
        self.cancel_stored(caller, id).await.map(drop)
    }
}
