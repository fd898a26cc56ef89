//! `--test-case-selector`: which expected results of a test are checked.
//!
//! In: `policy=…,rule=…,resource=…` with wildcards. Out: the results that all filters accept. A
//! filter accepts a result that leaves its field empty; one on resources replaces those of the
//! result.

use ephor_value::wildcard;

use super::file::Expected;

/// The filters of a selector.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    policies: Vec<String>,
    rules: Vec<String>,
    resources: Vec<String>,
    /// The filters on resources before the first `*`, as names.
    names: Vec<String>,
}

impl Selector {
    /// Reads a selector; returns what is wrong with it together with what can be used.
    pub fn parse(text: &str) -> (Selector, Vec<String>) {
        let (mut out, mut errors) = (Selector::default(), Vec::new());
        let mut open = true;
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let sides: Vec<&str> = part.split('=').collect();
            let [key, value] = sides[..] else {
                errors.push(format!(
                    "Invalid test-case-selector argument ({part}). Parameter must be in the form `<key>=<value>`."
                ));
                continue;
            };
            let value = value.trim().to_owned();
            match key.trim() {
                "policy" => out.policies.push(value),
                "rule" => out.rules.push(value),
                "resource" => {
                    open &= value != "*";
                    if open {
                        out.names.push(value.clone());
                    }
                    out.resources.push(value);
                }
                _ => errors.push(format!(
                    "Invalid test-case-selector ({part}). Parameter can only be policy, rule or resource."
                )),
            }
        }
        (out, errors)
    }

    /// The results that the filters accept.
    pub fn select(&self, results: &[Expected]) -> Vec<Expected> {
        let all = |filters: &[String], text: &str| {
            text.is_empty() || filters.iter().all(|f| wildcard::matches(f, text))
        };
        let accepted = results.iter().filter(|r| {
            let resources = r.resources.as_deref().unwrap_or_default();
            let has = |f: &String| resources.is_empty() || resources.iter().any(|r| wildcard::matches(f, r));
            all(&self.policies, &r.policy) && all(&self.rules, &r.rule) && self.resources.iter().all(has)
        });
        let mut selected: Vec<Expected> = accepted.cloned().collect();
        if !self.names.is_empty() {
            selected.iter_mut().for_each(|r| r.resources = Some(self.names.clone()));
        }
        selected
    }
}
