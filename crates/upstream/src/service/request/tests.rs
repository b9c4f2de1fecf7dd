//! Every style at every place, as in the OpenAPI specification.

use serde_json::json;

use super::*;

fn binding(path: &str, parameters: Value, body: Value) -> HttpBinding {
    serde_json::from_value(json!({
        "method": "POST", "path": path, "parameters": parameters, "body": body,
    }))
    .unwrap()
}

fn parameter(place: &str, style: &str, explode: bool) -> Value {
    json!({"name": "color", "wire_name": "color", "place": place, "style": style, "explode": explode})
}

fn built(binding: &HttpBinding, input: &Value) -> Result<RequestParts, String> {
    let base = Url::parse("https://api.example.com/v1/").unwrap();
    let address = Address::new(binding, base);
    build(binding, &address, HeaderMap::new(), input).map_err(|it| it.pointer)
}

#[test]
fn every_style_matches_the_specification() {
    let text = json!("blue");
    let list = json!(["blue", "black", "brown"]);
    let object = json!({"B": 150, "G": 200, "R": 100});
    for (place, style, explode, value, expected) in [
        ("path", "simple", false, &text, "/blue"),
        ("path", "simple", false, &list, "/blue,black,brown"),
        ("path", "simple", true, &list, "/blue,black,brown"),
        ("path", "simple", false, &object, "/B,150,G,200,R,100"),
        ("path", "simple", true, &object, "/B=150,G=200,R=100"),
        ("path", "label", false, &text, "/.blue"),
        ("path", "label", false, &list, "/.blue,black,brown"),
        ("path", "label", true, &list, "/.blue.black.brown"),
        ("path", "label", true, &object, "/.B=150.G=200.R=100"),
        ("path", "matrix", false, &text, "/;color=blue"),
        ("path", "matrix", false, &list, "/;color=blue,black,brown"),
        (
            "path",
            "matrix",
            true,
            &list,
            "/;color=blue;color=black;color=brown",
        ),
        (
            "path",
            "matrix",
            false,
            &object,
            "/;color=B,150,G,200,R,100",
        ),
        ("path", "matrix", true, &object, "/;B=150;G=200;R=100"),
        ("query", "form", true, &text, "?color=blue"),
        ("query", "form", false, &list, "?color=blue,black,brown"),
        (
            "query",
            "form",
            true,
            &list,
            "?color=blue&color=black&color=brown",
        ),
        ("query", "form", false, &object, "?color=B,150,G,200,R,100"),
        ("query", "form", true, &object, "?B=150&G=200&R=100"),
        (
            "query",
            "spaceDelimited",
            false,
            &list,
            "?color=blue%20black%20brown",
        ),
        (
            "query",
            "pipeDelimited",
            false,
            &list,
            "?color=blue%7Cblack%7Cbrown",
        ),
        (
            "query",
            "deepObject",
            true,
            &object,
            "?color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100",
        ),
    ] {
        let path = if place == "path" { "/{color}" } else { "" };
        let bound = binding(path, json!([parameter(place, style, explode)]), json!(null));
        let url = built(&bound, &json!({"color": value})).unwrap().url;
        let written = url
            .as_str()
            .strip_prefix("https://api.example.com/v1")
            .unwrap();
        assert_eq!(written, expected, "{place} {style} {explode} {value}");
    }
}

#[test]
fn headers_and_cookies_have_plain_values() {
    let parameters = json!([
        {"name": "h", "wire_name": "X-Ids", "place": "header", "style": "simple", "explode": false},
        {"name": "c", "wire_name": "sid", "place": "cookie", "style": "form", "explode": true},
        {"name": "d", "wire_name": "lang", "place": "cookie", "style": "form", "explode": true},
    ]);
    let bound = binding("/a", parameters, json!(null));
    let headers = built(&bound, &json!({"h": [1, "b c"], "c": "x", "d": "de"}))
        .unwrap()
        .headers;
    assert_eq!(headers["x-ids"], "1,b c");
    assert_eq!(headers["cookie"], "sid=x; lang=de");
    assert_eq!(built(&bound, &json!({"h": "a\r\nb: c"})).unwrap_err(), "/h");
}

#[test]
fn no_value_changes_the_path_or_the_host() {
    let parameters = json!([parameter("path", "simple", false)]);
    let bound = binding("/pets/{color}/name", parameters, json!(null));
    for (value, expected) in [
        (json!("a/..b"), Some("/v1/pets/a%2F..b/name")),
        (json!("a/../b"), None),
        (json!("..\\b"), None),
        (json!(["a/..", "b"]), Some("/v1/pets/a%2F..,b/name")),
        (json!(null), None),
        (
            json!("@evil.example"),
            Some("/v1/pets/%40evil.example/name"),
        ),
        (json!("a?b#c"), Some("/v1/pets/a%3Fb%23c/name")),
        (json!("%2e%2e"), Some("/v1/pets/%252e%252e/name")),
        (json!("{color}"), Some("/v1/pets/%7Bcolor%7D/name")),
        (json!(".."), None),
        (json!("."), None),
        (json!(""), None),
    ] {
        let written = built(&bound, &json!({"color": value}));
        let path = written.map(|it| it.url.path().to_owned());
        assert_eq!(path.as_deref().ok(), expected, "{value}");
        assert_eq!(path.is_err(), expected.is_none());
    }
}

fn body(form: &str, media_type: &str, encoding: Value) -> HttpBinding {
    let body =
        json!({"name": "body", "media_type": media_type, "form": form, "encoding": encoding});
    binding("/a", json!([]), body)
}

#[test]
fn a_body_is_written_in_its_form() {
    let form = "application/x-www-form-urlencoded";
    for (bound, value, expected) in [
        (
            body("json", "application/json", json!({})),
            json!({"a": 1}),
            r#"{"a":1}"#,
        ),
        (
            body("json", "application/json", json!({})),
            json!(null),
            "null",
        ),
        (
            body("form", form, json!({})),
            json!({"a": "b c", "d": [1, 2], "e": null}),
            "a=b%20c&d=1&d=2",
        ),
        (
            body("form", form, json!({"o": {"style": "deepObject"}})),
            json!({"o": {"a": {"b": 1}}}),
            "o%5Ba%5D%5Bb%5D=1",
        ),
        (
            body("form", form, json!({"a": {"allow_reserved": true}})),
            json!({"a": "b/c&d", "e": "f/g"}),
            "a=b/c%26d&e=f%2Fg",
        ),
        (
            body(
                "form",
                form,
                json!({"a": {"content_type": "text/plain"}, "b": {"content_type": "application/json"}}),
            ),
            json!({"a": "x", "b": "y"}),
            "a=x&b=%22y%22",
        ),
        (body("text", "text/plain", json!({})), json!("hi"), "hi"),
        (body("bytes", "image/png", json!({})), json!("aGk="), "hi"),
    ] {
        let written = built(&bound, &json!({"body": value})).unwrap();
        assert_eq!(
            written.body.as_deref(),
            Some(expected.as_bytes()),
            "{value}"
        );
        let media_type = &bound.body.as_ref().unwrap().media_type;
        assert_eq!(written.headers["content-type"], media_type.as_str());
    }
    let bytes = body("bytes", "image/png", json!({}));
    assert_eq!(
        built(&bytes, &json!({"body": "not base64!"})).unwrap_err(),
        "/body"
    );
    assert!(built(&bytes, &json!({})).unwrap().body.is_none());
}

#[test]
fn a_multipart_body_has_a_part_for_every_value() {
    let encoding = json!({"file": {"bytes": true, "content_type": "image/png"}, "ids": {}});
    let bound = body("multipart", "multipart/form-data", encoding);
    let input = json!({"body": {"file": "aGk=", "ids": [1, 2], "n\"a": {"x": 1}}});
    let written = built(&bound, &input).unwrap();
    let text = String::from_utf8(written.body.unwrap().to_vec()).unwrap();
    let media_type = written.headers["content-type"].to_str().unwrap();
    let boundary = media_type
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 6, "{text}");
    assert_eq!(parts[5], "--\r\n");
    let file = "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: image/png\r\n\r\nhi\r\n";
    assert_eq!(parts[1], file);
    assert!(parts[3].contains("name=\"ids\"") && parts[3].ends_with("\r\n\r\n2\r\n"));
    assert!(parts[4].contains("name=\"n%22a\"") && parts[4].contains("application/json"));
    let broken = json!({"body": {"file": "?"}});
    assert_eq!(built(&bound, &broken).unwrap_err(), "/body/file");
}

#[test]
fn form_parts_have_their_declared_headers() {
    let with = |name: &str, value: &str| {
        let encoding = json!({"note": {"headers": {name: value}}});
        let bound = body("multipart", "multipart/form-data", encoding);
        built(&bound, &json!({"body": {"note": "hi"}}))
    };
    let written = with("X-Kind", "short note").unwrap().body.unwrap();
    let text = String::from_utf8(written.to_vec()).unwrap();
    let part = "name=\"note\"\r\nContent-Type: text/plain; charset=utf-8\r\nX-Kind: short note\r\n\r\nhi\r\n";
    assert!(text.contains(part), "{text}");
    for (name, value) in [("X-Kind", "a\r\n\r\nb"), ("X Kind", "a"), ("", "a")] {
        assert_eq!(with(name, value).unwrap_err(), "/body/note", "{name:?}");
    }
}

#[test]
fn a_query_string_is_written_in_its_media_type() {
    let form = "application/x-www-form-urlencoded";
    for (media_type, value, expected) in [
        (
            form,
            json!({"a": "b c", "d": [1, 2], "e": null}),
            "a=b%20c&d=1&d=2",
        ),
        (form, json!("a=b"), "a%3Db"),
        ("application/json", json!({"a": 1}), "%7B%22a%22%3A1%7D"),
        ("application/json", json!("a"), "%22a%22"),
        ("text/plain; charset=utf-8", json!("a&b"), "a%26b"),
    ] {
        let mut whole = parameter("querystring", "form", true);
        whole["content"] = json!(media_type);
        let bound = binding("/a", json!([whole]), json!(null));
        let written = built(&bound, &json!({"color": value})).unwrap();
        assert_eq!(written.url.query(), Some(expected), "{media_type} {value}");
    }
}
