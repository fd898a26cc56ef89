//! What matchers read.

use ephor_ir::Matcher;
use ephor_ir::constraints::Constraints;
use ephor_ir::matcher::{Filter, Selector};
use ephor_value::{Str, Value};

use crate::reads::comparisons::By;
use crate::reads::footprint::Step;
use crate::reads::reader::Reader;

fn metadata(part: &str) -> Vec<Step> {
    vec![Step::Key("metadata".into()), Step::Key(part.into())]
}

impl Reader {
    /// What a matcher reads of objects of a kind.
    pub fn matcher(&mut self, matcher: &Matcher, kind: &str) {
        match matcher {
            Matcher::Any(filters) | Matcher::All(filters) => filters.iter().for_each(|f| self.filter(f)),
            Matcher::Constraints(c) => self.constraints(c, kind),
        }
    }

    fn filter(&mut self, f: &Filter) {
        self.reads.name |= f.name.is_some() || !f.names.is_empty();
        self.reads.user |= f.has_user;
        for (key, value) in &f.annotations {
            let exact = Some(key.pattern()).filter(|_| !key.is_wild());
            // The value under a name that is known is compared with the value alone.
            let name = exact.is_none().then(|| Value::Str(key.pattern().clone()));
            let with: Vec<Value> = name.into_iter().chain([Value::Str(value.pattern().clone())]).collect();
            self.labelled("annotations", exact, &with);
        }
        if let Some(selector) = &f.selector {
            self.selector(selector);
        }
    }

    /// Selectors of objects read labels of the object and, as constraints, of the former one.
    fn selector(&mut self, s: &Selector) {
        for (key, value) in &s.labels {
            self.labelled(
                "labels",
                Some(key).filter(|_| !s.wild),
                &[Value::Str(key.clone()), Value::Str(value.clone())],
            );
        }
        for requirement in &s.expressions {
            let values: Vec<Value> = requirement.values.iter().cloned().map(Value::Str).collect();
            self.labelled("labels", Some(&requirement.key), &values);
        }
    }

    /// The value under a key of labels or annotations; `None` = any.
    fn labelled(&mut self, part: &str, key: Option<&Str>, with: &[Value]) {
        let mut steps = metadata(part);
        steps.extend(key.map(|key| Step::Key(key.clone())));
        for tree in [&mut self.reads.shown, &mut self.reads.old] {
            tree.add(&steps, true);
        }
        if let Some(tests) = &mut self.tests {
            with.iter().for_each(|value| tests.at(&steps, By::Selector, value));
        }
    }

    pub fn constraints(&mut self, c: &Constraints, kind: &str) {
        self.reads.name |= c.rules.iter().chain(&c.exclude).any(|rule| !rule.names.is_empty());
        if let Some(selector) = &c.object_selector {
            self.selector(selector);
        }
        if let Some(selector) = c.namespace_selector.as_ref().filter(|s| !s.is_empty() && kind == "Namespace")
        {
            // It brings its own labels; other objects have those of theirs.
            self.selector(selector);
        }
    }
}
