//! Findings of single fields, collected into one error.

use super::subject::{Finding, Outcome};

/// Collects findings of single fields.
#[derive(Default)]
pub struct Fields {
    pub(super) found: Vec<Finding>,
}

impl Fields {
    fn add(&mut self, place: &str, text: String) {
        let finding = Finding::at(place, text);
        if !self.found.iter().any(|other| other.text == finding.text) {
            self.found.push(finding);
        }
    }

    /// A value that is not allowed; `value` is its JSON.
    pub fn invalid(&mut self, place: &str, value: &str, detail: &str) {
        self.add(place, format!("{place}: Invalid value: {value}: {detail}"));
    }

    /// A field that may not be there.
    pub fn forbidden(&mut self, place: &str, detail: &str) {
        self.add(place, format!("{place}: Forbidden: {detail}"));
    }

    /// A field that must be there.
    pub fn required(&mut self, place: &str, detail: &str) {
        let separator = if detail.is_empty() { "" } else { ": " };
        self.add(place, format!("{place}: Required value{separator}{detail}"));
    }

    /// A text that is too long.
    pub fn too_long(&mut self, place: &str, max: usize) {
        self.add(place, format!("{place}: Too long: may not be more than {max} bytes"));
    }

    /// One finding bare, several in brackets.
    pub fn outcome(mut self) -> Outcome {
        match self.found.len() {
            0 => Ok(()),
            1 => Err(self.found.remove(0)),
            _ => {
                let text =
                    self.found.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join(", ");
                Err(Finding { text: format!("[{text}]"), path: self.found.remove(0).path })
            }
        }
    }
}
