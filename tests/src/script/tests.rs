//! Tests of the scripted agent's own parts; whole stories are played in `tests/scripted.rs`.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

#[test]
fn a_part_is_contained_when_every_field_of_it_is() {
    let check = |whole: Value, part: Value, expected: bool| {
        assert_eq!(text::contains(&whole, &part), expected, "{whole} {part}");
    };
    check(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}), true);
    check(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), false);
    check(json!({"a": [1, {"b": 2, "c": 3}]}), json!({"a": [1, {"b": 2}]}), true);
    check(json!({"a": [1, 2]}), json!({"a": [1]}), false);
    check(json!({"a": 1}), json!(null), true);
    check(json!({}), json!({"a": null}), false);
}

#[test]
fn names_and_numbers_are_filled_in() {
    let names = BTreeMap::from([("S".to_string(), "short".to_string()), ("SESSION".into(), "s-1".into())]);
    let filled = text::substitute(&json!({"a": ["$SESSION/$S", 1], "$S": "$NONE"}), &names);
    assert_eq!(filled, json!({"a": ["s-1/short", 1], "$S": "$NONE"}));
    assert_eq!(text::numbered("<%06d>", 42), "<000042>");
    assert_eq!(text::numbered("%d!", 7), "7!");
    assert_eq!(text::numbered("100% done", 7), "100% done");
}

#[test]
fn base64_is_decoded() {
    assert_eq!(text::base64("aGVsbG8=").as_deref(), Ok(&b"hello"[..]));
    assert_eq!(text::base64("/+8A").as_deref(), Ok(&[0xff, 0xef, 0x00][..]));
    assert!(text::base64("a*b").is_err());
}

#[test]
fn a_step_file_is_an_array_or_one_step_a_line() {
    let steps = vec![json!({"exit": 0}), json!({"exit": 1})];
    assert_eq!(parse("[{\"exit\":0},\n{\"exit\":1}]").expect("an array"), steps);
    assert_eq!(parse("{\"exit\":0}\n\n{\"exit\":1}\n").expect("lines"), steps);
    assert!(parse("{\"exit\":").is_err());
}
