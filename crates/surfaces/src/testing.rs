//! The gateway of unit tests.

use panpan_runtime::Builder;
use panpan_testkit::{TestDispatcher, dispatcher};

use crate::gateway::{Anonymous, Gateway};
use crate::identity::Tokens;
use crate::limits::Limits;

/// A gateway in front of these operations, which serves everyone.
pub(crate) fn gateway(operations: Builder, limits: Limits) -> (Gateway, Tokens) {
    let TestDispatcher {
        dispatcher,
        store,
        clock,
        ..
    } = dispatcher(operations);
    let tokens = Tokens::new(store, clock);
    let gateway = Gateway::new(dispatcher, tokens.clone(), Anonymous::Served, limits);
    (gateway, tokens)
}
