//! What the Go types of fields say and published schemas do not.
//!
//! In: `go-R.txt` (R: the release), which `conformance/reference/go_types.go` writes from the types
//! of `k8s.io/api`. Out: for each field the Go type of its texts and the embedded structs that it
//! comes from, which the texts of decoding errors show, and what Go's encoding shows of it when it
//! is empty.
//!
//! `go-R.txt` (R: the release) has a line for each type of `schema-R.txt`, and below it a line for
//! each of its fields of which there is something to say: name, Go type, `<` embedded structs, and
//! a word:
//! - `empty`: a pointer; an empty value is shown, and nothing where there is none
//! - `null`: null is shown where there is none
//! - `zero`: the empty value of its type is shown where there is none
//! - `omitzero`: an object all of whose fields are empty is left out
//!
//! Empty values of fields without a word are left out.

use std::collections::HashMap;

use ephor_value::release::Release;

const TABLE_1_34: &str = include_str!("go-1.34.txt");
const TABLE_1_35: &str = include_str!("go-1.35.txt");
const TABLE_1_36: &str = include_str!("go-1.36.txt");
const TABLE_1_37: &str = include_str!("go-1.37.txt");

/// What a field is in Go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoNames {
    /// The type of the texts that it holds, empty for `string`.
    pub text: &'static str,
    /// The path of the embedded structs that it comes from, empty for an own field.
    pub embedded: &'static str,
    /// What encoding shows of it when it is empty.
    pub encoding: Encoding,
}

/// What Go's encoding shows of a field that is empty or not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// An empty value is left out.
    #[default]
    Omitted,
    /// An empty value is shown.
    Empty,
    /// So it is, and null where there is none.
    Null,
    /// So it is, also where there is none.
    Zero,
    /// An object without fields is left out.
    OmitZero,
}

pub(super) type Names = HashMap<(&'static str, &'static str), GoNames>;

/// What the Go types of a release say of the fields.
pub(super) fn names(release: Release) -> Names {
    let table = match release {
        Release::V1_34 => TABLE_1_34,
        Release::V1_35 => TABLE_1_35,
        Release::V1_36 => TABLE_1_36,
        Release::V1_37 | Release::V1_38 => TABLE_1_37,
    };
    let mut names = Names::new();
    let mut of = "";
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let Some(field) = line.strip_prefix(' ') else {
            of = line;
            continue;
        };
        let mut words = field.split(' ');
        let name = words.next().unwrap_or_default();
        let mut go = GoNames::default();
        for word in words {
            match word {
                "empty" => go.encoding = Encoding::Empty,
                "null" => go.encoding = Encoding::Null,
                "zero" => go.encoding = Encoding::Zero,
                "omitzero" => go.encoding = Encoding::OmitZero,
                _ => match word.strip_prefix('<') {
                    Some(embedded) => go.embedded = embedded,
                    None => go.text = word,
                },
            }
        }
        names.insert((of, name), go);
    }
    names
}

pub(super) fn of(names: &Names, of: &str, field: &str) -> GoNames {
    names.get(&(of, field)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Types;
    use super::*;

    #[test]
    fn every_go_name_is_that_of_a_field_with_a_schema() {
        let types = Types::built_in();
        let names = names(Release::V1_36);
        let lost = |&(of, field): &(&str, &str)| types.named(of).is_none_or(|def| def.field(field).is_none());
        let missing: Vec<_> = names.keys().copied().filter(lost).collect();
        assert!(names.len() > 100 && missing.is_empty(), "{missing:?}");
    }
}
