//! Both sides of every limit: a value at the limit works, one beyond it is refused with its code.

use panpan_runtime::NESTED_SUBSCHEMAS_LIMIT;
use serde_json::{Value, json};

use super::super::document::{BYTES_LIMIT, DEPTH_LIMIT, ITEMS_LIMIT};
use super::super::path::{LENGTH_LIMIT, NESTING_LIMIT};
use super::super::schema::SCHEMA_BYTES_LIMIT;
use super::{input, transform};

async fn check(what: &str, call: Value, refused_with: Option<&str>) {
    let answer = transform(call).await;
    let code = answer.as_ref().err().map(|failure| failure.code().as_str());
    let message = answer.as_ref().err().map(|failure| failure.message());
    assert_eq!(code, refused_with, "{what}: {message:?}");
}

/// Extracts one item, so that only reading is tested.
fn last(data: Value) -> Value {
    input("extract", data, json!({"path": "$[-1]"}))
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn the_size_the_depth_and_the_lists_of_a_document_are_limited() {
    // Two bytes each: the limit is in bytes, not in characters.
    let list = |bytes: usize| json!(["é".repeat((bytes - r#"["",0]"#.len()) / 2), 0]);
    let size = Some("ERR_JSON_SIZE_EXCEEDED");
    check("value", last(list(BYTES_LIMIT)), None).await;
    check("value", last(list(BYTES_LIMIT + 2)), size).await;
    let text = |bytes: usize| json!(list(bytes).to_string());
    check("text", last(text(BYTES_LIMIT)), None).await;
    check("text", last(text(BYTES_LIMIT + 2)), size).await;

    let parsed = |depth: usize| serde_json::from_str(&nested(depth)).unwrap();
    let depth = Some("ERR_JSON_DEPTH_EXCEEDED");
    check("deep text", last(json!(nested(DEPTH_LIMIT))), None).await;
    check("deep text", last(json!(nested(DEPTH_LIMIT + 1))), depth).await;
    check("deep value", last(parsed(DEPTH_LIMIT)), None).await;
    check("deep value", last(parsed(DEPTH_LIMIT + 1)), depth).await;

    check("list", last(json!(vec![0; ITEMS_LIMIT])), None).await;
    check("list", last(json!(vec![0; ITEMS_LIMIT + 1])), size).await;
}

#[tokio::test]
async fn merged_objects_have_the_same_limits() {
    let merge = |with: Value| input("merge", json!({}), json!({"merge_with": {"a": with}}));
    check("list", merge(json!(vec![0; ITEMS_LIMIT])), None).await;
    let size = Some("ERR_JSON_SIZE_EXCEEDED");
    check("list", merge(json!(vec![0; ITEMS_LIMIT + 1])), size).await;
    let text = |bytes: usize| "a".repeat(bytes);
    let both = |bytes: usize| {
        let added = json!({"merge_with": {"b": text(bytes)}});
        input("merge", json!({"a": text(BYTES_LIMIT / 2)}), added)
    };
    let names = r#"{"a":"","b":""}"#.len();
    check("sum", both(BYTES_LIMIT / 2 - names), None).await;
    check("sum", both(BYTES_LIMIT / 2 - names + 1), size).await;
}

#[tokio::test]
async fn a_result_has_the_limits_of_a_document() {
    let size = Some("ERR_JSON_SIZE_EXCEEDED");
    let lists = |items: usize| json!([vec![0; ITEMS_LIMIT / 2], vec![0; items - ITEMS_LIMIT / 2]]);
    for (items, refused) in [(ITEMS_LIMIT, None), (ITEMS_LIMIT + 1, size)] {
        check(
            "flatten",
            input("flatten", lists(items), json!({})),
            refused,
        )
        .await;
        let path = json!({"path": "$[*][*]"});
        check("extract", input("extract", lists(items), path), refused).await;
    }
    // Selected twice, a text of half the limit exceeds it, because quotes, comma and brackets count.
    let text = |bytes: usize| json!(["a".repeat(bytes)]);
    let twice = |bytes: usize| input("extract", text(bytes), json!({"path": "$[0,0]"}));
    check("twice", twice(BYTES_LIMIT / 2 - 4), None).await;
    check("twice", twice(BYTES_LIMIT / 2 - 3), size).await;
}

#[tokio::test]
async fn the_length_and_the_nesting_of_a_path_are_limited() {
    let path = Some("ERR_JSON_PATH_INVALID");
    let long = |bytes: usize| json!({"path": format!("$..{}", "a".repeat(bytes - 3))});
    check(
        "long",
        input("extract", json!({}), long(LENGTH_LIMIT)),
        None,
    )
    .await;
    check(
        "long",
        input("extract", json!({}), long(LENGTH_LIMIT + 1)),
        path,
    )
    .await;
    let nested = |levels: usize| {
        let inner = levels - 1;
        json!({"path": format!("$[?{}@.a{}]", "@[?".repeat(inner), "]".repeat(inner))})
    };
    check(
        "nested",
        input("extract", json!([]), nested(NESTING_LIMIT)),
        None,
    )
    .await;
    check(
        "nested",
        input("extract", json!([]), nested(NESTING_LIMIT + 1)),
        path,
    )
    .await;
    let quoted = json!({"path": format!("$..['{}\\'[']", "[".repeat(NESTING_LIMIT + 1))});
    check("in a string", input("extract", json!({}), quoted), None).await;
}

#[tokio::test]
async fn an_expensive_path_is_refused_only_on_large_data() {
    let failed = Some("ERR_JSON_TRANSFORM_FAILED");
    let wide = |items: usize| json!(vec![json!({"a": 1}); items]);
    for (path, items, refused) in [
        ("$..a", 50_000, None),
        ("$[?@.a == 1]", 50_000, None),
        ("$[?count($..a) > 1]", 500, None),
        ("$[?count($..a) > 1]", 50_000, failed),
        ("$[?count($[?count($..a) > 1]) > 1]", 500, failed),
    ] {
        let call = input("extract", wide(items), json!({"path": path}));
        check(path, call, refused).await;
    }
    let deep: Value = serde_json::from_str(&nested(DEPTH_LIMIT)).unwrap();
    for (path, refused) in [("$..*..*", None), ("$..*..*..*..*..*", failed)] {
        let call = input("extract", deep.clone(), json!({"path": path}));
        check(path, call, refused).await;
    }
}

#[tokio::test]
async fn the_number_the_length_the_size_and_the_text_of_patterns_are_limited() {
    let path = Some("ERR_JSON_PATH_INVALID");
    let patterns = |count: usize| {
        let items: Vec<Value> = (0..count)
            .map(|it| json!({"p": format!("a{it}")}))
            .collect();
        input(
            "extract",
            json!(items),
            json!({"path": "$[?match(@.p, @.p)]"}),
        )
    };
    check("number", patterns(64), None).await;
    check("number", patterns(65), path).await;
    let length = |bytes: usize| {
        let data = json!([{"p": "a".repeat(bytes)}]);
        input("extract", data, json!({"path": "$[?match(@.p, @.p)]"}))
    };
    check("length", length(1000), None).await;
    check("length", length(1001), path).await;
    let size = |pattern: &str| {
        let path = format!("$[?match(@, '{pattern}')]");
        input("extract", json!(["a"]), json!({"path": path}))
    };
    check("size", size("a{1000}"), None).await;
    check("size", size("(a{1000}){1000}"), path).await;
    let searches = |times: usize, data: Value, operation: &str, text: &str| {
        let test = vec![format!("search({text}, 'b')"); times].join(" || ");
        let path = format!("$[?{test}]");
        input(operation, data, json!({"path": path}))
    };
    let data = || json!([{"s": "a".repeat(1024 * 1024)}]);
    check("text", searches(20, data(), "extract", "@.s"), None).await;
    check("text", searches(21, data(), "extract", "@.s"), path).await;
    // All items together.
    let data = || json!(vec![vec!["a".repeat(200 * 1024)]; 10]);
    check("items", searches(10, data(), "map", "@"), None).await;
    check("items", searches(11, data(), "map", "@"), path).await;
}

#[tokio::test]
async fn the_size_the_nesting_and_the_work_of_a_schema_are_limited() {
    let failed = Some("ERR_JSON_TRANSFORM_FAILED");
    let validate = |data: Value, schema: Value| input("validate", data, json!({"schema": schema}));
    let large = |bytes: usize| {
        let around = json!({"title": ""}).to_string().len();
        json!({"title": "a".repeat(bytes - around)})
    };
    check("large", validate(json!(1), large(SCHEMA_BYTES_LIMIT)), None).await;
    check(
        "large",
        validate(json!(1), large(SCHEMA_BYTES_LIMIT + 1)),
        failed,
    )
    .await;

    let deep = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"$defs": inner}));
    let depth = Some("ERR_JSON_DEPTH_EXCEEDED");
    check("deep", validate(json!(1), deep(DEPTH_LIMIT)), None).await;
    check("deep", validate(json!(1), deep(DEPTH_LIMIT + 1)), depth).await;

    // A chain of definitions, each of which refers to the next.
    let chain = |length: usize| {
        let next = |it: usize| json!({"$ref": format!("#/$defs/{}", it + 1)});
        let mut all: serde_json::Map<String, Value> =
            (1..length).map(|it| (it.to_string(), next(it))).collect();
        all.insert(length.to_string(), json!({"type": "integer"}));
        json!({"$defs": all, "$ref": "#/$defs/1"})
    };
    check(
        "nested",
        validate(json!(1), chain(NESTED_SUBSCHEMAS_LIMIT - 1)),
        None,
    )
    .await;
    check(
        "nested",
        validate(json!(1), chain(NESTED_SUBSCHEMAS_LIMIT)),
        failed,
    )
    .await;

    // Each level applies the next one twice.
    let doubling = |levels: usize| {
        let twice = |it: usize| json!([{"$ref": format!("#/$defs/{it}")}, {"$ref": format!("#/$defs/{it}")}]);
        let all: serde_json::Map<String, Value> = (1..=levels)
            .map(|it| (it.to_string(), json!({"allOf": twice(it - 1)})))
            .chain([("0".to_owned(), json!({"type": "integer"}))])
            .collect();
        json!({"$defs": all, "$ref": format!("#/$defs/{levels}")})
    };
    check("doubling", validate(json!(1), doubling(10)), None).await;
    check("doubling", validate(json!(1), doubling(40)), failed).await;
}

#[tokio::test]
async fn a_recursive_schema_is_refused_only_if_its_work_multiplies() {
    let failed = Some("ERR_JSON_TRANSFORM_FAILED");
    let tree =
        |depth: usize| (0..depth).fold(json!({"v": 1}), |below, _| json!({"v": 1, "l": below}));
    let node = |below: Value| json!({"required": ["v"], "properties": {"l": below, "r": below}, "additionalProperties": {"type": "integer"}});
    let validate =
        |depth: usize, schema: Value| input("validate", tree(depth), json!({"schema": schema}));
    let own = node(json!({"$ref": "#"}));
    check("a tree", validate(DEPTH_LIMIT - 1, own), None).await;
    let either = node(json!({"anyOf": [{"$ref": "#", "required": ["x"]}, {"$ref": "#"}]}));
    check("shallow", validate(5, either.clone()), None).await;
    check("deep", validate(60, either), failed).await;
}

#[tokio::test]
async fn the_first_violations_of_large_data_are_listed() {
    // Each item is one step, and with its comma two bytes of text.
    let numbers = |count: usize| json!(vec![vec![0; 100]; count / 100]);
    let plain = json!({"items": {"items": {"type": "string"}}});
    let either = json!({"items": {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    for (schema, count) in [
        (&plain, 100_000),
        (&plain, 1_000_000),
        (&either, 10_000),
        (&either, 100_000),
    ] {
        let call = input("validate", numbers(count), json!({"schema": schema}));
        let failure = transform(call).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_JSON_SCHEMA_MISMATCH");
        let found = (
            failure.violations().len(),
            &*failure.violations()[0].pointer,
        );
        assert_eq!(found, (100, "/data/0/0"), "{schema} {count}");
        assert_eq!(failure.details().unwrap()["violations_limit"], json!(100));
        assert!(!failure.recovery().alternatives.is_empty());
    }
}
