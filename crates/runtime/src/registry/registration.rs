//! An operation as its author hands it in: the contract, the handler, and what the handler may use.

use std::collections::BTreeSet;
use std::sync::Arc;

use panpan_contract::operation::{NameError, OperationName, OperationSpec, OperationType};
use panpan_failure::DeclareFailures;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::credentials::Credentials;
use crate::handler::{Handler, Reconcile, StreamHandler, Typed};
use crate::identity::Identity;
use crate::retry::Upstream;

/// An operation with everything it needs to run.
#[derive(Clone, Debug)]
pub struct Registration {
    pub(super) spec: Arc<OperationSpec>,
    pub(super) work: Work,
    pub(super) composition: Composition,
    pub(super) credentials: Credentials,
    pub(super) upstream: Option<Arc<Upstream>>,
    pub(super) reconcile: Option<Arc<dyn Reconcile>>,
    pub(super) speaks_for_gateway: bool,
    pub(super) relays: bool,
    pub(super) steered_by_input: bool,
    pub(super) offered_to_models: bool,
    pub(super) related: Related,
}

/// Other operations of the same service that a caller can turn to when this one fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Related {
    /// Shows whether a change of this operation took effect.
    pub shows_effect: Option<OperationName>,
    /// Lists the things this operation takes the identifier of.
    pub lists: Option<OperationName>,
}

/// What gives the answer.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Once(Arc<dyn Handler>),
    Stream(Arc<dyn StreamHandler>),
}

/// What an operation may call, and with whose authority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composition {
    pub(crate) authority: Option<Arc<Identity>>,
    pub(crate) reach: Arc<BTreeSet<OperationName>>,
}

impl Registration {
    /// An operation that gives one answer.
    pub fn new(spec: OperationSpec, handler: impl Handler) -> Self {
        Self::of(spec, Work::Once(Arc::new(handler)))
    }

    /// An operation that gives items until it ends.
    pub fn streaming(spec: OperationSpec, handler: impl StreamHandler) -> Self {
        Self::of(spec, Work::Stream(Arc::new(handler)))
    }

    /// An operation whose contract follows from the types of an async function.
    pub fn typed<F, I, O, E, Run>(
        name: &str,
        op_type: OperationType,
        run: F,
    ) -> Result<Self, NameError>
    where
        F: Fn(Context, I) -> Run + Send + Sync + 'static,
        Run: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
        E: DeclareFailures + 'static,
    {
        let typed = Typed::new(run);
        let spec = typed.spec(OperationName::new(name)?, op_type);
        Ok(Self::new(spec, typed))
    }

    fn of(spec: OperationSpec, work: Work) -> Self {
        Self {
            spec: Arc::new(spec),
            work,
            composition: Composition::default(),
            credentials: Credentials::default(),
            upstream: None,
            reconcile: None,
            speaks_for_gateway: false,
            relays: false,
            steered_by_input: false,
            offered_to_models: true,
            related: Related::default(),
        }
    }

    /// The name.
    pub fn name(&self) -> &OperationName {
        &self.spec.name
    }

    /// Changes what the contract says beyond its schemas.
    pub fn with(mut self, change: impl FnOnce(&mut OperationSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }

    /// Lets it call these operations.
    pub fn calling(mut self, operations: impl IntoIterator<Item = OperationName>) -> Self {
        self.composition.reach = Arc::new(operations.into_iter().collect());
        self
    }

    /// The authority its own calls are checked against; without one it may call what everyone may.
    pub fn acting_as(mut self, authority: Identity) -> Self {
        self.composition.authority = Some(Arc::new(authority));
        self
    }

    /// What it proves itself with at the other side.
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The service behind it: it shares the circuit of the host and the retry budget with others.
    pub fn behind(mut self, upstream: Arc<Upstream>) -> Self {
        self.upstream = Some(upstream);
        self
    }

    /// How to find out what became of a call whose outcome was lost.
    pub fn reconciled_by(mut self, reconcile: impl Reconcile) -> Self {
        self.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Lets it pass on codes of the protocol, for a service that may be another gateway: what that one
    /// refused was refused.
    pub fn relaying(mut self) -> Self {
        self.relays = true;
        self
    }

    /// Names the operations a caller can turn to when this one fails.
    pub fn related_to(mut self, related: Related) -> Self {
        self.related = related;
        self
    }

    /// Lets the input steer the call: its member `idempotency_key` is the call's key and is taken out,
    /// its member `retry` holds retry settings and perhaps a `seed`.
    pub fn steered_by_input(mut self) -> Self {
        self.steered_by_input = true;
        self
    }

    /// Keeps it out of lists of tools, for what serves programs and operators: it can be called over the
    /// other protocols, and a model neither reads about it nor calls it.
    pub fn not_offered_to_models(mut self) -> Self {
        self.offered_to_models = false;
        self
    }

    /// The contract.
    pub fn spec(&self) -> &OperationSpec {
        &self.spec
    }

    /// Lets it answer codes of the protocol, for what is a part of the gateway itself.
    pub(crate) fn speaking_for_the_gateway(mut self) -> Self {
        self.speaks_for_gateway = true;
        self
    }
}
