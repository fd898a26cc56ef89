//! Lists: few of them stand for all.

use ephor_compare::{Answer, DifferenceKind, Universe};

use super::compared;

/// A ClusterPolicy that looks at the rules of a ClusterRole.
fn each(list: &str, conditions: &[&str]) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ClusterRole]}}}}]}}\n    validate:\n      message: m\n      foreach:\n      - list: \"{list}\"\n        deny: {{conditions: {{all: [{}]}}}}\n",
        conditions.join(", ")
    )
}

fn any_in(key: &str, values: &str) -> String {
    format!("{{key: \"{{{{ {key} }}}}\", operator: AnyIn, value: {values}}}")
}

#[test]
fn items_with_several_lists_of_many_values_are_proved() {
    let groups = any_in("element.apiGroups || ''", "[a.io, b.io]");
    let resources = any_in("element.resources || ''", "[roles, users, keys, '*']");
    let verbs = any_in("element.verbs", "[bind, escalate, impersonate, '*']");
    let list = "request.object.rules[]";
    let old = each(list, &[&groups, &resources, &verbs]);
    let new = each(list, &[&verbs, &groups, &resources]);
    let found = compared(&old, &new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    assert!(found.objects < 2_000, "{} objects", found.objects);
}

#[test]
fn a_filter_of_a_loop_and_a_condition_say_the_same() {
    let verbs = any_in("element.verbs[]", "[update, patch]");
    let with_filter = each("request.object.rules[?contains(resources, 'keys')]", &[&verbs]);
    let has_keys = any_in("element.resources", "[keys]");
    let with_condition = each("request.object.rules", &[&has_keys, &verbs]);
    let found = compared(&with_filter, &with_condition);
    // `AnyIn` takes the value `*` for a pattern, `contains` does not.
    let kinds: Vec<DifferenceKind> = found.differences.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&DifferenceKind::Stricter), "{kinds:?}");
    let contains =
        "{key: \"{{ contains(element.resources || `[]`, 'keys') }}\", operator: Equals, value: true}";
    let guarded = "request.object.rules[?contains(resources || `[]`, 'keys')]";
    let found = compared(&each(guarded, &[&verbs]), &each("request.object.rules", &[contains, &verbs]));
    assert_eq!(found.answer, Answer::Proved, "{:?} {:?}", found.reasons, found.differences);
}

#[test]
fn what_takes_two_items_to_violate_is_found() {
    let deny = |keys: &[&str]| {
        let condition = |key: &&str| any_in(&format!("request.object.rules[].{key}[]"), "[x]");
        let all: Vec<String> = keys.iter().map(condition).collect();
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ClusterRole]}}}}]}}\n    validate:\n      message: m\n      deny: {{conditions: {{all: [{}]}}}}\n",
            all.join(", ")
        )
    };
    let together = deny(&["verbs", "resources"]);
    let verbs = any_in("element.verbs[]", "[x]");
    let resources = any_in("element.resources[]", "[x]");
    let in_one = each("request.object.rules", &[&verbs, &resources]);
    let found = compared(&together, &in_one);
    let weaker = found
        .differences
        .iter()
        .find(|one| one.kind == DifferenceKind::Weaker && one.environment.operation == "CREATE");
    let weaker = weaker.unwrap_or_else(|| panic!("{:?}", found.differences));
    assert_eq!(weaker.universe, Universe::Cluster);
    assert_eq!(weaker.object.get("rules").and_then(|rules| rules.as_list()).map_or(0, <[_]>::len), 2);
}
