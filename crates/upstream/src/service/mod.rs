//! A service that speaks HTTP, as operations: its contract says which request each becomes.
//!
//! `request` writes what goes out, `proof` adds who asks, `answer` reads what comes back. What was sent
//! and what was answered is decided here; whether to try again is the runtime's.

mod answer;
mod pinned;
mod proof;
mod related;
mod request;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use panpan_contract::binding::{HttpBinding, ParameterLocation};
use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Effect, Failure};
use panpan_redact::Secret;
use panpan_runtime::retry::{BudgetSettings, CircuitRule, Upstream};
use panpan_runtime::{BoxFuture, BoxStream, Context, Credentials, Handler, Registration};
use serde_json::Value;
use url::Url;

use related::Readers;

use crate::asked::Declarations;
use crate::client::{Client, Incoming, IncomingStream, Outgoing, with_room};
use crate::trouble::Stake;

/// The header a key is sent in where the service does not name another.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// How much sooner the request ends than the attempt it belongs to, so that what is known about it is
/// told.
const MARGIN: Duration = Duration::from_millis(50);

/// Where a service is and how it is asked.
#[derive(Clone, Debug)]
pub struct Service {
    /// What it is called in failures and statistics.
    pub name: String,
    /// Where it is; without one, where its contract says.
    pub base: Option<Url>,
    /// What goes out.
    pub client: Client,
    /// Secrets by the names of security schemes; the one named `*` stands for every scheme without one.
    pub credentials: Credentials,
    /// Headers every request carries.
    pub headers: HeaderMap,
    /// Secrets that callers bring along, by their names, and the headers they are sent in.
    pub passed: Vec<(String, HeaderName)>,
    /// When all its operations are refused because it cannot be connected to.
    pub circuit: CircuitRule,
}

/// Why an operation cannot be carried out by a service.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// Its contract does not say how.
    #[error("{0}: its contract does not say which request it becomes")]
    Missing(OperationName),
    /// Its contract cannot be read.
    #[error("{0}: what its contract says about the request cannot be read: {1}")]
    Unreadable(OperationName, serde_json::Error),
    /// The method is none.
    #[error("{0}: {1:?} is not a method of HTTP")]
    Method(OperationName, String),
    /// Nobody knows where the service is.
    #[error(
        "{0}: its contract does not say where the service is; name the address, as in FILE@https://api.example.com"
    )]
    Nowhere(OperationName),
}

impl Service {
    /// The operations, each carried out by this service, or all reasons why some cannot be.
    pub fn operations(
        &self,
        specs: impl IntoIterator<Item = OperationSpec>,
    ) -> Result<Vec<Registration>, Vec<BindingError>> {
        // A description may name a server of its own for an operation, which may be up when others are
        // down.
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

    /// What its operations at one place share.
    fn upstream(&self, base: &Url) -> Upstream {
        let upstream = Upstream::new(&self.name, self.circuit, BudgetSettings::default());
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
        let bound = Arc::new(Bound::new(self, &mut spec)?);
        let base = bound.address.base().clone();
        let related = readers.related_to(&spec, &bound.binding);
        let credentials = self.credentials.and(self.header_secrets());
        let registration = match spec.op_type {
            OperationType::Subscription => {
                let open =
                    move |context: Context, input: Arc<Value>| items(bound.clone(), context, input);
                Registration::streaming(spec, open)
            }
            _ => Registration::new(spec, Once(bound)),
        };
        let registration = registration.with_credentials(credentials);
        Ok((registration.relaying().related_to(related), base))
    }

    /// The headers nobody is to see, under names no security scheme has.
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
struct Bound {
    service: Service,
    spec: OperationSpec,
    binding: HttpBinding,
    method: http::Method,
    address: request::Address,
    /// What every request carries.
    headers: HeaderMap,
    declarations: Declarations,
}

impl Bound {
    fn new(service: &Service, spec: &mut OperationSpec) -> Result<Self, BindingError> {
        let binding = HttpBinding::of(spec);
        let binding = binding.ok_or_else(|| BindingError::Missing(spec.name.clone()))?;
        let unreadable = |error| BindingError::Unreadable(spec.name.clone(), error);
        let mut binding = binding.map_err(unreadable)?;
        pinned::leave_out(spec, &mut binding, &service.headers);
        let name = || spec.name.clone();
        let method = http::Method::from_bytes(binding.method.as_bytes());
        let method = method.map_err(|_| BindingError::Method(name(), binding.method.clone()))?;
        let stated = binding.servers.iter().find_map(|it| Url::parse(it).ok());
        let base = service.base.clone().or(stated);
        let mut headers = service.headers.clone();
        headers.insert(ACCEPT, request::accepted(&binding));
        let changes = spec.op_type == OperationType::Mutation;
        spec.idempotency.honours_key |= changes && key_header(&binding).is_some();
        let base = base.ok_or_else(|| BindingError::Nowhere(name()))?;
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
        let headers = with_room(&self.headers);
        let written = request::write(&self.binding, &self.address, headers, input)?;
        let mut outgoing = Outgoing::new(self.method.clone(), written.url);
        outgoing.headers = self.pinned(written.headers);
        outgoing.body = written.body;
        let left = Duration::from_millis(context.remaining_ms());
        outgoing.timeout = left.saturating_sub(MARGIN).max(MARGIN);
        outgoing.stated_timeout = Some(Duration::from_millis(context.allowed_ms()));
        self.say_how_long(&mut outgoing);
        proof::add(&self.binding, context.credentials(), &mut outgoing)?;
        for (name, header) in &self.service.passed {
            if let Some(secret) = context.brought(name) {
                let value = proof::sensitive(secret.expose(), name)?;
                outgoing.headers.insert(header.clone(), value);
            }
        }
        let is_known = self.say_which_work(context, &mut outgoing.headers);
        outgoing.stake = self.stake(is_known);
        Ok(outgoing)
    }

    /// Headers with those the operator gave: they are no caller's to change. What a body is, only the
    /// input knows.
    fn pinned(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &self.service.headers {
            if *name != CONTENT_TYPE || !headers.contains_key(CONTENT_TYPE) {
                headers.insert(name.clone(), value.clone());
            }
        }
        headers
    }

    /// Which piece of work it is, for a service that does not do one twice, and for those who watch.
    /// Tells whether the service knows it by its key.
    fn say_which_work(&self, context: &Context, headers: &mut HeaderMap) -> bool {
        let trace = context.trace().map(|trace| trace.to_string());
        if let Some(trace) = trace.and_then(|it| HeaderValue::from_str(&it).ok()) {
            headers.insert(TRACE, trace);
        }
        let key = context.downstream_key();
        let key = key.filter(|_| self.spec.op_type == OperationType::Mutation);
        let Some(key) = key.and_then(|key| HeaderValue::from_str(&key).ok()) else {
            return false;
        };
        let honoured = key_header(&self.binding);
        headers.insert(honoured.clone().unwrap_or(KEY), key);
        honoured.is_some()
    }

    /// How long it is waited for, for a service that wants to know, so that it answers in that time
    /// with what it knows by then.
    fn say_how_long(&self, outgoing: &mut Outgoing) {
        let named = self.binding.timeout_header.as_deref();
        let named: Option<HeaderName> = named.and_then(|name| name.parse().ok());
        let waited = outgoing.timeout.saturating_sub(MARGIN).max(MARGIN);
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        if let Some(name) = named {
            outgoing.headers.insert(name, waited_ms.into());
        }
    }

    fn stake(&self, is_known_by_key: bool) -> Stake {
        match self.spec.op_type {
            OperationType::Query | OperationType::Subscription => Stake::Nothing,
            OperationType::Mutation if self.spec.idempotency.idempotent => Stake::Repeatable,
            OperationType::Mutation if is_known_by_key => Stake::Keyed,
            OperationType::Mutation => Stake::Change,
        }
    }

    fn read(
        &self,
        incoming: &Incoming,
        context: &Context,
        input: &Value,
    ) -> Result<Value, Failure> {
        let question = answer::Question {
            binding: &self.binding,
            spec: &self.spec,
            declarations: &self.declarations,
            input,
        };
        let read = question.read(incoming, context.now());
        // Whatever became of it, what only reads changes nothing.
        let reads = self.spec.op_type != OperationType::Mutation;
        read.map_err(|failure| match reads {
            true => failure.with_effect(Effect::None),
            false => incoming.after_all(failure),
        })
    }
}

/// The header in which the service honours a key: named as such, or described as a parameter.
fn key_header(binding: &HttpBinding) -> Option<HeaderName> {
    let named = binding.idempotency_header.as_deref();
    let described = binding.parameters.iter().find(|it| {
        it.place == ParameterLocation::Header && it.wire_name.eq_ignore_ascii_case(KEY.as_str())
    });
    let named = named.or(described.map(|it| it.wire_name.as_str()));
    named.and_then(|name| name.parse().ok())
}

/// What is needed of a contract while it is carried out. Whoever calls is held to the schemas, which are
/// by far the largest part of it.
fn without_schemas(spec: &OperationSpec) -> OperationSpec {
    let mut kept = OperationSpec::new(spec.name.clone(), spec.op_type);
    kept.idempotency = spec.idempotency.clone();
    kept.error_schemas = spec.error_schemas.clone();
    kept
}

/// Asks once.
struct Once(Arc<Bound>);

impl Handler for Once {
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        Box::pin(async move {
            let outgoing = self.0.outgoing(&context, &input)?;
            let sent = self.0.service.client.send(outgoing).await;
            let incoming = sent.map_err(answer::unanswered)?;
            self.0.read(&incoming, &context, &input).map(Arc::new)
        })
    }
}

/// The events of a service, each an item.
fn items(
    bound: Arc<Bound>,
    context: Context,
    input: Arc<Value>,
) -> BoxStream<Result<Value, Failure>> {
    let opened = async move {
        let outgoing = bound.outgoing(&context, &input)?;
        let opened = bound.service.client.open(outgoing).await;
        let opened = opened.map_err(answer::unanswered)?;
        if opened.is_events() {
            return Ok(Source::Events(Box::new(opened), bound));
        }
        // A failure, or an answer that is no stream and so the only item.
        let item = bound.read(&opened.read().await?, &context, &input)?;
        Ok(Source::Item(item))
    };
    let opened = stream::once(opened).map(|opened| match opened {
        Ok(source) => stream::unfold(source, Source::next).left_stream(),
        Err(failure) => stream::iter([Err(failure)]).right_stream(),
    });
    Box::pin(opened.flatten())
}

/// Where items come from.
enum Source {
    Events(Box<IncomingStream>, Arc<Bound>),
    Item(Value),
    Nothing,
}

impl Source {
    async fn next(self) -> Option<(Result<Value, Failure>, Self)> {
        match self {
            Self::Item(item) => Some((Ok(item), Self::Nothing)),
            Self::Nothing => None,
            Self::Events(mut events, bound) => {
                let event = events.next_event().await.transpose()?;
                match event.and_then(|event| answer::item(&event, &bound.spec)) {
                    Ok(item) => Some((Ok(item), Self::Events(events, bound))),
                    Err(failure) => Some((Err(failure), Self::Nothing)),
                }
            }
        }
    }
}
