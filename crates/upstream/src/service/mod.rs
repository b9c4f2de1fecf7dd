//! An HTTP service as operations: its contract binds each operation to a request.
//!
//! `request` builds the request, `credentials` authenticates it, `response` turns the response into an output or a
//! failure. Retries are decided by the runtime.

mod body;
mod credentials;
mod fixed_headers;
mod import_code;
mod page;
mod related;
mod request;
mod response;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, ParameterLocation};
use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Effect, Failure};
use panpan_redact::Secret;
use panpan_runtime::retry::{BudgetSettings, CircuitRule, UpstreamHealth};
use panpan_runtime::{BoxFuture, BoxStream, Context, Credentials, Handler, Registration};
use serde_json::Value;
use url::Url;

use crate::classify::Declarations;
use crate::client::{Client, Incoming, IncomingStream, Outgoing, with_spare_capacity};
use crate::exchange::RepeatSafety;
use related::Readers;

/// The header for the idempotency key, unless the contract names another.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// How much shorter the timeout of a request is than that of its attempt, so that the failure of the request is
/// still reported.
const MARGIN: Duration = Duration::from_millis(50);

/// An HTTP service, with everything that requests to it need.
#[derive(Clone, Debug)]
pub struct Service {
    /// The name in failures and statistics.
    pub name: String,
    /// The base URL; by default the server that the contract names.
    pub base: Option<Url>,
    /// The client that sends the requests.
    pub client: Client,
    /// Secrets by security scheme; `*` is for every scheme without a secret of its own.
    pub credentials: Credentials,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Secrets that callers send along, by name, and the header for each.
    pub passed: Vec<(String, HeaderName)>,
    /// The circuit that refuses all operations of the service while connections to it fail.
    pub circuit: CircuitRule,
}

/// The reason that an operation cannot be bound to a service.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// The contract has no HTTP binding for it.
    #[error("{0}: the contract has no HTTP binding for this operation")]
    Missing(OperationName),
    /// The HTTP binding is malformed.
    #[error("{0}: the HTTP binding in the contract cannot be read: {1}")]
    Unreadable(OperationName, serde_json::Error),
    /// The method is invalid.
    #[error("{0}: {1:?} is not an HTTP method")]
    Method(OperationName, String),
    /// Neither the settings nor the contract have a base URL.
    #[error(
        "{0}: the contract names no server; add the address, as in FILE@https://api.example.com"
    )]
    NoServer(OperationName),
}

impl Service {
    /// The operations bound to this service, or the errors of all that cannot be bound.
    pub fn operations(
        &self,
        specs: impl IntoIterator<Item = OperationSpec>,
    ) -> Result<Vec<Registration>, Vec<BindingError>> {
        // An operation may have a server of its own, which may be up while others are down.
        let mut upstreams = BTreeMap::new();
        let specs: Vec<OperationSpec> = specs.into_iter().collect();
        let readers = Readers::among(&specs);
        let (mut registrations, mut errors) = (Vec::new(), Vec::new());
        for spec in specs {
            match self.operation(spec, &readers) {
                Ok((it, base)) => {
                    let origin = base.origin().ascii_serialization();
                    let upstream = upstreams
                        .entry(origin)
                        .or_insert_with(|| Arc::new(self.upstream(&base)));
                    registrations.push(it.behind(upstream.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(registrations)
        } else {
            Err(errors)
        }
    }

    /// The circuit and retry budget that operations at one origin share.
    fn upstream(&self, base: &Url) -> UpstreamHealth {
        let upstream = UpstreamHealth::new(&self.name, self.circuit, BudgetSettings::default());
        match base.host_str() {
            Some(host) => upstream.at_host(host),
            None => upstream,
        }
    }

    fn operation(
        &self,
        mut spec: OperationSpec,
        readers: &Readers,
    ) -> Result<(Registration, Url), BindingError> {
        let bound = Arc::new(BoundOperation::new(self, &mut spec)?);
        let base = bound.address.base().clone();
        let related = readers.related_to(&spec, &bound.binding);
        let credentials = self.credentials.and(self.header_secrets());
        let registration = match spec.op_type {
            OperationType::Subscription => {
                let open = move |context: Context, input: Arc<Value>| {
                    subscribe(bound.clone(), context, input)
                };
                Registration::streaming(spec, open)
            }
            _ => Registration::new(spec, CallHandler(bound)),
        };
        let registration = registration.with_credentials(credentials);
        Ok((registration.relaying().related_to(related), base))
    }

    /// The secret headers, under names that no security scheme has, so that they are redacted.
    fn header_secrets(&self) -> impl Iterator<Item = (String, Secret<String>)> {
        let secret = self.headers.iter().filter(|(_, it)| it.is_sensitive());
        secret.filter_map(|(name, value)| {
            let value = value.to_str().ok()?.to_owned();
            Some((format!("header {name}"), Secret::new(value)))
        })
    }
}

/// An operation and the service behind it.
#[derive(Debug)]
struct BoundOperation {
    service: Service,
    spec: OperationSpec,
    binding: HttpBinding,
    method: http::Method,
    address: request::Address,
    /// The headers of every request.
    headers: HeaderMap,
    declarations: Declarations,
}

impl BoundOperation {
    fn new(service: &Service, spec: &mut OperationSpec) -> Result<Self, BindingError> {
        let binding = HttpBinding::of(spec);
        let binding = binding.ok_or_else(|| BindingError::Missing(spec.name.clone()))?;
        let unreadable = |error| BindingError::Unreadable(spec.name.clone(), error);
        let mut binding = binding.map_err(unreadable)?;
        fixed_headers::remove_parameters(spec, &mut binding, &service.headers);
        let name = || spec.name.clone();
        let method = http::Method::from_bytes(binding.method.as_bytes());
        let method = method.map_err(|_| BindingError::Method(name(), binding.method.clone()))?;
        let stated = binding.servers.iter().find_map(|it| Url::parse(it).ok());
        let base = service.base.clone().or(stated);
        let mut headers = service.headers.clone();
        headers.insert(ACCEPT, request::accept(&binding));
        let is_mutation = spec.op_type == OperationType::Mutation;
        spec.idempotency.honours_key |= is_mutation && key_header(&binding).is_some();
        let base = base.ok_or_else(|| BindingError::NoServer(name()))?;
        Ok(Self {
            address: request::Address::new(&binding, base),
            service: service.clone(),
            declarations: Declarations::of(spec, &binding),
            spec: without_schemas(spec),
            binding,
            method,
            headers,
        })
    }

    fn outgoing(&self, context: &Context, input: &Value) -> Result<Outgoing, Failure> {
        let headers = with_spare_capacity(&self.headers);
        let parts = request::build(&self.binding, &self.address, headers, input)?;
        let mut outgoing = Outgoing::new(self.method.clone(), parts.url);
        outgoing.headers = self.with_fixed_headers(parts.headers);
        outgoing.body = parts.body;
        let remaining = Duration::from_millis(context.remaining_ms());
        outgoing.timeout = remaining.saturating_sub(MARGIN).max(MARGIN);
        outgoing.stated_timeout = Some(Duration::from_millis(context.allowed_ms()));
        self.add_timeout_header(&mut outgoing);
        credentials::add(&self.binding, context.credentials(), &mut outgoing)?;
        for (name, header) in &self.service.passed {
            if let Some(secret) = context.caller_secret(name) {
                let value = credentials::sensitive(secret.expose(), name)?;
                outgoing.headers.insert(header.clone(), value);
            }
        }
        let is_keyed = self.add_trace_and_key(context, &mut outgoing.headers);
        outgoing.repeat_safety = self.repeat_safety(is_keyed);
        Ok(outgoing)
    }

    /// Adds the headers of the operator, which no caller can change. A content type of the body wins over a fixed
    /// one.
    fn with_fixed_headers(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &self.service.headers {
            if *name != CONTENT_TYPE || !headers.contains_key(CONTENT_TYPE) {
                headers.insert(name.clone(), value.clone());
            }
        }
        headers
    }

    /// Adds the trace and the idempotency key; returns whether the service recognises the key.
    fn add_trace_and_key(&self, context: &Context, headers: &mut HeaderMap) -> bool {
        let trace = context.trace().map(|trace| trace.to_string());
        if let Some(trace) = trace.and_then(|it| HeaderValue::from_str(&it).ok()) {
            headers.insert(TRACE, trace);
        }
        let key = context.downstream_key();
        let key = key.filter(|_| self.spec.op_type == OperationType::Mutation);
        let Some(key) = key.and_then(|key| HeaderValue::from_str(&key).ok()) else {
            return false;
        };
        let declared = key_header(&self.binding);
        headers.insert(declared.clone().unwrap_or(KEY), key);
        declared.is_some()
    }

    /// Adds the timeout for a service that declares a header for it, so that it can answer in time.
    fn add_timeout_header(&self, outgoing: &mut Outgoing) {
        let named = self.binding.timeout_header.as_deref();
        let named: Option<HeaderName> = named.and_then(|name| name.parse().ok());
        let timeout = outgoing.timeout.saturating_sub(MARGIN).max(MARGIN);
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        if let Some(name) = named {
            outgoing.headers.insert(name, timeout_ms.into());
        }
    }

    fn repeat_safety(&self, is_keyed: bool) -> RepeatSafety {
        match self.spec.op_type {
            OperationType::Query | OperationType::Subscription => RepeatSafety::ReadOnly,
            OperationType::Mutation if self.spec.idempotency.idempotent => RepeatSafety::Idempotent,
            OperationType::Mutation if is_keyed => RepeatSafety::Keyed,
            OperationType::Mutation => RepeatSafety::NotRepeatable,
        }
    }

    fn read(
        &self,
        incoming: &Incoming,
        context: &Context,
        input: &Value,
    ) -> Result<Value, Failure> {
        let reader = response::ResponseReader {
            binding: &self.binding,
            spec: &self.spec,
            declarations: &self.declarations,
            input,
        };
        let read = reader.read(incoming, context.now());
        // An operation that only reads has no effect, whatever the response says.
        let is_read_only = self.spec.op_type != OperationType::Mutation;
        read.map_err(|failure| match is_read_only {
            true => failure.with_effect(Effect::None),
            false => incoming.after_redirected_write(failure),
        })
    }
}

/// The header in which the service recognises an idempotency key: declared as such, or as a parameter.
fn key_header(binding: &HttpBinding) -> Option<HeaderName> {
    let named = binding.idempotency_header.as_deref();
    let parameter = binding.parameters.iter().find(|it| {
        it.place == ParameterLocation::Header && it.wire_name.eq_ignore_ascii_case(KEY.as_str())
    });
    let named = named.or(parameter.map(|it| it.wire_name.as_str()));
    named.and_then(|name| name.parse().ok())
}

/// The parts of an operation that requests need. The runtime checks the schemas, which are by far the largest part.
fn without_schemas(spec: &OperationSpec) -> OperationSpec {
    let mut kept = OperationSpec::new(spec.name.clone(), spec.op_type);
    kept.idempotency = spec.idempotency.clone();
    kept.error_schemas = spec.error_schemas.clone();
    kept
}

/// Sends one request per attempt.
struct CallHandler(Arc<BoundOperation>);

impl Handler for CallHandler {
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        Box::pin(async move {
            let outgoing = self.0.outgoing(&context, &input)?;
            let incoming = self.0.service.client.send(outgoing).await;
            let incoming = incoming.map_err(response::no_response)?;
            self.0.read(&incoming, &context, &input).map(Arc::new)
        })
    }
}

/// Opens a stream of events, each an item.
fn subscribe(
    bound: Arc<BoundOperation>,
    context: Context,
    input: Arc<Value>,
) -> BoxStream<Result<Value, Failure>> {
    let opened = async move {
        let outgoing = bound.outgoing(&context, &input)?;
        let opened = bound.service.client.open(outgoing).await;
        let opened = opened.map_err(response::no_response)?;
        if opened.is_events() {
            return Ok(Items::Events(Box::new(opened), bound));
        }
        // A failure, or a response that is not a stream and so is the only item.
        let item = bound.read(&opened.read().await?, &context, &input)?;
        Ok(Items::One(item))
    };
    let opened = stream::once(opened).map(|opened| match opened {
        Ok(items) => stream::unfold(items, Items::next).left_stream(),
        Err(failure) => stream::iter([Err(failure)]).right_stream(),
    });
    Box::pin(opened.flatten())
}

/// The remaining items of a subscription.
enum Items {
    Events(Box<IncomingStream>, Arc<BoundOperation>),
    One(Value),
    None,
}

impl Items {
    async fn next(self) -> Option<(Result<Value, Failure>, Self)> {
        match self {
            Self::One(item) => Some((Ok(item), Self::None)),
            Self::None => None,
            Self::Events(mut events, bound) => {
                let event = events.next_event().await.transpose()?;
                match event.and_then(|event| response::item(&event, &bound.spec)) {
                    Ok(item) => Some((Ok(item), Self::Events(events, bound))),
                    Err(failure) => Some((Err(failure), Self::None)),
                }
            }
        }
    }
}
