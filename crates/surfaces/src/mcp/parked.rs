//! Calls that wait for a reply, in the version of the protocol without sessions: their requests were answered
//! with the question, and whoever repeats one with the reply gets on.
//!
//! A call waits for its own caller only, with the same arguments, once and not forever. One that nobody comes
//! back to is stopped, key or not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_contract::failure::Violation;
use panpan_contract::pointer::joined;
use panpan_contract::{Failure, codes};
use panpan_runtime::{CancellationToken, Reply, Unasked};
use rmcp::model::{
    ElicitRequest, ElicitResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use serde::Deserialize;
use tokio::task::AbortHandle;

use super::questions::{Open, reply};
use super::served::{Made, Served};
use crate::limits::{Permit, Room};

/// How many calls wait for a reply at a time. Each of them takes up the place of a running call.
pub const PARKED_LIMIT: usize = 256;

/// How many calls of one caller wait for a reply at a time.
pub const PARKED_PER_CALLER_LIMIT: usize = 32;

/// How long a call waits for a reply.
pub const PARKED_FOR: Duration = Duration::from_secs(5 * 60);

/// How many random bytes name a parked call.
const STATE_BYTES: usize = 32;

/// What a client sends along when it comes back.
#[derive(Clone, Debug)]
pub(super) struct Return {
    pub(super) state: String,
    pub(super) replies: InputResponses,
}

/// All calls that wait for a reply.
#[derive(Debug)]
pub(super) struct ParkedCalls {
    room: Room,
    calls: Mutex<HashMap<String, Parked>>,
    stopping: CancellationToken,
}

#[derive(Debug)]
struct Parked {
    served: Served,
    /// Its questions, by the names they were given.
    open: BTreeMap<String, Open>,
    end: AbortHandle,
    _permit: Permit,
}

/// A call there is no room for.
#[derive(Debug)]
pub(super) struct Unparked {
    served: Served,
    open: Vec<Open>,
}

impl Unparked {
    /// The call, to go on without replies.
    pub(super) fn refused(self) -> Served {
        for open in self.open {
            open.end(Err(Unasked::Full));
        }
        self.served
    }
}

impl ParkedCalls {
    pub(super) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            room: Room::new("open questions", PARKED_LIMIT, PARKED_PER_CALLER_LIMIT),
            calls: Mutex::default(),
            stopping,
        })
    }

    /// Lets a call wait; what it asks is what its request is answered with.
    pub(super) fn park(
        self: &Arc<Self>,
        mut served: Served,
        open: Vec<Open>,
    ) -> Result<InputRequiredResult, Box<Unparked>> {
        let permit = self.room.enter(&served.made.principal);
        let (Ok(permit), Some(state)) = (permit, new_state()) else {
            return Err(Box::new(Unparked { served, open }));
        };
        let numbered = open.into_iter().zip(1..);
        let open: BTreeMap<String, Open> = numbered
            .map(|(open, number)| (format!("question_{number}"), open))
            .collect();
        let asked = open
            .iter()
            .map(|(name, open)| (name.clone(), request(open)));
        let asked: InputRequests = asked.collect();
        served.stops_when_dropped = true;
        // Held while the end is arranged, so that it cannot come first.
        let mut calls = self.calls();
        let parked = Parked {
            end: tokio::spawn(self.clone().end(state.clone())).abort_handle(),
            served,
            open,
            _permit: permit,
        };
        calls.insert(state.clone(), parked);
        Ok(InputRequiredResult::new(Some(asked), Some(state)))
    }

    /// The call somebody comes back to, with its questions answered. Whatever is wrong with that, the call
    /// goes on waiting.
    pub(super) fn resume(&self, made: &Made, back: Return) -> Result<Served, Failure> {
        let mut calls = self.calls();
        let parked = calls.get(&back.state);
        let parked = parked.filter(|parked| parked.served.made == *made);
        let replies = replies(parked.ok_or_else(unknown)?, back.replies)?;
        let parked = calls.remove(&back.state).ok_or_else(unknown)?;
        drop(calls);
        parked.end.abort();
        for (open, reply) in parked.open.into_values().zip(replies) {
            open.end(Ok(reply));
        }
        let mut served = parked.served;
        served.stops_when_dropped = false;
        Ok(served)
    }

    /// Ends a call nobody came back to.
    async fn end(self: Arc<Self>, state: String) {
        let waited = tokio::time::sleep(PARKED_FOR);
        self.stopping.run_until_cancelled(waited).await;
        let ended = self.calls().remove(&state);
        drop(ended);
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(open: &Open) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(open.asked.clone()))
}

/// A name nobody can guess.
fn new_state() -> Option<String> {
    let mut random = [0; STATE_BYTES];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A reply to every question, in the order of the questions.
fn replies(parked: &Parked, mut given: InputResponses) -> Result<Vec<Reply>, Failure> {
    let mut read = |name: &String| {
        let place = joined("/inputResponses", name);
        let given = given.remove(name);
        let given = given.ok_or_else(|| Violation::missing(place.clone()))?;
        let result = ElicitResult::deserialize(given);
        result
            .map(reply)
            .map_err(|_| Violation::value(place, "not the result of an elicitation"))
    };
    let read: Result<Vec<Reply>, Violation> = parked.open.keys().map(&mut read).collect();
    read.map_err(|violation| {
        Failure::new(codes::INVALID_INPUT)
            .with_message("not every question of the tool has a reply")
            .with_violation(violation)
            .with_actions([
                "Repeat the call with the same requestState and a reply to every question",
            ])
    })
}

/// The same for whatever is wrong, so that nobody learns which calls wait.
fn unknown() -> Failure {
    let reason = "no call of this tool with these arguments waits for a reply under this state";
    Failure::new(codes::INVALID_INPUT)
        .with_message(format!(
            "{reason}: it was answered already, or given up, or is somebody else's"
        ))
        .with_violation(Violation::value("/requestState", reason))
        .with_actions(["Call the tool anew, without requestState"])
}

#[cfg(test)]
mod tests {
    use panpan_runtime::{AskPerson, Question, Wanted};
    use rmcp::model::{CallToolResponse, CallToolResult};
    use serde_json::{Value, json};

    use super::*;
    use crate::caller::Principal;
    use crate::mcp::call::Stops;
    use crate::mcp::questions::{Kinds, Questions};

    fn made(caller: &str) -> Made {
        Made {
            principal: Principal::Known(caller.into()),
            operation: "test/ask".to_owned(),
            input: Arc::new(json!({"a": 1})),
        }
    }

    /// A call that asks once, and says then what it was told.
    fn asking(caller: &str) -> Served {
        let client = serde_json::from_value(json!({"elicitation": {}})).unwrap();
        let questions = Arc::new(Questions::new(Kinds::of(&client).unwrap()));
        let person = questions.clone();
        let work = async move {
            let schema = json!({"type": "object", "properties": {}});
            let said = person.ask(Question {
                message: "Sure?".to_owned(),
                wanted: Wanted::Values { schema },
            });
            CallToolResult::structured(json!({"said": format!("{:?}", said.await)}))
        };
        Served::over(Box::pin(work), questions, made(caller), Stops::new())
    }

    /// The state a call is parked under, or what it said without being parked.
    async fn parked(calls: &Arc<ParkedCalls>, served: Served) -> Result<String, Value> {
        match served.until_asked(calls).await {
            CallToolResponse::InputRequired(asked) => Ok(asked.request_state.unwrap()),
            CallToolResponse::Complete(result) => Err(result.structured_content.unwrap()),
            CallToolResponse::Task(_) | _ => panic!("there are no tasks"),
        }
    }

    fn back(state: &str, replies: Value) -> Return {
        Return {
            state: state.to_owned(),
            replies: serde_json::from_value(replies).unwrap(),
        }
    }

    fn accepted() -> Value {
        json!({"question_1": {"action": "accept", "content": {}}})
    }

    fn calls() -> Arc<ParkedCalls> {
        ParkedCalls::new(CancellationToken::new())
    }

    /// Where the violation is that a return is refused with.
    fn refused(calls: &ParkedCalls, made: &Made, back: Return) -> String {
        let failure = calls.resume(made, back).unwrap_err();
        assert_eq!(failure.code().as_str(), "INVALID_INPUT");
        failure.violations()[0].pointer.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_goes_on_once_for_its_caller_and_its_arguments() {
        let calls = calls();
        let state = parked(&calls, asking("ann")).await.unwrap();
        let ann = made("ann");
        let other_input = Made {
            input: Arc::new(json!({"a": 2})),
            ..ann.clone()
        };
        let other_operation = Made {
            operation: "test/other".to_owned(),
            ..ann.clone()
        };
        let unknown = "/requestState";
        let missing = "/inputResponses/question_1";
        for (made, back, expected) in [
            (&ann, back("00", accepted()), unknown),
            (&ann, back("", accepted()), unknown),
            (&made("bob"), back(&state, accepted()), unknown),
            (&other_input, back(&state, accepted()), unknown),
            (&other_operation, back(&state, accepted()), unknown),
            (&ann, back(&state, json!({})), missing),
            (
                &ann,
                back(&state, json!({"question_1": {"action": "perhaps"}})),
                missing,
            ),
        ] {
            assert_eq!(refused(&calls, made, back), expected);
        }
        let served = calls.resume(&ann, back(&state, accepted())).unwrap();
        let said = parked(&calls, served).await.unwrap_err();
        assert_eq!(said, json!({"said": "Ok(Accepted)"}));
        assert_eq!(refused(&calls, &ann, back(&state, accepted())), unknown);
        assert_eq!(calls.room.occupied(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_nobody_comes_back_to_is_stopped() {
        let calls = calls();
        let served = asking("ann");
        let stop = served.stops.all.clone();
        let state = parked(&calls, served).await.unwrap();
        let instant = Duration::from_millis(1);
        tokio::time::sleep(PARKED_FOR - instant).await;
        let place = refused(&calls, &made("ann"), back(&state, json!({})));
        assert_eq!(place, "/inputResponses/question_1");
        assert!(!stop.is_cancelled());
        tokio::time::sleep(instant * 2).await;
        let place = refused(&calls, &made("ann"), back(&state, accepted()));
        assert_eq!(place, "/requestState");
        assert!(stop.is_cancelled());
        assert_eq!(calls.room.occupied(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_calls_wait_and_further_ones_go_on_without_a_reply() {
        let full = json!({"said": "Err(Full)"});
        let own = calls();
        for _ in 0..PARKED_PER_CALLER_LIMIT {
            parked(&own, asking("ann")).await.unwrap();
        }
        assert_eq!(parked(&own, asking("ann")).await, Err(full.clone()));
        parked(&own, asking("bob")).await.unwrap();
        let all = calls();
        for number in 0..PARKED_LIMIT {
            parked(&all, asking(&number.to_string())).await.unwrap();
        }
        assert_eq!(parked(&all, asking("ann")).await, Err(full));
    }

    #[tokio::test]
    async fn nothing_waits_when_the_server_ends() {
        let calls = calls();
        let served = asking("ann");
        let stop = served.stops.all.clone();
        parked(&calls, served).await.unwrap();
        calls.stopping.cancel();
        stop.cancelled().await;
    }
}
