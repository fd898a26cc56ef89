//! The data of a rule: templates, context entries and conditions (`docs/semantics/variables.md`,
//! `docs/semantics/conditions.md`).

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use ephor_document::yaml_value;
use ephor_engine::condition;
use ephor_engine::data::{Data, World};
use ephor_engine::error::{ConditionError, FillError};
use ephor_engine::images::Images;
use ephor_external::{ExternalData, Found};
use ephor_functions::Context;
use ephor_ir::Origin;
use ephor_ir::rule::Binding;
use ephor_lower::{LATE, binding, condition as conditions, template};
use ephor_value::{Str, Value, print};

/// ConfigMaps by name, and which were looked up.
#[derive(Default)]
struct ConfigMaps {
    looked_up: Mutex<Vec<String>>,
}

impl ExternalData for ConfigMaps {
    fn config_map(&self, namespace: &str, name: &str) -> Found {
        self.looked_up.lock().unwrap().push(format!("{namespace}/{name}"));
        match name {
            "broken" => Some(Err("it is broken".into())),
            name => {
                Some(Ok(yaml_value(&format!("{{data: {{of: {name}}}, metadata: {{}}, kind: x}}")).unwrap()))
            }
        }
    }
}

const ROOT: &str = r#"
request:
  object:
    metadata: {name: x, labels: {app: web, "a.b/c": dotted}}
    spec: {replicas: 3, list: [1, {k: v}], none: null, path: metadata.name}
    quote: "{{ request.object.metadata.name }}"
    deep: {inner: "{{ request.object.metadata.name }}"}
    again: {inner: "{{ request.object.again }}"}
    itself: "{{ request.object.itself }}"
    brace: "{{"
  oldObject: {metadata: {name: old}}
"#;

struct Case {
    sources: ConfigMaps,
    context: Context,
    images: Images,
    root: Value,
    deleting: bool,
    namespace: Option<&'static str>,
}

impl Case {
    fn new() -> Case {
        let context = Context::default();
        let root = yaml_value(ROOT).unwrap();
        let images = Images::of(root.at(&["request", "object"]).cloned().unwrap(), &context);
        Case { sources: ConfigMaps::default(), context, images, root, deleting: false, namespace: None }
    }

    fn data(&self) -> Data<'_> {
        let world = World {
            functions: &self.context,
            sources: &self.sources,
            late: LATE,
            deleting: self.deleting,
            images: &self.images,
            policy_namespace: self.namespace,
            injected: &[],
            sorted: None,
            drops_unanswered: false,
        };
        Data::new(&self.root, world)
    }

    /// Fills in a document, where these context entries are in scope.
    fn fill(&self, context: &str, document: &str) -> Result<String, String> {
        let (bindings, names) = entries(context);
        let mut data = self.data();
        data.register(&bindings);
        let template = template::document(&yaml_value(document).unwrap(), &names);
        data.fill(&template).map(|v| print::json(&v)).map_err(|error| error.to_string())
    }

    fn looked_up(&self) -> Vec<String> {
        self.sources.looked_up.lock().unwrap().clone()
    }
}

fn entries(context: &str) -> (Box<[Arc<Binding>]>, Arc<[Str]>) {
    let none: Arc<[Str]> = Arc::from([]);
    binding::bindings(Some(&yaml_value(context).unwrap()), &none, &Origin::default())
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (document, expected) in rows {
        assert_eq!(Case::new().fill("[]", document).as_deref(), Ok(*expected), "{document}");
    }
}

#[test]
fn a_text_that_is_one_variable_takes_the_type_of_its_value() {
    check(&[
        ("'{{ request.object.spec.replicas }}'", "3"),
        ("'{{request.object.spec.list}}'", r#"[1,{"k":"v"}]"#),
        ("'{{ request.object.spec.none }}'", "null"),
        ("{a: '{{ request.object.spec.replicas }}', b: [1, '{{ `true` }}']}", r#"{"a":3,"b":[1,true]}"#),
    ]);
}

#[test]
fn inside_of_a_text_strings_go_in_raw_and_all_else_as_json() {
    check(&[
        ("'a {{ request.object.metadata.name }} b'", r#""a x b""#),
        ("' {{ request.object.spec.replicas }}'", r#"" 3""#),
        ("'{{ request.object.spec.list }}!'", r#""[1,{\"k\":\"v\"}]!""#),
        ("'{{ request.object.spec.none }}!'", r#""null!""#),
        ("'{{ request.object.metadata.name }}-{{ request.object.spec.replicas }}'", r#""x-3""#),
    ]);
}

#[test]
fn a_variable_in_a_variable_is_resolved_first() {
    check(&[
        ("'{{ request.object.{{ request.object.spec.path }} }}'", r#""x""#),
        ("'{{ request.object.metadata.labels.{{ `\"app\"` }} }}'", r#""web""#),
        ("'a{{ request.object.metadata.name }}{{ request.object.spec.replicas }}b'", r#""ax3b""#),
    ]);
}

#[test]
fn variables_inside_of_data_are_filled_in_but_not_those_of_a_lone_string() {
    check(&[
        ("'{{ request.object.deep }}'", r#"{"inner":"x"}"#),
        ("'-{{ request.object.quote }}-'", r#""-x-""#),
        ("'{{ request.object.quote }}'", r#""{{ request.object.metadata.name }}""#),
    ]);
}

#[test]
fn a_dash_protects_what_comes_in() {
    check(&[
        ("'{{- request.object.quote }}'", r#""{{ request.object.metadata.name }}""#),
        ("'a {{- request.object.quote }}'", r#""a {{ request.object.metadata.name }}""#),
    ]);
}

#[test]
fn an_escaped_opening_is_text() {
    check(&[
        (r"'\{{ request.object.metadata.name }}'", r#""{{ request.object.metadata.name }}""#),
        (r"'\{{ a }} {{ request.object.metadata.name }}'", r#""{{ a }} x""#),
        ("'{{ no closing'", r#""{{ no closing""#),
    ]);
}

#[test]
fn a_key_must_become_a_string_and_null_leaves_it() {
    check(&[
        ("{'k-{{ request.object.metadata.name }}': 1}", r#"{"k-x":1}"#),
        ("{'{{ request.object.spec.none }}': 1}", r#"{"{{ request.object.spec.none }}":1}"#),
    ]);
    let text = "expected string after substituting variables in key \"{{ request.object.spec.replicas }}\"";
    let found = Case::new().fill("[]", "{'{{ request.object.spec.replicas }}': 1}");
    assert_eq!(found, Err(text.to_string()));
}

#[test]
fn a_variable_that_holds_itself_is_an_error() {
    for document in ["'a {{ request.object.itself }}'", "'{{ request.object.again }}'"] {
        let error = Case::new().fill("[]", document).unwrap_err();
        assert!(error.ends_with("the variable expands to itself"), "{document}: {error}");
    }
}

#[test]
fn failures_name_the_expression_and_the_place_in_the_document() {
    for (document, expected) in [
        (
            "{a: [0, '{{ request.object.nope }}']}",
            "failed to resolve request.object.nope at path /a/1: JMESPath query failed: Unknown key \"nope\" in path",
        ),
        (
            "'x {{ request.object.nope }}'",
            "failed to resolve request.object.nope at path : JMESPath query failed: Unknown key \"nope\" in path",
        ),
        (
            "{a/b: '{{ a b }}'}",
            "failed to resolve a b at path /a\\/b: incorrect query a b: SyntaxError: Unexpected token at the end of the expression: tUnquotedIdentifier",
        ),
    ] {
        assert_eq!(Case::new().fill("[]", document), Err(expected.to_string()));
    }
}

#[test]
fn when_the_object_is_deleted_its_last_state_is_read() {
    let case = Case { deleting: true, ..Case::new() };
    assert_eq!(case.fill("[]", "'{{ request.object.metadata.name }}'").as_deref(), Ok(r#""old""#));
}

#[test]
fn an_entry_is_loaded_when_it_is_mentioned_and_only_once() {
    let context = "[{name: a, configMap: {name: one}}, {name: b, configMap: {name: two, namespace: ns}}]";
    let case = Case::new();
    assert_eq!(
        case.fill(context, "{x: '{{ b.data.of }}', z: '{{ b.data.of }}'}").as_deref(),
        Ok(r#"{"x":"two","z":"two"}"#)
    );
    assert_eq!(case.looked_up(), ["ns/two"]);
    // The mention is a test on the text: a literal counts.
    let case = Case::new();
    assert_eq!(case.fill(context, "'{{ ''a'' }}'").as_deref(), Ok(r#""a""#));
    assert_eq!(case.looked_up(), ["default/one"]);
}

#[test]
fn an_entry_without_mention_never_fails() {
    let context = "[{name: bad, configMap: {name: broken}}, {name: good, variable: {value: 1}}]";
    assert_eq!(Case::new().fill(context, "'{{ good }}'").as_deref(), Ok("1"));
    let error = Case::new().fill(context, "'{{ bad }}'").unwrap_err();
    assert_eq!(
        error,
        "failed to resolve bad at path : failed to retrieve config map for context entry bad: failed to get configmap default/broken : it is broken"
    );
}

#[test]
fn all_that_is_mentioned_is_loaded_in_the_order_of_declaration() {
    let context = "[{name: a, configMap: {name: one}}, {name: b, configMap: {name: two}}]";
    let case = Case::new();
    assert_eq!(case.fill(context, "'{{ [b.data.of, a.data.of] }}'").as_deref(), Ok(r#"["two","one"]"#));
    assert_eq!(case.looked_up(), ["default/one", "default/two"]);
}

#[test]
fn an_entry_reads_those_before_it_and_not_itself_or_those_behind_it() {
    let context = "
- {name: a, variable: {value: 1}}
- {name: b, variable: {jmesPath: 'a'}}
- {name: c, variable: {jmesPath: 'd', default: none}}
- {name: d, variable: {value: 2}}
- {name: e, variable: {jmesPath: 'e || `5`'}}
";
    for (document, expected) in [("'{{ b }}'", "1"), ("'{{ c }}'", r#""none""#), ("'{{ e }}'", "5")] {
        assert_eq!(Case::new().fill(context, document).as_deref(), Ok(expected), "{document}");
    }
}

#[test]
fn a_variable_is_a_value_a_query_or_a_query_on_a_value() {
    for (variable, expected) in [
        ("{value: {a: '{{ request.object.metadata.name }}'}}", Ok(r#"{"a":"x"}"#)),
        ("{jmesPath: request.object.spec.replicas}", Ok("3")),
        ("{value: {a: [1, 2]}, jmesPath: 'a[1]'}", Ok("2")),
        ("{jmesPath: 'request.object.nope', default: d}", Ok(r#""d""#)),
        ("{jmesPath: 'request.object.spec.none', default: d}", Ok(r#""d""#)),
        // On a value that is given, a null result stays null.
        (
            "{value: {a: null}, jmesPath: a, default: d}",
            Err("failed to add context entry for variable v since it evaluated to nil"),
        ),
        ("{value: null}", Err("failed to add context entry for variable v since it evaluated to nil")),
        (
            "{jmesPath: 'request.object.nope'}",
            Err(
                "failed to apply jmespath request.object.nope to variable <nil>: JMESPath query failed: Unknown key \"nope\" in path",
            ),
        ),
    ] {
        let context = format!("[{{name: v, variable: {variable}}}]");
        let found = Case::new().fill(&context, "'{{ v }}'");
        let expected = expected.map_err(|e| format!("failed to resolve v at path : {e}"));
        assert_eq!(found, expected.map(str::to_string), "{variable}");
    }
}

#[test]
fn a_namespaced_policy_reads_config_maps_of_its_namespace() {
    let read = |context: &str| {
        let case = Case { namespace: Some("own"), ..Case::new() };
        (case.fill(context, "'{{ a.data.of }}'"), case.looked_up())
    };
    assert_eq!(read("[{name: a, configMap: {name: one}}]").1, ["own/one"]);
    assert_eq!(read("[{name: a, configMap: {name: one, namespace: own}}]").1, ["own/one"]);
    let (found, looked_up) = read("[{name: a, configMap: {name: one, namespace: other}}]");
    assert!(
        found
            .unwrap_err()
            .ends_with("configMap namespace \"other\" is different from policy namespace \"own\"")
    );
    assert!(looked_up.is_empty());
}

#[test]
fn an_entry_that_no_source_answers_is_an_error_unless_such_entries_are_dropped() {
    let (bindings, names) = entries("[{name: a, globalReference: {name: g}}]");
    let template = template::text(&"{{ a || 'none' }}".into(), &names);
    let case = Case::new();
    for (drops, expected) in [
        (true, Ok("\"none\"")),
        (
            false,
            Err(
                "failed to resolve a || 'none' at path : failed to marshal APICall data for context entry a: there is no source of global context entries",
            ),
        ),
    ] {
        let mut data = case.data();
        data.world.drops_unanswered = drops;
        data.register(&bindings);
        let found = data.fill(&template).map(|v| print::json(&v));
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }
}

#[test]
fn each_item_of_a_loop_begins_with_the_data_before_it_and_sources_are_called_once() {
    let case = Case::new();
    let (outer, names) = entries("[{name: c, configMap: {name: one}}]");
    let context = yaml_value("[{name: v, variable: {jmesPath: element}}]").unwrap();
    let (inner, names) = binding::bindings(Some(&context), &names, &Origin::default());
    let mut data = case.data();
    data.register(&outer);
    let read = |data: &mut Data<'_>, text: &str| {
        data.fill(&template::text(&text.into(), &names)).map(|v| print::json(&v))
    };
    let before = data.snapshot();
    for element in ["1.5", "2.5"] {
        data.set(&"element".into(), yaml_value(element).unwrap());
        data.register(&inner);
        assert_eq!(read(&mut data, "{{ v }}").as_deref(), Ok(element));
        assert_eq!(read(&mut data, "{{ c.data.of }}").as_deref(), Ok(r#""one""#));
        data.reset(&before);
        assert!(read(&mut data, "{{ element }}").is_err());
        assert!(read(&mut data, "{{ v }}").is_err());
    }
    assert_eq!(case.looked_up(), ["default/one"]);
}

#[test]
fn an_entry_that_fails_when_it_is_loaded_anew_counts_as_loaded_and_is_missing() {
    let case = Case::new();
    let (bindings, names) = entries("[{name: v, variable: {jmesPath: element}}]");
    let mut data = case.data();
    data.register(&bindings);
    let v = template::text(&"{{ v || 'missing' }}".into(), &names);
    let before = data.snapshot();
    data.set(&"element".into(), yaml_value("1.5").unwrap());
    assert_eq!(data.fill(&v).map(|v| print::json(&v)).as_deref(), Ok("1.5"));
    data.reset(&before);
    data.set(&"element".into(), yaml_value("2.5").unwrap());
    assert_eq!(data.fill(&v).map(|v| print::json(&v)).as_deref(), Ok(r#""missing""#));
}

/// Whether conditions hold, and their message.
fn judged(block: &str) -> Result<(bool, String), ConditionError> {
    let none: Arc<[Str]> = Arc::from([]);
    let block = yaml_value(block).unwrap();
    let conditions = conditions::conditions(Some(&block), &none, Origin::default()).unwrap();
    let case = Case::new();
    condition::evaluate(&conditions, &mut case.data()).map(|v| (v.holds, v.message))
}

const YES: &str = "{key: a, operator: Equals, value: a, message: yes}";
const NO: &str = "{key: a, operator: Equals, value: b, message: no}";
const FAILS: &str = "{key: '{{ nope }}', operator: Equals, value: a}";

#[test]
fn any_wants_one_and_all_wants_every_condition() {
    for (block, holds) in [
        (format!("{{any: [{NO}, {YES}]}}"), true),
        (format!("{{any: [{NO}]}}"), false),
        ("{any: []}".to_string(), false),
        (format!("{{all: [{YES}, {NO}]}}"), false),
        (format!("{{all: [{YES}]}}"), true),
        ("{all: []}".to_string(), true),
        ("{}".to_string(), true),
        (format!("{{any: [{YES}], all: [{NO}]}}"), false),
        (format!("{{any: [{NO}], all: [{YES}]}}"), false),
        (format!("[{YES}, {YES}]"), true),
        (format!("[{YES}, {NO}]"), false),
        ("[]".to_string(), true),
    ] {
        assert_eq!(judged(&block).unwrap().0, holds, "{block}");
    }
}

#[test]
fn messages_are_those_of_the_conditions_that_decide() {
    for (block, message) in [
        (format!("{{any: [{NO}, {YES}, {YES}]}}"), "true"),
        (format!("{{any: [{NO}, {NO}]}}"), "false; false"),
        (format!("{{all: [{YES}, {YES}]}}"), "true; true"),
        (format!("{{all: [{YES}, {NO}, {NO}]}}"), "false"),
        // A flat list joins without a blank.
        (format!("[{YES}, {YES}]"), "true;true"),
        (format!("[{YES}, {NO}]"), "false"),
    ] {
        let block =
            block.replace("message: yes", "message: 'true'").replace("message: no", "message: 'false'");
        assert_eq!(judged(&block).unwrap().1, message, "{block}");
    }
}

#[test]
fn what_decides_ends_the_evaluation_and_a_failure_before_it_counts() {
    for (block, holds) in [
        (format!("{{any: [{YES}, {FAILS}]}}"), Some(true)),
        (format!("{{any: [{FAILS}, {YES}]}}"), None),
        (format!("{{all: [{NO}, {FAILS}]}}"), Some(false)),
        (format!("{{all: [{FAILS}, {NO}]}}"), None),
        // `all` is evaluated whatever `any` gave.
        (format!("{{any: [{NO}], all: [{FAILS}]}}"), None),
        (format!("[{NO}, {FAILS}]"), Some(false)),
    ] {
        assert_eq!(judged(&block).ok().map(|v| v.0), holds, "{block}");
    }
}

#[test]
fn failures_of_conditions_name_the_side() {
    let nope = "failed to resolve nope at path : JMESPath query failed: Unknown key \"nope\" in path";
    let key = judged(&format!("[{FAILS}]")).unwrap_err();
    assert!(matches!(key, ConditionError::Key(FillError::Variable(_))));
    assert_eq!(key.to_string(), format!("failed to substitute variables in condition key: {nope}"));
    let value = judged("[{key: a, operator: Equals, value: '{{ nope }}'}]").unwrap_err();
    assert!(matches!(value, ConditionError::Value(FillError::Variable(_))));
    assert_eq!(value.to_string(), format!("failed to substitute variables in condition value: {nope}"));
    let operator = judged("[{key: a, operator: Nope, value: a}]").unwrap_err();
    assert_eq!(operator, ConditionError::UnknownOperator);
    assert_eq!(operator.to_string(), "failed to create handler for condition operator: %!w(<nil>)");
}
