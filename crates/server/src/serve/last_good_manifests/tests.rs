use super::*;
use ephor_sources::files::SourceText;

fn folder(name: &str) -> Vec<ManifestFolder> {
    let text = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: {name}}}\n\
         spec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
         validations: [{{expression: 'true'}}]\n"
    );
    let texts = Ok(vec![SourceText { name: "s/a.yaml".into(), text }]);
    vec![ManifestFolder { path: "s".into(), texts }]
}

/// The names in use, the problems, and whether requests are refused.
fn update(of: &mut LastGoodManifests, now: &[ManifestFolder], at: Instant) -> (Vec<String>, usize, bool) {
    let (mut problems, mut lost) = (Vec::new(), Vec::new());
    let policies = of.update(now, Release::V1_37, at, &mut problems, &mut lost).policies;
    (policies.into_iter().map(|p| p.name).collect(), problems.len(), !lost.is_empty())
}

#[test]
fn a_change_is_used_when_it_has_settled_and_has_no_mistake() {
    let (mut of, start) = (LastGoodManifests::default(), Instant::now());
    let [a, b] = ["a.static.k8s.io", "b.static.k8s.io"].map(|name| vec![name.to_string()]);
    assert_eq!(update(&mut of, &folder("a.static.k8s.io"), start), (a.clone(), 0, false));
    let bad = folder("b");
    assert_eq!(update(&mut of, &bad, start), (a.clone(), 0, false), "it waits");
    assert_eq!(of.again(start), Some(SETTLE));
    assert_eq!(update(&mut of, &bad, start + SETTLE), (a.clone(), 1, false), "it has a mistake");
    let good = folder("b.static.k8s.io");
    assert_eq!(update(&mut of, &good, start + SETTLE), (a, 0, false), "it waits");
    assert_eq!(update(&mut of, &good, start + SETTLE * 2), (b, 0, false));
    assert_eq!(of.again(start + SETTLE * 2), None);
    let none = vec![ManifestFolder { path: "s".into(), texts: Ok(Vec::new()) }];
    update(&mut of, &none, start);
    assert_eq!(update(&mut of, &none, start + SETTLE), (Vec::new(), 0, false), "all are removed");
}

#[test]
fn requests_are_refused_when_no_manifests_were_ever_usable() {
    let mut of = LastGoodManifests::default();
    assert_eq!(update(&mut of, &folder("a"), Instant::now()), (Vec::new(), 1, true));
}
