//! The server in one process, over pipes and over real connections of the loopback address.

mod asking;
mod blocks;
mod forms;
mod http;
mod lending;
mod pipe;
mod returning;
mod stopping;
mod support;
mod taking_back;
mod telling;
mod wire;

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::Failure;
use panpan_runtime::{Builder, Context, Handler, Registry};
use rmcp::ServiceExt;
use serde_json::{Value, json};

use super::ToolForm;
use support::{echo, gateway, mutation, query, served, watched};
