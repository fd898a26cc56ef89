//! Texts of lookups that are lists: `'["a", "b"]'` in a ConfigMap.
//!
//! In: rules that look for a value of the object in such a text. Out: the same, with fields in
//! place of what is computed: whether the text is a list, and whether the value is one of its items
//! (`inputs::derived`). Operators of conditions read a text as a list where it is one; an
//! expression tests whether it starts with `[`, and has `json.unmarshal` read it. That these are
//! the same is assumed ([`LISTS`]).

use std::sync::Arc;

use ephor_analysis::reads;
use ephor_functions::registry::{Language, Operation, find};
use ephor_ir::check::Check;
use ephor_ir::condition::Operator;
use ephor_ir::expr::{Cmp, Faults, Missing};
use ephor_ir::expressions::{Expressions, Source, Validation, Variable};
use ephor_ir::rule::{Binding, BindingSource, Body};
use ephor_ir::strict::{Step, Walk};
use ephor_ir::template::{Hole, Query};
use ephor_ir::walk::{holds, map_children};
use ephor_ir::{Condition, Conditions, Expr, Rule, Template};
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::Leaf;
use ephor_value::{Str, Value};

use crate::effects::writes::{keys_of, leaf_of};
use crate::inputs::context_entries::INPUTS;
use crate::inputs::derived::{LISTED, MEMBER};
use crate::inputs::lookup::{of_binding, of_call, plain, sees_deletions};
use crate::model::environment::Environment;
use crate::model::field_types::type_at;

/// What is assumed of these texts.
pub(crate) const LISTS: &str = "texts from outside that start with `[` are JSON lists of texts, others are none, and so are texts of the object";

/// A text of lookups: the words of the request, and the name of the entry.
type Text = (String, Str);

/// Whether a rule reads a text of lookups as a list.
pub(crate) fn reads_lists(rule: &Rule) -> bool {
    let Some(shared) = &rule.expressions else { return false };
    let reader = JsonListReader { variables: &shared.variables, environments: &[] };
    reader.programs(rule).any(|expr| holds(expr, &|e| reader.list(e).is_some()))
}

/// A rule with fields for what it computes of lists; whether it has some.
pub(crate) fn with_members(rule: &Arc<Rule>, environments: &[Environment]) -> (Arc<Rule>, bool) {
    let Body::Validate { check, message } = &rule.body else { return (Arc::clone(rule), false) };
    let with = |check: Check| Body::Validate { check, message: message.clone() };
    match (check, &rule.expressions) {
        (Check::Assert(validations), Some(shared)) if reads_lists(rule) && !sees_deletions(rule) => {
            let reader = JsonListReader { variables: &shared.variables, environments };
            let source = |source: &Source| Source {
                program: source.program.clone().map(|expr| reader.expression(expr)),
                sharing: Default::default(),
                ..source.clone()
            };
            let validation = |one: &Validation| Validation { check: source(&one.check), ..one.clone() };
            let variable = |one: &Variable| Variable {
                program: one.program.clone().map(|expr| reader.expression(expr)),
                sharing: Default::default(),
                ..one.clone()
            };
            let expressions = Expressions {
                variables: shared.variables.iter().map(variable).collect(),
                ..(**shared).clone()
            };
            let body = with(Check::Assert(validations.iter().map(validation).collect()));
            (Arc::new(Rule { expressions: Some(Arc::new(expressions)), body, ..(**rule).clone() }), true)
        }
        (Check::Deny(conditions), None) => match in_conditions(conditions, &rule.bindings, environments) {
            Some(conditions) => {
                (Arc::new(Rule { body: with(Check::Deny(conditions)), ..(**rule).clone() }), true)
            }
            None => (Arc::clone(rule), false),
        },
        _ => (Arc::clone(rule), false),
    }
}

/// The field that says whether a text is a list.
fn listed((request, entry): &Text) -> Str {
    format!("{LISTED}{request}|{entry}").into()
}

/// The field that says whether a value of the object is one of its items.
fn member((request, entry): &Text, keys: &[Str]) -> Str {
    format!("{MEMBER}{}|{request}|{entry}", keys.join(".")).into()
}

fn field(object: &[&str], name: Str) -> Expr {
    let keys = object.iter().map(|key| Str::from(*key)).chain([Str::from(INPUTS), name]);
    Expr::Path { base: Box::new(Expr::Root), keys: keys.collect(), scalar: Missing::Fault }
}

/// A text of the object that is empty where it is not there: languages take other values for
/// different ones.
fn text_of(value: &Expr, object: &[&str], environments: &[Environment]) -> Option<Vec<Str>> {
    let (keys, default) = value_of(value, object)?;
    let types: &Types = Types::built_in();
    let place: Vec<reads::Step> = keys.iter().cloned().map(reads::Step::Key).collect();
    let mut is_somewhere = false;
    for environment in environments {
        types.of_object(&environment.object)?;
        // Rules for pods and their templates read other places.
        let Some(ty) = type_at(types, &environment.object, &place) else { continue };
        is_somewhere = true;
        (leaf_of(types, ty) == Some(Leaf::String)).then_some(())?;
    }
    (is_somewhere && default.as_deref() == Some("")).then_some(keys)
}

/// A value of the object, and what it is where it is not there.
fn value_of(value: &Expr, object: &[&str]) -> Option<(Vec<Str>, Option<Str>)> {
    let text = |expr: &Expr| expr.constant().and_then(Value::as_str).map(Str::from);
    match value {
        Expr::Once { expr, .. } | Expr::Rescue { expr, .. } => value_of(expr, object),
        Expr::Or(sides) | Expr::OrElse { sides, .. } => {
            let (keys, None) = value_of(&sides[0], object)? else { return None };
            Some((keys, Some(text(&sides[1])?)))
        }
        _ => {
            let (base, keys) = keys_of(value)?;
            let (above, own) = keys.split_at_checked(object.len())?;
            let is_own =
                matches!(base, Expr::Root) && above.iter().map(|key| &**key).eq(object.iter().copied());
            (is_own && !own.is_empty()).then(|| (own.to_vec(), None))
        }
    }
}

fn is_empty(expr: &Expr) -> bool {
    expr.constant().and_then(Value::as_str) == Some("")
}

struct JsonListReader<'r> {
    variables: &'r [Variable],
    environments: &'r [Environment],
}

impl<'r> JsonListReader<'r> {
    fn programs(&self, rule: &'r Rule) -> impl Iterator<Item = &'r Expr> {
        let validations = match &rule.body {
            Body::Validate { check: Check::Assert(validations), .. } => &**validations,
            _ => &[],
        };
        let of_variables = self.variables.iter().filter_map(|variable| variable.program.as_ref().ok());
        of_variables.chain(validations.iter().filter_map(|one| one.check.program.as_ref().ok()))
    }

    fn program(&self, n: u32) -> Option<&'r Expr> {
        self.variables.get(n as usize).and_then(|variable| variable.program.as_ref().ok())
    }

    /// The text of lookups that an expression is.
    fn text(&self, expr: &Expr) -> Option<Text> {
        match expr {
            Expr::Once { expr, .. } => self.text(expr),
            Expr::Variable(n) => self.text(self.program(*n)?),
            Expr::Walk(walk) if walk.steps.is_empty() => self.text(&walk.base),
            Expr::Walk(walk) => self.entry(walk),
            // An empty text is no list.
            Expr::Cond(parts) => match &**parts {
                [_, one, other] if is_empty(other) => self.text(one),
                [_, other, one] if is_empty(other) => self.text(one),
                _ => None,
            },
            Expr::OrElse { sides, .. } if is_empty(&sides[1]) => self.text(&sides[0]),
            _ => None,
        }
    }

    fn entry(&self, walk: &Walk) -> Option<Text> {
        let [Step::Key { key: Value::Str(data), .. }, Step::Key { key: Value::Str(entry), .. }] =
            &*walk.steps
        else {
            return None;
        };
        let base = match &walk.base {
            Expr::Variable(n) => plain(self.program(*n)?),
            base => plain(base),
        };
        let request = of_call(base, &|n| self.program(n))?;
        (**data == *"data" && request.item().is_none()).then(|| (request.text(), entry.clone()))
    }

    /// The text that is read as a list.
    fn list(&self, expr: &Expr) -> Option<Text> {
        match expr {
            Expr::Once { expr, .. } => self.list(expr),
            Expr::Walk(walk) if walk.steps.is_empty() => self.list(&walk.base),
            expr => match expr.invoked()? {
                (Operation::ParseJson, [.., text]) => self.text(text),
                _ => None,
            },
        }
    }

    fn expression(&self, expr: Expr) -> Expr {
        if let Some(call) = expr.invoked() {
            match call {
                (Operation::Member, [value, list]) => {
                    if let (Some(text), Some(value)) =
                        (self.list(list), text_of(value, &["object"], self.environments))
                    {
                        return field(&["object"], member(&text, &value));
                    }
                }
                (Operation::StartsWith, [of, prefix]) => {
                    let is_bracket = prefix.constant().and_then(Value::as_str) == Some("[");
                    if let Some(text) = self.text(of).filter(|_| is_bracket) {
                        let empty = Expr::Const(Value::from(""));
                        let is_empty = Expr::Compare { op: Cmp::Eq, sides: Box::new([of.clone(), empty]) };
                        let no = Expr::Const(Value::Bool(false));
                        return Expr::Cond(Box::new([is_empty, no, field(&["object"], listed(&text))]));
                    }
                }
                _ => {}
            }
        }
        map_children(expr, &mut |child, _| self.expression(child))
    }
}

/// Conditions with fields for what they compute of lists; `None`: there are none.
fn in_conditions(
    conditions: &Conditions,
    bindings: &[Arc<Binding>],
    environments: &[Environment],
) -> Option<Conditions> {
    let is_any = std::cell::Cell::new(false);
    let each = |all: &[Condition]| {
        let of = |one: &Condition| {
            let found = in_condition(one, bindings, environments);
            is_any.set(is_any.get() || found.is_some());
            found.unwrap_or_else(|| one.clone())
        };
        all.iter().map(of).collect::<Box<[_]>>()
    };
    let any = conditions.any.as_deref().map(each);
    let found = Conditions { any, all: each(&conditions.all), ..conditions.clone() };
    is_any.get().then_some(found)
}

fn in_condition(
    one: &Condition,
    bindings: &[Arc<Binding>],
    environments: &[Environment],
) -> Option<Condition> {
    if !one.operator.is_some_and(Operator::is_membership) {
        return None;
    }
    let (Template::Whole(key), Template::Whole(value)) = (&one.key, &one.value) else { return None };
    let query = |key: &Query, value: &Query, object: &str| {
        let (key, list) = (key.expr.as_ref().ok()?, value.expr.as_ref().ok()?);
        let (text, read) = text_in(list, bindings)?;
        let object = ["request", object];
        let of_object = text_of(key, &object, environments)?;
        let empty = Expr::Const(Value::from(""));
        let no_item = Expr::Const(Value::list(Vec::new()));
        let is_member = field(&object, member(&text, &of_object));
        // The text is a list where it is not empty.
        let is_text = Expr::Compare { op: Cmp::Ne, sides: Box::new([read.clone(), empty]) };
        // What begins like a list, and is none, is a text like others.
        let is_same = Expr::Compare { op: Cmp::Eq, sides: Box::new([key.clone(), read.clone()]) };
        let begins = Expr::Call {
            function: find(Language::JmesPath, "starts_with")?,
            args: [read, Expr::Const(Value::from("["))].into(),
        };
        let as_text = Expr::Cond(Box::new([is_same, key.clone(), no_item.clone()]));
        let other = Expr::Cond(Box::new([begins, as_text, list.clone()]));
        let is_list =
            Expr::Cond(Box::new([is_text, field(&object, listed(&text)), Expr::Const(Value::Bool(false))]));
        let item = Expr::Cond(Box::new([is_member, key.clone(), no_item]));
        Some(Query { expr: Ok(Expr::Cond(Box::new([is_list, item, other]))), ..value.clone() })
    };
    let own = query(&key.query, &value.query, "object")?;
    let on_delete = match (&key.query.on_delete, &value.query.on_delete) {
        (None, None) => None,
        (key_on, value_on) => {
            let key = key_on.as_deref().unwrap_or(&key.query);
            let value = value_on.as_deref().unwrap_or(&value.query);
            Some(Box::new(query(key, value, "oldObject")?))
        }
    };
    let hole = Hole { query: Query { on_delete, ..own }, ..(**value).clone() };
    Some(Condition { value: Template::Whole(Box::new(hole)), prepared: None, ..one.clone() })
}

/// The text of lookups that a query gives, or another text where there is none; and how it is
/// read.
fn text_in(query: &Expr, bindings: &[Arc<Binding>]) -> Option<(Text, Expr)> {
    match query {
        Expr::Rescue { expr, .. } => text_in(expr, bindings),
        Expr::Or(sides) if sides[1].constant().is_some() || is_nothing(&sides[1]) => {
            text_in(&sides[0], bindings)
        }
        Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => {
            let [name, data, entry] = &**keys else { return None };
            let mut own = bindings.iter().filter(|binding| binding.name == *name);
            let (binding, None) = (own.next()?, own.next()) else { return None };
            let is_map = matches!(binding.source, BindingSource::ConfigMap { .. }) && **data == *"data";
            let request = of_binding(binding, false).filter(|_| is_map)?;
            let or_empty = Expr::Or(Box::new([
                Expr::rescue(query.clone(), Faults::AllAsNull),
                Expr::Const(Value::from("")),
            ]));
            Some(((request.text(), entry.clone()), or_empty))
        }
        _ => None,
    }
}

/// A field without a name, as `|| ""` reads one: none has it.
fn is_nothing(query: &Expr) -> bool {
    match query {
        Expr::Rescue { expr, .. } => is_nothing(expr),
        Expr::Path { base, keys, .. } => {
            matches!(**base, Expr::Root) && keys.iter().all(|key| key.is_empty())
        }
        _ => false,
    }
}
