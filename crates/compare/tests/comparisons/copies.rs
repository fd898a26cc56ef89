//! Rules that copy values, and that merge items with constant keys into lists: equal ones are
//! proved, and what one token changes is found.

use ephor_compare::Answer;

use super::changes::{apply, cel, classic, differ, patch, tested};
use super::compared;

/// Two sides make the same of all objects, whatever may be assumed of them.
fn proved(old: &str, new: &str) {
    let found = compared(old, new);
    let is_proved = matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_));
    assert!(is_proved, "{:?} {:?}\n{old}\n{new}", found.answer, found.reasons);
}

fn labelled(value: &str) -> String {
    classic("Pod", &format!("mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: '{value}'}}}}}}}}"))
}

fn labels(value: &str) -> String {
    apply("pods", &format!("Object{{metadata: Object.metadata{{labels: {{'a': {value}}}}}}}"))
}

#[test]
fn a_value_is_copied() {
    let name = labelled("{{ request.object.metadata.name }}");
    proved(&name, &labels("object.metadata.name"));
    differ(&name, &labels("object.metadata.namespace"));
    differ(&name, &labels("object.spec.schedulerName"));
    differ(&name, &labels("'a'"));
    differ(&name, &labels("object.metadata.name + 'x'"));
    let joined = labelled("x-{{ request.object.metadata.name }}.{{ request.object.metadata.namespace }}");
    proved(&joined, &labels("'x-' + object.metadata.name + '.' + object.metadata.namespace"));
    differ(&joined, &labels("'x-' + object.metadata.namespace + '.' + object.metadata.name"));
    differ(&joined, &labels("'x-' + object.metadata.name + object.metadata.namespace"));
    // Functions of values are not followed.
    tested(
        &labelled("{{ to_upper(request.object.metadata.name) }}"),
        &labels("object.metadata.name.upperAscii()"),
    );
}

#[test]
fn one_of_two_values_is_copied() {
    let old = labelled("{{ request.object.spec.hostname || request.object.spec.subdomain || ''none'' }}");
    let host = "object.spec.?hostname.orValue('')";
    let domain = "object.spec.?subdomain.orValue('')";
    let new = |first: &str, second: &str| {
        labels(&format!("{first} != '' ? {first} : {second} != '' ? {second} : 'none'"))
    };
    proved(&old, &new(host, domain));
    differ(&old, &new(domain, host));
    differ(&old, &labels(&format!("{host} != '' ? {host} : {domain}")));
    // An empty text is no value for Kyverno, and no API server shows one there.
    proved(&old, &labels("object.spec.?hostname.orValue(object.spec.?subdomain.orValue('none'))"));
}

#[test]
fn a_value_that_rules_compare_is_copied() {
    let rule = "preconditions: {all: [{key: '{{ request.object.spec.hostname || '''' }}', operator: Equals, value: high}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ request.object.spec.hostname }}'}}}}";
    let new = |value: &str| {
        let condition =
            "  matchConditions: [{name: a, expression: \"object.spec.?hostname.orValue('') == 'high'\"}]\n";
        let literal = format!("Object{{metadata: Object.metadata{{labels: {{'a': {value}}}}}}}");
        cel("pods", condition, &[("ApplyConfiguration", &literal)])
    };
    proved(&classic("Pod", rule), &new("object.spec.hostname"));
    proved(&classic("Pod", rule), &new("'high'"));
    differ(&classic("Pod", rule), &new("'low'"));
    differ(&classic("Pod", rule), &new("object.metadata.name"));
    let many = rule.replace("value: high", "value: 'a*'");
    let new = |value: &str| new(value).replace("== 'high'", ".startsWith('a')");
    proved(&classic("Pod", &many), &new("object.spec.hostname"));
    differ(&classic("Pod", &many), &new("'a'"));
    differ(&classic("Pod", &many), &new("'ab'"));
}

/// A loop over containers that merges an item into its own.
fn each(list: &str, item: &str) -> String {
    classic(
        "Pod",
        &format!(
            "mutate: {{foreach: [{{list: '{list}', patchStrategicMerge: {{spec: {{containers: [{item}]}}}}}}]}}"
        ),
    )
}

fn containers(fields: &str) -> String {
    let item = format!("Object.spec.containers{{name: c.name, {fields}}}");
    apply(
        "pods",
        &format!("Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {item})}}}}"),
    )
}

#[test]
fn a_loop_merges_into_its_own_item() {
    let own = "request.object.spec.containers";
    let old = each(own, "{name: '{{ element.name }}', workingDir: /a}");
    proved(&old, &containers("workingDir: '/a'"));
    differ(&old, &containers("workingDir: '/b'"));
    differ(&old, &containers("?workingDir: c.name == 'x' ? optional.none() : optional.of('/a')"));
    let copied = each(own, "{(name): '{{ element.name }}', workingDir: '{{ element.image }}'}");
    proved(&copied, &containers("workingDir: c.image"));
    differ(&copied, &containers("workingDir: object.spec.containers[0].image"));
    differ(&copied, &containers("workingDir: c.name"));
    // What the first item has decides about all, in each turn.
    let absent = "?workingDir: has(c.workingDir) ? optional.none() : optional.of('/a')";
    differ(&each(own, "{(name): '{{ element.name }}', +(workingDir): /a}"), &containers(absent));
    let nested = |name: &str| {
        each(
            own,
            &format!("{{{name}: '{{{{ element.name }}}}', resources: {{requests: {{+(memory): 1Mi}}}}}}"),
        )
    };
    let absent = "resources: Object.spec.containers.resources{requests: {?'memory': c.?resources.?requests.?memory.hasValue() ? optional.none() : optional.of('1Mi')}}";
    proved(&nested("(name)"), &containers(absent));
    differ(&nested("name"), &containers(absent));
}

#[test]
fn a_loop_over_several_lists_changes_the_items_of_one() {
    let old =
        |item: &str| each("request.object.spec.[ephemeralContainers, initContainers, containers][]", item);
    let item = "{(name): '{{ element.name }}', resources: {requests: {+(memory): 100Mi}}}";
    let new = |fields: &str| {
        containers(&format!("resources: Object.spec.containers.resources{{requests: {{{fields}}}}}"))
    };
    let absent = |of: &str, value: &str| {
        format!("?'memory': c.?resources.?{of}.?memory.hasValue() ? optional.none() : optional.of('{value}')")
    };
    proved(&old(item), &new(&absent("requests", "100Mi")));
    differ(&old(item), &new(&absent("requests", "101Mi")));
    differ(&old(item), &new(&absent("limits", "100Mi")));
    differ(&old(item), &new("'memory': '100Mi'"));
}

#[test]
fn limits_become_requests() {
    let both = "element.resources.limits.memory || element.resources.requests.memory";
    let old = each(
        "request.object.spec.containers",
        &format!(
            "{{(name): '{{{{ element.name }}}}', resources: {{requests: {{memory: '{{{{ {both} }}}}'}}}}}}"
        ),
    );
    let new = |value: &str| {
        containers(&format!(
            "resources: Object.spec.containers.resources{{requests: {{?'memory': {value}}}}}"
        ))
    };
    let [limit, request] = ["limits", "requests"].map(|of| format!("c.?resources.?{of}.?memory"));
    proved(&old, &new(&format!("{limit}.or({request})")));
    differ(&old, &new(&format!("{request}.or({limit})")));
    // Where there is no limit the request is what it was.
    proved(&old, &new(&limit));
    differ(&old, &new(&format!("{limit}.or(c.?resources.?requests.?cpu)")));
}

#[test]
fn an_item_with_a_constant_key_is_merged() {
    let merge = |item: &str| {
        classic("Pod", &format!("mutate: {{patchStrategicMerge: {{spec: {{volumes: [{item}]}}}}}}"))
    };
    let applied = |item: &str| apply("pods", &format!("Object{{spec: Object.spec{{volumes: [{item}]}}}}"));
    let old = merge("{name: v, hostPath: {path: /a}}");
    let path = |path: &str| format!("hostPath: Object.spec.volumes.hostPath{{path: '{path}'}}");
    proved(&old, &applied(&format!("Object.spec.volumes{{name: 'v', {}}}", path("/a"))));
    differ(&old, &applied(&format!("Object.spec.volumes{{name: 'v', {}}}", path("/b"))));
    differ(&old, &applied(&format!("Object.spec.volumes{{name: 'w', {}}}", path("/a"))));
    differ(&old, &applied("Object.spec.volumes{name: 'v'}"));
    let two =
        format!("Object.spec.volumes{{name: 'v', {0}}}, Object.spec.volumes{{name: 'w', {0}}}", path("/a"));
    differ(&old, &applied(&two));
    proved(&merge("{name: w, hostPath: {path: /a}}, {name: v, hostPath: {path: /a}}"), &applied(&two));
}

#[test]
fn variables_of_the_environment_are_merged_into_each_container() {
    let old = classic(
        "Pod",
        "mutate: {patchStrategicMerge: {spec: {containers: [{(name): '*', env: [{name: A, value: a}]}]}}}",
    );
    let new = |name: &str, value: &str| {
        containers(&format!("env: [Object.spec.containers.env{{name: '{name}', value: '{value}'}}]"))
    };
    proved(&old, &new("A", "a"));
    differ(&old, &new("A", "b"));
    differ(&old, &new("B", "a"));
    let absent = "?env: has(c.env) ? optional.none() : optional.of([Object.spec.containers.env{name: 'A', value: 'a'}])";
    differ(&old, &containers(absent));
    // What is put behind the others is a second one of that name.
    let operation = "has(c.env) ? JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/env/-', value: {'name': 'A', 'value': 'a'}} : JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/env', value: [{'name': 'A', 'value': 'a'}]}";
    let found =
        compared(&old, &patch("pods", &format!("object.spec.containers.transformList(i, c, {operation})")));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

/// A rule that generates an object for a Deployment.
fn generated(name: &str, selector: &str) -> String {
    classic(
        "Deployment",
        &format!(
            "generate: {{apiVersion: policy/v1, kind: PodDisruptionBudget, name: '{name}', namespace: '{{{{ request.object.metadata.namespace }}}}', data: {{spec: {{minAvailable: 1, selector: '{selector}'}}}}}}"
        ),
    )
}

fn generating(name: &str, selector: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {{name: p}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}}]
  generate:
  - template:
      interpolate: cel
      value: |
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata:
          name: {name}
          namespace: (( object.metadata.namespace ))
        spec:
          minAvailable: 1
          selector: {selector}
"
    )
}

#[test]
fn what_is_generated_has_copies_of_the_object() {
    let old = generated("{{ request.object.metadata.name }}-pdb", "{{ request.object.spec.selector }}");
    let found = compared(&old, &generating("(( object.metadata.name ))-pdb", "(( object.spec.selector ))"));
    let is_proved = !found.differences.iter().any(|one| one.environment.operation != "DELETE");
    assert!(is_proved && found.reasons.is_empty(), "{:?} {:?}", found.answer, found.reasons);
    // Also for some names alone.
    let some = |policy: &str| policy.replace("kinds: [Deployment]", "kinds: [Deployment], names: [a*, b]");
    let condition = "  matchConditions: [{name: a, expression: \"object.metadata.name.startsWith('a') || object.metadata.name == 'b'\"}]\n  generate:";
    let new = generating("(( object.metadata.name ))-pdb", "(( object.spec.selector ))");
    let found = compared(&some(&old), &new.replace("  generate:", condition));
    let is_proved = !found.differences.iter().any(|one| one.environment.operation != "DELETE");
    assert!(is_proved && found.reasons.is_empty(), "{:?} {:?}", found.answer, found.reasons);
    for (name, selector) in [
        ("(( object.metadata.name ))", "(( object.spec.selector ))"),
        ("(( object.metadata.namespace ))-pdb", "(( object.spec.selector ))"),
        ("a-pdb", "(( object.spec.selector ))"),
        ("(( object.metadata.name ))-pdb", "{matchLabels: {a: b}}"),
        ("(( object.metadata.name ))-pdb", "{matchLabels: (( object.spec.selector.matchLabels ))}"),
    ] {
        let found = compared(&old, &generating(name, selector));
        let differs = found.differences.iter().any(|one| one.environment.operation == "CREATE");
        assert!(differs, "{name} {selector}: {:?}", found.answer);
    }
}

#[test]
fn an_entry_for_each_container_is_written() {
    let list = "request.object.spec.[ephemeralContainers, initContainers, containers][]";
    let old = |key: &str, value: &str| {
        classic(
            "Pod",
            &format!(
                "mutate: {{foreach: [{{list: '{list}', patchStrategicMerge: {{metadata: {{annotations: {{'{key}': {value}}}}}}}}}]}}"
            ),
        )
    };
    let all = "object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])";
    let new = |lists: &str, entry: &str| {
        let map = format!("({lists}).transformMapEntry(i, c, {entry})");
        apply("pods", &format!("Object{{metadata: Object.metadata{{annotations: {map}}}}}"))
    };
    let armor = old("a/{{ element.name }}", "b");
    proved(&armor, &new(all, "{'a/' + c.name: 'b'}"));
    differ(&armor, &new(all, "{'a/' + c.name: 'c'}"));
    differ(&armor, &new(all, "{'b/' + c.name: 'b'}"));
    differ(&armor, &new(all, "{'a/' + c.name + 'x': 'b'}"));
    differ(&armor, &new("object.spec.containers", "{'a/' + c.name: 'b'}"));
    // A key may be one that a rule reads.
    let entries = format!(
        "Object{{metadata: Object.metadata{{annotations: ({all}).transformMapEntry(i, c, {{'a/' + c.name: 'b'}})}}}}"
    );
    let reads = "Object{metadata: Object.metadata{labels: {?'x': object.metadata.?annotations[?'a/main'].hasValue() ? optional.of('y') : optional.none()}}}";
    let [first, last] = [[&*entries, reads], [reads, &*entries]]
        .map(|all| cel("pods", "", &all.map(|one| ("ApplyConfiguration", one))));
    let found = compared(&first, &last);
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
    // Keys may be those of others, so values have to be the same.
    let found = compared(
        &old("a/{{ element.name }}", "'{{ element.image }}'"),
        &new(all, "{'a/' + c.name: c.image}"),
    );
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn what_a_loop_writes_outside_of_items_is_a_statement_about_its_list() {
    let old = |value: &str| {
        classic(
            "Pod",
            &format!(
                "mutate: {{foreach: [{{list: request.object.spec.initContainers, patchStrategicMerge: {{metadata: {{labels: {{a: '{value}'}}}}}}}}]}}"
            ),
        )
    };
    let new = |test: &str, value: &str| {
        let entry = format!("?'a': {test} ? optional.of({value}) : optional.none()");
        apply("pods", &format!("Object{{metadata: Object.metadata{{labels: {{{entry}}}}}}}"))
    };
    let list = "object.spec.?initContainers.orValue([])";
    differ(&old("x"), &new(&format!("{list}.size() > 1"), "'x'"));
    differ(&old("x"), &new(&format!("{list}.exists(c, c.name == 'y')"), "'x'"));
    // The last one counts, or the first.
    let found = compared(
        &old("{{ element.image }}"),
        &new(&format!("{list}.size() > 0"), &format!("{list}[0].image")),
    );
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn the_first_item_is_changed() {
    let old = classic(
        "Pod",
        "mutate: {patchesJson6902: \"- {op: add, path: /spec/containers/0/tty, value: true}\"}",
    );
    proved(&old, &patch("pods", "[JSONPatch{op: 'add', path: '/spec/containers/0/tty', value: true}]"));
    differ(&old, &patch("pods", "[JSONPatch{op: 'add', path: '/spec/containers/0/stdin', value: true}]"));
    let by = |test: &str| {
        format!("{test} ? [JSONPatch{{op: 'add', path: '/spec/containers/0/tty', value: true}}] : []")
    };
    differ(&old, &patch("pods", &by("object.spec.containers.size() == 1")));
    differ(&old, &patch("pods", &by("!has(object.spec.containers[0].stdin)")));
    proved(&old, &patch("pods", &by("!object.spec.containers[0].?tty.orValue(false)")));
    let item = "JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/tty', value: true}";
    differ(&old, &patch("pods", &format!("object.spec.containers.transformList(i, c, {item})")));
    differ(&old, &containers("tty: true"));
}

#[test]
fn the_same_function_of_a_text_is_written() {
    let pattern = r"^(localhost/|(?:[a-z0-9]+\\.)+[a-z0-9]+/)?(.*)$";
    let own = "request.object.spec.containers";
    let old = |pattern: &str, by: &str| {
        let image = format!(r#""{{{{ regex_replace_all('{pattern}', '{{{{element.image}}}}', '{by}') }}}}""#);
        each(own, &format!("{{name: '{{{{ element.name }}}}', image: {image}}}"))
    };
    let new = |of: &str, pattern: &str, by: &str| {
        containers(&format!("image: regex.replace({of}, r'{pattern}', r'{by}')"))
    };
    let replaced = old(pattern, "r.io/$2");
    let raw = r"r.io/\\2";
    proved(&replaced, &new("c.image", pattern, raw));
    differ(&replaced, &new("c.name", pattern, raw));
    differ(&replaced, &new("c.image", pattern, r"r.io/\\1"));
    differ(&replaced, &new("c.image", pattern, r"s.io/\\2"));
    // Whether another expression matches the same texts is not known.
    let other = r"^(localhost/|(?:[a-z0-9]+\\.)+[a-z]+/)?(.*)$";
    let found = compared(&replaced, &new("c.image", other, raw));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
    // To replace once more changes some.
    let twice = old(r"^(.*)/library/", "$1/");
    let item =
        r"Object.spec.containers{name: c.name, image: regex.replace(c.image, r'^(.*)/library/', r'\\1/')}";
    let literal = format!("Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {item})}}}}");
    proved(&twice, &apply("pods", &literal));
    let found = compared(
        &twice,
        &cel("pods", "", &[("ApplyConfiguration", &literal), ("ApplyConfiguration", &literal)]),
    );
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn a_name_that_an_api_server_generates_is_not_known() {
    let literal = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}";
    let condition = "  matchConditions: [{name: a, expression: \"!has(object.metadata.generateName)\"}]\n";
    let found =
        compared(&apply("pods", literal), &cel("pods", condition, &[("ApplyConfiguration", literal)]));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn a_policy_that_is_not_evaluated_at_admission_is_another_one() {
    let on = labels("object.metadata.name");
    let off = on.replace("spec:\n", "spec:\n  evaluation: {admission: {enabled: false}}\n");
    proved(&on, &on);
    proved(&off, &off);
    tested(&on, &off);
}

#[test]
fn a_loop_chooses_elements() {
    let old = |condition: &str| {
        classic(
            "Pod",
            &format!(
                "mutate: {{foreach: [{{list: request.object.spec.containers, preconditions: {{all: [{condition}]}}, patchStrategicMerge: {{spec: {{containers: [{{name: '{{{{ element.name }}}}', imagePullPolicy: Always}}]}}}}}}]}}"
            ),
        )
    };
    let new = |test: &str, policy: &str| {
        let item = format!("Object.spec.containers{{name: c.name, imagePullPolicy: '{policy}'}}");
        apply(
            "pods",
            &format!(
                "Object{{spec: Object.spec{{containers: object.spec.containers.filter(c, {test}).map(c, {item})}}}}"
            ),
        )
    };
    let latest = old("{key: '{{ element.image }}', operator: Equals, value: '*:latest'}");
    proved(&latest, &new("c.image.endsWith(':latest')", "Always"));
    differ(&latest, &new("c.image.endsWith(':latest')", "Never"));
    differ(&latest, &new("c.image.endsWith('latest')", "Always"));
    differ(&latest, &new("!c.image.endsWith(':latest')", "Always"));
    differ(&latest, &new("object.spec.containers.exists(d, d.image.endsWith(':latest'))", "Always"));
    differ(&latest, &new("object.spec.containers[0].image.endsWith(':latest')", "Always"));
    differ(&latest, &new("true", "Always"));
}

#[test]
fn what_fails_for_one_element_ends_the_loop_for_all() {
    let own = "request.object.spec.containers";
    let old = each(own, "{name: '{{ element.name }}', terminationMessagePath: '{{ element.workingDir }}'}");
    proved(&old, &containers("terminationMessagePath: c.workingDir"));
    // A container without the field is no failure here, so those next to it are changed.
    let new = containers("?terminationMessagePath: c.?workingDir");
    let found = compared(&old, &new);
    let is_changed = |one: &ephor_compare::Difference| {
        one.old.verdict == ephor_compare::Verdict::Error
            && one.new.changed.as_ref().is_some_and(|changed| !changed.json_eq(&one.object))
    };
    assert!(found.differences.iter().any(is_changed), "{:?} {:?}", found.answer, found.differences);
}

/// A rule that writes a text with a part for each of some volumes.
fn joined(query: &str) -> String {
    let rule = "context: [{name: all, variable: {jmesPath: \"QUERY\"}}]\n    mutate: {patchStrategicMerge: {metadata: {annotations: {a: '{{ all }}'}}}}";
    classic("Pod", &rule.replace("QUERY", query))
}

fn joining(text: &str) -> String {
    apply("pods", &format!("Object{{metadata: Object.metadata{{annotations: {{'a': {text}}}}}}}"))
}

#[test]
fn a_text_joins_a_value_of_each_item_that_is_chosen() {
    let old = joined("join(',', request.object.spec.volumes[?contains(keys(@), 'hostPath')].name)");
    let volumes = |test: &str, value: &str, between: &str| {
        joining(&format!("object.spec.volumes.filter(v, {test}).map(v, {value}).join('{between}')"))
    };
    proved(&old, &volumes("has(v.hostPath)", "v.name", ","));
    proved(&old, &joining("object.spec.volumes.map(v, has(v.hostPath), v.name).join(',')"));
    differ(&old, &volumes("has(v.hostPath)", "v.name", ", "));
    differ(&old, &volumes("has(v.emptyDir)", "v.name", ","));
    differ(&old, &volumes("!has(v.hostPath)", "v.name", ","));
    differ(&old, &volumes("true", "v.name", ","));
    differ(&old, &volumes("has(v.hostPath)", "v.hostPath.path", ","));
    differ(
        &old,
        &joining("object.spec.volumes.exists(v, has(v.hostPath)) ? object.spec.volumes[0].name : ''"),
    );
    // In which order two lists of parts come is not followed.
    let of = |test: &str| format!("object.spec.volumes.filter(v, {test}).map(v, v.name).join(',')");
    tested(&joining(&of("true")), &joining(&format!("{} + {}", of("true"), of("false"))));
    // Without a choice, of several lists, with text around.
    let old = joined("join('-', request.object.spec.[initContainers, containers][].name)");
    let lists = "(object.spec.?initContainers.orValue([]) + object.spec.containers)";
    proved(&old, &joining(&format!("{lists}.map(c, c.name).join('-')")));
    differ(&old, &joining(&format!("{lists}.map(c, c.image).join('-')")));
    differ(&old, &joining("object.spec.containers.map(c, c.name).join('-')"));
}

#[test]
fn only_the_labels_that_selectors_look_for_distinguish_namespaces() {
    let with = |value: &str| {
        labels("object.metadata.name").replace(
            "  matchConstraints:\n",
            &format!("  matchConstraints:\n    namespaceSelector: {{matchLabels: {{a: {value}}}}}\n"),
        )
    };
    proved(&with("b"), &with("b"));
    differ(&with("b"), &with("c"));
    differ(&with("b"), &labels("object.metadata.name"));
}

#[test]
fn parts_of_the_name_of_an_image_are_written() {
    let old = |list: &str, text: &str| {
        classic(
            "Pod",
            &format!(
                "mutate: {{foreach: [{{list: request.object.spec.{list}, patchStrategicMerge: {{spec: {{{list}: [{{name: '{{{{ element.name }}}}', image: '{text}'}}]}}}}}}]}}"
            ),
        )
    };
    let part = |list: &str, part: &str| format!("{{{{ images.{list}.\"{{{{ element.name }}}}\".{part} }}}}");
    let text =
        |one: &str, other: &str| format!("r.io/{}:{}", part("containers", one), part("containers", other));
    let new = |image: &str| containers(&format!("image: {image}"));
    let parsed = "parseImageReference(c.image)";
    let path = format!(
        "(c.image.contains('library/') ? {parsed}.repository() : {parsed}.repository().replace('library/', ''))"
    );
    let tagged = old("containers", &text("path", "tag"));
    let tag = format!("optional.ofNonZeroValue({parsed}.tag()).value()");
    proved(&tagged, &new(&format!("'r.io/' + {path} + ':' + {tag}")));
    // A name with a digest alone has no tag: the old rule fails.
    tested_or_differ(&tagged, &new(&format!("'r.io/' + {path} + ':' + {parsed}.tag()")));
    differ(&tagged, &new(&format!("'r.io/' + {path} + ':' + {parsed}.digest()")));
    differ(&tagged, &new(&format!("'q.io/' + {path} + ':' + {tag}")));
    differ(&tagged, &new(&format!("'r.io/' + {path} + {tag}")));
    differ(&tagged, &new("'r.io/' + c.image"));
    // The registry's folder is no part of the path in ClusterPolicies.
    tested_or_differ(&tagged, &new(&format!("'r.io/' + {parsed}.repository() + ':' + {parsed}.tag()")));
    let other = path.replace("contains('library/')", "contains('library')");
    tested_or_differ(&tagged, &new(&format!("'r.io/' + {other} + ':' + {parsed}.tag()")));
    // Each list has images of its own.
    let init = old("containers", &text("path", "tag").replace("images.containers", "images.initContainers"));
    tested_or_differ(&init, &new(&format!("'r.io/' + {path} + ':' + {parsed}.tag()")));
}

/// Sides are not proved to make the same.
fn tested_or_differ(old: &str, new: &str) {
    let found = compared(old, new);
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn the_name_of_the_user_is_copied() {
    let old = labelled("by-{{ request.userInfo.username }}");
    proved(&old, &labels("'by-' + request.userInfo.username"));
    differ(&old, &labels("'by-' + object.metadata.name"));
    differ(&old, &labels("request.userInfo.username"));
    differ(&old, &labels("'by-a'"));
    let condition = "  matchConditions: [{name: a, expression: \"request.userInfo.username != 'a'\"}]\n";
    let literal = "Object{metadata: Object.metadata{labels: {'a': 'by-' + request.userInfo.username}}}";
    tested_or_differ(&old, &cel("pods", condition, &[("ApplyConfiguration", literal)]));
}

#[test]
fn operations_by_the_position_of_the_element_change_its_item() {
    let old = |conditions: &str, patch: &str| {
        let patch = patch.replace('\'', "''");
        classic(
            "Pod",
            &format!(
                "mutate: {{foreach: [{{list: request.object.spec.containers, preconditions: {{all: [{conditions}]}}, patchesJson6902: '{patch}'}}]}}"
            ),
        )
    };
    let new = |test: &str, path: &str, value: &str| {
        let path = format!("'/spec/containers/' + string(i) + '{path}'");
        let operation = format!("JSONPatch{{op: 'add', path: {path}, value: {value}}}");
        let list = "object.spec.containers";
        cel("pods", "", &[("JSONPatch", &format!("{list}.transformList(i, c, {test}, {operation})"))])
    };
    let tty = "- {op: add, path: '/spec/containers/{{elementIndex}}/tty', value: true}";
    let image = "{key: '{{ element.image }}', operator: Equals, value: 'a*'}";
    let changed = old(image, tty);
    proved(&changed, &new("c.image.startsWith('a')", "/tty", "true"));
    differ(&changed, &new("c.image.startsWith('b')", "/tty", "true"));
    differ(&changed, &new("true", "/tty", "true"));
    differ(&changed, &new("c.image.startsWith('a')", "/tty", "false"));
    differ(&changed, &new("c.image.startsWith('a')", "/stdin", "true"));
    differ(&changed, &new("c.image.startsWith('a') && i > 0", "/tty", "true"));
    differ(&changed, &new("object.spec.containers.exists(d, d.image.startsWith('a'))", "/tty", "true"));
    // A list of the item decides.
    let args = old("{key: x, operator: AnyIn, value: '{{ element.args[] || `[]` }}'}", tty);
    proved(&args, &new("c.?args.orValue([]).exists(a, a in ['x', '*'])", "/tty", "true"));
    differ(&args, &new("c.?args.orValue([]).all(a, a in ['x', '*'])", "/tty", "true"));
    differ(&args, &new("c.?args.orValue([]).exists(a, a in ['y', '*'])", "/tty", "true"));
    differ(&args, &new("c.?args.orValue([]).size() > 0", "/tty", "true"));
    // In another list than its own, it is that of another item.
    let other = tty.replace("/spec/containers", "/spec/volumes").replace("tty", "name");
    tested_or_differ(&old(image, &other), &old(image, &other.replace("true", "'a'")));
}
