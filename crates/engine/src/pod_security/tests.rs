#![allow(clippy::unwrap_used)]

use super::pod::Pod;
use super::seen::type_of;
use super::*;
use ephor_ir::pod_security::{self, CONTROLS, Field, FieldRequirement, Of};
use ephor_kubernetes::schema::{Type, TypeDef, Types, Whole};
use ephor_samples::{Tape, value::value};
use ephor_value::Value;

#[test]
fn knows_the_versions() {
    assert_eq!(
        ["latest", "", "v1.0", "v1.25"].map(pod_security::version),
        [Some(pod_security::LATEST), Some(pod_security::LATEST), Some(0), Some(25)]
    );
    assert_eq!(["v1.", "v1.025", "1.25", "v2.0"].map(pod_security::version), [None; 4]);
}

#[test]
fn names_the_containers_of_a_detail() {
    for (detail, want) in [
        (r#"pod and containers "a", "b" must not set x"#, vec!["a", "b"]),
        (r#"container "a" and annotations must not"#, vec!["aandannotations"]),
        (r#"containers "a", "b" use hostPorts 1"#, vec![]),
    ] {
        assert_eq!(finding::named_containers(detail), want, "{detail}");
    }
}

/// What a field of a pod holds; `None` when there is none.
fn type_at(of: &TypeDef, path: &[&str]) -> Option<Type> {
    let mut ty = Type::Named(of.name.clone(), Whole::Merged);
    for key in path {
        ty = match ty {
            Type::Named(name, _) => Types::built_in().named(&name)?.field(key)?.ty.clone(),
            Type::List(_, item) if *key == "*" => *item,
            _ => return None,
        };
    }
    Some(ty)
}

#[test]
fn controls_are_about_fields_that_pods_have() {
    let fields = |form: &'static pod_security::ControlVersion| {
        form.requirements.iter().flat_map(|r| r.fields.iter().map(move |f| (r.of, f.path)))
    };
    for (of, path) in CONTROLS.iter().flat_map(|c| c.forms).flat_map(fields) {
        let below = |head: &[&str]| type_at(type_of("Pod").unwrap(), &[head, path].concat()).is_some();
        let lists = ["containers", "initContainers", "ephemeralContainers"];
        assert!(of == Of::Containers || below(&["spec"]), "{path:?} of pods");
        assert!(
            of == Of::Pod || lists.iter().all(|list| below(&["spec", list, "*"])),
            "{path:?} of containers"
        );
    }
}

#[test]
fn the_node_lists_the_fields_of_a_level_at_a_version() {
    let listed = |level: &str, version: &str| {
        let check =
            PodSecurity { level: level.into(), version: version.into(), exclude: Value::Null, only: None };
        check.controls().map(|all| all.map(|p| (p.control.id, p.form.since)).collect::<Vec<_>>())
    };
    let baseline = listed("baseline", "v1.27").unwrap();
    assert_eq!(baseline.len(), 12);
    assert!(baseline.contains(&("sysctls", 27)) && baseline.contains(&("hostProbesAndHostLifecycle", 34)));
    assert_eq!(listed("restricted", "latest").unwrap().len(), CONTROLS.len());
    assert_eq!(listed("restricted", "1.27"), None);
}

/// Whether a pod meets a requirement, as its row reads.
fn meets(requirement: &FieldRequirement, spec: &Value) -> bool {
    let admitted = |base: &Value, admits: &dyn Fn(&Field, pod_security::Found<'_>) -> bool| {
        let mut all = true;
        requirement.fields.iter().for_each(|f| f.each(base, &mut |_, found| all &= admits(f, found)));
        all
    };
    let own = |base: &Value| admitted(base, &|field, found| field.condition.admits(found));
    let covered = requirement.unless_pod.is_some_and(|c| admitted(spec, &|_, found| c.admits(found)));
    (requirement.of == Of::Containers || own(spec))
        && (requirement.of == Of::Pod || covered || Pod::new(spec, None).containers().all(|c| own(c.value())))
}

/// An object with some of the fields that requirements are about.
fn with_fields(tape: &mut Tape<'_>, of: Of) -> Value {
    let mut object = Value::Map(ephor_value::Map::new());
    let requirements = CONTROLS.iter().flat_map(|c| c.forms).flat_map(|f| f.requirements);
    let fields: Vec<&Field> =
        requirements.filter(|r| r.of == of || r.of == Of::Both).flat_map(|r| r.fields).collect();
    for _ in 0..tape.pick(6) {
        let leaf = match tape.pick(5) {
            0 => value(tape, 0),
            1 => Value::Bool(tape.flip()),
            2 => tape
                .of(&["ALL", "KILL", "SYS_ADMIN", "Localhost", "Unconfined", "", "container_t", "Default"])
                .into(),
            3 => Value::list(vec![tape.of(&["ALL", "KILL", "SYS_ADMIN"]).into()]),
            _ => Value::Int(tape.pick(2) as i64),
        };
        let path = tape.of(&fields).path;
        let path = path.get(..=tape.pick(path.len() + 2).min(path.len() - 1)).unwrap_or(path);
        let wrapped = path.iter().rev().fold(leaf, |inner, key| match *key {
            "*" => Value::list(vec![inner]),
            key => Value::Map([(Str::from(key), inner)].into_iter().collect()),
        });
        object = merged(object, wrapped);
    }
    object
}

fn merged(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Map(mut a), Value::Map(b)) => {
            for (k, v) in b.iter() {
                let v = a.get(k).map_or_else(|| v.clone(), |own| merged(own.clone(), v.clone()));
                a.insert(k.clone(), v);
            }
            Value::Map(a)
        }
        (_, b) => b,
    }
}

proptest::proptest! {
    #[test]
    fn a_control_refuses_a_pod_exactly_when_a_requirement_of_its_row_is_not_met(
        tape in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..120),
    ) {
        let tape = &mut Tape(tape.iter());
        let containers: Vec<Value> = (0..tape.pick(3)).map(|_| with_fields(tape, Of::Containers)).collect();
        let spec = merged(with_fields(tape, Of::Pod), Value::Map([("containers".into(), Value::list(containers))].into_iter().collect()));
        let pod = Pod::new(&spec, None);
        for version in [0, 19, 23, 27, pod_security::LATEST] {
            for placed in pod_security::of_level("restricted", version) {
                let met = placed.form.requirements.iter().all(|r| meets(r, &spec));
                proptest::prop_assert_eq!(checks::run(&placed, &pod, None).is_none(), met, "{} {:?}", placed.control.id, spec);
            }
        }
    }
}
