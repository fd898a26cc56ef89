//! A pod as the checks read it.
//!
//! In: the pod specification of an object that decodes ([`super::seen`]), or the part of it that an
//! exclusion reads. Out: its containers in the order of Kyverno (init, ordinary, ephemeral)
//! and their fields. Nothing is copied; null means absent, and a null container is an empty one.

use ephor_ir::pod_security::LISTS;
use ephor_value::{Map, Value};

use super::finding::{BadValue, FieldError};

/// A pod, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Fields of the pod; null = none of them counts.
    pub spec: &'a Value,
    /// Annotations of the pod.
    pub annotations: Option<&'a Map>,
    /// Its containers by list.
    pub lists: [&'a [Value]; 3],
}

/// A container and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    list: &'static str,
    index: usize,
    value: &'a Value,
}

impl<'a> Pod<'a> {
    /// The whole pod.
    pub fn new(spec: &'a Value, annotations: Option<&'a Map>) -> Pod<'a> {
        let list = |name: &str| spec.get(name).and_then(Value::as_list).unwrap_or_default();
        Pod { spec, annotations, lists: LISTS.map(list) }
    }

    /// All containers.
    pub fn containers(&self) -> impl Iterator<Item = Container<'a>> + use<'a> {
        LISTS.into_iter().zip(self.lists).flat_map(|(list, items)| {
            items.iter().enumerate().map(move |(index, value)| Container { list, index, value })
        })
    }

    /// Whether the pod is for Windows.
    pub fn is_windows(&self) -> bool {
        self.spec.text_at(&["os", "name"]) == "windows"
    }
}

impl<'a> Container<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.value.text_at(&["name"])
    }

    /// The list that it is in.
    pub fn list(&self) -> &'static str {
        self.list
    }

    /// What it says.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// An error of the field `tail` below the container.
    pub fn error(&self, tail: &str, bad: BadValue) -> FieldError {
        let index = self.index.to_string();
        FieldError {
            field: ["spec.", self.list, "[", &index, "].", tail].concat(),
            container: Some(self.name().into()),
            bad,
        }
    }
}
