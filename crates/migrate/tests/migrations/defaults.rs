//! Values of unknown types: what defaults, patterns and functions say of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::kinds::{has, migrated, rule};

fn refused(text: &str) -> String {
    migrated(text).1
}

const PARSED: &str = "    context: [{name: cfg, variable: {jmesPath: 'parse_json(request.object.data.x)'}}]
";

#[test]
fn a_list_as_the_default_says_that_a_value_is_a_list() {
    let conditions = "{any: [{key: \"{{ element.host || '' }}\", operator: Equals, value: bad}]}";
    let each = |body: &str| {
        format!("    validate: {{message: m, foreach: [{{list: 'cfg.rules || `[]`', {body}}}]}}\n")
    };
    let (text, word, _) = migrated(&rule(
        "ConfigMap",
        &format!("{PARSED}{}", each(&format!("deny: {{conditions: {conditions}}}"))),
    ));
    has(&text, &["variables.cfg.rules : []).all(rule, rule.?host.orValue('') !="]);
    assert_eq!(word, "tested", "{text}");
    let (text, ..) = migrated(&rule("ConfigMap", &format!("{PARSED}{}", each("pattern: {host: '!bad'}"))));
    has(&text, &["has(rule.host) && rule.host != 'bad')"]);
}

#[test]
fn what_is_looked_for_in_a_list_of_unknown_type_is_looked_for_in_its_items() {
    let deny = "    validate: {message: m, deny: {conditions: {any: [{key: x, operator: AnyIn, value: \"{{ request.object.spec.hosts || `[]` }}\"}]}}}\n";
    let (text, word, _) = migrated(&rule("networking.istio.io/v1beta1/VirtualService", deny));
    has(&text, &["!object.?spec.?hosts.orValue([]).exists(host, host in ['x', '*'])"]);
    assert_eq!(word, "proved relative", "{text}");
}

#[test]
fn numbers_and_amounts_of_patterns_are_compared_with_variables() {
    let of = |kind: &str, pattern: &str| {
        let (text, word, _) =
            migrated(&rule(kind, &format!("    validate: {{message: m, pattern: {{spec: {pattern}}}}}\n")));
        assert_eq!(word, "tested", "{text}");
        text
    };
    let hpa = of("HorizontalPodAutoscaler", "{maxReplicas: '>{{ request.object.spec.minReplicas || `1` }}'}");
    has(&hpa, &["expression: object.spec.maxReplicas > object.spec.?minReplicas.orValue(1)"]);
    let same = of("Deployment", "{replicas: '{{ request.object.spec.minReadySeconds }}'}");
    has(&same, &["object.spec.replicas == object.spec.minReadySeconds"]);
    let text = of("Deployment", "{replicas: '>={{ request.object.metadata.annotations.min }}'}");
    has(
        &text,
        &[
            "isQuantity(object.metadata.annotations.min) &&",
            "!quantity(string(object.spec.replicas)).isLessThan(quantity(object.metadata.annotations.min))",
        ],
    );
    let part = "    validate: {message: m, pattern: {spec: {replicas: '1-{{ request.object.spec.minReadySeconds }}'}}}\n";
    let refusal = refused(&rule("Deployment", part));
    assert_eq!(refusal, "refused: a variable in a pattern that would have to be a number, or part of one");
}

#[test]
fn a_range_with_a_variable_is_refused_where_numbers_are_compared() {
    let deny = "    validate: {message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.replicas }}', operator: AnyNotIn, value: '1-{{ request.object.metadata.annotations.max }}'}]}}}\n";
    assert_eq!(refused(&rule("Deployment", deny)), "refused: a range with a variable");
}

#[test]
fn fields_that_certificates_lack_in_cel_are_refused() {
    let deny = |kind: &str, path: &str| {
        let decoded = format!("x509_decode(base64_decode(request.object.{path})).Subject.CommonName");
        rule(
            kind,
            &format!(
                "    validate: {{message: m, deny: {{conditions: {{any: [{{key: '{{{{ {decoded} }}}}', operator: Equals, value: x}}]}}}}}}\n"
            ),
        )
    };
    assert_eq!(refused(&deny("Secret", "data.\"tls.crt\"")), "refused: the field `Subject` of a certificate");
    let (text, ..) = migrated(&deny("CertificateSigningRequest", "spec.request"));
    has(&text, &["Subject.CommonName != 'x'"]);
}

#[test]
fn nothing_is_in_a_list_that_is_missing_and_nothing_is_not_in_it() {
    let deny = "    validate: {message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.template.spec.containers[].name }}', operator: AnyNotIn, value: '{{ request.object.spec.template.spec.volumes[].name }}'}]}}}\n";
    let (text, word, _) = migrated(&rule("Deployment", deny));
    has(&text, &["has(object.spec.template.spec.volumes) &&"]);
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn loops_that_change_lists_with_a_default_know_the_list() {
    let body = "    mutate:
      foreach:
      - list: 'request.object.spec.template.spec.volumes || `[]`'
        patchesJson6902: |-
          - {path: \"/spec/template/spec/volumes/{{elementIndex}}/name\", op: replace, value: \"x-{{ element.name }}\"}
";
    let (text, word, _) = migrated(&rule("Deployment", body));
    has(&text, &["object.spec.template.spec.?volumes.orValue([]).transformList(index,"]);
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn lists_that_api_servers_show_as_null_are_none() {
    let body = "    validate:
      message: m
      foreach:
      - list: \"request.object.spec.limits[?type == 'Container']\"
        deny: {conditions: {any: [{key: \"{{ element.default.memory || '0' }}\", operator: Equals, value: '1'}]}}
";
    let (text, word, _) = migrated(&rule("LimitRange", body));
    has(&text, &["object.?spec.?limits.orValue(null) == null ||"]);
    assert_eq!(word, "proved", "{text}");
}

#[test]
fn a_loop_over_one_of_two_lists_is_one_over_that_which_is_there() {
    let body = "    validate:
      message: m
      foreach:
      - list: 'request.object.spec.rules[].host || [request.object.metadata.name]'
        deny: {conditions: {any: [{key: '{{ element }}', operator: NotEquals, value: a}]}}
";
    let (text, word, _) = migrated(&rule("Ingress", body));
    has(
        &text,
        &[
            "? object.spec.?rules.orValue([]).filter(rule, has(rule.host)).map(rule, rule.host)",
            ": [object.metadata.name])",
        ],
    );
    assert_eq!(word, "proved", "{text}");
}

#[test]
fn each_key_that_a_wildcard_matches_is_read() {
    let of = |entry: &str, expression: &str, wanted: &str| {
        let pattern =
            format!("    validate: {{message: m, pattern: {{metadata: {{labels: {{{entry}}}}}}}}}\n");
        let (text, word, _) = migrated(&rule("ConfigMap", &pattern));
        has(&text, &[expression]);
        assert_eq!(word, wanted, "{text}");
    };
    let each = "object.metadata.labels.all(key,";
    of("=(a.io/*): b", each, "proved relative");
    // Without an anchor there must be one.
    of("a.io/*: b", "object.metadata.labels.exists(key, key.startsWith('a.io/'))", "proved relative");
    of("a.io/*: b", each, "proved relative");
    // All of them report that there is none.
    of("X(a.io/*): b", "!object.metadata.labels.exists(key, key.startsWith('a.io/'))", "proved");
}
