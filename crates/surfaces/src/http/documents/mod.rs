//! What a caller may call, as a document: `/openapi.json` and `/contract.json`.
//!
//! A document of thousands of operations takes long to write, so it is written once for all callers who
//! see the same, one at a time, and given away as it is until there are other operations.

mod kept;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use panpan_contract::contract_file::{ContractFile, FormatVersion, Service};
use panpan_contract::operation::OperationSpec;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};
use panpan_runtime::Operation;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::service::identified;
use super::{HttpState, answer};
use crate::caller::Caller;
pub(super) use kept::Documents;

/// Which document is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    OpenApi,
    Contract,
}

/// A document that is written.
#[derive(Clone, Debug)]
struct Document {
    bytes: Bytes,
    /// Other bytes have another one.
    tag: HeaderValue,
}

/// `GET /openapi.json`: the operations this caller may call, for readers of OpenAPI.
pub(super) async fn openapi(State(state): State<HttpState>, request: Request) -> Response {
    documented(&state, request, Form::OpenApi).await
}

/// `GET /contract.json`: the same as a contract file.
pub(super) async fn contract(State(state): State<HttpState>, request: Request) -> Response {
    documented(&state, request, Form::Contract).await
}

async fn documented(state: &HttpState, request: Request, form: Form) -> Response {
    let admitted = identified(request.extensions())
        .and_then(|caller| state.0.gateway.take_share(&caller).map(|()| caller));
    let document = match admitted {
        Ok(caller) => document(state, &caller, form).await,
        Err(failure) => Err(failure),
    };
    match document {
        Ok(document) => document.answered(request.headers()),
        Err(failure) => answer::turned_away(state, Dialect::Problem, failure),
    }
}

async fn document(state: &HttpState, caller: &Caller, form: Form) -> Result<Document, Failure> {
    let gateway = &state.0.gateway;
    let registry = gateway.dispatcher().registry();
    let callable = gateway.callable(caller);
    let documents = &state.0.documents;
    let place = documents.place(&registry, form, digest(&callable));
    let written = documents.written(place, move || Document::of(form, &callable));
    let lost = || Failure::new(codes::INTERNAL).with_message("the document could not be written");
    written.await.ok_or_else(lost)
}

/// Stands for a set of operations of one registry, where no two have the same name.
fn digest(operations: &[Arc<Operation>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for operation in operations {
        digest.update(operation.name().as_str());
        digest.update([0]);
    }
    digest.finalize().into()
}

impl Document {
    fn of(form: Form, operations: &[Arc<Operation>]) -> Self {
        let text = match form {
            Form::OpenApi => openapi_text(operations),
            Form::Contract => contract_text(operations),
        };
        let digest: [u8; 16] = Sha256::digest(&text)[..16]
            .try_into()
            .expect("a digest is longer than this");
        let tag = format!("\"{:032x}\"", u128::from_be_bytes(digest));
        Self {
            bytes: text.into(),
            tag: HeaderValue::from_str(&tag).expect("digits and quotes stand in headers"),
        }
    }

    /// The answer to a request with these headers: nothing but that it is the same, to whoever has it.
    fn answered(self, headers: &HeaderMap) -> Response {
        let mut response = match is_had(headers, &self.tag) {
            true => {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            false => answer::json_of(self.bytes),
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag);
        // Each caller sees what it may call, and what that is may change at any time.
        let kept_by_the_caller = HeaderValue::from_static("private, no-cache");
        headers.insert(CACHE_CONTROL, kept_by_the_caller);
        headers.append(VARY, HeaderValue::from_static("authorization"));
        response
    }
}

/// Whether a request says that its sender has the document with this tag.
fn is_had(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let said = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut said = said.filter_map(|it| it.to_str().ok());
    said.any(|list| {
        let mut tags = list.split(',').map(str::trim);
        tags.any(|it| it == "*" || it.strip_prefix("W/").unwrap_or(it) == tag)
    })
}

fn openapi_text(operations: &[Arc<Operation>]) -> String {
    let about = panpan_openapi::About {
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
    serde_json::to_string(&file).expect("names are strings, and writing to memory does not fail")
}

/// A contract file, its operations as they stand in the registry.
#[derive(Serialize)]
struct Contract<'a> {
    panpan: FormatVersion,
    service: Service,
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
    fn whoever_has_the_document_is_told_so() {
        let tag = HeaderValue::from_static("\"1a\"");
        for (said, had) in [
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
            let said = said
                .iter()
                .map(|&it| (IF_NONE_MATCH, HeaderValue::from_static(it)));
            let headers = said.fold(HeaderMap::new(), |mut headers, (name, value)| {
                headers.append(name, value);
                headers
            });
            assert_eq!(is_had(&headers, &tag), had, "{headers:?}");
        }
    }
}
