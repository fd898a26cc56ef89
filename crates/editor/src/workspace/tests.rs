use crate::diagnostic::Level;
use crate::fixture::{CEL_POLICY, Fixture, POD, POLICY, fixture, with};
use crate::{Cancellation, Settings, Span, Workspace};

fn all(fixture: &mut Fixture) {
    let stale = fixture.workspace.stale();
    fixture.workspace.check_all(&stale, &Cancellation::default());
}

/// A policy that reads nothing but the object.
fn policy() -> String {
    let text = with(
        POLICY,
        "    context:\n    - name: tags\n      configMap: {name: tags, namespace: default}\n",
        "",
    );
    with(&text, "\"{{ tags.data.x }} pin\"", "pin")
}

#[test]
fn a_manifest_shows_the_field_that_violates_a_policy() {
    let mut fixture = fixture(&[("pod.yaml", POD), ("p.yaml", &policy())]);
    assert_eq!(fixture.found("pod.yaml"), ["no-latest nginx:latest"]);
    let found = fixture.checked("pod.yaml").remove(0);
    assert_eq!(found.level, Level::Error);
    let related: Vec<String> =
        found.related.iter().map(|(at, _)| fixture.shown(std::slice::from_ref(at)).remove(0)).collect();
    assert_eq!(related, ["p.yaml: image"]);
}

#[test]
fn a_change_of_a_policy_makes_the_manifests_of_its_kinds_stale() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n";
    let mut fixture = fixture(&[("pod.yaml", POD), ("p.yaml", &policy()), ("s.yaml", service)]);
    all(&mut fixture);
    assert!(fixture.workspace.stale().is_empty());
    fixture.workspace.set("p.yaml", Some(2), &with(&policy(), "Enforce", "Audit"));
    let stale: Vec<String> = fixture.workspace.stale().iter().map(ToString::to_string).collect();
    assert_eq!(stale, ["p.yaml", "pod.yaml"]);
    assert_eq!(fixture.checked("pod.yaml")[0].level, Level::Warning);
    fixture.workspace.remove("p.yaml");
    assert!(fixture.found("pod.yaml").is_empty());
}

#[test]
fn a_policy_that_is_half_typed_still_applies_to_manifests() {
    let mut fixture = fixture(&[("pod.yaml", POD), ("p.yaml", &policy())]);
    all(&mut fixture);
    for typed in [
        with(&policy(), "      pattern:\n", "      pattern: [\n"),
        with(&policy(), "spec:\n  rules:", "spec:\n  rul"),
        with(&policy(), "      pattern:\n", "      pattrn:\n"),
    ] {
        fixture.workspace.set("p.yaml", Some(2), &typed);
        assert!(!fixture.checked("p.yaml").is_empty(), "{typed}");
        assert_eq!(fixture.found("pod.yaml"), ["no-latest nginx:latest"], "{typed}");
    }
    fixture.workspace.set("p.yaml", Some(3), "");
    assert!(fixture.found("pod.yaml").is_empty(), "a text that was deleted is no mistake");
}

#[test]
fn definitions_are_of_all_files() {
    let crd = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
";
    let text = with(&policy(), "[Pod]", "[example.com/v1/Widget]");
    let text = with(&text, "containers:\n          - image: \"!*:latest\"", "siz: 1");
    let mut fixture = fixture(&[("p.yaml", &text)]);
    assert!(fixture.found("p.yaml").is_empty());
    fixture.workspace.set("crd.yaml", None, crd);
    assert_eq!(fixture.found("p.yaml"), ["unknown-resource-field siz"]);
}

#[test]
fn samples_of_tests_are_not_checked() {
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [pod.yaml]\nresults:\n- {policy: no-latest, rule: tagg, resources: [web], result: fail}\n";
    let mut fixture = fixture(&[("a/pod.yaml", POD), ("a/p.yaml", &policy()), ("a/kyverno-test.yaml", test)]);
    assert!(fixture.found("a/pod.yaml").is_empty());
    let found = fixture.checked("a/kyverno-test.yaml");
    assert_eq!(found[0].message, "policy `no-latest` has no rule `tagg`; did you mean `tag`?");
    assert_eq!(fixture.edited("a/kyverno-test.yaml", &found[0].fixes[0].edits), test.replace("tagg", "tag"));
}

#[test]
fn a_field_gets_the_value_of_the_pattern() {
    let pattern = "containers:\n          - image: \"!*:latest\"";
    let text = with(
        &policy(),
        pattern,
        "hostNetwork: false\n          securityContext:\n            runAsNonRoot: true",
    );
    let fixed = |pod: &str| {
        let mut fixture = fixture(&[("pod.yaml", pod), ("p.yaml", &text)]);
        let found = fixture.checked("pod.yaml");
        let edits = found[0].fixes.first().map(|fix| fix.edits.clone()).unwrap_or_default();
        fixture.edited("pod.yaml", &edits)
    };
    let pod = with(POD, "spec:\n", "spec:\n  hostNetwork: true\n");
    assert_eq!(fixed(&pod), with(POD, "spec:\n", "spec:\n  hostNetwork: false\n"));
    let pod = with(POD, "spec:\n", "spec:\n  hostNetwork: false\n");
    assert_eq!(
        fixed(&pod),
        with(&pod, "  hostNetwork", "  securityContext:\n    runAsNonRoot: true\n  hostNetwork")
    );
}

#[test]
fn policies_may_be_those_of_some_folders() {
    let mut fixture = fixture(&[("/w/pod.yaml", POD), ("/w/p/p.yaml", &policy())]);
    let folder = |folder: &str| Settings { policies: vec![folder.into()], ..Settings::default() };
    fixture.workspace.set_settings(folder("/w/other"));
    assert!(fixture.found("/w/pod.yaml").is_empty());
    fixture.workspace.set_settings(folder("/w/p"));
    assert_eq!(fixture.found("/w/pod.yaml").len(), 1);
}

#[test]
fn hints_say_what_fields_functions_and_values_are() {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3}\n";
    let hint = |text: &str| {
        let fixture = fixture(&[("p.yaml", text), ("d.yaml", deployment), ("pod.yaml", POD)]);
        fixture.workspace.hover(&fixture.file, fixture.offset).map(|hover| hover.text).unwrap_or_default()
    };
    let text = hint(&with(&policy(), "failureAction", "fail‖ureAction"));
    assert!(text.starts_with("**failureAction**: one of some texts") && text.contains("`Enforce`"), "{text}");
    let text = hint(&with(CEL_POLICY, "variables.count > 1", "object.spec.repl‖icas > 1"));
    assert_eq!(text, "On Deployment d of d.yaml:\n```\ntrue\n```");
    let text = hint(&with(CEL_POLICY, "variables.count > 1", "variables.cou‖nt > 1"));
    assert!(text.contains("object.spec.replicas"), "{text}");
    let text = hint(&with(CEL_POLICY, "variables.count > 1", "object.metadata.name.starts‖With('b')"));
    assert!(text.contains("string.startsWith(string) bool"), "{text}");
    let text =
        hint(&with(&policy(), "message: pin", "message: \"{{ to_up‖per(request.object.metadata.name) }}\""));
    assert!(text.contains("to_upper(string) string") && text.contains("\"WEB\""), "{text}");
}

#[test]
fn a_large_text_and_odd_texts_are_read() {
    let many: String = (0..40_000)
        .map(|i| format!("- {{a: {i}, b: \"x\", c: [1, 2, 3], d: some more text here to be long}}\n"))
        .collect();
    let large = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{many}");
    assert!(large.len() > 2_000_000);
    for text in [
        large.as_str(),
        "",
        "\u{feff}",
        "\r\n\r\n",
        "---\n---\n",
        "\u{feff}apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n",
    ] {
        let mut workspace = Workspace::new(Settings::default());
        workspace.open("a.yaml", Some(1), text);
        workspace.edit("a.yaml", Some(2), Span::at(text.len() / 2), "x");
        workspace.check("a.yaml", &Cancellation::default()).unwrap();
        workspace.symbols("a.yaml");
        workspace.complete("a.yaml", text.len() / 2, &Cancellation::default()).unwrap();
    }
}

#[test]
fn marks_of_byte_order_and_line_ends_of_windows_move_no_place() {
    let text = format!("\u{feff}{}", policy().replace("Pod]", "Deploymnt]").replace('\n', "\r\n"));
    let mut fixture = fixture(&[("p.yaml", &text)]);
    assert_eq!(fixture.found("p.yaml"), ["unknown-kind Deploymnt"]);
}

#[test]
fn a_cancelled_check_leaves_the_file_stale() {
    let mut fixture = fixture(&[("pod.yaml", POD)]);
    let token = Cancellation::default();
    token.cancel();
    assert!(fixture.workspace.check("pod.yaml", &token).is_err());
    assert_eq!(fixture.workspace.stale().len(), 1);
}

#[test]
fn findings_of_policies_have_changes() {
    let text = with(&policy(), "failureAction", "failureActon");
    let mut fixture = fixture(&[("p.yaml", &text)]);
    let found = fixture.checked("p.yaml");
    let at = found[0].span.start;
    let actions = fixture.workspace.actions("p.yaml", Span::at(at));
    assert_eq!(fixture.edited("p.yaml", &actions[0].edits), policy(), "{actions:?}");
    assert!(actions[0].is_preferred);
}

#[test]
fn all_safe_changes_of_a_file_are_one_action() {
    let text = with(&with(&policy(), "failureAction", "failureActon"), "rules:", "ruls:");
    let mut fixture = fixture(&[("p.yaml", &text)]);
    fixture.checked("p.yaml");
    let actions = fixture.workspace.actions("p.yaml", Span::default());
    assert_eq!(actions.len(), 1, "{actions:?}");
    assert_eq!(fixture.edited("p.yaml", &actions[0].edits), policy());
}

/// A policy that is large.
fn large() -> String {
    let (head, rule) = POLICY.split_once("  rules:\n").unwrap();
    let rules = (0..300).map(|i| with(rule, "name: tag", &format!("name: tag{i}"))).collect::<String>();
    format!("{head}  rules:\n{rules}")
}

#[test]
fn a_large_text_is_read_apart_and_others_keep_their_diagnostics_until_then() {
    let mut fixture = fixture(&[("pod.yaml", POD), ("p.yaml", &policy())]);
    all(&mut fixture);
    fixture.workspace.set("p.yaml", Some(2), &with(&large(), "Enforce", "Enforcd"));
    assert_eq!(fixture.workspace.unread(), ["p.yaml".into()]);
    assert!(fixture.workspace.stale().is_empty(), "it cannot be checked before");
    assert_eq!(fixture.workspace.diagnostics("pod.yaml").len(), 1);
    let reading = fixture.workspace.reading("p.yaml").unwrap();
    assert!(fixture.workspace.unread().is_empty() && fixture.workspace.reading("p.yaml").is_none());
    fixture.workspace.take(&"p.yaml".into(), Some(reading.run()));
    assert_eq!(fixture.found("p.yaml"), ["schema Enforcd"]);
    assert!(fixture.workspace.unread().is_empty());
}

#[test]
fn what_was_read_of_a_text_that_has_changed_since_has_no_effect() {
    let mut fixture = fixture(&[("p.yaml", &large())]);
    let reading = fixture.workspace.reading("p.yaml").unwrap();
    fixture.workspace.set("p.yaml", Some(2), &with(&large(), "Enforce", "Enforcd"));
    assert!(fixture.workspace.unread().is_empty(), "one thread at a time");
    let read = reading.run();
    fixture.workspace.take(&"p.yaml".into(), Some(read));
    assert_eq!(fixture.workspace.unread(), ["p.yaml".into()], "the new text is still to be read");
    assert_eq!(fixture.found("p.yaml"), ["schema Enforcd"]);
    fixture.workspace.set("p.yaml", Some(3), &large());
    assert!(fixture.workspace.reading("p.yaml").is_some());
    fixture.workspace.take(&"p.yaml".into(), None);
    assert!(fixture.workspace.unread().is_empty(), "a fault of the program is not repeated");
}

#[test]
fn of_a_text_that_is_too_large_nothing_is_shown() {
    let text = format!("{}\n# {}\n", policy(), "x".repeat(crate::MAX_TEXT));
    let mut fixture = fixture(&[("p.yaml", &text), ("pod.yaml", POD)]);
    assert_eq!(fixture.found("p.yaml"), ["too-large "]);
    assert!(fixture.workspace.unread().is_empty() && fixture.workspace.hover("p.yaml", 3).is_none());
    assert!(fixture.workspace.symbols("p.yaml").is_empty());
    assert!(fixture.found("pod.yaml").is_empty());
    fixture.workspace.set("p.yaml", Some(2), &policy());
    assert_eq!(fixture.found("pod.yaml"), ["no-latest nginx:latest"]);
}
