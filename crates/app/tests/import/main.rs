//! `panpan import openapi`: the contract, the report, and errors.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod folder;
mod refusals;

use folder::{Folder, SHOP, shop, stderr};
use panpan_contract::contract_file;
use panpan_openapi::WARNINGS_LIMIT;
use serde_json::{Value, json};

const OVERLAY: &str = r"
operations:
  - match: shop/placeOrder
    errors: [{code: SHOP_CLOSED, description: It is night.}]
  - match: shop/drop*
    hide: true
    rename: {HTTP_404: NO_ORDER}
";

#[test]
fn a_document_becomes_a_contract_with_a_report() {
    let folder = shop();
    let output = folder.import("shop.yaml -o shop.contract.json");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let expected = "\
Shop 2.0.1, from shop.yaml as shop/…

  operations   4: 1 query, 2 mutations, 1 subscription
  failures     4 declared by 3 operations: 404 ×2, 429 ×1, 5XX ×1
               none declared by 1 operation:
                 shop/placeOrder
  service      https://shop.example.com
  credentials  key: set PANPAN_CREDENTIAL_SHOP, or credentials in panpan.toml
  warnings     3
    2 × not a status: use 100 to 599, 1XX to 5XX or default; it is ignored
      /paths/~1orders~1{id}/delete/responses/kettle
      /paths/~1orders~1{id}/delete/responses/teapot
    unknown member of an operation: remove it or prefix it with \"x-\"; it is ignored
      /paths/~1orders/post/unknown

wrote shop.contract.json; serve it:
  panpan serve --openapi shop=shop.contract.json
";
    assert_eq!(stderr(&output), expected);
    let contract = contract_file::check(&folder.read("shop.contract.json")).unwrap();
    assert_eq!(contract.service.name, "Shop");
    let names = contract.operations.iter().map(|it| it.name.as_str());
    let expected = [
        "shop/getOrder",
        "shop/dropOrder",
        "shop/placeOrder",
        "shop/news",
    ];
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| expected.iter().position(|it| it == name));
    assert_eq!(names, expected);
}

#[test]
fn stdout_the_file_and_the_report_contain_the_same_contract() {
    let folder = shop();
    assert_eq!(
        folder.import("shop.yaml -o written.json").status.code(),
        Some(0)
    );
    let written: Value = serde_json::from_slice(&folder.read("written.json")).unwrap();
    let printed = folder.import("shop.yaml");
    assert_eq!(printed.stdout, folder.read("written.json"));
    assert!(stderr(&printed).contains("save the contract and serve it:\n  panpan serve"));
    assert_eq!(folder.report("shop.yaml")["contract"], written);
    let separate = folder.report("shop.yaml -o again.json");
    assert_eq!(
        (separate.get("contract"), &separate["output"]),
        (None, &json!("again.json"))
    );
    assert_eq!(folder.read("again.json"), folder.read("written.json"));
    let named = folder.import_from("- --namespace shop", SHOP.as_bytes());
    assert_eq!(named.stdout, folder.read("written.json"));
    assert!(stderr(&named).starts_with("Shop 2.0.1, from stdin as shop/…"));
}

#[test]
fn the_json_report_is_complete() {
    let mut report = shop().report("shop.yaml -o contract.json");
    report.as_object_mut().unwrap().remove("output");
    let odd = "/paths/~1orders~1{id}/delete/responses";
    let expected = json!({
        "service": {"name": "Shop", "version": "2.0.1"},
        "namespace": "shop",
        "operations": {
            "count": 4, "queries": 1, "changes": 2, "streams": 1, "left_out": 0, "hidden": 0,
        },
        "failures": {
            "count": 4,
            "statuses": [
                {"status": 404, "count": 2}, {"status": 429, "count": 1}, {"status": "5XX", "count": 1},
            ],
            "none_declared_by": ["shop/placeOrder"],
        },
        "servers": ["https://shop.example.com"],
        "without_address": 0,
        "credentials": ["key"],
        "warnings": {"count": 3, "is_cut_off": false, "groups": [
            {
                "message": "not a status: use 100 to 599, 1XX to 5XX or default; it is ignored",
                "pointers": [format!("{odd}/kettle"), format!("{odd}/teapot")],
            },
            {
                "message": "unknown member of an operation: remove it or prefix it with \"x-\"; it is ignored",
                "pointers": ["/paths/~1orders/post/unknown"],
            },
        ]},
        "next": "panpan serve --openapi shop=contract.json",
    });
    assert_eq!(report, expected);
}

#[test]
fn filters_select_operations_and_skipped_ones_are_counted() {
    let folder = shop();
    for (flags, count) in [
        ("--include-tag orders", 3),
        ("--include-tag orders --exclude-tag money", 2),
        ("--include-path /orders", 1),
        ("--include-path /orders* --exclude-method delete", 2),
        ("--include-method get --include-method post", 3),
        (
            "--include-operation-id *Order --exclude-operation-id get*",
            2,
        ),
        ("--exclude-path /orders*", 1),
        ("--exclude-path *", 0),
    ] {
        let report = folder.report(&format!("shop.yaml -o contract.json {flags}"));
        let (taken, left_out) = (
            &report["operations"]["count"],
            &report["operations"]["left_out"],
        );
        assert_eq!(
            (taken, left_out),
            (&json!(count), &json!(4 - count)),
            "{flags}"
        );
        contract_file::check(&folder.read("contract.json")).unwrap();
    }
    let output = folder.import("shop.yaml --exclude-path *");
    let text = stderr(&output);
    assert!(
        text.contains("operations   none\n               4 skipped by the filters\n"),
        "{text}"
    );
    let output = folder.import("shop.yaml --include-tag oders");
    assert!(stderr(&output).contains("the filter \"oders\" in tags matches no operation"));
}

#[test]
fn overlays_are_applied_in_order() {
    let more =
        r#"{"operations": [{"match": "shop/*Order", "rename": {"NO_ORDER": "ORDER_GONE"}}]}"#;
    let folder = shop().with("overlay.yaml", OVERLAY).with("more.json", more);
    let report =
        folder.report("shop.yaml -o contract.json --overlay overlay.yaml --overlay more.json");
    assert_eq!(report["operations"]["hidden"], 1);
    assert_eq!(report["failures"]["none_declared_by"], json!([]));
    let statuses = report["failures"]["statuses"].as_array().unwrap();
    assert!(
        statuses.contains(&json!({"status": null, "count": 1})),
        "{statuses:?}"
    );
    let contract = contract_file::check(&folder.read("contract.json")).unwrap();
    let declares = |name: &str, code: &str| {
        let spec = contract
            .operations
            .iter()
            .find(|it| it.name.as_str() == name);
        spec.unwrap().definition(code).is_some()
    };
    assert!(declares("shop/placeOrder", "SHOP_CLOSED"));
    assert!(declares("shop/dropOrder", "ORDER_GONE"));
    assert!(declares("shop/getOrder", "HTTP_404"));
}

#[test]
fn strict_fails_with_warnings_and_writes_nothing() {
    let folder = shop();
    let output = folder.import("shop.yaml --strict -o contract.json");
    let text = stderr(&output);
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(1), 0),
        "{text}"
    );
    assert!(
        text.contains("no contract was written\npanpan: there are warnings"),
        "{text}"
    );
    assert!(!folder.0.path("contract.json").exists());
    let output = folder.import("shop.yaml --strict --json");
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["warnings"]["count"], report.get("contract")),
        (&json!(3), None)
    );
    let output = folder.import("shop.yaml --strict --include-path /news -o contract.json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(folder.0.path("contract.json").exists());
}

#[test]
fn a_document_without_an_absolute_url_needs_one_to_be_served() {
    let (without_url, relative) = (
        SHOP.replace("servers:", "x-servers:"),
        SHOP.replace("https:", ""),
    );
    for (document, about) in [
        (without_url, "service      no URL in the document"),
        (relative, "4 operations without an absolute URL"),
    ] {
        let folder = Folder::new().with("shop.yaml", document);
        let text = stderr(&folder.import("shop.yaml -o contract.json"));
        assert!(text.contains(about), "{text}");
        assert!(
            text.contains("serve it with the URL of the service:\n"),
            "{text}"
        );
        assert!(
            text.ends_with("panpan serve --openapi shop=contract.json@URL\n"),
            "{text}"
        );
    }
}

#[test]
fn long_lists_are_shortened_and_counted() {
    let text = |operations: usize| {
        let operation = |number| {
            (
                format!("/{number}"),
                json!({"get": {"odd": 1, "responses": {}}}),
            )
        };
        let paths: serde_json::Map<_, _> = (0..operations).map(operation).collect();
        let document = json!({"openapi": "3.1.0", "info": {"title": "Many"}, "paths": paths});
        let folder = Folder::new().with("many.json", document.to_string());
        stderr(&folder.import("many.json -o contract.json"))
    };
    let few = text(6);
    assert!(few.starts_with("Many without a version, from"), "{few}");
    assert!(
        few.contains("many/get_5") && !few.contains("                 and"),
        "{few}"
    );
    let many = text(7);
    assert!(
        many.contains("                 and 1 more\n") && !many.contains("many/get_6"),
        "{many}"
    );
    assert!(
        many.contains("    7 × unknown member") && many.contains("      and 5 more\n"),
        "{many}"
    );
    assert!(text(WARNINGS_LIMIT).contains(&format!("warnings     {WARNINGS_LIMIT}\n")));
    assert!(
        text(WARNINGS_LIMIT + 1).contains(&format!("warnings     more than {WARNINGS_LIMIT}\n"))
    );
}

#[test]
fn control_characters_in_a_document_are_escaped() {
    let document = SHOP.replace("title: Shop", r#"title: "Sh\e[2J\nop""#);
    let output = Folder::new()
        .with("shop.yaml", document)
        .import("shop.yaml -o contract.json");
    let text = stderr(&output);
    assert!(text.starts_with("Sh\\u001b[2J\\nop 2.0.1"), "{text}");
}
