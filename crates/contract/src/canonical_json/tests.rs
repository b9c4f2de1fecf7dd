//! The examples of the RFC, vectors of other implementations, and laws over arbitrary values.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(value: &Value) -> String {
    String::from_utf8(canonical_json(value)).expect("canonical JSON is UTF-8")
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn numbers_match_appendix_b() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(text(&json!(f64::from_bits(bits))), expected, "{bits:016x}");
    }
}

#[test]
fn names_are_sorted_as_in_section_3_2_3() {
    let value = parsed(
        r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
    );
    let text = text(&value);
    let order = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small",
        "Euro Sign",
        "Emoji",
        "Hebrew",
    ];
    let places: Vec<_> = order.iter().map(|word| text.find(word).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn literals_and_strings_match_section_3_2_2() {
    let value = parsed(
        r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]}"#,
    );
    assert_eq!(
        text(&value),
        "{\"literals\":[null,true,false],\
         \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
    assert_eq!(
        text(&json!("\u{8}\t\u{c}\r\u{1f}\u{7f}")),
        "\"\\b\\t\\f\\r\\u001f\u{7f}\""
    );
}

#[test]
fn digests_match_other_implementations() {
    for (value, expected) in [
        (json!({"z": 1, "a": 2, "m": 3}), "ebba85cfdc0a724b"),
        (json!({"a": {"b": 1}}), "815ce69073bf37a7"),
        (json!({}), "44136fa355b3678a"),
        (json!([]), "4f53cda18c2baa0c"),
        (json!(null), "74234e98afe7498f"),
        (json!("Alice"), "1ea1f9a444bb86b5"),
        (
            json!({"url": "https://api.example.com/data", "method": "GET"}),
            "910d0f3fc915",
        ),
        (
            json!({"data": {"a": {"b": 1}}, "operation": "extract", "path": "$.a.b"}),
            "814391443b1d",
        ),
    ] {
        assert!(hex(&digest(&value)).starts_with(expected), "{value}");
    }
}

/// Python keeps the fraction of `1.0` and gives 526ca8e229b28e17. Here, as in the RFC, it equals 1,
/// so a caller that sends 1.0 the second time has sent the same input.
#[test]
fn an_integral_float_equals_the_integer() {
    let float = json!({"e": "é", "f": 1.0, "l": [3, 1, 2], "n": null});
    let whole = json!({"e": "é", "f": 1, "l": [3, 1, 2], "n": null});
    assert_eq!(text(&float), r#"{"e":"é","f":1,"l":[3,1,2],"n":null}"#);
    assert_eq!(digest(&float), digest(&whole));
    assert!(
        hex(&digest(&float)).starts_with("be760f8273906767"),
        "{}",
        hex(&digest(&float))
    );
}

#[test]
fn integers_beyond_two_to_the_53rd_keep_every_digit() {
    for (number, expected) in [
        ("9007199254740993", "9007199254740993"),
        ("-9007199254740993", "-9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1152921504606847000", "1152921504606847000"),
        ("1152921504606846976.0", "1152921504606846976"),
        ("-9223372036854777856", "-9223372036854777856"),
        ("18446744073709551616", "18446744073709552000"),
    ] {
        assert_eq!(text(&parsed(number)), expected);
    }
}

#[test]
fn deep_values_do_not_overflow_the_stack() {
    let mut value = json!(1);
    for depth in 0..200_000 {
        value = if depth % 2 == 0 {
            Value::Array(vec![value])
        } else {
            Value::Object([("a".to_owned(), value)].into_iter().collect())
        };
    }
    assert_eq!(canonical_json(&value).len(), 1 + 100_000 * 2 + 100_000 * 6);
    while let Some(inner) = take_inner(&mut value) {
        value = inner;
    }
}

/// Takes a value apart from the outside, because dropping it recurses.
fn take_inner(value: &mut Value) -> Option<Value> {
    match value {
        Value::Array(items) => items.pop(),
        Value::Object(members) => members.remove("a"),
        _ => None,
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6_f64)
            .prop_filter("a fraction", |it| it.fract() != 0.0)
            .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_canonical_form_round_trips(value in any_value()) {
        let once = canonical_json(&value);
        let read: Value = serde_json::from_slice(&once).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(canonical_json(&read), once);
    }

    #[test]
    fn the_canonical_form_of_any_float_is_stable(bits in any::<u64>()) {
        let float = f64::from_bits(bits);
        prop_assume!(float.is_finite());
        let once = canonical_json(&json!(float));
        let read: Value = serde_json::from_slice(&once).unwrap();
        prop_assert_eq!(read.as_f64(), Some(float));
        prop_assert_eq!(canonical_json(&read), once);
    }

    #[test]
    fn the_order_of_members_does_not_matter(
        members in prop::collection::vec((".{0,4}", scalar()), 0..8),
        shift in 0_usize..8,
    ) {
        let unique: std::collections::BTreeMap<_, _> = members.into_iter().collect();
        let mut members: Vec<_> = unique.into_iter().collect();
        let one: Value = Value::Object(members.iter().cloned().collect());
        let middle = shift.min(members.len());
        members.rotate_left(middle);
        prop_assert_eq!(canonical_json(&one), canonical_json(&Value::Object(members.into_iter().collect())));
    }
}
