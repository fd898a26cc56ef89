#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::*;
use crate::reference::{SCHEME, named, names};

#[test]
fn every_control_has_its_facts_forms_and_tests() {
    assert!(controls().len() >= 120, "{} controls", controls().len());
    for control in controls() {
        let name = control.name;
        assert!(GROUPS.iter().any(|group| group.name == control.group), "{name}: {}", control.group);
        assert!(!control.title.is_empty() && !control.category.is_empty(), "{name}");
        assert!(["low", "medium", "high"].contains(&&*control.severity), "{name}: {}", control.severity);
        assert!(control.why.ends_with('.'), "{name}: {}", control.why);
        assert!(control.fix.ends_with('.'), "{name}: {}", control.fix);
        assert!(control.form(Form::Classic).is_some(), "{name}");
        assert!(control.tests.iter().any(|file| file.path.ends_with("/kyverno-test.yaml")), "{name}");
    }
}

#[test]
fn no_name_means_two_things() {
    let all: Vec<&str> = names().collect();
    let distinct: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len());
}

#[test]
fn every_group_has_controls_and_every_set_has_groups() {
    for group in GROUPS {
        assert!(!named(group.name).unwrap().is_empty(), "{}", group.name);
    }
    for set in SETS {
        assert!(set.groups.iter().all(|name| GROUPS.iter().any(|group| group.name == *name)), "{}", set.name);
    }
}

#[test]
fn a_reference_means_one_file_a_control_in_the_form_that_it_names() {
    let all = Selection::parse("builtin://pss-restricted").unwrap();
    let count = |name| named(name).unwrap().len();
    assert_eq!(all.controls.len(), count("pod-security-baseline") + count("pod-security-restricted"));
    assert_eq!(all.files().len(), all.controls.len());
    assert!(all.files().iter().all(|file| file.path.ends_with(".vpol.yaml")));
    let one = Selection::parse("restrict-seccomp?form=native").unwrap();
    let file = one.files()[0];
    assert_eq!(file.path, "pod-security-baseline/restrict-seccomp/restrict-seccomp.vap.yaml");
    assert_eq!(Selection::name_of(file), format!("{SCHEME}{}", file.path));
    assert_eq!(Selection::parse(&Selection::name_of(file)).unwrap().files(), [file]);
}

#[test]
fn a_name_that_is_none_names_the_one_that_was_meant() {
    let text = |reference: &str| Selection::parse(reference).unwrap_err().to_string();
    assert!(text("builtin://pss-restrictd").contains("did you mean `pss-restricted`?"));
    assert!(text("builtin://all?form=rego").contains("unknown form `rego`"));
    assert!(text("builtin://all?as=cel").contains("unknown parameter `as=cel`"));
}

#[test]
fn the_library_takes_less_than_a_mebibyte_of_the_program() {
    const { assert!(PACKED_SIZE < 1 << 20) };
    assert_eq!(files().count(), FILES.len());
}
