//! The server in one process, over stdio and over HTTP on the loopback address.

mod cancellation;
mod content;
mod elicitation;
mod elicitation_cancelled;
mod features;
mod gateway_tools;
mod http;
mod http_client;
mod notifications;
mod resume;
mod stdio;
mod support;
mod tasks;

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::Failure;
use panpan_runtime::{Builder, Context, Handler, Registry};
use rmcp::ServiceExt;
use serde_json::{Value, json};

use super::ToolForm;
use support::{echo, gateway, mutation, query, served, watched};
