//! Which type an expression has, or what is wrong with it.

use super::*;
use crate::library::{self, Admission};
use crate::types;
use ephor_functions::CelLevel;

fn environment() -> Env {
    let mut env = library::admission(Admission { mutation: true, backticks: true, ..Admission::default() });
    for (name, ty) in [
        ("i", "int"),
        ("s", "string"),
        ("b", "bool"),
        ("l", "list<int>"),
        ("m", "map<string, int>"),
        ("o", "optional<int>"),
    ] {
        env.variables.insert(name.into(), types::parse(ty));
    }
    env.strict_literals = false;
    env.strict_arguments = false;
    env.syntax.bind = true;
    env
}

fn type_in(env: &Env, source: &str) -> Result<String, Vec<(Place, String)>> {
    let tree = crate::syntax::parse(source, env.syntax).unwrap();
    match check(&tree, env) {
        Ok(typed) => Ok(typed.ty.to_string()),
        Err(issues) => Err(issues.into_iter().map(|i| (i.at, i.text)).collect()),
    }
}

fn type_of(source: &str) -> String {
    type_in(&environment(), source).unwrap_or_else(|issues| panic!("{source}: {issues:?}"))
}

#[track_caller]
fn refused(source: &str, at: Place, text: &str) {
    assert_eq!(type_in(&environment(), source), Err(vec![(at, text.to_string())]), "{source}");
}

#[test]
fn literals_have_the_types_of_their_parts() {
    for (source, ty) in [
        ("1", "int"),
        ("1u", "uint"),
        ("1.0", "double"),
        ("b'a'", "bytes"),
        ("null", "null"),
        ("[1, 2]", "list(int)"),
        ("{'a': [1]}", "map(string, list(int))"),
        // What has no type in common is dyn; an empty literal holds anything.
        ("[1, 'a']", "list(dyn)"),
        ("{1: 'a', 'b': 2}", "map(dyn, dyn)"),
        ("[]", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[object, 1]", "list(dyn)"),
    ] {
        assert_eq!(type_of(source), ty, "{source}");
    }
}

#[test]
fn overloads_that_fit_decide_about_the_result() {
    for (source, ty) in [
        ("i + 1", "int"),
        ("s + 'a'", "string"),
        ("l + [1]", "list(int)"),
        ("l + []", "list(int)"),
        ("i / 2 == 1", "bool"),
        ("size(s) + l.size()", "int"),
        // Several overloads fit what is dyn: the result is one type only if they agree.
        ("object.a + object.b", "dyn"),
        ("size(object)", "int"),
        ("object.a + 1", "int"),
        ("l[0]", "int"),
        ("m['a']", "int"),
        ("object[0]", "dyn"),
        ("b ? i : 1", "int"),
        ("b ? object : 1", "dyn"),
        ("timestamp('x') - timestamp('y')", "duration"),
        ("i in l", "bool"),
        ("dyn(i)", "dyn"),
        ("type(i)", "type(int)"),
    ] {
        assert_eq!(type_of(source), ty, "{source}");
    }
}

#[test]
fn arguments_that_no_overload_takes_are_refused_at_the_call() {
    refused("i + s", 2, "found no matching overload for '_+_' applied to '(int, string)'");
    refused("i == s", 2, "found no matching overload for '_==_' applied to '(int, string)'");
    refused("s.size(1)", 6, "found no matching overload for 'size' applied to 'string.(int)'");
    refused("size()", 4, "found no matching overload for 'size' applied to '()'");
    refused("l['a']", 1, "found no matching overload for '_[_]' applied to '(list(int), string)'");
    refused("s in l", 2, "found no matching overload for '@in' applied to '(string, list(int))'");
    refused("b ? 1 : 'a'", 2, "found no matching overload for '_?_:_' applied to '(bool, int, string)'");
    refused("i ? 1 : 2", 2, "found no matching overload for '_?_:_' applied to '(int, int, int)'");
    refused("-s", 0, "found no matching overload for '-_' applied to '(string)'");
    refused("[] + s", 3, "found no matching overload for '_+_' applied to '(list(dyn), string)'");
}

#[test]
fn sides_of_and_and_or_are_booleans() {
    refused("b && i", 5, "expected type 'bool' but found 'int'");
    refused("s || b", 0, "expected type 'bool' but found 'string'");
    // Each side is reported.
    let both = type_in(&environment(), "i && s").unwrap_err();
    assert_eq!(both.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 5]);
    assert_eq!(type_of("object && b"), "bool");
}

#[test]
fn all_issues_of_an_expression_are_reported_and_none_because_of_another() {
    let found = type_in(&environment(), "nope + (i + s) + unknown(1)").unwrap_err();
    let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "undeclared reference to 'nope' (in container '')",
            "found no matching overload for '_+_' applied to '(int, string)'",
            "undeclared reference to 'unknown' (in container '')",
        ]
    );
}

#[test]
fn names_are_looked_up_in_the_container_first_and_a_dot_skips_it() {
    let mut env = environment();
    env.container = "a.b".into();
    for (name, ty) in
        [("x", "int"), ("a.x", "string"), ("a.b.x", "bool"), ("a.y", "double"), ("z.w.v", "uint")]
    {
        env.variables.insert(name.into(), types::parse(ty));
    }
    for (source, ty) in [
        ("x", "bool"),
        (".x", "int"),
        (".a.x", "string"),
        ("b.x", "bool"),
        ("y", "double"),
        ("z.w.v", "uint"),
    ] {
        assert_eq!(type_in(&env, source).as_deref(), Ok(ty), "{source}");
    }
    let text = "undeclared reference to 'nope' (in container 'a.b')".to_string();
    assert_eq!(type_in(&env, "nope"), Err(vec![(0, text)]));
}

#[test]
fn a_variable_of_a_loop_hides_what_is_declared() {
    assert_eq!(type_of("l.map(s, s)"), "list(int)");
    assert_eq!(type_of("[s].map(l, l)[0] + s"), "string");
    // A qualified name does not reach past it either.
    let mut env = environment();
    env.variables.insert("i.deep".into(), types::parse("string"));
    assert_eq!(type_in(&env, "i.deep").as_deref(), Ok("string"));
    let text = "type 'int' does not support field selection".to_string();
    assert_eq!(type_in(&env, "l.map(i, i.deep)"), Err(vec![(10, text)]));
}

#[test]
fn fields_are_those_of_messages_and_maps() {
    for (source, ty) in [
        ("m.a", "int"),
        ("object.a.b", "dyn"),
        ("request.name", "string"),
        ("has(request.name)", "bool"),
        ("request.userInfo.groups", "list(string)"),
    ] {
        assert_eq!(type_of(source), ty, "{source}");
    }
    refused("request.nope", 7, "undefined field 'nope'");
    refused("has(request.nope)", 3, "undefined field 'nope'");
    refused("s.a", 1, "type 'string' does not support field selection");
    refused("l.a", 1, "type 'list(int)' does not support field selection");
}

#[test]
fn optional_values_stay_optional_in_what_is_read_from_them() {
    for (source, ty) in [
        ("m.?a", "optional_type(int)"),
        ("m.?a.orValue(1)", "int"),
        ("l[?0]", "optional_type(int)"),
        ("object.?a", "optional_type(dyn)"),
        ("object.?a.b.c", "optional_type(dyn)"),
        ("o.hasValue()", "bool"),
        ("o.value()", "int"),
        ("o.or(optional.of(1))", "optional_type(int)"),
        ("o.optMap(x, string(x))", "optional_type(string)"),
        ("o.optFlatMap(x, optional.none())", "optional_type(dyn)"),
        ("[?o, 1]", "list(int)"),
        ("{?'a': o}", "map(string, int)"),
    ] {
        assert_eq!(type_of(source), ty, "{source}");
    }
    // Lists and maps fit what is dyn: their results have no type in common.
    assert_eq!(type_of("object.?a[0]"), "dyn");
    assert_eq!(type_of("m.?a == o"), "bool");
    refused("[?i]", 2, "expected type 'optional_type(int)' but found 'int'");
    refused("{?'a': i}", 7, "expected type 'optional_type(int)' but found 'int'");
    refused(
        "o.orValue('a')",
        9,
        "found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
    );
}

#[test]
fn variables_of_loops_have_the_types_of_what_is_walked() {
    for (source, ty) in [
        ("l.map(x, x)", "list(int)"),
        ("m.map(k, k)", "list(string)"),
        ("object.map(x, x)", "list(dyn)"),
        ("l.transformList(i, v, [i, v])", "list(list(int))"),
        ("['a'].transformMap(i, v, v)", "map(int, string)"),
        ("m.transformList(k, v, v)", "list(int)"),
        ("l.all(x, x > 0)", "bool"),
        ("l.exists_one(x, x > 0)", "bool"),
        ("cel.bind(x, i, x + 1)", "int"),
    ] {
        assert_eq!(type_of(source), ty, "{source}");
    }
    refused(
        "i.map(x, x)",
        0,
        "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    );
    refused("l.all(x, x)", 9, "expected type 'bool' but found 'int'");
    refused("l.map(x, y)", 9, "undeclared reference to 'y' (in container '')");
}

#[test]
fn an_unknown_keeps_what_it_met_first() {
    // The items of the empty list are decided by the first use.
    assert_eq!(type_of("[] + [1]"), "list(int)");
    refused(
        "cel.bind(x, [], (x + [1]) == (x + ['a']))",
        32,
        "found no matching overload for '_+_' applied to '(list(int), list(string))'",
    );
}

#[test]
fn messages_take_their_own_fields() {
    assert_eq!(type_of("Object{spec: Object.spec{a: 1}}"), "Object");
    assert_eq!(type_of("JSONPatch{op: 'add', path: '/a', value: 1}"), "JSONPatch");
    assert_eq!(type_of("google.protobuf.Int64Value{value: 1}"), "wrapper(int)");
    refused("JSONPatch{op: 1}", 12, "expected type of field 'op' is 'string' but provided type is 'int'");
    refused("google.protobuf.Int64Value{nope: 1}", 31, "undefined field 'nope'");
    refused("Nope{a: 1}", 4, "undeclared reference to 'Nope' (in container '')");
    refused("int{}", 3, "'int' is not a message type");
}

#[test]
fn a_name_of_a_type_is_a_value() {
    assert_eq!(type_of("int"), "type(int)");
    assert_eq!(type_of("type(i) == int"), "bool");
    assert_eq!(type_of("google.protobuf.NullValue.NULL_VALUE"), "int");
}

#[test]
fn what_a_message_of_a_variables_name_is_called_depends_on_the_level() {
    let mut env = environment();
    for (level, text) in [
        (CelLevel::V26, "'string' is not a type"),
        (CelLevel::V30, "undeclared reference to 's' (in container '')"),
    ] {
        env.level = level;
        assert_eq!(type_in(&env, "s{}"), Err(vec![(1, text.to_string())]));
    }
}

#[test]
fn types_that_double_with_each_level_are_refused() {
    let nested = |levels: usize| {
        (0..levels).fold("1".to_string(), |inner, i| format!("cel.bind(v{i}, {inner}, {{v{i}: v{i}}})"))
    };
    assert!(type_in(&environment(), &nested(8)).is_ok());
    let issues = type_in(&environment(), &nested(12)).unwrap_err();
    assert!(issues.iter().all(|(_, text)| text == "the type is too large"), "{issues:?}");
}
