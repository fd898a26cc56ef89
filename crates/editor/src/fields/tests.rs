use super::*;
use crate::fixture::{POLICY, fixture};
use ephor_document::yaml_value;
use ephor_value::place::parse;

#[test]
fn fields_have_types_defaults_and_notes() {
    let fixture = fixture(&[("p.yaml", POLICY)]);
    let document = yaml_value(POLICY).unwrap();
    let of = |path: &str| field(fixture.workspace.index(), &document, &parse(path)).unwrap();
    let action = of("spec.rules[0].validate.failureAction");
    assert_eq!(action.choices, ["Audit", "Enforce"]);
    assert!(action.note.is_some_and(|note| note.contains("denies")));
    assert_eq!(of("spec.rules").kind, "list of objects");
    assert_eq!(of("metadata").kind, "object");
    let image = of("spec.rules[0].validate.pattern.spec.=(containers)[0].image");
    assert_eq!((image.kind.as_str(), image.note), ("text", None));
}

#[test]
fn a_sample_has_every_field_and_is_not_too_large() {
    let types = Types::built_in();
    for def in ephor_kubernetes::Kinds::built_in().all() {
        let Some(kind) = def.kind_of("") else { continue };
        let value = sample(types, std::slice::from_ref(&kind));
        if let Some(own) = types.of_kind(&kind) {
            assert_eq!(value.as_map().map_or(0, |map| map.iter().count()), own.fields.len(), "{kind:?}");
        }
    }
    let pod = sample(types, &[["".into(), "v1".into(), "Pod".into()]]);
    let item = pod.at(&["spec", "containers"]).and_then(Value::as_list).unwrap()[0].clone();
    assert!(item.at(&["securityContext", "capabilities", "drop"]).is_some());
}

#[test]
fn anchors_are_no_part_of_a_field() {
    for (key, name) in [("=(a)", "a"), ("(a)", "a"), ("X(a)", "a"), ("f(a)", "f(a)"), ("a", "a")] {
        assert_eq!(without_anchor(key), name);
    }
}
