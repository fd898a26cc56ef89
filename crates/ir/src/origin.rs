//! Where a piece of a rule came from.
//!
//! Pieces carry the path in the policy document from which they were lowered, never a position:
//! who wants file and line looks the path up in the text (`document::locate`). Paths of what lies
//! inside of a template or a pattern follow from its structure.

use serde::{Deserialize, Serialize};

use ephor_value::Str;
use ephor_value::place::{Path, PathPart, parse};

/// The place of a piece in its policy document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Origin {
    /// The path, for example `spec.rules[0].validate.pattern`.
    pub path: Str,
    /// How many steps below the path stand only in the generated rule, not in the document.
    pub inserted: usize,
}

impl Origin {
    /// A place by its path.
    pub fn new(path: impl Into<Str>) -> Origin {
        Origin { path: path.into(), inserted: 0 }
    }

    /// The member of this name.
    #[must_use]
    pub fn key(&self, name: &str) -> Origin {
        let dot = if self.path.is_empty() { "" } else { "." };
        Origin { path: format!("{}{dot}{name}", self.path).into(), inserted: self.inserted }
    }

    /// The item at this position.
    #[must_use]
    pub fn index(&self, at: usize) -> Origin {
        Origin { path: format!("{}[{at}]", self.path).into(), inserted: self.inserted }
    }

    /// The same place, with steps below it that the document does not have.
    #[must_use]
    pub fn with_inserted(self, inserted: usize) -> Origin {
        Origin { inserted, ..self }
    }

    /// The path of what is found by these steps from here.
    pub fn below(&self, steps: &[PathPart]) -> Path {
        let mut path = parse(&self.path);
        path.extend(steps.iter().skip(self.inserted).cloned());
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_value::place::dotted;

    #[test]
    fn inserted_steps_are_left_out_of_paths() {
        let steps = ["spec", "template", "spec", "containers"].map(|k| PathPart::Key(k.into()));
        let origin = Origin::new("spec.rules").index(0).key("validate").key("pattern");
        let wrapped = origin.clone().with_inserted(2);
        assert_eq!(
            dotted(&origin.below(&steps)),
            "spec.rules[0].validate.pattern.spec.template.spec.containers"
        );
        assert_eq!(dotted(&wrapped.below(&steps)), "spec.rules[0].validate.pattern.spec.containers");
        assert_eq!(dotted(&wrapped.below(&steps[..1])), "spec.rules[0].validate.pattern");
    }
}
