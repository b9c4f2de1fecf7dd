//! The questions of tasks that run in this process, until their clients answer them.
//!
//! A task asks the client that created it: what that client can answer is stored with the task. A question waits at most as
//! long as any other ([`QUESTIONS_WAIT_LIMIT_MS`](panpan_runtime::QUESTIONS_WAIT_LIMIT_MS) in one attempt). It is not
//! stored: a task that runs again after a restart asks again.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use panpan_mcp::input::{UsableCapabilities, client_capabilities};
use panpan_runtime::{AskClient, AskError, BoxFuture, Question, QuestionKinds, QuestionReply};
use rmcp::model::{ClientCapabilities, InputRequest, InputRequests};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::caller::Principal;
use crate::limits::ConcurrencyLimit;
use crate::mcp::input_requests::{InputQueue, OpenInput};
use crate::mcp::resume::{NotResumed, ResumeInput};

/// The limit of questions of tasks that wait for a reply.
pub const TASK_QUESTIONS_LIMIT: usize = 64;

/// The limit of such questions per owner of tasks.
pub const TASK_QUESTIONS_PER_OWNER_LIMIT: usize = 16;

/// The member of the `params` of a task with what its client can answer.
const PARAMS: &str = "mcp";
const CAPABILITIES: &str = "capabilities";
const RESPONSES: &str = "responses";

/// The `params` of a task whose client answers these kinds of questions and has answered some already. Even if it cannot
/// be asked, they say that the task is a call over MCP: its client reads the failure of a call, not of a task.
pub(super) fn params(kinds: QuestionKinds, responses: Map<String, Value>) -> Map<String, Value> {
    let client = match kinds == QuestionKinds::default() {
        true => json!({}),
        false => {
            let capabilities = client_capabilities(kinds, None);
            json!({CAPABILITIES: capabilities, RESPONSES: responses})
        }
    };
    Map::from_iter([(PARAMS.to_owned(), client)])
}

/// The questions of all tasks that run in this process.
#[derive(Debug)]
pub struct TaskInputs {
    room: ConcurrencyLimit,
    state: Mutex<State>,
    /// Notified of each new question of any task.
    pub(super) asked: Notify,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, Weak<TaskQueue>>,
    /// Whether clients can reach this process and answer.
    is_served: bool,
    /// Whether no more questions are accepted.
    is_stopped: bool,
}

/// The questions of one task.
#[derive(Debug)]
pub(super) struct TaskQueue {
    task: String,
    owner: Principal,
    all: Arc<TaskInputs>,
    queue: InputQueue,
    /// The questions under the names that the client sees, which are never used again.
    open: Mutex<BTreeMap<String, OpenInput>>,
    asking: AtomicUsize,
}

impl TaskInputs {
    /// No questions yet.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            room: ConcurrencyLimit::new(
                "questions of tasks",
                TASK_QUESTIONS_LIMIT,
                TASK_QUESTIONS_PER_OWNER_LIMIT,
            ),
            state: Mutex::default(),
            asked: Notify::new(),
        })
    }

    /// Notes that clients can reach this process. Until then, questions are refused at once.
    pub fn serve(&self) {
        self.state().is_served = true;
    }

    /// The client of a task with this owner and these `params`; `None` if it cannot be asked.
    pub fn client(
        self: &Arc<Self>,
        task: &str,
        owner: Option<&str>,
        params: &Map<String, Value>,
    ) -> Option<Arc<dyn AskClient>> {
        let stored = params.get(PARAMS)?;
        let client = ClientCapabilities::deserialize(stored.get(CAPABILITIES)?).ok()?;
        let client = UsableCapabilities::of(&client)?;
        let responses = stored.get(RESPONSES).and_then(Value::as_object).cloned();
        let queue = Arc::new(TaskQueue {
            task: task.to_owned(),
            owner: owner.map_or(Principal::Local, |it| Principal::Known(it.into())),
            all: self.clone(),
            queue: InputQueue::stateless(client, responses.unwrap_or_default()),
            open: Mutex::default(),
            asking: AtomicUsize::new(0),
        });
        let mut state = self.state();
        if state.is_stopped {
            queue.queue.close(AskError::Stopping);
        } else if !state.is_served {
            queue.queue.close(AskError::NotServed);
        }
        // An earlier attempt that was lost cannot end the task any more.
        state.tasks.insert(task.to_owned(), Arc::downgrade(&queue));
        Some(queue)
    }

    /// Ends all questions: the process is shutting down.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        let running: Vec<Arc<TaskQueue>> = state.tasks.values().filter_map(Weak::upgrade).collect();
        drop(state);
        for queue in running {
            queue.close(AskError::Stopping);
        }
    }

    /// The questions of a task, if it runs in this process.
    pub(super) fn of(&self, task: &str) -> Option<Arc<TaskQueue>> {
        self.state().tasks.get(task).and_then(Weak::upgrade)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskQueue {
    /// Whether the task waits for a reply.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Relaxed) > 0
    }

    /// The questions without a reply.
    pub(super) fn requests(&self) -> InputRequests {
        let open = self.open();
        let requests = open
            .iter()
            .map(|(name, open)| (name.clone(), open.request.clone()));
        requests.collect()
    }

    /// Delivers the replies in these responses. Responses to other questions are ignored.
    pub(super) fn answer(&self, responses: &ResumeInput) -> Result<(), NotResumed> {
        let mut open = self.open();
        for (name, reply) in responses.replies(&open)? {
            if let Some(open) = open.remove(&name) {
                open.end(Ok(reply));
            }
        }
        Ok(())
    }

    /// Ends one question, if it is still open.
    pub(super) fn end(&self, name: &str, reply: Result<QuestionReply, AskError>) {
        if let Some(open) = self.open().remove(name) {
            open.end(reply);
        }
    }

    /// One question, if it is still open.
    pub(super) fn request(&self, name: &str) -> Option<InputRequest> {
        self.open().get(name).map(|open| open.request.clone())
    }

    fn close(&self, reason: AskError) {
        self.queue.close(reason);
        for (_, open) in std::mem::take(&mut *self.open()) {
            open.end(Err(reason));
        }
    }

    /// The questions that the task still waits for.
    fn open(&self) -> MutexGuard<'_, BTreeMap<String, OpenInput>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for mut queued in self.queue.take() {
            let name = queued.name.take().unwrap_or_else(|| "question".to_owned());
            open.insert(unused(name), queued);
        }
        open.retain(|_, open| !open.is_abandoned());
        open
    }

    async fn wait(&self, question: Question) -> Result<QuestionReply, AskError> {
        let _counted = Counted::new(&self.asking);
        // A task that waits occupies a place of the worker.
        let permit = self.all.room.acquire(&self.owner);
        let _permit = permit.map_err(|_| AskError::TooManyOpen)?;
        let reply = self.queue.ask(question);
        self.all.asked.notify_waiters();
        reply.await
    }
}

impl AskClient for TaskQueue {
    fn question_kinds(&self) -> QuestionKinds {
        self.queue.question_kinds()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        Box::pin(self.wait(question))
    }
}

impl Drop for TaskQueue {
    fn drop(&mut self) {
        let mut state = self.all.state();
        // Another attempt may have taken the place.
        if state
            .tasks
            .get(&self.task)
            .is_some_and(|it| it.strong_count() == 0)
        {
            state.tasks.remove(&self.task);
        }
    }
}

/// Counts for as long as it exists.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A name that no other question of the task has, also in other attempts and processes.
fn unused(name: String) -> String {
    format!("{name}-{}", uuid::Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests;
