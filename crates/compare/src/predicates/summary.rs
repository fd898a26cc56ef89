//! What rules test of the values that they read: the constants that texts and numbers are compared
//! with.
//!
//! In: a lowered policy. Out: its [`Predicates`]. Each text constant counts as an equality and as a
//! wildcard pattern, as a prefix, suffix or part where a function of the policy tests that, and as
//! a quantity or duration where it is one: more classes than needed are harmless, a missing one is
//! not. What the classes cannot describe makes a policy *open*: comparisons of it are tests, never
//! proofs.

use std::collections::{BTreeMap, BTreeSet};

use ephor_analysis::reads::NAME_OF_NAMESPACE;
use ephor_analysis::reads::texts::Way;
use ephor_analysis::tree::{Node, Tree};
use ephor_functions::go_syntax::{Dialect, translate};
use ephor_functions::registry::{Classes, Language, find};
use ephor_ir::Policy;
use ephor_ir::pattern::{Leaf, Operand, Term};
use ephor_value::quantity::Quantity;
use ephor_value::{Value, duration};

use crate::predicates::fallback_reads;
use crate::predicates::supported::DESCRIBED_NODES;

/// Functions that a list of any length can make true by how often something is in it, not only by
/// whether it is.
const COUNTS: [&str; 3] = ["size", "length", "_+_"];

/// Stands for the operators of patterns and conditions, which take texts for numbers, quantities
/// and durations.
pub(crate) const MEASURES: &str = "condition";

/// Texts whose length is compared with more than this are not described.
const MAX_TEXT_LENGTH: i64 = 12;

/// Why a policy is open that reads other items than the first one.
const BY_POSITION: &str = "an item of a list is read by its position";

/// The position that a node reads; nothing for keys.
pub(crate) fn position(node: &Node) -> Option<i64> {
    match node.get("index").or_else(|| node.get("key"))? {
        Tree::Scalar(number) => Some(number.parse().unwrap_or(-1)),
        _ => None,
    }
}

/// What a policy tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicates {
    /// Wildcard patterns of texts.
    pub globs: BTreeSet<String>,
    /// Integers.
    pub ints: BTreeSet<i64>,
    /// Quantities and durations, as written.
    pub amounts: BTreeSet<String>,
    /// Patterns of names.
    pub names: BTreeSet<String>,
    /// Patterns of namespaces.
    pub namespaces: BTreeSet<String>,
    /// Patterns of users' names.
    pub users: BTreeSet<String>,
    /// Patterns of groups.
    pub groups: BTreeSet<String>,
    /// Roles, and cluster roles.
    pub roles: [BTreeSet<String>; 2],
    /// Labels of namespaces that selectors read, and the texts that they look for.
    pub namespace_labels: BTreeMap<String, BTreeSet<String>>,
    /// Regular expressions, as the `regex` crate writes them.
    pub regexes: BTreeSet<String>,
    /// Those of them in texts that are put together: what they are compared with is not known.
    pub guessed: BTreeSet<String>,
    /// Whether values of two fields are compared with each other.
    pub relates: bool,
    /// Whether a value is compared as a wildcard pattern, too. Of those that are patterns only
    /// constants and `*` are tried (`docs/internals/equivalence.md`, "Texts").
    pub are_patterns: bool,
    /// Whether `*` is among the constants because values may be patterns, and whether it is written
    /// somewhere.
    pub star: [bool; 2],
    /// Lists and objects that values equal, or not.
    pub wholes: Vec<Value>,
    /// Whether the value at the place itself is compared with a text.
    pub is_text: bool,
    /// Whether it is taken to be a word: it becomes a part of an expression.
    pub is_word: bool,
    /// What the texts are tested by that are built of those of the field.
    pub made: BTreeMap<Way, Predicates>,
    /// Why the classes do not describe it.
    pub open: Option<String>,
    /// Why they do not where it is not known where values come from.
    pub unless_followed: Option<String>,
    /// What is assumed of objects.
    pub assumptions: BTreeSet<String>,
    pub(crate) functions: BTreeSet<String>,
    pub(crate) constants: BTreeSet<String>,
}

/// The pattern that every text matches.
const STAR: &str = "*";

impl Predicates {
    /// What a policy tests.
    pub fn of(policy: &Policy) -> Predicates {
        let mut found = Predicates::default();
        policy.admit.iter().for_each(|source| found.part(Tree::of(source)));
        policy.all_rules().for_each(|rule| found.part(Tree::of(&**rule)));
        policy.overrides.iter().for_each(|one| found.part(Tree::of(one)));
        found.derive();
        found
    }

    /// Adds what another part tests, such as an exception.
    pub fn add(&mut self, part: Option<Tree>) {
        self.part(part);
        self.derive();
    }

    fn part(&mut self, tree: Option<Tree>) {
        match tree {
            Some(tree) => self.tree(&tree),
            None => self.open("a part that cannot be analysed"),
        }
    }

    /// Notes why classes do not say all; the first cause counts.
    pub fn open(&mut self, why: impl Into<String>) {
        self.open.get_or_insert(why.into());
    }

    /// Notes the same of values of which it is not known where they come from.
    fn unless_followed(&mut self, why: impl Into<String>) {
        self.unless_followed.get_or_insert(why.into());
    }

    /// Whether nothing but whether a value is there, and empty, is tested.
    pub fn is_about_presence(&self) -> bool {
        let is_nothing = |texts: &BTreeSet<String>| texts.iter().all(String::is_empty);
        let has_languages = self.regexes.is_empty() && self.made.is_empty();
        is_nothing(&self.globs) && is_nothing(&self.constants) && has_languages && self.is_about_texts()
    }

    /// Whether nothing is tested but in which languages the texts are.
    pub fn is_about_texts(&self) -> bool {
        self.ints.is_empty()
            && self.amounts.is_empty()
            && self.guessed.is_empty()
            && self.wholes.is_empty()
            && !self.relates
            && self.open.is_none()
            && self.unless_followed.is_none()
    }

    /// Adds what another policy tests; functions of one reach no constants of the other.
    pub fn merge(&mut self, other: &Predicates) {
        self.globs.extend(other.globs.iter().cloned());
        self.ints.extend(&other.ints);
        self.amounts.extend(other.amounts.iter().cloned());
        self.names.extend(other.names.iter().cloned());
        self.namespaces.extend(other.namespaces.iter().cloned());
        self.users.extend(other.users.iter().cloned());
        self.groups.extend(other.groups.iter().cloned());
        for (own, other) in self.roles.iter_mut().zip(&other.roles) {
            own.extend(other.iter().cloned());
        }
        for (label, texts) in &other.namespace_labels {
            self.namespace_labels.entry(label.clone()).or_default().extend(texts.iter().cloned());
        }
        self.regexes.extend(other.regexes.iter().cloned());
        self.guessed.extend(other.guessed.iter().cloned());
        self.relates |= other.relates;
        self.are_patterns |= other.are_patterns;
        self.star = [0, 1].map(|at| self.star[at] || other.star[at]);
        self.is_text |= other.is_text;
        self.is_word |= other.is_word;
        for whole in &other.wholes {
            if !self.wholes.contains(whole) {
                self.wholes.push(whole.clone());
            }
        }
        if let Some(why) = &other.open {
            self.open(why.clone());
        }
        if let Some(why) = &other.unless_followed {
            self.unless_followed(why.clone());
        }
        self.assumptions.extend(other.assumptions.iter().cloned());
        for (way, other) in &other.made {
            self.made.entry(way.clone()).or_default().merge(other);
        }
        self.functions.extend(other.functions.iter().cloned());
        self.constants.extend(other.constants.iter().cloned());
    }

    /// A value may be a pattern: `*` is tried for it.
    pub fn guess_pattern(&mut self) {
        self.are_patterns = true;
        self.star[0] = true;
        self.constants.insert(STAR.into());
    }

    /// Where no value is a pattern: whether that makes a difference.
    pub fn drop_patterns(&mut self) -> bool {
        let is_guessed = self.star == [true, false];
        let is_pattern = |text: &String| text.contains(['*', '?']) && (text != STAR || is_guessed);
        let mut is_any = self.constants.iter().any(is_pattern);
        self.constants.retain(|text| !is_pattern(text));
        if is_guessed {
            self.globs.remove(STAR);
        }
        for below in self.made.values_mut() {
            is_any |= below.drop_patterns();
        }
        is_any
    }

    /// Texts that values may be, besides those that are tested.
    pub fn add_texts(&mut self, texts: BTreeSet<String>) {
        self.constants.extend(texts);
        self.derive();
    }

    /// Adds a constant that values are compared with.
    pub fn add_constant(&mut self, value: &Value) {
        self.star[1] |= value.any_text(&|text| text == STAR);
        match Tree::of(value) {
            Some(tree) => self.constant(&tree),
            None => self.open("a constant that cannot be analysed"),
        }
        self.derive();
    }

    /// Adds the leaf of a pattern.
    pub fn add_leaf(&mut self, leaf: &Value) {
        self.star[1] |= leaf.any_text(&|text| text == STAR);
        match Tree::of(leaf) {
            Some(tree) => self.leaf(&tree),
            None => self.open("a constant that cannot be analysed"),
        }
        self.derive();
    }

    /// Adds a regular expression that values are searched for; `by`: the function.
    pub fn add_regex(&mut self, by: &str, pattern: &Value) {
        self.functions.insert(by.into());
        match pattern.as_str().and_then(|pattern| translate(pattern, Dialect::Perl).ok()) {
            Some(found) => _ = self.regexes.insert(found.pattern),
            None => self.open("a regular expression that is none"),
        }
    }

    fn tree(&mut self, tree: &Tree) {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => {}
            Tree::List(items) => items.iter().for_each(|item| self.tree(item)),
            Tree::Map(entries) => entries.iter().for_each(|(_, value)| self.tree(value)),
            Tree::Node(node) => self.of_node(node),
        }
    }

    fn of_node(&mut self, node: &Node) {
        match (node.kind, node.variant) {
            ("Expr" | "Template", "const") | ("Folded", _) => {
                node.fields.iter().for_each(|(_, value)| self.constant(value));
                return;
            }
            ("Expr", "oneOf") => node.get("set").into_iter().for_each(|set| self.constant(set)),
            ("Expr", "slice") => self.open(BY_POSITION),
            // The first of two values of a loop may be the position of the other.
            ("Comprehension", _) if matches!(node.get("two"), Some(Tree::Scalar(is)) if is == "true") => {
                self.open(BY_POSITION);
            }
            // Lists have each item that they may have as their first one.
            ("Expr", "index") | ("Step", "key") if position(node).is_some_and(|at| at != 0) => {
                self.unless_followed(BY_POSITION);
            }
            ("Expr", "higher") => self.open("a list is sorted or mapped by a function"),
            ("Expr", "call") | ("Invoke", _) => self.call(node),
            ("Expr", "compare") => self.relation(node.get("sides")),
            ("Expr", known) if DESCRIBED_NODES.contains(&known) => {}
            ("Expr", other) => self.open(format!("a node `{other}`")),
            ("Condition", _) => self.condition(node),
            ("Shape", "leaf") => {
                node.fields.iter().for_each(|(_, value)| self.leaf(value));
                return;
            }
            ("Template", "rounds" | "text") => {
                self.unless_followed("a text is put together from variables");
                let rounds = node.get("").and_then(Tree::as_node);
                let source = rounds.and_then(|rounds| rounds.text("source")).unwrap_or_default();
                let quoted = fallback_reads::quoted(source);
                if source.contains("regex_match(") {
                    let patterns = quoted.iter().filter_map(|text| translate(text, Dialect::Perl).ok());
                    self.guessed.extend(patterns.map(|found| found.pattern));
                    self.regexes.extend(self.guessed.iter().cloned());
                }
                self.constants.extend(quoted);
            }
            ("QuerySource" | "Overlay" | "Overlays", "dynamic") => {
                self.open("a part of a policy is filled in with variables");
            }
            // Its query is shown where its text holds variables.
            ("BindingSource", "given") => {
                let query = if node.get("shown").is_some() { "shown" } else { "query" };
                ["answer", query, "default"]
                    .iter()
                    .filter_map(|key| node.get(key))
                    .for_each(|part| self.tree(part));
                node.get("default").into_iter().for_each(|default| self.constant(default));
                return;
            }
            // The keys of a map may be any text.
            ("Entry", _) => self.constants.extend(node.text("key").map(Into::into)),
            ("Filter", _) => return self.filter(node),
            ("Constraints", _) => self.constraints(node),
            ("ResourceRule", _) => {
                let names = list(node.get("names")).iter().filter_map(Tree::as_text);
                self.names.extend(names.map(Into::into));
                return;
            }
            ("ActionOverride", _) => {
                let mut texts = BTreeSet::new();
                all_texts(node.get("namespaces"), &mut texts);
                self.namespaces.extend(texts);
                if let Some(Tree::Node(selector)) = node.get("selector") {
                    self.namespace_selector(selector);
                }
                return;
            }
            ("Selector" | "Requirement", _) => return,
            // What they test is known (`analysis::reads`); together they are too many for all
            // combinations.
            ("PodSecurity", _) => {
                let is_one = matches!(node.get("only"), Some(Tree::Node(only)) if matches!(only.get("field"), Some(Tree::Node(_))));
                if !is_one {
                    self.open("Pod Security controls");
                }
                return;
            }
            _ => {}
        }
        const SKIPPED: [&str; 12] = [
            "origin",
            "message",
            "text",
            "rounds",
            "source",
            "raw",
            "messageProgram",
            "annotations",
            "properties",
            "passed",
            "wording",
            "reason",
        ];
        for (name, value) in &node.fields {
            // The source of a pattern is its document; of an expression it is the expression.
            let is_skipped = SKIPPED.contains(name) && !(*name == "source" && node.kind != "Pattern");
            if !is_skipped {
                self.tree(value);
            }
        }
    }

    fn call(&mut self, node: &Node) {
        let name = node.text("function").unwrap_or_default();
        let language = if node.kind == "Invoke" { Language::Cel } else { Language::JmesPath };
        match find(language, name).map_or(Classes::Computed, |function| function.classes) {
            Classes::Described => {}
            Classes::Followed => self.unless_followed(format!("the function `{name}`")),
            Classes::Computed => self.open(format!("the function `{name}`")),
        }
        self.functions.insert(name.into());
        if matches!(name, "matches" | "regex_match") {
            self.regex(node);
        }
        let looks_for_part = matches!(name, "startsWith" | "endsWith" | "starts_with" | "ends_with")
            || (node.kind == "Invoke" && name == "contains");
        // The text is looked for in a constant one, or in another one.
        if looks_for_part && list(node.get("args")).get(1).is_some_and(is_variable) {
            self.open("a text is looked for in another one");
        }
        let is_comparison = matches!(
            name,
            "_==_" | "_!=_" | "@in" | "_in_" | "contains" | "compareTo" | "isLessThan" | "isGreaterThan"
        ) || name.contains('<')
            || name.contains('>');
        if is_comparison {
            self.relation(node.get("args"));
        }
        if name == "_+_" {
            // Lists are put together; texts and numbers would be new values.
            let is_constant = |tree: &Tree| matches!(tree, Tree::Node(n) if n.kind == "Expr" && matches!(n.variant, "const" | "folded"));
            if let Some(Tree::List(args)) = node.get("args")
                && args.iter().any(is_constant)
                && !args.iter().any(|arg| matches!(arg, Tree::Node(n) if n.get("").is_some_and(|v| matches!(v, Tree::List(_)))))
            {
                self.unless_followed("a sum");
            }
        }
    }

    /// The pattern of a call that looks for one in a text.
    fn regex(&mut self, node: &Node) {
        let mut texts = BTreeSet::new();
        for argument in list(node.get("args").or_else(|| node.get("operands"))) {
            if let Tree::Node(one) = argument
                && matches!(one.variant, "const" | "folded")
            {
                all_texts(Some(argument), &mut texts);
            }
        }
        let translated = |pattern: &String| Some(translate(pattern, Dialect::Perl).ok()?.pattern);
        let [one] = &*texts.iter().map(translated).collect::<Vec<_>>() else {
            return self.open("a regular expression that is computed");
        };
        match one {
            Some(pattern) => _ = self.regexes.insert(pattern.clone()),
            None => self.open("a regular expression that is none"),
        }
    }

    fn relation(&mut self, sides: Option<&Tree>) {
        let Some(Tree::List(sides)) = sides else { return };
        self.relates |= sides.iter().filter(|side| is_variable(side)).count() > 1;
    }

    fn condition(&mut self, node: &Node) {
        let is_constant = |side: &str| matches!(node.get(side), Some(Tree::Node(n)) if n.variant == "const");
        self.relates |= !is_constant("key") && !is_constant("value");
        self.functions.insert(MEASURES.into());
        let operator = node.get("operator").and_then(Tree::as_node).map(|operator| operator.variant);
        let is_membership =
            matches!(operator, Some("in" | "notIn" | "anyIn" | "allIn" | "anyNotIn" | "allNotIn"));
        if is_membership || !is_constant("value") {
            self.guess_pattern();
        }
        if is_membership && ["key", "value"].iter().any(|side| node.get(side).is_some_and(has_range)) {
            self.open("a range among the values of an operator");
        }
    }

    /// The patterns of a filter; its kinds, operations and users belong to the environment.
    fn filter(&mut self, node: &Node) {
        all_texts(node.get("name"), &mut self.names);
        all_texts(node.get("names"), &mut self.names);
        all_texts(node.get("namespaces"), &mut self.namespaces);
        for field in ["annotations", "selector"] {
            if let Some(found) = node.get(field) {
                self.constant(found);
            }
        }
        all_texts(node.get("roles"), &mut self.roles[0]);
        all_texts(node.get("clusterRoles"), &mut self.roles[1]);
        if let Some(Tree::List(subjects)) = node.get("subjects") {
            for subject in subjects.iter().filter_map(Tree::as_node) {
                let is_group = subject.text("kind") == Some("Group");
                all_texts(subject.get("name"), if is_group { &mut self.groups } else { &mut self.users });
            }
        }
        if let Some(Tree::Node(selector)) = node.get("namespaceSelector") {
            self.namespace_selector(selector);
        }
    }

    fn constraints(&mut self, node: &Node) {
        for (name, value) in &node.fields {
            match (*name, value) {
                ("objectSelector", _) => self.constant(value),
                ("namespaceSelector", Tree::Node(selector)) => self.namespace_selector(selector),
                _ => {}
            }
        }
    }

    /// The labels of namespaces that a selector reads, and their values.
    fn namespace_selector(&mut self, selector: &Node) {
        if selector.get("wild").is_some() {
            self.open("labels of the namespace, by wildcard");
        }
        for label in list(selector.get("labels")) {
            if let Tree::List(pair) = label {
                let key = pair.first().and_then(Tree::as_text).unwrap_or_default();
                self.namespace_label(key, pair.get(1));
            }
        }
        for requirement in list(selector.get("expressions")).iter().filter_map(Tree::as_node) {
            self.namespace_label(requirement.text("key").unwrap_or_default(), requirement.get("values"));
        }
        for (_, value) in &selector.fields {
            self.constant(value);
        }
    }

    fn namespace_label(&mut self, key: &str, values: Option<&Tree>) {
        if key == NAME_OF_NAMESPACE {
            all_texts(values, &mut self.namespaces);
        }
        all_texts(values, self.namespace_labels.entry(key.into()).or_default());
    }

    /// Every text and number of a constant.
    fn constant(&mut self, tree: &Tree) {
        match tree {
            Tree::None => {}
            Tree::Scalar(text) => self.number(text),
            Tree::Text(text) => {
                self.constants.insert(text.clone());
            }
            Tree::List(items) => items.iter().for_each(|item| self.constant(item)),
            Tree::Map(entries) => {
                for (key, value) in entries {
                    if let ("$duration", Tree::Scalar(nanos)) = (&**key, value) {
                        self.amounts.insert(format!("{nanos}ns"));
                        continue;
                    }
                    self.constants.insert(key.clone());
                    self.constant(value);
                }
            }
            Tree::Node(node) => node.fields.iter().for_each(|(_, value)| self.constant(value)),
        }
    }

    fn number(&mut self, text: &str) {
        if let Ok(n) = text.parse::<i64>() {
            self.ints.insert(n);
        } else if let Ok(f) = text.parse::<f64>() {
            if f.abs() >= 1e15 {
                return self.open("a very large number");
            }
            self.amounts.insert(text.into());
            self.ints.extend([f.floor() as i64, f.ceil() as i64]);
        }
    }

    /// The terms of a leaf of a pattern.
    fn leaf(&mut self, tree: &Tree) {
        self.functions.insert(MEASURES.into());
        let Tree::Text(text) = tree else { return self.constant(tree) };
        let leaf = Leaf::new(Value::from(&**text));
        // A value that is the text of the pattern itself matches, too; it is left out
        // (`docs/internals/equivalence.md`, "Texts").
        if !leaf.is_only_itself() {
            self.constants.insert(text.clone());
        }
        let mut operand = |operand: &Operand| {
            self.constants.insert(operand.wildcard.pattern().to_string());
        };
        for term in leaf.any.iter().flatten() {
            match term {
                Term::Compare(_, one) => operand(one),
                Term::Range { low, high, .. } => {
                    operand(low);
                    operand(high);
                }
            }
        }
    }

    /// What follows from constants and functions.
    fn derive(&mut self) {
        let is_called = |functions: &BTreeSet<String>, names: [&str; 2]| {
            names.iter().any(|name| functions.contains(*name))
        };
        for text in self.constants.clone() {
            self.globs.insert(text.clone());
            if is_called(&self.functions, ["startsWith", "starts_with"]) {
                self.globs.insert(format!("{text}*"));
            }
            if is_called(&self.functions, ["endsWith", "ends_with"]) {
                self.globs.insert(format!("*{text}"));
            }
            if is_called(&self.functions, ["contains", "contains"]) {
                self.globs.insert(format!("*{text}*"));
            }
            if text.contains(['*', '?']) {
                // These functions know no wildcards.
                let escaped = regex_syntax::escape(&text);
                let forms = [
                    (["startsWith", "starts_with"], format!("^{escaped}")),
                    (["endsWith", "ends_with"], format!("{escaped}$")),
                    (["contains", "contains"], escaped),
                ];
                let called = forms.into_iter().filter(|(names, _)| is_called(&self.functions, *names));
                self.regexes.extend(called.map(|(_, pattern)| pattern));
            }
            if let Ok(n) = text.parse::<i64>() {
                self.ints.insert(n);
            }
            if Quantity::parse(&text).is_some() || duration::parse_ok(&text).is_some() {
                self.amounts.insert(text);
            }
        }
        if COUNTS.iter().any(|name| self.functions.contains(*name)) {
            for n in self.ints.clone() {
                match n {
                    ..0 => {}
                    0..=MAX_TEXT_LENGTH => {
                        let some = "?".repeat(usize::try_from(n).unwrap_or_default());
                        self.globs.extend([format!("{some}*"), format!("{some}?*")]);
                    }
                    _ => self.open("the length of a long text or list"),
                }
            }
        }
    }
}

/// Every text of a part.
fn all_texts(of: Option<&Tree>, out: &mut BTreeSet<String>) {
    match of {
        Some(Tree::Text(text)) => {
            out.insert(text.clone());
        }
        Some(Tree::List(items)) => items.iter().for_each(|item| all_texts(Some(item), out)),
        Some(Tree::Node(inner)) => inner.fields.iter().for_each(|(_, v)| all_texts(Some(v), out)),
        _ => {}
    }
}

/// The items of a list, if it is one.
pub(crate) fn list(tree: Option<&Tree>) -> &[Tree] {
    match tree {
        Some(Tree::List(items)) => items,
        _ => &[],
    }
}

/// Whether a part is computed, and no constant.
fn is_variable(tree: &Tree) -> bool {
    !matches!(tree, Tree::Node(node) if matches!(node.variant, "const" | "folded"))
}

/// Whether a constant has a text that operators read as a range: `5-7`.
fn has_range(tree: &Tree) -> bool {
    let is_range = |text: &str| {
        let text = text.trim();
        let parts = text.get(1..).and_then(|rest| rest.find('-')).map(|at| text.split_at(at + 1));
        parts.is_some_and(|(low, high)| {
            let is_amount = |text: &str| Quantity::parse(text.trim_start_matches('!')).is_some();
            is_amount(low.trim()) && is_amount(high.trim_start_matches('-').trim())
        })
    };
    match tree {
        Tree::Text(text) => is_range(text),
        Tree::List(items) => items.iter().any(has_range),
        Tree::Node(node) if matches!(node.variant, "const") => {
            node.fields.iter().any(|(_, value)| has_range(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ephor_policies::policy_set::PolicySet;

    use super::*;

    fn of(validate: &str) -> Predicates {
        let policy = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap], namespaces: ['a*']}}}}]}}\n    validate: {validate}\n"
        );
        Predicates::of(&PolicySet::from_yaml(&policy).unwrap().policies()[0])
    }

    fn has(found: &Predicates, globs: &[&str]) {
        assert!(globs.iter().all(|glob| found.globs.contains(*glob)), "{found:?}");
    }

    #[test]
    fn the_terms_of_patterns_are_found() {
        let found = of("{message: m, pattern: {data: {a: 'x* | >=2Gi', b: 3}}}");
        has(&found, &["x*", "2Gi"]);
        assert_eq!((found.ints.contains(&3), &found.open), (true, &None));
        assert!(found.amounts().iter().any(|a| &**a == "1Gi"), "{found:?}");
        assert_eq!(found.namespaces.iter().next().map(String::as_str), Some("a*"));
    }

    #[test]
    fn the_text_of_a_pattern_with_an_operator_is_no_value() {
        let found = of("{message: m, pattern: {data: {a: '!*:latest'}}}");
        has(&found, &["*:latest"]);
        assert!(!found.constants.contains("!*:latest"), "{found:?}");
    }

    #[test]
    fn the_constants_of_conditions_and_expressions_are_found() {
        let found = of(
            "{message: m, deny: {conditions: {any: [{key: '{{ request.object.data.a }}', operator: AnyIn, value: [one, 'tw*']}]}}}",
        );
        has(&found, &["one", "tw*"]);
        let found = of(
            "{cel: {expressions: [{expression: \"object.data.all(k, k.startsWith('pre') || object.data[k] in ['one', 'two'])\"}]}}",
        );
        has(&found, &["pre*", "one", "two"]);
    }

    #[test]
    fn what_classes_cannot_describe_leaves_a_policy_open() {
        let found = of("{cel: {expressions: [{expression: \"object.data.a.split('/')[1] == 'x'\"}]}}");
        // Where it is not known what is split.
        assert!(found.open.is_none() && found.unless_followed.is_some(), "{found:?}");
        let found = of(
            "{message: m, deny: {conditions: {any: [{key: '{{ base64_decode(request.object.data.a) }}', operator: Equals, value: A}]}}}",
        );
        assert!(found.open.is_some(), "{found:?}");
    }
}
