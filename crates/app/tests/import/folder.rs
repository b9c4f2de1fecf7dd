//! A temporary folder with a small OpenAPI document, in which the program runs.

use std::process::Output;

use panpan_testkit::run;
pub(crate) use panpan_testkit::stderr;
use serde_json::Value;

/// A temporary folder; the program runs in it.
pub(crate) struct Folder(pub(crate) panpan_testkit::Folder);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(panpan_testkit::Folder::new())
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.0.file(name, content);
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path(name)).unwrap()
    }

    pub(crate) fn import(&self, arguments: &str) -> Output {
        self.import_from(arguments, b"")
    }

    pub(crate) fn import_from(&self, arguments: &str, input: &[u8]) -> Output {
        let mut command = self.0.panpan(&["import", "openapi"]);
        run(command.args(arguments.split_whitespace()), input)
    }

    /// The report of `--json`.
    pub(crate) fn report(&self, arguments: &str) -> Value {
        let output = self.import(&format!("{arguments} --json"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A query, two mutations and a subscription, with three warnings of two kinds.
pub(crate) const SHOP: &str = r"
openapi: 3.1.0
info: {title: Shop, version: 2.0.1}
servers: [{url: https://shop.example.com}]
security: [{key: []}]
paths:
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      operationId: getOrder
      tags: [orders]
      responses:
        200: {description: An order.}
        404: {description: There is no such order.}
        429: {description: Too many requests.}
    delete:
      operationId: dropOrder
      tags: [orders]
      responses:
        204: {description: Gone.}
        404: {description: There is no such order.}
        teapot: {description: Odd.}
        kettle: {description: Odd.}
  /orders:
    post:
      operationId: placeOrder
      tags: [orders, money]
      unknown: 1
      responses: {201: {description: Placed.}}
  /news:
    get:
      operationId: news
      responses:
        200: {description: News., content: {text/event-stream: {schema: {type: string}}}}
        5XX: {description: Broken.}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
";

pub(crate) fn shop() -> Folder {
    Folder::new().with("shop.yaml", SHOP)
}
