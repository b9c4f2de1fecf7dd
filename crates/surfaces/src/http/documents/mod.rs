//! Handlers of `/openapi.json` and `/contract.json`: the operations that a caller may call, as a document.
//!
//! Writing thousands of operations takes long, so a document is written once for all callers that see the same
//! operations, and cached until the operations change.

mod cache;

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use panpan_contract::contract_file::{ContractFile, FormatVersion, ServiceInfo};
use panpan_contract::operation::OperationSpec;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};
use panpan_runtime::Operation;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::service::identified;
use super::{HttpState, response};
use crate::caller::Caller;
use crate::gateway::Surface;
pub(super) use cache::DocumentCache;

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenApi,
    Contract,
}

/// A serialized document.
#[derive(Clone, Debug)]
struct Document {
    bytes: Bytes,
    /// The entity tag, a hash of the bytes.
    etag: HeaderValue,
}

/// The handler of `GET /openapi.json` or `GET /contract.json`: the operations that the caller may call.
pub(super) async fn respond(state: HttpState, request: Request, format: Format) -> Response {
    let admitted = identified(request.extensions())
        .and_then(|caller| state.0.gateway.take_call(&caller).map(|()| caller));
    let document = match admitted {
        Ok(caller) => document(&state, &caller, format).await,
        Err(failure) => Err(failure),
    };
    match document {
        Ok(document) => document.response(request.headers()),
        Err(failure) => response::refused_unread(&state, Surface::Http, Dialect::Problem, failure),
    }
}

async fn document(state: &HttpState, caller: &Caller, format: Format) -> Result<Document, Failure> {
    let gateway = &state.0.gateway;
    let registry = gateway.dispatcher().registry();
    let callable = gateway.callable(caller);
    let documents = &state.0.documents;
    let slot = documents.slot(&registry, format, digest(&callable));
    let document = documents.get_or_write(slot, move || Document::new(format, &callable));
    let failed = || Failure::new(codes::INTERNAL).with_message("the document could not be written");
    document.await.ok_or_else(failed)
}

/// Identifies a set of operations of one registry, in which names are unique.
fn digest(operations: &[Arc<Operation>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for operation in operations {
        digest.update(operation.name().as_str());
        digest.update([0]);
    }
    digest.finalize().into()
}

impl Document {
    fn new(format: Format, operations: &[Arc<Operation>]) -> Self {
        let text = match format {
            Format::OpenApi => openapi_text(operations),
            Format::Contract => contract_text(operations),
        };
        let digest: [u8; 16] = Sha256::digest(&text)[..16]
            .try_into()
            .expect("a digest is longer than this");
        let etag = format!("\"{:032x}\"", u128::from_be_bytes(digest));
        Self {
            bytes: text.into(),
            etag: HeaderValue::from_str(&etag).expect("hex digits and quotes are valid in headers"),
        }
    }

    /// The response to a request with these headers; 304 if the client has this version.
    fn response(self, headers: &HeaderMap) -> Response {
        let mut response = match matches_etag(headers, &self.etag) {
            true => {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            false => response::json_bytes(self.bytes),
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag);
        // Each caller sees only the operations that it may call, and they may change at any time.
        let private = HeaderValue::from_static("private, no-cache");
        headers.insert(CACHE_CONTROL, private);
        headers.append(VARY, HeaderValue::from_static("authorization"));
        response
    }
}

/// Whether `If-None-Match` lists this entity tag.
fn matches_etag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut lists = lists.filter_map(|it| it.to_str().ok());
    lists.any(|list| {
        let mut tags = list.split(',').map(str::trim);
        tags.any(|it| it == "*" || it.strip_prefix("W/").unwrap_or(it) == etag)
    })
}

fn openapi_text(operations: &[Arc<Operation>]) -> String {
    let about = panpan_openapi::DocumentInfo {
        title: "panpan",
        version: env!("CARGO_PKG_VERSION"),
        server: None,
    };
    panpan_openapi::export_text(operations.iter().map(|it| it.spec()), &about)
}

fn contract_text(operations: &[Arc<Operation>]) -> String {
    let ContractFile {
        panpan, service, ..
    } = ContractFile::new("panpan");
    let file = Contract {
        panpan,
        service,
        operations: Specs(operations),
    };
    serde_json::to_string(&file)
        .expect("member names are strings, and writing to memory cannot fail")
}

/// A contract file that borrows its operations from the registry.
#[derive(Serialize)]
struct Contract<'a> {
    panpan: FormatVersion,
    service: ServiceInfo,
    operations: Specs<'a>,
}

struct Specs<'a>(&'a [Arc<Operation>]);

impl Serialize for Specs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let specs = self.0.iter().map(|it| -> &OperationSpec { it.spec() });
        serializer.collect_seq(specs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_entity_tag_matches() {
        let etag = HeaderValue::from_static("\"1a\"");
        for (values, matches) in [
            (&[][..], false),
            (&["\"1a\""], true),
            (&["W/\"1a\""], true),
            (&["\"2b\", \"1a\""], true),
            (&["\"2b\"", "\"1a\""], true),
            (&["*"], true),
            (&["\"2b\""], false),
            (&["1a"], false),
            (&[""], false),
        ] {
            let values = values
                .iter()
                .map(|&it| (IF_NONE_MATCH, HeaderValue::from_static(it)));
            let headers = values.fold(HeaderMap::new(), |mut headers, (name, value)| {
                headers.append(name, value);
                headers
            });
            assert_eq!(matches_etag(&headers, &etag), matches, "{headers:?}");
        }
    }
}
