//! How many items of lists matter.
//!
//! In: a lowered policy. Out: [`Items`]. A rule says of a list that some item is such, or that all are, several of these perhaps. What
//! it says of a list it says of a part of it that keeps one item for each such statement that is true, and so many items more
//! as a number that its length is compared with (`docs/diff.md`, "Lists").
//!
//! Rules that check each item (patterns, `foreach`, `all`) are satisfied by a part of a list when they are by the list: to keep them
//! satisfied takes no item. Unless what they say of an item is about other lists, too: then each item may need one of these, and no number is
//! known.

use crate::analysis::tree::{Node, Tree};
use crate::ir::Policy;
use crate::value::Str;

use super::predicates::position;
use super::searched::searched;

/// How many items of lists matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// So many for a violation to stay one.
    pub violated: usize,
    /// So many for what is no violation to stay none.
    pub satisfied: usize,
    /// Whether for a violation to stay one each item that stays may need items of other lists.
    pub violated_by_others: bool,
    /// The same for what is no violation to stay none.
    pub satisfied_by_others: bool,
    /// Whether a violation stays one without items of a list that it looks at: if this has to have one, it is one more.
    pub violated_without: bool,
    /// The same for what is no violation.
    pub satisfied_without: bool,
    /// Whether there are lists at all.
    pub any: bool,
    /// Why their number is not known.
    pub open: Option<String>,
    /// Whether the list that comes next has an existence anchor.
    is_existence: bool,
    /// Whether a length has a name, under which it may be compared anywhere.
    is_length_named: bool,
    /// Which variables of the rule are the same for all objects.
    constants: Vec<bool>,
    /// Which of them are labels or annotations.
    texts: Vec<bool>,
    /// The entries of the rule that are lists in which operators look for an item, and nothing else.
    searched: Vec<Str>,
    /// Whether the projection that comes next is such a list: the operator has the item that it needs.
    is_searched: bool,
}

/// Longer lists are not tried.
const LONGEST: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// Each item is checked.
    Each,
    /// Some item is looked for.
    Some,
    /// Anything else: its value is a list.
    Other,
}

/// So many items for a statement to stay true, and so many for it to stay false.
#[derive(Clone, Copy, Default)]
struct Need {
    to_hold: usize,
    to_fail: usize,
    /// Whether each item that stays may need others for the statement to stay true.
    holds_by_others: bool,
    /// The same for it to stay false.
    fails_by_others: bool,
    /// Whether it stays true without items of a list that it looks at.
    holds_without: bool,
    /// The same for it to stay false.
    fails_without: bool,
}

impl Need {
    fn both(count: usize) -> Need {
        Need { to_hold: count, to_fail: count, ..Need::default() }
    }

    fn and(self, other: Need) -> Need {
        Need {
            to_hold: self.to_hold + other.to_hold,
            to_fail: self.to_fail + other.to_fail,
            holds_by_others: self.holds_by_others || other.holds_by_others,
            fails_by_others: self.fails_by_others || other.fails_by_others,
            holds_without: self.holds_without || other.holds_without,
            fails_without: self.fails_without || other.fails_without,
        }
    }

    /// Of what becomes true with its opposite.
    fn negated(self) -> Need {
        Need {
            to_hold: self.to_fail,
            to_fail: self.to_hold,
            holds_by_others: self.fails_by_others,
            fails_by_others: self.holds_by_others,
            holds_without: self.fails_without,
            fails_without: self.holds_without,
        }
    }

    /// Whether it is true or false.
    fn either(self) -> Need {
        let most = self.to_hold.max(self.to_fail);
        let by_others = self.holds_by_others || self.fails_by_others;
        let without = self.holds_without || self.fails_without;
        Need {
            holds_by_others: by_others,
            fails_by_others: by_others,
            holds_without: without,
            fails_without: without,
            ..Need::both(most)
        }
    }
}

impl Items {
    /// Those of a policy.
    pub fn of(policy: &Policy) -> Items {
        let mut found = Items::default();
        let mut need = Need::default();
        for rule in policy.all_rules() {
            found.constants.clear();
            found.texts.clear();
            for variable in rule.expressions.iter().flat_map(|shared| &*shared.variables) {
                let tree = Tree::of(variable);
                let is_constant = tree.as_ref().is_some_and(|tree| found.is_local(tree, &[]));
                let program = tree.as_ref().and_then(Tree::as_node).and_then(|node| node.get("program"));
                let is_text = program.is_some_and(|program| found.is_text(program));
                found.constants.push(is_constant);
                found.texts.push(is_text);
            }
            found.searched = searched(rule);
            if let Some(tree) = Tree::of(&**rule) {
                found.is_length_named |= names_length(&tree, false);
                need = need.and(found.tree(&tree, true));
            }
        }
        for source in &policy.admit {
            if let Some(tree) = Tree::of(source) {
                need = need.and(found.tree(&tree, false).either());
            }
        }
        (found.violated, found.satisfied) = (need.to_fail, need.to_hold);
        (found.violated_by_others, found.satisfied_by_others) = (need.fails_by_others, need.holds_by_others);
        (found.violated_without, found.satisfied_without) = (need.fails_without, need.holds_without);
        found
    }

    /// `plain`: the part decides by itself, it is no operand of something else.
    fn tree(&mut self, tree: &Tree, plain: bool) -> Need {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => Need::default(),
            Tree::List(items) => {
                items.iter().fold(Need::default(), |sum, one| sum.and(self.tree(one, plain)))
            }
            Tree::Map(entries) => {
                entries.iter().fold(Need::default(), |sum, (_, one)| sum.and(self.tree(one, plain)))
            }
            Tree::Node(node) => self.node(node, plain),
        }
    }

    fn node(&mut self, node: &Node, mut plain: bool) -> Need {
        if node.kind == "Binding" {
            self.is_searched =
                node.text("name").is_some_and(|name| self.searched.iter().any(|own| **own == *name));
        }
        let kind = match (node.kind, node.variant) {
            ("Expr", "project") if std::mem::take(&mut self.is_searched) => {
                self.any = true;
                None
            }
            ("Shape", "list") => Some(if self.is_existence { Loop::Some } else { Loop::Each }),
            ("ForEach", _) => Some(Loop::Each),
            ("Expr", "project") => Some(Loop::Other),
            ("Comprehension", _) => Some(match comprehension(node) {
                "all" => Loop::Each,
                "exists" => Loop::Some,
                _ => Loop::Other,
            }),
            _ => None,
        };
        match (node.kind, node.variant) {
            (
                "Expr",
                "decide" | "cells" | "once" | "bind" | "and" | "or" | "comprehension" | "variable" | "not",
            ) => {}
            // What is wrapped decides itself.
            ("Expr", "invoke") | ("Invoke", _) if is_negation(node) => {}
            ("Expr", "invoke") if matches!(node.get(""), Some(Tree::Node(inner)) if is_negation(inner)) => {}
            ("Expr" | "Invoke", _) | ("Conditions" | "Condition", _) => plain = false,
            _ => {}
        }
        let mut need = Need::default();
        if matches!((node.kind, node.variant), ("Expr", "call" | "compare") | ("Invoke" | "Condition", _)) {
            need = Need::both(self.lengths(node));
        }
        need = need.and(Need::both(usize::from(looks_into_list(node))));
        if matches!((node.kind, node.variant), ("Expr", "index") | ("Step", "key"))
            && position(node).is_some()
        {
            // The first item stays the first one.
            need = need.and(Need::both(1));
            self.any = true;
        }
        // Keys with wildcards look for an entry; so do filters, and their selectors.
        let is_entry = match (node.kind, node.variant) {
            ("Entry", _) => node.text("key").is_some_and(|key| key.contains(['*', '?'])),
            _ => false,
        };
        if is_entry {
            need = need.and(Need::both(1));
            self.any = true;
        }
        if node.kind == "PodSecurity" {
            // A container, volume or sysctl is enough to fail; an item of a list in it may have to be there.
            self.any = true;
            return need.and(Need { to_hold: 1, to_fail: 2, ..Need::default() });
        }
        if node.kind == "Filter" {
            need = need.and(Need::both(looked_for(node)));
        }
        // An anchor says of the list below it that one item must match, instead of each.
        let anchor = node.get("anchor").and_then(Tree::as_node).map(|anchor| anchor.variant);
        let outside = std::mem::replace(&mut self.is_existence, anchor == Some("existence"));
        for (name, value) in &node.fields {
            if !matches!(*name, "origin" | "message" | "text" | "raw" | "onDelete" | "rounds") {
                need = need.and(self.tree(value, plain));
            }
        }
        self.is_existence = outside;
        if is_negation(node) || (node.kind, node.variant) == ("Expr", "not") {
            need = need.negated();
        }
        let Some(kind) = kind else { return need };
        self.any = true;
        match kind {
            // Of each item it says something of other lists, too.
            Loop::Each if plain && !self.is_about_items(node) => Need {
                to_hold: 0,
                to_fail: need.to_fail + 1,
                holds_by_others: need.holds_by_others || need.to_hold > 0,
                fails_by_others: need.fails_by_others,
                holds_without: true,
                fails_without: need.fails_without,
            },
            Loop::Some if plain && !self.is_about_items(node) => Need {
                to_hold: need.to_hold + 1,
                to_fail: 0,
                holds_by_others: need.holds_by_others,
                fails_by_others: need.fails_by_others || need.to_fail > 0,
                holds_without: need.holds_without,
                fails_without: true,
            },
            // One item is enough to fail; none has to be there to hold.
            Loop::Each if plain => {
                Need { to_fail: need.to_fail.max(1), holds_without: true, ..Need::default() }
            }
            Loop::Some if plain => {
                Need { to_hold: need.to_hold.max(1), fails_without: true, ..Need::default() }
            }
            _ if comprehension(node) == "one" => need.and(Need::both(2)),
            _ => need.and(Need::both(1)),
        }
    }

    /// Whether what a loop says of its items depends on these alone.
    fn is_about_items(&self, node: &Node) -> bool {
        let parts: &[&str] = match node.kind {
            "Comprehension" => &["keep", "body"],
            "ForEach" => &["bindings", "admit", "check"],
            _ => return !matches!(node.variant, "list") || self.is_local(&Tree::Node(node.clone()), &[]),
        };
        // The entries of a loop have names.
        let entries = match node.get("bindings") {
            Some(Tree::List(entries)) => &**entries,
            _ => &[],
        };
        let names: Vec<&str> =
            entries.iter().filter_map(|entry| entry.as_node().and_then(|node| node.text("name"))).collect();
        let mut fields = node.fields.iter().filter(|(name, _)| parts.contains(name));
        fields.all(|(_, value)| self.is_local(value, &names))
    }

    /// Whether an expression reads nothing but what the loops around it walk, entries with these names and constants.
    fn is_local(&self, tree: &Tree, names: &[&str]) -> bool {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => true,
            Tree::List(items) => items.iter().all(|item| self.is_local(item, names)),
            Tree::Map(entries) => entries.iter().all(|(_, value)| self.is_local(value, names)),
            Tree::Node(node) => match (node.kind, node.variant) {
                ("Expr", "root") => false,
                ("Expr", "variable") => node.fields.iter().any(|(_, at)| {
                    let at = match at {
                        Tree::Scalar(text) => text.parse::<usize>().ok(),
                        _ => None,
                    };
                    at.and_then(|at| self.constants.get(at)).is_some_and(|is_constant| *is_constant)
                }),
                ("Expr", "path") if is_of_element(node, names) => true,
                // What is applied to the answer reads nothing else.
                ("BindingSource", "given") => {
                    node.get("answer").is_none_or(|answer| self.is_local(answer, names))
                }
                _ => {
                    let fields = node.fields.iter();
                    let mut fields = fields.filter(|(name, _)| {
                        !matches!(*name, "origin" | "message" | "text" | "raw" | "rounds")
                    });
                    fields.all(|(_, value)| self.is_local(value, names))
                }
            },
        }
    }

    /// Whether a value is a label or an annotation.
    fn is_text(&self, tree: &Tree) -> bool {
        let Tree::Node(node) = tree else { return false };
        if node.variant == "variable" {
            let at = node.fields.iter().find_map(|(_, at)| match at {
                Tree::Scalar(at) => at.parse::<usize>().ok(),
                _ => None,
            });
            return at.and_then(|at| self.texts.get(at)).is_some_and(|is_text| *is_text);
        }
        match &*last_keys(tree) {
            // Nothing but this is read of a variable.
            [] => {
                let is_plain = ["keys", "steps"].iter().all(|name| node.get(name).is_none_or(is_empty));
                let base = node.get("base").or_else(|| node.get(""));
                matches!(node.kind, "Expr" | "Walk")
                    && is_plain
                    && base.is_some_and(|base| self.is_text(base))
            }
            keys => matches!(keys, [.., "metadata", "labels" | "annotations", _]),
        }
    }

    /// The numbers that lengths are compared with, and the lists that are compared as a whole.
    fn lengths(&mut self, node: &Node) -> usize {
        let compares = match node.kind {
            "Condition" | "Invoke" => true,
            _ => node.variant == "compare" || node.text("function").is_some_and(is_comparison),
        };
        let mut found = Constants::default();
        for (name, value) in &node.fields {
            if !matches!(*name, "origin" | "message" | "onDelete" | "rounds") {
                found.collect(value, false);
            }
        }
        let Constants { all: constants, any: has_constant, has_length } = found;
        let has_length = has_length || self.is_length_named;
        if !compares {
            return 0;
        }
        // A text may be a list, too: of how many characters is a matter of classes of texts.
        let is_whole = match node.kind {
            "Condition" => {
                matches!(node.text("operator"), Some("equals" | "equal" | "notEquals" | "notEqual"))
            }
            _ => node.text("function").is_none_or(|name| matches!(name, "_==_" | "_!=_")),
        };
        // A label or annotation is a text, which is the same as no list.
        let is_text = match node.get("args") {
            Some(Tree::List(sides)) => sides.iter().any(|side| self.is_text(side)),
            _ => false,
        };
        // Two lists, or objects, are different when one item is.
        let mut most = usize::from(is_whole && !has_constant && !is_text);
        for constant in constants {
            match constant {
                Constant::Number(n) if has_length => {
                    most = most.max(usize::try_from(n.max(0)).unwrap_or(usize::MAX).saturating_add(1));
                }
                Constant::List(length) if is_whole => most = most.max(length + 1),
                _ => {}
            }
        }
        self.any |= most > 0;
        if most > LONGEST {
            self.open.get_or_insert_with(|| "the length of a long list".into());
            return 0;
        }
        most
    }
}

fn is_empty(tree: &Tree) -> bool {
    matches!(tree, Tree::List(items) if items.is_empty())
}

/// The keys that a value is read by, the last ones at least.
fn last_keys(tree: &Tree) -> Vec<&str> {
    let Tree::Node(node) = tree else { return Vec::new() };
    if let (Some(inner), 1) = (node.get(""), node.fields.len()) {
        return last_keys(inner);
    }
    let base = node.get("base").map(last_keys).unwrap_or_default();
    let own: Option<Vec<&str>> = match (node.get("keys"), node.get("steps")) {
        (Some(Tree::List(keys)), _) => keys.iter().map(Tree::as_text).collect(),
        (_, Some(Tree::List(steps))) => {
            steps.iter().map(|step| step.as_node().and_then(|step| step.text("key"))).collect()
        }
        _ => Some(Vec::new()),
    };
    // What is read in another way hides what is before it.
    own.map_or_else(Vec::new, |own| base.into_iter().chain(own).collect())
}

/// Whether an entry, a variable or the value of a binder is computed of a length; `named`: the tree is a part of one.
fn names_length(tree: &Tree, named: bool) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(|item| names_length(item, named)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| names_length(value, named)),
        Tree::Node(node) => {
            if named && matches!(node.text("function"), Some("size" | "length")) {
                return true;
            }
            let is_name = matches!(node.kind, "Binding" | "Variable");
            let below = |(field, value): &(&str, Tree)| match (node.kind, node.variant, value) {
                // Its value, and what sees it.
                ("Expr", "bind", Tree::List(parts)) => {
                    parts.iter().enumerate().any(|(at, part)| names_length(part, named || at == 0))
                }
                ("Expr", "let", value) => names_length(value, named || *field == "value"),
                (_, _, value) => names_length(value, named || is_name),
            };
            node.fields.iter().any(below)
        }
    }
}

enum Constant {
    Number(i64),
    List(usize),
}

/// The constants below a node.
#[derive(Default)]
struct Constants {
    /// Those that say something of lengths.
    all: Vec<Constant>,
    /// Whether there are others, too.
    any: bool,
    /// Whether a length is computed.
    has_length: bool,
}

impl Constants {
    fn collect(&mut self, tree: &Tree, constant: bool) {
        self.any |= constant;
        match tree {
            Tree::Scalar(text) | Tree::Text(text) if constant => {
                // Numbers of JMESPath are doubles.
                let number = text.parse::<f64>().ok().filter(|n| n.abs() < 1e15);
                self.all.extend(number.map(|n| Constant::Number(n.ceil() as i64)));
            }
            Tree::List(items) => {
                if constant {
                    self.all.push(Constant::List(items.len()));
                }
                items.iter().for_each(|item| self.collect(item, constant));
            }
            Tree::Map(entries) => entries.iter().for_each(|(_, value)| self.collect(value, constant)),
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => {}
            Tree::Node(node) => {
                self.has_length |= matches!(node.text("function"), Some("size" | "length"));
                let is_constant =
                    constant || matches!(node.variant, "const" | "folded") || node.kind == "Folded";
                node.fields.iter().for_each(|(_, value)| self.collect(value, is_constant));
            }
        }
    }
}

fn is_comparison(name: &str) -> bool {
    matches!(name, "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_")
}

/// Whether an operator or function looks for items of a list by itself.
fn looks_into_list(node: &Node) -> bool {
    let is_constant = |tree: &Tree| matches!(tree, Tree::Node(n) if matches!(n.variant, "const" | "folded"));
    match (node.kind, node.variant) {
        ("Condition", _) => {
            let operator = node.get("operator").and_then(Tree::as_node).map(|operator| operator.variant);
            let compares = matches!(operator, Some("equals" | "notEquals" | "order" | "duration"));
            !compares && !is_operation(node.get("key"))
        }
        // Of a constant list it says something of a value.
        ("Invoke", _) if matches!(node.text("function"), Some("@in" | "_in_")) => match node.get("args") {
            Some(Tree::List(args)) => !args.last().is_some_and(is_constant),
            _ => true,
        },
        ("Expr", "call") => node.text("function") == Some("contains"),
        _ => false,
    }
}

/// How many entries of annotations and labels a filter looks for by patterns.
fn looked_for(filter: &Node) -> usize {
    fn patterns(tree: &Tree) -> usize {
        match tree {
            Tree::Text(text) => usize::from(text.contains(['*', '?'])),
            Tree::List(items) => items.iter().map(patterns).sum(),
            Tree::Map(entries) => entries
                .iter()
                .map(|(key, value)| usize::from(key.contains(['*', '?'])) + patterns(value))
                .sum(),
            Tree::Node(node) => node.fields.iter().map(|(_, value)| patterns(value)).sum(),
            Tree::None | Tree::Scalar(_) => 0,
        }
    }
    let annotations = match filter.get("annotations") {
        Some(Tree::List(pairs)) => &**pairs,
        _ => &[],
    };
    // Under a name that is known there is one annotation at most.
    let is_wild = |pair: &&Tree| match pair {
        Tree::List(parts) => parts.first().is_none_or(|name| patterns(name) > 0),
        _ => true,
    };
    let annotations: usize = annotations.iter().filter(is_wild).map(patterns).sum();
    annotations + filter.get("selector").map_or(0, patterns)
}

/// Whether a key is the operation of the request, which is no list.
fn is_operation(key: Option<&Tree>) -> bool {
    fn paths<'t>(tree: &'t Tree, out: &mut Vec<&'t Node>) {
        match tree {
            Tree::Node(node) => {
                if node.kind == "Expr" && matches!(node.variant, "path" | "walk" | "project" | "call") {
                    out.push(node);
                }
                let fields = node.fields.iter().filter(|(name, _)| !matches!(*name, "onDelete" | "rounds"));
                fields.for_each(|(_, value)| paths(value, out));
            }
            Tree::List(items) => items.iter().for_each(|item| paths(item, out)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    key.into_iter().for_each(|key| paths(key, &mut found));
    let is_operation = |node: &&Node| match node.get("keys") {
        Some(Tree::List(keys)) => keys.iter().filter_map(Tree::as_text).eq(["request", "operation"]),
        _ => false,
    };
    !found.is_empty() && found.iter().all(is_operation)
}

/// Whether a path is one of the element of a loop of `foreach`, or of an entry with one of these names.
fn is_of_element(path: &Node, names: &[&str]) -> bool {
    let is_root =
        matches!(path.get("base"), Some(Tree::Node(base)) if (base.kind, base.variant) == ("Expr", "root"));
    let first = match path.get("keys") {
        Some(Tree::List(keys)) => keys.first().and_then(Tree::as_text),
        _ => None,
    };
    is_root && first.is_some_and(|key| key.starts_with("element") || names.contains(&key))
}

fn is_negation(node: &Node) -> bool {
    node.kind == "Invoke" && node.text("function") == Some("!_")
}

fn comprehension(node: &Node) -> &str {
    match node.get("kind") {
        Some(Tree::Node(kind)) => kind.variant,
        Some(Tree::Text(kind)) => kind,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::policy_set::PolicySet;

    fn of(validate: &str) -> (usize, usize) {
        let policy = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    validate: {validate}\n"
        );
        let found = Items::of(&PolicySet::from_yaml(&policy).unwrap().policies()[0]);
        (found.violated, found.satisfied)
    }

    #[test]
    fn checks_of_each_item_need_one_to_be_violated_and_none_to_be_satisfied() {
        assert_eq!(of("{message: m, pattern: {spec: {a: [{b: [{c: x}]}]}}}"), (1, 0));
        assert_eq!(of("{cel: {expressions: [{expression: 'object.a.all(x, x.b.all(y, y == 1))'}]}}"), (1, 0));
        assert_eq!(of("{message: m, pattern: {spec: {^(a): [{b: 1}]}}}"), (0, 1));
        assert_eq!(
            of("{cel: {expressions: [{expression: 'object.a.all(x, x.b.exists(y, y == 1))'}]}}"),
            (1, 0)
        );
    }

    #[test]
    fn what_looks_for_an_item_needs_one_to_be_satisfied() {
        assert_eq!(of("{cel: {expressions: [{expression: 'object.a.exists(x, x == 1)'}]}}"), (0, 1));
        assert_eq!(of("{cel: {expressions: [{expression: '!object.a.all(x, x == 1)'}]}}"), (0, 1));
        assert_eq!(of("{cel: {expressions: [{expression: 'object.a.exists(x, x == 1) == true'}]}}"), (1, 1));
    }

    #[test]
    fn operators_that_look_into_lists_need_an_item() {
        let deny = |key: &str| {
            of(&format!(
                "{{message: m, deny: {{conditions: {{any: [{{key: '{{{{ {key} }}}}', operator: AnyIn, value: [CREATE]}}]}}}}}}"
            ))
        };
        assert_eq!(deny("request.object.a"), (1, 1));
        assert_eq!(deny("request.operation"), (0, 0));
        assert_eq!(of("{cel: {expressions: [{expression: \"'x' in object.a\"}]}}"), (1, 1));
        assert_eq!(of("{cel: {expressions: [{expression: \"object.a in ['x']\"}]}}"), (0, 0));
    }

    #[test]
    fn what_is_said_of_an_item_and_of_other_lists_needs_one_of_each() {
        let relation = "object.a.exists(x, object.b.exists(y, y.c.exists(z, z == x.c)))";
        assert_eq!(of(&format!("{{cel: {{expressions: [{{expression: '{relation}'}}]}}}}")), (0, 2));
        let local = "object.a.exists(x, x.b.exists(y, y.c.exists(z, z == x.c)))";
        assert_eq!(of(&format!("{{cel: {{expressions: [{{expression: '{local}'}}]}}}}")), (0, 1));
        let constant = "{cel: {variables: [{name: all, expression: '[1, 2]'}], expressions: [{expression: 'object.a.all(x, x.b in variables.all)'}]}}";
        assert_eq!(of(constant), (1, 0));
        let each = |value: &str| {
            of(&format!(
                "{{message: m, foreach: [{{list: request.object.a, deny: {{conditions: {{any: [{{key: '{{{{ element.b }}}}', operator: AnyIn, value: '{{{{ {value} }}}}'}}]}}}}}}]}}"
            ))
        };
        assert_eq!(each("element.c"), (1, 0));
        assert_eq!(each("request.object.d[].e").0, 3);
    }

    #[test]
    fn a_length_that_has_a_name_is_compared_wherever_the_name_is() {
        let cel = |variable: &str, expression: &str| {
            of(&format!(
                "{{cel: {{variables: [{{name: count, expression: '{variable}'}}], expressions: [{{expression: '{expression}'}}]}}}}"
            ))
        };
        assert_eq!(cel("size(object.a)", "variables.count <= 2"), (3, 3));
        assert_eq!(cel("object.a", "size(variables.count) <= 2 && object.b <= 6"), (3, 3));
    }

    #[test]
    fn a_length_needs_one_item_more() {
        assert_eq!(of("{cel: {expressions: [{expression: 'size(object.a) <= 2'}]}}"), (3, 3));
        let deny = "{message: m, deny: {conditions: {any: [{key: '{{ length(request.object.a) }}', operator: GreaterThan, value: 2}]}}}";
        assert_eq!(of(deny), (3, 3));
    }
}
