//! A temporary folder with a small OpenAPI document, in which the program runs.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// A temporary folder; the program runs in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-import-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.0.join(name), content).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    pub(crate) fn import(&self, arguments: &str) -> Output {
        self.import_from(arguments, b"")
    }

    pub(crate) fn import_from(&self, arguments: &str, input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_panpan"))
            .args(["import", "openapi"])
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that stops reading closes the pipe; its output is tested all the same.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// The report of `--json`.
    pub(crate) fn report(&self, arguments: &str) -> Value {
        let output = self.import(&format!("{arguments} --json"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
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
