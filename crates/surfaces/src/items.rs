//! The items of a subscription, for as long as the caller's token is valid.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use panpan_failure::Redacted;
use panpan_runtime::{BoxFuture, Subscription};
use serde_json::Value;
use uuid::Uuid;

use crate::limits::Permit;
use crate::metrics::CallMetrics;

/// The items of a subscription. Dropping it stops the operation.
pub struct Items {
    call: Uuid,
    /// `None` once it has ended.
    items: Option<Subscription>,
    call_metrics: Option<CallMetrics>,
    /// Completes when the caller's token is no longer valid.
    token_ended: Option<BoxFuture<'static, Redacted>>,
    _permit: Permit,
}

impl Items {
    pub(crate) fn new(
        items: Subscription,
        call_metrics: CallMetrics,
        permit: Permit,
        token_ended: Option<BoxFuture<'static, Redacted>>,
    ) -> Self {
        Self {
            call: items.call_id(),
            items: Some(items),
            call_metrics: Some(call_metrics),
            token_ended,
            _permit: permit,
        }
    }

    /// The id of the call.
    pub fn call_id(&self) -> Uuid {
        self.call
    }

    fn ended(&mut self, failure: Option<&Redacted>) {
        self.items = None;
        self.token_ended = None;
        if let Some(call_metrics) = self.call_metrics.take() {
            call_metrics.ended(failure);
        }
    }
}

impl Stream for Items {
    type Item = Result<Value, Redacted>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(items) = &mut this.items else {
            return Poll::Ready(None);
        };
        if let Some(token_ended) = &mut this.token_ended
            && let Poll::Ready(failure) = token_ended.as_mut().poll(task)
        {
            this.ended(Some(&failure));
            return Poll::Ready(Some(Err(failure)));
        }
        let polled = Pin::new(items).poll_next(task);
        match &polled {
            Poll::Ready(Some(Err(failure))) => this.ended(Some(failure)),
            Poll::Ready(None) => this.ended(None),
            _ => {}
        }
        polled
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Items");
        shown.field("call", &self.call).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::StreamExt as _;
    use panpan_contract::operation::{OperationSpec, OperationType};
    use panpan_failure::Failure;
    use panpan_runtime::{CallRequest, Context, Registration, Registry};

    use super::*;
    use crate::identity::{NewToken, Tokens};
    use crate::limits::Limits;
    use crate::{Gateway, Surface, testing};

    /// A gateway with an endless subscription that yields one item per second.
    fn gateway() -> (Gateway, Tokens) {
        let spec = OperationSpec::new("test/tick".parse().unwrap(), OperationType::Subscription);
        let open = |context: Context, _: Arc<Value>| {
            futures_util::stream::unfold(context, |context| async {
                context.sleep(1000).await;
                Some((Ok::<_, Failure>(Value::Null), context))
            })
        };
        let operations = Registry::builder().add(Registration::streaming(spec, open));
        testing::gateway(operations, Limits::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_ends_when_its_token_is_revoked() {
        let (gateway, tokens) = gateway();
        let new = NewToken {
            principal: "ann".to_owned(),
            ..NewToken::default()
        };
        let (token, _) = tokens.create(new).await.unwrap();
        let caller = gateway.identify(Some(token.expose()), None).await.unwrap();
        let request = || CallRequest::from_wire("test/tick", Value::Null);
        let mut items = gateway
            .subscribe(Surface::Http, &caller, request())
            .unwrap();
        for _ in 0..20 {
            items.next().await.unwrap().unwrap();
        }
        tokens.revoke("ann").await.unwrap();
        let rest = items.by_ref().take(10).collect::<Vec<_>>().await;
        let failure = rest.last().unwrap().as_ref().unwrap_err();
        assert_eq!(failure.code().as_str(), "FORBIDDEN");
        assert_eq!(failure.details().unwrap()["reason"], "revoked");
        assert!(items.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_without_a_token_continues() {
        let (gateway, _) = gateway();
        let caller = gateway.identify(None, None).await.unwrap();
        let request = CallRequest::from_wire("test/tick", Value::Null);
        let items = gateway.subscribe(Surface::Http, &caller, request).unwrap();
        let yielded = items
            .take(100)
            .filter(|item| std::future::ready(item.is_ok()));
        assert_eq!(yielded.count().await, 100);
    }
}
