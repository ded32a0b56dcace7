//! Outputs against docs/engine-schema.json.

use serde_json::Value;

/// Checks a value against one of the definitions of the schema.
pub(crate) fn assert_follows_schema(value: &Value, definition: &str) {
    let text = include_str!("../../../docs/engine-schema.json");
    let root: Value = serde_json::from_str(text).unwrap();
    let schema = &root["$defs"][definition];
    assert!(schema.is_object(), "no definition {definition}");
    check(&root, schema, value, definition);
}

/// The part of JSON Schema that the schema uses: every property is known and required.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        return check(root, &root["$defs"][name], &without_own(root, schema, value, at), at);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choice = choices.iter().find(|choice| (choice["type"] == "null") == value.is_null());
        return check(root, choice.unwrap(), value, at);
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let fits =
        kinds.iter().any(|wanted| wanted == kind || (wanted == "number" && kind == "integer"));
    assert!(fits, "{at} is {kind}, the schema says {kinds:?}");
    if let Some(choices) = schema["enum"].as_array() {
        assert!(choices.contains(value), "{at} is {value}, not one of {choices:?}");
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{at}[{n}]"));
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{at} has no {name}");
        }
        for (name, member) in object {
            let of_name = &schema["properties"][name];
            let schema = if of_name.is_null() { &schema["additionalProperties"] } else { of_name };
            assert!(schema.is_object(), "{at}.{name} is not in the schema");
            check(root, schema, member, &format!("{at}.{name}"));
        }
    }
}

/// A value without the members that a schema adds to those of the one it refers to.
fn without_own(root: &Value, schema: &Value, value: &Value, at: &str) -> Value {
    let mut rest = value.clone();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let own = rest.as_object_mut().and_then(|object| object.remove(name));
        check(root, schema, &own.unwrap_or_else(|| panic!("{at} has no {name}")), at);
    }
    rest
}
