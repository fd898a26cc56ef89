//! Arithmetic of numbers and quantities, and orders of what is read: what is written for each.
#![allow(clippy::unwrap_used)]

use ephor_migrate::expressions::Target;

use super::conversion::{convert_for, deny, written};

/// What is written for an ordering of a query.
fn ordered(kind: &str, query: &str, operator: &str, value: &str) -> String {
    deny(&[kind], &format!("{{key: \"{{{{ {query} }}}}\", operator: {operator}, value: {value}}}"))
}

/// The construct for which such an ordering is refused.
fn refused(kind: &str, query: &str, operator: &str, value: &str) -> String {
    let condition = format!("{{key: \"{{{{ {query} }}}}\", operator: {operator}, value: {value}}}");
    let rule = format!("{{validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}}}");
    convert_for(Target::Kyverno, &[kind], &rule).unwrap_err().construct.to_string()
}

#[test]
fn a_quotient_fails_for_a_divisor_that_is_zero() {
    let quotient = "divide(request.object.spec.maxReplicas, request.object.spec.minReplicas || `1`)";
    assert_eq!(
        ordered("HorizontalPodAutoscaler", quotient, "GreaterThan", "10"),
        "!((object.spec.?minReplicas.orValue(1) == 0
      ? double(1 / int(object.spec.?minReplicas.orValue(1)))
      : double(object.spec.maxReplicas) / double(object.spec.?minReplicas.orValue(1))) >
    10)"
    );
    let real = "divide(`6`, to_number(request.object.metadata.name))";
    assert_eq!(
        ordered("Pod", real, "LessThan", "2"),
        r"let number = object.metadata.name.matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
  ? optional.of(double(object.metadata.name))
  : optional.none()
!((variables.number.value() == 0.0
      ? double(1 / int(variables.number.value()))
      : 6.0 / variables.number.value()) <
    2)"
    );
}

#[test]
fn numbers_in_texts_are_added_as_doubles() {
    let sum = "add(to_number(request.object.metadata.annotations.pods || '100'), length(request.object.metadata.name))";
    assert_eq!(
        ordered("Namespace", sum, "GreaterThan", "250"),
        r"let number = (object.metadata.?annotations.?pods.orValue('') != ''
    ? object.metadata.annotations.pods
    : '100').matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
  ? optional.of(
      double(
        object.metadata.?annotations.?pods.orValue('') != ''
          ? object.metadata.annotations.pods
          : '100'))
  : optional.none()
!(variables.number.value() + double(size(object.metadata.name)) > 250)"
    );
}

#[test]
fn a_text_that_looks_like_a_number_is_none_for_arithmetic() {
    let found = written(
        &["NetworkPolicy"],
        "{validate: {foreach: [{list: 'request.object.spec.egress[].ports[]', deny: {conditions: {any: [\
         {key: '{{ subtract(element.endPort, element.port) }}', operator: GreaterThan, value: 100}]}}}]}}",
    );
    assert_eq!(
        found,
        "object.?spec.?egress.orValue([]).all(egres,
  egres.?ports.orValue([]).all(port,
    !(int(port.endPort) - int(type(port.port) == string ? '' : port.port) > 100)))"
    );
    let product = "multiply(request.object.spec.minAvailable, `2`)";
    assert_eq!(
        refused("PodDisruptionBudget", product, "GreaterThan", "1"),
        "function multiply of such values"
    );
}

#[test]
fn quantities_are_added_up_in_thousandths() {
    let sum = "sum(request.object.spec.containers[].resources.requests.cpu || `[\\\"100m\\\"]`)";
    assert_eq!(
        ordered("Pod", sum, "GreaterThan", "'64'"),
        "!((object.spec.containers.exists(container, container.?resources.?requests.?cpu.hasValue())
      ? object.spec.containers.filter(container,
          container.?resources.?requests.?cpu.hasValue()).map(container,
          math.round(
            quantity(string(container.resources.requests.cpu)).asApproximateFloat() * 1000.0)).sum()
      : 100.0) >
    64000.0)"
    );
    let product = format!("multiply({sum}, request.object.spec.priority || `2`)");
    assert_eq!(
        ordered("Pod", &product, "GreaterThanOrEquals", "1500m"),
        "!((object.spec.containers.exists(container, container.?resources.?requests.?cpu.hasValue())
      ? object.spec.containers.filter(container,
          container.?resources.?requests.?cpu.hasValue()).map(container,
          math.round(
            quantity(string(container.resources.requests.cpu)).asApproximateFloat() * 1000.0)).sum()
      : 100.0) *
    double(object.spec.?priority.orValue(2)) >=
    1500.0)"
    );
    // The sum of no items fails.
    let open = "sum(request.object.spec.containers[].resources.limits.memory)";
    assert_eq!(
        ordered("Pod", open, "GreaterThan", "1Gi"),
        "let containers = object.spec.containers.filter(container,
  container.?resources.?limits.?memory.hasValue()).map(container,
  math.round(quantity(string(container.resources.limits.memory)).asApproximateFloat() * 1000.0))
!((variables.containers.size() > 0 ? variables.containers.sum() : variables.containers[0]) >
    1073741824000.0)"
    );
}

#[test]
fn a_computed_quantity_is_compared_with_quantities_alone() {
    let sum = "sum(request.object.spec.containers[].resources.requests.cpu || `[\\\"0\\\"]`)";
    // As a text it may be a duration: `500m` is more than five seconds.
    for (operator, value, expected) in [
        ("GreaterThan", "5", "an ordering of a computed quantity by such a value"),
        ("GreaterThan", "1h", "an ordering of a computed quantity by such a value"),
        ("GreaterThan", "1n", "an ordering of a computed quantity by such a value"),
        ("Equals", "'1'", "a computed quantity with such an operator"),
        ("AnyIn", "['1', '2']", "a computed quantity with such an operator"),
    ] {
        assert_eq!(refused("Pod", sum, operator, value), expected, "{operator} {value}");
    }
    let text = format!("to_string({sum})");
    assert_eq!(refused("Pod", &text, "Equals", "'1'"), "function to_string of a computed quantity");
    let third = format!("divide({sum}, `3`)");
    assert_eq!(refused("Pod", &third, "GreaterThan", "'1'"), "function divide of such values");
}

#[test]
fn a_sum_of_no_items_has_the_default_of_its_entry() {
    let rule = |query: &str| {
        format!(
            "{{context: [{{name: total, variable: {{jmesPath: '{query}', default: 1Gi}}}}], \
             validate: {{deny: {{conditions: {{any: [{{key: '{{{{ total }}}}', operator: GreaterThan, value: 2Gi}}]}}}}}}}}"
        )
    };
    let sum = "sum(request.object.spec.containers[].resources.limits.memory)";
    assert_eq!(
        written(&["Pod"], &rule(sum)),
        "let containers = object.spec.containers.filter(container,
  container.?resources.?limits.?memory.hasValue()).map(container,
  math.round(quantity(string(container.resources.limits.memory)).asApproximateFloat() * 1000.0))
!((variables.containers.size() > 0 ? variables.containers.sum() : 1073741824000.0) >
    2147483648000.0)"
    );
    let product = rule(&format!("multiply({sum}, `2`)"));
    let refused = convert_for(Target::Kyverno, &["Pod"], &product).unwrap_err();
    assert_eq!(&*refused.construct, "a default for a sum that fails");
}

#[test]
fn a_text_is_ordered_by_a_number_as_a_number_or_by_seconds() {
    assert_eq!(
        ordered("Pod", "request.object.metadata.labels.level", "GreaterThan", "5"),
        r"!(object.metadata.labels.level.matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
    ? double(object.metadata.labels.level) > 5
    : object.metadata.labels.level.matches(r'^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') &&
      duration(object.metadata.labels.level) > duration('5s'))"
    );
    // A quantity such as `1Gi` is neither.
    assert_eq!(
        ordered("Widget", "request.object.spec.max", "LessThan", "'{{ length(request.object.spec.items) }}'"),
        r"!(string(object.spec.max).matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
    ? double(string(object.spec.max)) < size(object.spec.items)
    : string(object.spec.max).matches(r'^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') &&
      duration(string(object.spec.max)) < duration(string(size(object.spec.items)) + 's'))"
    );
}

#[test]
fn a_text_is_ordered_by_a_version_as_a_version() {
    assert_eq!(
        ordered("Pod", "request.object.metadata.labels.version", "LessThan", "1.2.0"),
        "!(isSemver(object.metadata.labels.version) &&
  semver(object.metadata.labels.version).compareTo(semver('1.2.0')) < 0)"
    );
}

#[test]
fn values_of_unknown_types_are_numbers_or_texts_as_their_defaults_are() {
    let rule = |defaults: [&str; 2], operator: &str| {
        let [low, high] = defaults;
        format!(
            "{{context: [{{name: min, variable: {{jmesPath: request.object.spec.min, default: {low}}}}}, \
             {{name: max, variable: {{jmesPath: request.object.spec.max, default: {high}}}}}], \
             validate: {{deny: {{conditions: {{any: [{{key: '{{{{ min }}}}', operator: {operator}, value: '{{{{ max }}}}'}}]}}}}}}}}"
        )
    };
    assert_eq!(
        written(&["Widget"], &rule(["0", "10"], "GreaterThan")),
        "!(double(object.?spec.?min.orValue(0)) > double(object.?spec.?max.orValue(10)))"
    );
    assert_eq!(
        written(&["Widget"], &rule(["10s", "30s"], "DurationGreaterThan")),
        r"!([object.?spec.?min.orValue('10s'), object.?spec.?max.orValue('30s')].all(text,
    text.matches(r'^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')) &&
  duration(object.?spec.?min.orValue('10s')) > duration(object.?spec.?max.orValue('30s')))"
    );
    let unknown =
        refused("Widget", "request.object.spec.min", "GreaterThan", "'{{ request.object.spec.max }}'");
    assert_eq!(unknown, "an ordering of values of unknown types");
}

#[test]
fn of_a_list_without_items_nothing_is_the_least() {
    let least = "min(request.object.spec.ports[].nodePort)";
    assert_eq!(
        ordered("Service", least, "LessThan", "31000"),
        "let ports = object.spec.ports.filter(port, has(port.nodePort)).map(port, port.nodePort)
!(variables.ports.size() > 0 && variables.ports.min() < 31000)"
    );
}

#[test]
fn ranges_of_versions_may_be_looked_up() {
    let rule = |query: &str| {
        format!(
            "{{context: [{{name: wanted, variable: {{value: {{a: '>=1.28.0', b: '>=2.1.9 <4.0.0', c: '~1.15.2'}}}}}}], \
             validate: {{deny: {{conditions: {{any: [{{key: \"{{{{ {query} }}}}\", operator: Equals, value: false}}]}}}}}}}}"
        )
    };
    // A range that is none fails, as a key that is not there.
    let found = rule(
        "semver_compare(request.object.spec.nodeName, wanted.\\\"{{ request.object.metadata.name }}\\\")",
    );
    assert_eq!(
        written(&["Pod"], &found),
        "[isSemver(object.spec.nodeName) ? semver(object.spec.nodeName) : semver('0.0.0')].exists(version,
  {
    'a': version.compareTo(semver('1.28.0')) >= 0,
    'b': version.compareTo(semver('2.1.9')) >= 0 &&
    version.compareTo(semver('4.0.0')) < 0}[object.metadata.name])"
    );
    let found = "semver_compare('{{ request.object.metadata.name }}.0', '<{{ request.object.metadata.namespace }}.0')";
    assert_eq!(
        written(&["Pod"], &rule(found)),
        "[isSemver(object.metadata.name + '.0')
    ? semver(object.metadata.name + '.0')
    : semver('0.0.0')].exists(version,
  version.compareTo(semver(object.metadata.namespace + '.0')) < 0)"
    );
    let defaulted = rule(
        "semver_compare(request.object.spec.nodeName, wanted.\\\"{{ request.object.metadata.name }}\\\" || '<0.0.1')",
    );
    let refused = convert_for(Target::Kyverno, &["Pod"], &defaulted).unwrap_err();
    assert_eq!(&*refused.construct, "a range of versions that is none");
}

#[test]
fn a_value_that_is_a_number_or_a_text_has_one_of_two_types() {
    let count = "request.object.spec.ports[?type(targetPort) != 'string'] | length(@)";
    assert_eq!(
        ordered("Service", count, "GreaterThan", "0"),
        "object.spec.ports.all(port,
  (has(port.targetPort) ? (type(port.targetPort) == string ? 'string' : 'number') : 'null') ==
    'string')"
    );
}
