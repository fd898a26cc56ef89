//! Numbers: bounds, what lies between them, and what their letters say.

use ephor_compare::Answer;

use super::{checking, compared, denying, requiring};

fn pattern(memory: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}
    validate: {{message: m, pattern: {{spec: {{containers: [{{resources: {{limits: {{memory: '{memory}'}}}}}}]}}}}}}
"
    )
}

#[track_caller]
fn differs(old: &str, new: &str) {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs, "{:?}", found.reasons);
}

#[track_caller]
fn is_proved(old: &str, new: &str) {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
}

const TEXT: &str = "object.metadata.?annotations[?'a'].orValue('')";

#[test]
fn what_lies_between_bounds_is_tried() {
    differs(&pattern("<1.5Gi"), &pattern("<=1Gi"));
    differs(&pattern("<1.5Gi | >3Gi"), &pattern("<=1.4Gi | >3Gi"));
    is_proved(&pattern("<1.5Gi"), &pattern("<1536Mi"));
    let number = |bound: &str| requiring("configmaps", &format!("double({TEXT}) <= {bound}"));
    differs(&number("2.5"), &number("2.6"));
    is_proved(&number("2.5"), &requiring("configmaps", &format!("!(double({TEXT}) > 2.5)")));
}

#[test]
fn the_letters_of_quantities_and_integers_are_tried() {
    differs(&pattern("*Gi"), &pattern("*Mi"));
    let limits = |test: &str| {
        requiring(
            "pods",
            &format!(
                "object.spec.containers.all(c, string(c.?resources.?limits.?memory.orValue('1')).{test})"
            ),
        )
    };
    differs(&limits("matches('Gi$')"), &limits("matches('Mi$')"));
    differs(&limits("endsWith('Gi')"), &limits("endsWith('Mi')"));
    let replicas =
        |test: &str| requiring("deployments", &format!("!string(object.spec.replicas).matches('{test}')"));
    differs(&replicas("^3"), &replicas("^4"));
    is_proved(&replicas("^3"), &replicas("^3.*"));
}

#[test]
fn numbers_and_languages_of_one_text_are_tried_together() {
    let of = |pattern: &str, bound: &str| {
        requiring("configmaps", &format!("!({TEXT}.matches('{pattern}') && int({TEXT}) > {bound})"))
    };
    differs(&of("^[0-9]+$", "100"), &of("^[0-9]+$", "101"));
    let answer = compared(&of("^[0-9]{5}$", "100"), &of("^[0-9]{4}$", "100")).answer;
    assert!(!matches!(answer, Answer::Proved | Answer::ProvedRelative(_)), "{answer:?}");
    let ends =
        |unit: &str| requiring("configmaps", &format!("!(isQuantity({TEXT}) && {TEXT}.endsWith('{unit}'))"));
    differs(&ends("M"), &ends("k"));
}

#[test]
fn durations_are_compared_by_value() {
    let relative = Answer::ProvedRelative(vec!["durations fit into 64 bits".into()]);
    let of = |test: &str| requiring("configmaps", &format!("duration({TEXT}) {test}"));
    assert_eq!(compared(&of("<= duration('8h')"), &of("> duration('480m') ? false : true")).answer, relative);
    differs(&of("<= duration('8h')"), &of("<= duration('481m')"));
    differs(&of("<= duration('8h')"), &of("< duration('8h')"));
}

#[test]
fn a_time_that_is_compared_is_tested() {
    let of = |year: &str| {
        requiring(
            "configmaps",
            &format!("!string(object.metadata.?creationTimestamp.orValue('')).startsWith('{year}')"),
        )
    };
    let answer = compared(&of("2027"), &of("2028")).answer;
    assert!(!matches!(answer, Answer::Proved | Answer::ProvedRelative(_)), "{answer:?}");
}

#[test]
fn integers_that_are_compared_as_quantities_are_tried_between_these() {
    let replicas = |most: &str| {
        let replicas = "quantity(string(object.spec.?replicas.orValue(0)))";
        requiring("deployments", &format!("!{replicas}.isGreaterThan(quantity('{most}'))"))
    };
    assert_eq!(compared(&replicas("1Gi"), &replicas("1024Mi")).answer, Answer::Proved);
    for other in ["1G", "1073741823", "1025Mi"] {
        assert_eq!(compared(&replicas("1Gi"), &replicas(other)).answer, Answer::Differs, "{other}");
    }
}

#[test]
fn numbers_that_match_a_pattern_with_a_variable_are_tried() {
    let old = checking(
        "Deployment",
        "pattern: {spec: {replicas: '>{{ request.object.spec.minReadySeconds || `1` }}'}}",
    );
    let new = |test: &str| {
        requiring("deployments", &format!("has(object.spec.replicas) && object.spec.replicas > {test}"))
    };
    let same = compared(&old, &new("object.spec.?minReadySeconds.orValue(1)"));
    assert!(!matches!(same.answer, Answer::Differs), "{:?}", same.differences.first());
    assert_eq!(compared(&old, &new("1000")).answer, Answer::Differs);
}

/// Next to a number Kyverno takes `500m` for minutes, and `1Gi` for nothing that is more or less.
#[test]
fn quantities_are_distinguished_that_operators_take_for_durations() {
    let storage = "object.spec.resources.requests.storage";
    let old = |order: &str| {
        let key = "{{ request.object.spec.resources.requests.storage }}";
        denying("PersistentVolumeClaim", &format!("{{key: '{key}', {order}}}"))
    };
    let new = |test: &str| requiring("persistentvolumeclaims", test);
    let is_known = |old: &str, new: &str| {
        let found = compared(old, new);
        let is_proved = matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_));
        assert!(is_proved, "{:?} {:?}", found.answer, found.reasons);
    };
    for number in ["5", "5.5"] {
        let more = old(&format!("operator: GreaterThan, value: {number}"));
        differs(&more, &new(&format!("!quantity({storage}).isGreaterThan(quantity('{number}'))")));
        let seconds = format!("endsWith('m') && duration({storage}) > duration('5s')");
        let of_number = format!("double({storage}) > {number}");
        is_known(
            &more,
            &new(&format!("!({storage}.matches('^[-+.0-9e]+$') ? {of_number} : {storage}.{seconds})")),
        );
    }
    differs(&old("operator: LessThan, value: 1h"), &new("true"));
    is_known(
        &old("operator: GreaterThan, value: '5'"),
        &new(&format!("!quantity({storage}).isGreaterThan(quantity('5'))")),
    );
    is_known(
        &old("operator: GreaterThan, value: 0"),
        &new(&format!("!(quantity({storage}).isGreaterThan(quantity('0')) && {storage}.matches('[0-9m]$'))")),
    );
}
