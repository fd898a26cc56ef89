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
use ephor_functions::Function;
use ephor_functions::go_syntax::{Dialect, translate};
use ephor_functions::registry::{Classes, Language, Operation};
use ephor_ir::check::{Overlay, Overlays};
use ephor_ir::condition::Operator;
use ephor_ir::matcher::Filter;
use ephor_ir::parts::{HasParts, RulePart};
use ephor_ir::pattern::{Leaf, Operand, Term};
use ephor_ir::rule::{BindingSource, QuerySource};
use ephor_ir::selector::Selector;
use ephor_ir::strict::{Step, Walk};
use ephor_ir::{Condition, Expr, Policy, Template};
use ephor_value::quantity::Quantity;
use ephor_value::wildcard::Wildcard;
use ephor_value::{Object, Str, Value, duration};

use crate::predicates::fallback_reads;

/// Texts whose length is compared with more than this are not described.
const MAX_TEXT_LENGTH: i64 = 12;

/// Why a policy is open that reads other items than the first one.
const BY_POSITION: &str = "an item of a list is read by its position";

/// Why one is that builds texts.
const BUILT_TEXT: &str = "a text is put together from variables";

/// Why one is of which a part is lowered with the values of variables.
const FILLED_IN: &str = "a part of a policy is filled in with variables";

/// Why one is that compares with a number which texts and doubles round.
const LARGE_NUMBER: &str = "a very large number";

/// Why one is that compares with a constant of a kind that has no classes.
const OTHER_CONSTANT: &str = "a constant that cannot be analysed";

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
    /// Whether operators of patterns and conditions test it, which take texts for numbers,
    /// quantities and durations.
    pub(crate) measures: bool,
    /// What functions do with it.
    pub(crate) functions: BTreeSet<Operation>,
    pub(crate) constants: BTreeSet<String>,
}

/// The pattern that every text matches.
const STAR: &str = "*";

impl Predicates {
    /// What a policy tests.
    pub fn of(policy: &Policy) -> Predicates {
        let mut found = Predicates::default();
        found.each(&policy.admit);
        policy.all_rules().for_each(|rule| found.each(rule));
        found.each(&policy.overrides);
        found.derive();
        found
    }

    /// Adds what something else tests, such as an exception.
    pub fn add(&mut self, of: &(impl HasParts + ?Sized)) {
        self.each(of);
        self.derive();
    }

    fn each(&mut self, of: &(impl HasParts + ?Sized)) {
        HasParts::each(of, &mut |part| self.part(part));
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
        self.measures |= other.measures;
        self.functions.extend(&other.functions);
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
        self.constant(value);
        self.derive();
    }

    /// Adds the leaf of a pattern.
    pub fn add_leaf(&mut self, leaf: &Value) {
        self.star[1] |= leaf.any_text(&|text| text == STAR);
        self.leaf(&Leaf::new(leaf.clone()));
        self.derive();
    }

    /// Adds a regular expression that values are searched for; `by`: the function.
    pub fn add_regex(&mut self, by: Operation, pattern: &Value) {
        self.functions.insert(by);
        match pattern.as_str().and_then(|pattern| translate(pattern, Dialect::Perl).ok()) {
            Some(found) => _ = self.regexes.insert(found.pattern),
            None => self.open("a regular expression that is none"),
        }
    }

    fn part(&mut self, part: RulePart) {
        match part {
            RulePart::Expr(expr) => self.expr(expr),
            RulePart::Template(Template::Const(value)) => self.constant(value),
            RulePart::Template(Template::Rounds(rounds)) => {
                self.unless_followed(BUILT_TEXT);
                self.rounds(&rounds.source);
            }
            RulePart::Template(Template::Text(_)) => self.unless_followed(BUILT_TEXT),
            RulePart::Condition(condition) => self.condition(condition),
            RulePart::Leaf(leaf) => self.leaf(leaf),
            RulePart::QuerySource(QuerySource::Dynamic { .. }) => return self.open(FILLED_IN),
            RulePart::Overlay(Overlay::Dynamic(_)) | RulePart::Overlays(Overlays::Dynamic(_)) => {
                self.open(FILLED_IN)
            }
            // Its query is shown where its text holds variables.
            RulePart::BindingSource(BindingSource::Given { answer, query, shown, default }) => {
                self.each(answer);
                match shown {
                    Some(shown) => self.each(shown),
                    None => self.each(query),
                }
                return default.iter().for_each(|default| self.constant(default));
            }
            // The keys of a map may be any text.
            RulePart::Entry(entry) => _ = self.constants.insert(entry.key.to_string()),
            RulePart::Filter(filter) => return self.filter(filter),
            RulePart::Constraints(constraints) => {
                constraints.namespace_selector.iter().for_each(|own| self.namespace_selector(own));
                constraints.object_selector.iter().for_each(|own| self.selector(own));
            }
            RulePart::ResourceRule(rule) => self.names.extend(rule.names.iter().map(ToString::to_string)),
            RulePart::ActionOverride(own) => {
                let namespaces = own.namespaces.iter().flatten().map(|one| one.pattern().to_string());
                self.namespaces.extend(namespaces);
                own.selector.iter().for_each(|own| self.namespace_selector(own));
            }
            // What they test is known (`analysis::reads`); together they are too many for all
            // combinations.
            RulePart::PodSecurity(controls) if controls.field().is_none() => {
                self.open("Pod Security controls")
            }
            // Its text is that of its conditions.
            RulePart::Claim(claim) => return self.each(&claim.blocks),
            // No verdict depends on them.
            RulePart::Message(_)
            | RulePart::MessageProgram(_)
            | RulePart::AuditAnnotation(_)
            | RulePart::Properties(_) => {
                return;
            }
            RulePart::Rule(_)
            | RulePart::Bound(_)
            | RulePart::Selector(_)
            | RulePart::Binding(_)
            | RulePart::BindingSource(_)
            | RulePart::QuerySource(QuerySource::Ready(_))
            | RulePart::Query(_)
            | RulePart::OnDelete(_)
            | RulePart::Template(
                Template::Whole(_) | Template::List(_) | Template::Object(_) | Template::Fail(_),
            )
            | RulePart::Conditions(_)
            | RulePart::Expressions(_)
            | RulePart::Variable(_)
            | RulePart::Source(_)
            | RulePart::Check(_)
            | RulePart::ForEach(_)
            | RulePart::Overlay(Overlay::Ready(_) | Overlay::Broken(_))
            | RulePart::Overlays(Overlays::Ready(_) | Overlays::Broken(_))
            | RulePart::Shape(_)
            | RulePart::MapShape(_)
            | RulePart::PodSecurity(_)
            | RulePart::Change(_)
            | RulePart::Merge(_)
            | RulePart::Json(_)
            | RulePart::PatchLoop(_)
            | RulePart::MutationTarget(_)
            | RulePart::Described(_)
            | RulePart::GenerationLoop(_)
            | RulePart::Place(_) => {}
        }
        part.parts(&mut |below| self.part(below));
    }

    /// A text that is resolved in rounds: what it quotes may be what values are compared with.
    fn rounds(&mut self, source: &str) {
        let quoted = fallback_reads::quoted(source);
        if source.contains("regex_match(") {
            let patterns = quoted.iter().filter_map(|text| translate(text, Dialect::Perl).ok());
            self.guessed.extend(patterns.map(|found| found.pattern));
            self.regexes.extend(self.guessed.iter().cloned());
        }
        self.constants.extend(quoted);
    }

    /// What a node of an expression tests itself; its children are parts of their own.
    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Folded(folded) => self.constant(&folded.value),
            Expr::OneOf { value: _, set } => set.iter().for_each(|one| self.constant(one)),
            Expr::Slice { .. } => self.open(BY_POSITION),
            // The first of two values of a loop may be the position of the other.
            Expr::Comprehension(one) if one.two => self.open(BY_POSITION),
            // Lists have each item that they may have as their first one.
            Expr::Index { base: _, index } if *index != 0 => self.unless_followed(BY_POSITION),
            Expr::Walk(walk) => self.walk(walk),
            Expr::Test(test) => self.walk(&test.walk),
            Expr::Higher { .. } => self.open("a list is sorted or mapped by a function"),
            Expr::Call { function, args } => self.call(function, args),
            Expr::Invoke(invoke) => self.call(invoke.function, &invoke.args),
            Expr::Compare { op: _, sides } => self.relation(&**sides),
            // Described by their parts.
            Expr::Root
            | Expr::Local(_)
            | Expr::Path { .. }
            | Expr::Index { .. }
            | Expr::Let { .. }
            | Expr::Rescue { .. }
            | Expr::Not(_)
            | Expr::Or(_)
            | Expr::And(_)
            | Expr::Project { .. }
            | Expr::Flatten(_)
            | Expr::List(_)
            | Expr::Object(_)
            | Expr::UnlessNull(_)
            | Expr::Lambda { .. }
            | Expr::Cond(_)
            | Expr::Decide { .. }
            | Expr::Variable(_)
            | Expr::Make(_)
            | Expr::Comprehension(_)
            | Expr::Bind(_)
            | Expr::OrElse { .. }
            | Expr::Once { .. }
            | Expr::Cells { .. }
            | Expr::Fail { .. } => {}
        }
    }

    fn walk(&mut self, walk: &Walk) {
        let is_other = |step: &Step| match step {
            Step::Key { key: Value::Int(at), optional: _ } => *at != 0,
            Step::Key { key: Value::UInt(at), optional: _ } => *at != 0,
            Step::Key { key: Value::Bool(_) | Value::Float(_), optional: _ } => true,
            Step::Key { .. } | Step::Field(_) | Step::At { .. } => false,
        };
        if walk.steps.iter().any(is_other) {
            self.unless_followed(BY_POSITION);
        }
    }

    fn call(&mut self, function: &Function, args: &[Expr]) {
        let operation = function.operation;
        match operation.classes() {
            Classes::Described => {}
            Classes::Followed => self.unless_followed(format!("the function `{}`", function.name)),
            Classes::Computed => self.open(format!("the function `{}`", function.name)),
        }
        self.functions.insert(operation);
        let looks_for_part = match operation {
            Operation::StartsWith | Operation::EndsWith => true,
            Operation::Contains => function.language == Language::Cel,
            _ => false,
        };
        // The text is searched in a constant one, or in another one.
        if looks_for_part && args.get(1).is_some_and(is_variable) {
            self.open("a text is looked for in another one");
        }
        match operation {
            _ if operation.searches_pattern() => self.regex(args),
            Operation::Member
            | Operation::Contains
            | Operation::CompareTo
            | Operation::IsLessThan
            | Operation::IsGreaterThan => self.relation(args),
            _ if operation.is_comparison() => self.relation(args),
            // Lists are put together; texts and numbers would be new values.
            Operation::Add if !args.iter().all(is_variable) && !args.iter().any(is_list) => {
                self.unless_followed("a sum");
            }
            _ => {}
        }
    }

    /// The pattern of a call that looks for one in a text.
    fn regex(&mut self, args: &[Expr]) {
        let texts: BTreeSet<&str> = args.iter().filter_map(|arg| arg.constant()?.as_str()).collect();
        let translated = |pattern: &&str| Some(translate(pattern, Dialect::Perl).ok()?.pattern);
        let [one] = &*texts.iter().map(translated).collect::<Vec<_>>() else {
            return self.open("a regular expression that is computed");
        };
        match one {
            Some(pattern) => _ = self.regexes.insert(pattern.clone()),
            None => self.open("a regular expression that is none"),
        }
    }

    fn relation(&mut self, sides: &[Expr]) {
        self.relates |= sides.iter().filter(|side| is_variable(side)).count() > 1;
    }

    fn condition(&mut self, condition: &Condition) {
        let constants = [&condition.key, &condition.value].map(Template::as_const);
        self.relates |= constants == [None; 2];
        self.measures = true;
        let is_membership = condition.operator.is_some_and(Operator::is_membership);
        if is_membership || constants[1].is_none() {
            self.guess_pattern();
        }
        if is_membership && constants.into_iter().flatten().any(has_range) {
            self.open("a range among the values of an operator");
        }
    }

    /// The patterns of a filter; its kinds, operations and users belong to the environment.
    fn filter(&mut self, filter: &Filter) {
        let pattern = |own: &Wildcard| own.pattern().to_string();
        self.names.extend(filter.name.iter().chain(&filter.names).map(pattern));
        self.namespaces.extend(filter.namespaces.iter().map(pattern));
        self.constants
            .extend(filter.annotations.iter().flat_map(|(key, value)| [pattern(key), pattern(value)]));
        filter.selector.iter().for_each(|own| self.selector(own));
        self.roles[0].extend(filter.roles.iter().map(ToString::to_string));
        self.roles[1].extend(filter.cluster_roles.iter().map(ToString::to_string));
        for subject in &filter.subjects {
            let names = if &*subject.kind == "Group" { &mut self.groups } else { &mut self.users };
            names.insert(pattern(&subject.name));
        }
        filter.namespace_selector.iter().for_each(|own| self.namespace_selector(own));
    }

    /// The labels that a selector reads, and their values.
    fn selector(&mut self, selector: &Selector) {
        let labels = selector.labels.iter().flat_map(|(key, value)| [key, value]);
        let required =
            selector.expressions.iter().flat_map(|one| std::iter::once(&one.key).chain(&one.values));
        self.constants.extend(labels.chain(required).map(ToString::to_string));
    }

    /// The labels of namespaces that a selector reads, and their values.
    fn namespace_selector(&mut self, selector: &Selector) {
        if selector.wild {
            self.open("labels of the namespace, by wildcard");
        }
        for (key, value) in &selector.labels {
            self.namespace_label(key, std::slice::from_ref(value));
        }
        for requirement in &selector.expressions {
            self.namespace_label(&requirement.key, &requirement.values);
        }
        self.selector(selector);
    }

    fn namespace_label(&mut self, key: &str, values: &[Str]) {
        let texts = || values.iter().map(ToString::to_string);
        if key == NAME_OF_NAMESPACE {
            self.namespaces.extend(texts());
        }
        self.namespace_labels.entry(key.into()).or_default().extend(texts());
    }

    /// Every text and number of a constant.
    fn constant(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Int(n) => _ = self.ints.insert(*n),
            Value::UInt(n) => match i64::try_from(*n) {
                Ok(n) => _ = self.ints.insert(n),
                Err(_) => self.open(LARGE_NUMBER),
            },
            Value::Float(f) if f.is_finite() && f.abs() < 1e15 => {
                self.amounts.insert(format!("{f:?}"));
                self.ints.extend([f.floor() as i64, f.ceil() as i64]);
            }
            Value::Float(_) => self.open(LARGE_NUMBER),
            Value::Str(text) => _ = self.constants.insert(text.to_string()),
            Value::List(items) => items.iter().for_each(|item| self.constant(item)),
            Value::Map(entries) => {
                for (key, value) in entries.iter() {
                    self.constants.insert(key.to_string());
                    self.constant(value);
                }
            }
            Value::Duration(nanos) => _ = self.amounts.insert(format!("{nanos}ns")),
            Value::Object(object) => match &**object {
                Object::Optional(value) => value.iter().for_each(|value| self.constant(value)),
                Object::Quantity(quantity) => _ = self.constants.insert(quantity.to_string()),
                Object::Keyed(entries) => {
                    entries.iter().flat_map(|(key, value)| [key, value]).for_each(|one| self.constant(one));
                }
                Object::Struct(_, fields) => fields.values().for_each(|value| self.constant(value)),
                Object::Type(_) => {}
                Object::Url(_)
                | Object::Ip(_)
                | Object::Cidr(..)
                | Object::Semver(_)
                | Object::Format(_)
                | Object::Invalid(_)
                | Object::Check(_)
                | Object::Decision(_) => self.open(OTHER_CONSTANT),
            },
            Value::Bytes(_) | Value::Timestamp(_) => self.open(OTHER_CONSTANT),
        }
    }

    /// The terms of a leaf of a pattern.
    fn leaf(&mut self, leaf: &Leaf) {
        self.measures = true;
        let Value::Str(text) = &leaf.source else { return self.constant(&leaf.source) };
        // A value that is the text of the pattern itself matches, too; it is left out
        // (`docs/internals/equivalence.md`, "Texts").
        if !leaf.is_only_itself() {
            self.constants.insert(text.to_string());
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
        use Operation::{Contains, EndsWith, StartsWith};
        for text in self.constants.clone() {
            self.globs.insert(text.clone());
            if self.functions.contains(&StartsWith) {
                self.globs.insert(format!("{text}*"));
            }
            if self.functions.contains(&EndsWith) {
                self.globs.insert(format!("*{text}"));
            }
            if self.functions.contains(&Contains) {
                self.globs.insert(format!("*{text}*"));
            }
            if text.contains(['*', '?']) {
                // These functions know no wildcards.
                let escaped = regex_syntax::escape(&text);
                let forms = [
                    (StartsWith, format!("^{escaped}")),
                    (EndsWith, format!("{escaped}$")),
                    (Contains, escaped),
                ];
                let called = forms.into_iter().filter(|(by, _)| self.functions.contains(by));
                self.regexes.extend(called.map(|(_, pattern)| pattern));
            }
            if let Ok(n) = text.parse::<i64>() {
                self.ints.insert(n);
            }
            if Quantity::parse(&text).is_some() || duration::parse_ok(&text).is_some() {
                self.amounts.insert(text);
            }
        }
        // A list of any length can make these true by how often something is in it, not only by
        // whether it is.
        if self.functions.contains(&Operation::Size) || self.functions.contains(&Operation::Add) {
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

/// Whether a value is computed, and no constant.
fn is_variable(expr: &Expr) -> bool {
    expr.constant().is_none()
}

/// Whether an expression is a list that is written there.
fn is_list(expr: &Expr) -> bool {
    matches!(expr, Expr::List(_) | Expr::Const(Value::List(_)))
}

/// Whether a constant has a text that operators read as a range: `5-7`.
fn has_range(value: &Value) -> bool {
    let is_range = |text: &str| {
        let text = text.trim();
        let parts = text.get(1..).and_then(|rest| rest.find('-')).map(|at| text.split_at(at + 1));
        parts.is_some_and(|(low, high)| {
            let is_amount = |text: &str| Quantity::parse(text.trim_start_matches('!')).is_some();
            is_amount(low.trim()) && is_amount(high.trim_start_matches('-').trim())
        })
    };
    match value {
        Value::Str(text) => is_range(text),
        Value::List(items) => items.iter().any(has_range),
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

    #[test]
    fn a_sum_with_a_text_that_a_condition_chooses_is_a_text_that_is_built() {
        let sum = |expression: &str| {
            of(&format!("{{cel: {{expressions: [{{expression: \"{expression}\"}}]}}}}")).unless_followed
        };
        let is_sum = |expression: &str| sum(expression).as_deref() == Some("a sum");
        assert!(is_sum("object.data.a + 'x' == 'yx'"));
        assert!(is_sum("('b' in object.data ? object.data.b : object.data.a) + 'x' == 'yx'"));
        assert!(is_sum("'x' + ('b' in object.data ? object.data.b : object.data.a) == 'xy'"));
        assert!(is_sum("object.data.?a.orValue('y') + 'x' == 'yx'"));
        // Lists are put together of items that are there.
        assert_eq!(sum("object.data.a in (object.data.map(k, k) + ['x'])"), None);
    }
}
