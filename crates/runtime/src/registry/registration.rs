//! The registration of an operation: its contract, its handler, and what the handler may use.

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
use crate::retry::UpstreamHealth;

/// An operation with everything it needs to run.
#[derive(Clone, Debug)]
pub struct Registration {
    pub(super) spec: Arc<OperationSpec>,
    pub(super) work: Work,
    pub(crate) composition: Composition,
    pub(crate) credentials: Credentials,
    pub(super) upstream: Option<Arc<UpstreamHealth>>,
    pub(crate) reconcile: Option<Arc<dyn Reconcile>>,
    pub(crate) returns_protocol_codes: bool,
    pub(crate) relays: bool,
    /// Whether its schemas check `format`.
    pub(crate) checks_formats: bool,
    pub(crate) options_in_input: bool,
    pub(super) offered_to_models: bool,
    pub(crate) related: Related,
}

/// Operations of the same service that help a caller when this one fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Related {
    /// Shows whether a call of this operation took effect.
    pub shows_effect: Option<OperationName>,
    /// Lists the items whose identifiers this operation takes.
    pub lists: Option<OperationName>,
    /// Shows the item that this operation changes.
    pub shows_item: Option<OperationName>,
}

/// The handler.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Once(Arc<dyn Handler>),
    Stream(Arc<dyn StreamHandler>),
}

/// The operations that an operation may call, and its authority for these calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composition {
    pub(crate) authority: Option<Arc<Identity>>,
    pub(crate) reach: Arc<BTreeSet<OperationName>>,
}

impl Registration {
    /// A query or mutation.
    pub fn new(spec: OperationSpec, handler: impl Handler) -> Self {
        Self::of(spec, Work::Once(Arc::new(handler)))
    }

    /// A subscription.
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
            returns_protocol_codes: false,
            relays: false,
            checks_formats: true,
            options_in_input: false,
            offered_to_models: true,
            related: Related::default(),
        }
    }

    /// The name.
    pub fn name(&self) -> &OperationName {
        &self.spec.name
    }

    /// Changes the contract.
    pub fn with(mut self, change: impl FnOnce(&mut OperationSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }

    /// Allows it to call these operations.
    pub fn calling(mut self, operations: impl IntoIterator<Item = OperationName>) -> Self {
        self.composition.reach = Arc::new(operations.into_iter().collect());
        self
    }

    /// Sets the authority for its own calls; without one it may call only unrestricted operations.
    pub fn acting_as(mut self, authority: Identity) -> Self {
        self.composition.authority = Some(Arc::new(authority));
        self
    }

    /// Sets its credentials for the upstream.
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Sets the service behind it; operations of one service share the host circuit and the retry budget.
    pub fn behind(mut self, upstream: Arc<UpstreamHealth>) -> Self {
        self.upstream = Some(upstream);
        self
    }

    /// Sets how to reconcile a call whose outcome was lost.
    pub fn reconciled_by(mut self, reconcile: impl Reconcile) -> Self {
        self.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Allows it to relay protocol codes, for a service that may be another gateway.
    pub fn relaying(mut self) -> Self {
        self.relays = true;
        self
    }

    /// Leaves `format` in its schemas to the service, which knows what it accepts.
    pub fn with_unchecked_formats(mut self) -> Self {
        self.checks_formats = false;
        self
    }

    /// Names operations that help a caller when this one fails.
    pub fn related_to(mut self, related: Related) -> Self {
        self.related = related;
        self
    }

    /// Takes call options from the input: the member `idempotency_key` is the key of the call and is removed,
    /// the member `retry` contains retry settings and optionally a `seed`.
    pub fn options_in_input(mut self) -> Self {
        self.options_in_input = true;
        self
    }

    /// Hides it from tool lists, for operations that serve programs and operators: it can be called over the
    /// other protocols only.
    pub fn not_offered_to_models(mut self) -> Self {
        self.offered_to_models = false;
        self
    }

    /// The contract.
    pub fn spec(&self) -> &OperationSpec {
        &self.spec
    }

    /// Allows it to return protocol codes, because it is part of the gateway.
    pub(crate) fn returning_protocol_codes(mut self) -> Self {
        self.returns_protocol_codes = true;
        self
    }
}
