//! One call of an operation: its key, its trace, and what stops it. How its request waits for it is in `turn`.

use std::sync::Arc;

use panpan_failure::{Failure, Redacted};
use panpan_runtime::{
    Answer, AskPerson, CallRequest, CancellationToken, IdempotencyKey, ReportProgress, absent,
};
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use super::answer::Wire;
use super::tools::{Catalogue, Entry};
use super::{answer, key};
use crate::caller::Caller;
use crate::gateway::{Gateway, Surface};
use crate::options::IN_META;

/// A call as a tool asks for it.
#[derive(Debug)]
pub(super) struct Asked {
    /// The name of the operation, which need not exist.
    pub(super) operation: String,
    pub(super) input: Arc<Value>,
    /// The idempotency key, or what is wrong with it.
    pub(super) key: Result<Option<IdempotencyKey>, Failure>,
    /// Whether the gateway made the key.
    pub(super) key_is_made: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) names: Names,
}

/// The argument of `call` that holds the input.
pub(super) const INPUT_ARGUMENT: &str = "input";

/// By which names a caller knows operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those of the tools that stand for them.
    Tools,
    /// Their own, which it hands to the tools `call` and `batch`.
    Operations,
}

impl Names {
    /// The argument that holds the input. A tool of its own has none: all its arguments are the input.
    fn input_stands_in(self) -> Option<&'static str> {
        (self == Self::Operations).then_some(INPUT_ARGUMENT)
    }

    /// A failure as it is shown to such a caller: pointers start at its arguments.
    fn shown(self, failure: Redacted) -> Redacted {
        match self.input_stands_in() {
            Some(argument) => failure.within(argument),
            None => failure,
        }
    }
}

/// How a call ended, and the key it had.
#[derive(Debug)]
pub(super) struct Performed {
    pub(super) answer: Answer,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) names: Names,
}

/// Who asks, what they said beside, and what stops their calls.
#[derive(Debug)]
pub(super) struct Errand<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) caller: &'a Caller,
    pub(super) meta: &'a Map<String, Value>,
    pub(super) stops: Stops,
}

/// What stops the calls of a request.
#[derive(Clone, Debug)]
pub(super) struct Stops {
    /// All of them, keyed or not.
    pub(super) all: CancellationToken,
    /// Those without a key.
    pub(super) without_key: CancellationToken,
}

impl Stops {
    pub(super) fn new() -> Self {
        let all = CancellationToken::new();
        Self {
            without_key: all.child_token(),
            all,
        }
    }
}

impl<'a> Errand<'a> {
    pub(super) fn new(
        gateway: &'a Gateway,
        caller: &'a Caller,
        meta: &'a Map<String, Value>,
    ) -> Self {
        Self::with(gateway, caller, meta, Stops::new())
    }

    /// An errand that is stopped by what stops another.
    pub(super) fn with(
        gateway: &'a Gateway,
        caller: &'a Caller,
        meta: &'a Map<String, Value>,
        stops: Stops,
    ) -> Self {
        Self {
            gateway,
            caller,
            meta,
            stops,
        }
    }

    /// The call a tool stands for.
    pub(super) fn of_tool(&self, entry: &Entry, mut input: Value) -> Asked {
        let argument = entry.takes_key.then(|| key::taken_from(&mut input));
        Asked {
            operation: entry.operation.clone(),
            key: key::stated(self.meta, argument.flatten().as_ref()),
            key_is_made: false,
            input: input.into(),
            timeout_ms: None,
            names: Names::Tools,
        }
    }

    /// Makes one call; `entry` says more about the operation, if it exists.
    pub(super) async fn perform(
        &self,
        entry: Option<&Entry>,
        asked: Asked,
        progress: Option<Arc<dyn ReportProgress>>,
        person: Option<Arc<dyn AskPerson>>,
    ) -> Performed {
        let mut call = CallRequest {
            input_stands_in: asked.names.input_stands_in(),
            progress,
            person,
            ..CallRequest::from_wire(asked.operation, asked.input)
        };
        if let Some(failure) = self.not_offered(&call.operation) {
            return self.refused(call, failure, asked.names);
        }
        let told = IN_META.apply(self.meta, &mut call);
        call.timeout_ms = asked.timeout_ms.or(call.timeout_ms);
        let stated = asked.key.and_then(|stated| {
            told?;
            call.key = stated;
            let options = self.caller.header_options.as_deref();
            options.map_or(Ok(()), |options| options.apply(&IN_META, &mut call))?;
            Ok(call.key.take())
        });
        let stated = match stated {
            Ok(stated) => stated,
            Err(failure) => return self.refused(call, failure, asked.names),
        };
        let is_stated = stated.is_some() && !asked.key_is_made;
        let key = stated.or_else(|| made_key(self.gateway, entry));
        call.key_is_made = key.is_some() && !is_stated;
        let stop = match key {
            Some(_) => &self.stops.all,
            None => &self.stops.without_key,
        };
        call.abort = Some(stop.clone());
        call.key.clone_from(&key);
        let mut answer = self.gateway.call(Surface::Mcp, self.caller, call).await;
        answer.outcome = answer.outcome.map_err(|it| asked.names.shown(it));
        Performed {
            answer,
            key,
            names: asked.names,
        }
    }

    /// The refusal of an operation that is not offered to models: it looks like one that does not exist.
    fn not_offered(&self, name: &str) -> Option<Failure> {
        let registry = self.gateway.dispatcher().registry();
        registry.get(name).filter(|it| !it.is_offered_to_models())?;
        let callable = self.gateway.callable(self.caller);
        let offered = callable.iter().filter(|it| it.is_offered_to_models());
        let name = name.strip_prefix('/').unwrap_or(name);
        Some(absent(name, offered.map(|it| it.name().as_str()), "call"))
    }

    /// Answers a request that cannot become a call. What is wrong is beside the input, not in it.
    pub(super) fn refused(
        &self,
        mut call: CallRequest,
        failure: Failure,
        names: Names,
    ) -> Performed {
        call.caller.clone_from(&self.caller.identity);
        call.input_stands_in = None;
        let answer = self.gateway.refuse(Surface::Mcp, call, failure);
        Performed {
            answer,
            key: None,
            names,
        }
    }
}

/// The key of a call that states none, if its operation is one that gets one.
pub(super) fn made_key(gateway: &Gateway, entry: Option<&Entry>) -> Option<IdempotencyKey> {
    let gets_one = entry.is_some_and(|entry| entry.gets_key);
    gets_one.then(|| gateway.dispatcher().new_key())
}

impl Performed {
    /// The result of the tool that was called, or the error of the protocol to answer with instead.
    pub(super) fn into_result(
        self,
        entry: Option<&Entry>,
        catalogue: &Catalogue,
        wire: Wire,
    ) -> Result<CallToolResult, ErrorData> {
        if let Some(error) = answer::protocol_error(&self.answer, wire) {
            return Err(error);
        }
        let catalogue = Some(catalogue).filter(|_| self.names == Names::Tools);
        let key = self.key.as_ref();
        Ok(answer::of(self.answer, key, entry, catalogue, wire))
    }
}
