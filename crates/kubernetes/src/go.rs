//! The Go names of fields, which the texts of decoding errors show.
//!
//! In: `go.txt`. Out: for each field the Go type of its texts and the embedded structs that it
//! comes from.
//!
//! `go.txt` has a line for each type of `schema-1.36.txt` whose fields have such names, and below it a
//! line for each of these fields: name (`*` = all that have no line of their own), Go type, `<`
//! embedded structs. The source are the types of `k8s.io/api`: published schemas do not have these
//! names.

use std::collections::HashMap;

const TABLE: &str = include_str!("go.txt");

/// The names of a field in Go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoNames {
    /// The type of the texts that it holds, empty for `string`.
    pub text: &'static str,
    /// The path of the embedded structs that it comes from, empty for an own field.
    pub embedded: &'static str,
}

pub(super) type Names = HashMap<(&'static str, &'static str), GoNames>;

pub(super) fn names() -> Names {
    let mut names = Names::new();
    let mut of = "";
    for line in TABLE.lines().filter(|l| !l.starts_with('#')) {
        let Some(field) = line.strip_prefix(' ') else {
            of = line;
            continue;
        };
        let mut words = field.split(' ');
        let name = words.next().unwrap_or_default();
        let mut go = GoNames::default();
        for word in words {
            match word.strip_prefix('<') {
                Some(embedded) => go.embedded = embedded,
                None => go.text = word,
            }
        }
        names.insert((of, name), go);
    }
    names
}

pub(super) fn of(names: &Names, of: &str, field: &str) -> GoNames {
    names.get(&(of, field)).or_else(|| names.get(&(of, "*"))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Types;
    use super::*;

    #[test]
    fn every_go_name_is_that_of_a_field_with_a_schema() {
        let types = Types::built_in();
        let names = names();
        let lost = |&(of, field): &(&str, &str)| {
            types.named(of).is_none_or(|def| field != "*" && def.field(field).is_none())
        };
        let missing: Vec<_> = names.keys().copied().filter(lost).collect();
        assert!(names.len() > 100 && missing.is_empty(), "{missing:?}");
    }
}
