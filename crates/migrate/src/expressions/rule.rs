//! A rule → conditions and validations.
//!
//! In: a rule with its check. Out: expressions that are violated by the same requests; what they
//! share stands under names.

use std::sync::Arc;

use ephor_ir::check::{Check, ForEach, Overlay, Overlays};
use ephor_ir::rule::{Body, Message};
use ephor_ir::shape::Pattern;
use ephor_ir::{Condition, Conditions, Origin, Rule};
use ephor_value::{Str, Value};

use super::certificates::lacking_field;
use super::message::{message, with};
use super::pattern::outcome;
use super::pod_security;
use super::scope::{Scope, Shared};
use super::shared::{LONG, mapped, occurrences, reads, replaced, share_repeated};
use super::term::{ABSORBED, Path, Test, Val, has_of};
use crate::cel::build::{all, any, binary, boolean, choose, constant_bool, is, method, not};
use crate::cel::walk::children;
use crate::cel::{WIDTH, build, print};
use crate::expressions::context::Context;
use crate::expressions::converted::{Converted, NamedExpression, Validation};
use crate::expressions::refusal::Result;
use crate::expressions::translate::conditions::{both, conditions, fails_alike};
use crate::expressions::translate::lists::{Quantifier, is_list, quantified};
use crate::expressions::translate::{root, template};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// A check as an expression, and what it was written for.
pub struct Checked {
    /// What must hold.
    pub test: Test,
    /// Its place.
    pub origin: Origin,
    /// The loop that it is about, for messages.
    pub inside: Option<CheckLoop>,
    /// A message of its own.
    pub message: Option<String>,
    /// The message with those of its conditions.
    pub stated: Option<Box<Message>>,
}

/// The loop around a check.
#[derive(Clone)]
pub struct CheckLoop {
    /// The list.
    pub list: Node,
    /// The name of an item.
    pub var: Str,
    /// What must hold of an item.
    pub test: Test,
    /// The item.
    pub item: Val,
}

/// What may read the variables of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Validations: conditions that need a variable are a part of each.
    Validations,
    /// Nothing: what conditions need is written out in them.
    None,
}

/// Converts a rule.
pub fn convert(rule: &Rule, readers: Readers, cx: &Context) -> Result<Converted> {
    let mut scope = Scope::new(cx, rule);
    scope.bindings = rule.bindings.to_vec();
    // What its pattern does not apply to is not changed.
    scope.is_exact = readers == Readers::None;
    if let Some(why) = &rule.broken {
        return Err(scope.refuse(format!("a rule that cannot be run ({why})"), "correct it"));
    }
    let Body::Validate { check, message: own } = &rule.body else {
        return Err(scope.refuse("a rule that does not validate", "migrate it to the policy of its kind"));
    };
    let admit = match &rule.admit {
        None => Test::constant(true),
        Some(own) => conditions(own, &mut scope)?,
    };
    let checks = checked(check, own, &mut scope)?;
    let mut validations: Vec<(Checked, Option<Str>, Option<Node>)> = Vec::new();
    for one in checks {
        let (text, computed) = match (&one.message, &one.stated) {
            (Some(text), _) => (Some(Str::from(text.as_str())), None),
            (None, Some(stated)) => message(stated, &rule.name, one.inside.as_ref(), &mut scope),
            (None, None) => message(own, &rule.name, one.inside.as_ref(), &mut scope),
        };
        validations.push((one, text, computed));
    }
    let tests = validations.iter().map(|(one, ..)| &one.test.node).chain([&admit.node]);
    let is_request = cx.kinds.iter().all(|[_, _, kind]| &**kind == "CertificateSigningRequest");
    if let Some(field) = lacking_field(tests, &scope.shared).filter(|_| !is_request) {
        return Err(scope.refuse(
            format!("the field `{field}` of a certificate"),
            "read another field, such as `Issuer` or `DNSNames`: CEL has this one of requests for certificates only",
        ));
    }
    Ok(finished(rule, admit, validations, readers, &scope))
}

/// The expressions as they are written: shared ones stay under their names where they are long or
/// occur twice.
fn finished(
    rule: &Rule,
    admit: Test,
    validations: Vec<(Checked, Option<Str>, Option<Node>)>,
    readers: Readers,
    scope: &Scope<'_>,
) -> Converted {
    let (mut admit, admit_faults) = (admit.node, admit.faults);
    let mut all_of: Vec<Node> = validations.iter().map(|(one, ..)| one.test.node.clone()).collect();
    let mut messages: Vec<Option<Node>> = validations.iter().map(|(.., computed)| computed.clone()).collect();
    let mut shared = scope.shared.clone();
    // Conditions stand alone: what they share with validations is written out.
    let mut guard: Option<Node> = None;
    if constant_bool(&admit) != Some(true) {
        let needs = || shared.iter().any(|one| one.keep && reads(&admit, &one.name, &shared));
        if readers == Readers::Validations && needs() {
            guard = Some(admit.clone());
            admit = boolean(true);
        } else {
            for one in shared.iter().rev() {
                admit = replaced(&admit, &one.name, &one.node);
            }
        }
    }
    if let Some(guard) = guard {
        for (node, (one, ..)) in all_of.iter_mut().zip(&validations) {
            let first = Test { node: guard.clone(), faults: admit_faults.clone() };
            let second =
                Test { node: std::mem::replace(node, boolean(true)), faults: one.test.faults.clone() };
            *node = implied(first, second);
        }
    }
    share_repeated(&mut all_of, &mut shared);
    let mut retained: Vec<Shared> = Vec::new();
    while let Some(one) = shared.pop() {
        let others = shared.iter().chain(&retained).map(|other| &other.node);
        let readers = all_of.iter().chain(messages.iter().flatten()).chain(others);
        let uses: usize = readers.map(|node| occurrences(node, &one.name)).sum();
        let is_long = print(&one.node, usize::MAX).len() > LONG;
        if uses == 0 {
            continue;
        }
        if uses > 1 || is_long || one.keep {
            retained.push(one);
            continue;
        }
        all_of.iter_mut().for_each(|node| *node = replaced(node, &one.name, &one.node));
        messages.iter_mut().flatten().for_each(|node| *node = replaced(node, &one.name, &one.node));
        retained.iter_mut().for_each(|other| other.node = replaced(&other.node, &one.name, &one.node));
    }
    retained.reverse();
    let written = |node: &Node| print(&scope.with_open_nulls(node), WIDTH);
    let admit = scope.with_open_nulls(&admit);
    let conditions = match constant_bool(&admit) {
        Some(true) => Vec::new(),
        _ => vec![NamedExpression::converted("preconditions", boolean_text(&admit))],
    };
    let variables = retained.iter().map(|one| NamedExpression::converted(&one.name, written(&one.node)));
    let variables = variables.collect();
    let mut out: Vec<Validation> = Vec::new();
    for (((one, text, _), node), computed) in validations.into_iter().zip(all_of).zip(messages) {
        if constant_bool(&node) == Some(true) {
            continue;
        }
        out.push(Validation {
            expression: boolean_text(&scope.with_open_nulls(&node)),
            message: text,
            message_expression: computed.map(|node| written(&node)),
            origin: one.origin,
        });
    }
    if out.is_empty() {
        // Nothing is ever violated.
        out.push(Validation {
            expression: "true".into(),
            message: None,
            message_expression: None,
            origin: rule.origin.clone(),
        });
    }
    let (left_out, unanswered) = (scope.left_out.clone(), scope.unanswered.clone());
    Converted { conditions, variables, validations: out, left_out, unanswered }
}

/// The second where the first holds: a failure of the first is one of the whole.
fn implied(first: Test, second: Test) -> Node {
    match fails_alike(&first, &second) {
        true => any(vec![not(first.node), second.node]),
        false => choose(first.node, second.node, boolean(true)),
    }
}

/// An expression whose type is bool for the checker, too.
fn boolean_text(node: &Node) -> String {
    print(&is(node.clone(), true), WIDTH)
}

fn plain(test: Test, origin: &Origin) -> Vec<Checked> {
    vec![Checked { test, origin: origin.clone(), inside: None, message: None, stated: None }]
}

/// What a check requires.
fn checked(check: &Check, message: &Message, scope: &mut Scope<'_>) -> Result<Vec<Checked>> {
    match check {
        Check::Deny(own) => denied(own, message, scope),
        Check::Pattern(overlay, origin) => {
            let test = scope.at(origin, |scope| of_overlay(overlay, &root::object(scope), scope))?;
            Ok(plain(test, origin))
        }
        Check::AnyPattern(overlays, origin) => {
            let test = scope.at(origin, |scope| of_overlays(overlays, &root::object(scope), scope))?;
            Ok(plain(test, origin))
        }
        Check::ForEach(loops) => {
            let mut all = Vec::new();
            for own in loops.iter() {
                all.push(of_loop(own, 0, &root::object(scope), scope)?);
            }
            Ok(joined(all, scope))
        }
        Check::PodSecurity(own) => pod_security::controls(own, scope),
        Check::Assert(_) => Err(scope.refuse("expressions in CEL", "keep them as they are written")),
        Check::Nothing => Ok(plain(Test::constant(true), &scope.place)),
    }
}

/// Checks of conditions that deny, with their messages: those of which one must hold are a check
/// each, where they say something of their own.
fn denied(own: &Conditions, message: &Message, scope: &mut Scope<'_>) -> Result<Vec<Checked>> {
    let said = |all: &[Condition]| -> Vec<Str> {
        all.iter().map(|one| one.message.clone()).filter(|text| !text.is_empty()).collect()
    };
    match own.any.as_deref() {
        Some(any) if own.all.is_empty() && !said(any).is_empty() => {
            let mut out = Vec::new();
            for one in any {
                let alone = Conditions { any: None, all: [one.clone()].into(), ..own.clone() };
                let stated = Some(Box::new(with(message, &said(std::slice::from_ref(one)))));
                let check = plain(conditions(&alone, scope)?.negated(), &one.origin);
                out.extend(check.into_iter().map(|check| Checked { stated: stated.clone(), ..check }));
            }
            Ok(out)
        }
        _ => {
            let said = said(&own.all);
            let stated = (!said.is_empty()).then(|| Box::new(with(message, &said)));
            let checks = plain(conditions(own, scope)?.negated(), &own.origin);
            Ok(checks.into_iter().map(|check| Checked { stated: stated.clone(), ..check }).collect())
        }
    }
}

/// Loops that require the same of the containers of several lists are one loop.
fn joined(loops: Vec<Checked>, scope: &mut Scope<'_>) -> Vec<Checked> {
    let parts = loops.iter().map(|one| container_loop(&one.test.node)).collect::<Option<Vec<_>>>();
    let Some(mut parts) = parts.filter(|parts| parts.len() > 1) else { return loops };
    let text = |args: &[Node]| args.iter().map(|arg| print(arg, usize::MAX)).collect::<Vec<_>>();
    let Some((_, _, args)) = parts.first().cloned() else { return loops };
    if parts.iter().any(|(_, _, own)| text(own) != text(&args)) {
        return loops;
    }
    // As they are written in pods.
    parts.sort_by_key(|(list, _, _)| (list != "containers", super::pattern::reversed(list)));
    let is_all = parts.iter().any(|(list, ..)| list == "containers");
    let lists = parts.into_iter().map(|(_, list, _)| list);
    let Some(sum) = lists.reduce(|before, list| binary("+", before, list)) else {
        return loops;
    };
    let list = scope.share(if is_all { "allContainers" } else { "otherContainers" }, sum, false);
    let faults = loops.iter().flat_map(|one| one.test.faults.iter().cloned()).collect();
    let Some(first) = loops.into_iter().next() else { return Vec::new() };
    let node = method(list.clone(), "all", args);
    let inside = first.inside.map(|inside| CheckLoop { list, ..inside });
    vec![Checked { test: Test { node, faults }, inside, ..first }]
}

/// A test of all items of a list of containers: the list's name, the list, and the variable with
/// the test.
fn container_loop(node: &Node) -> Option<(String, Node, Vec<Node>)> {
    let Kind::Call { function, target: Some(list), args } = &node.kind else { return None };
    let mut read = &**list;
    if let Kind::Call { function, target: Some(inner), .. } = &read.kind
        && **function == *"orValue"
    {
        read = inner;
    }
    let name = match &read.kind {
        Kind::Select { field, .. } => field.to_string(),
        Kind::Call { args, .. } => match &args.last()?.kind {
            Kind::Const(Value::Str(field)) => field.to_string(),
            _ => return None,
        },
        _ => return None,
    };
    let is_list = **function == *"all" && name.to_lowercase().ends_with("containers") && args.len() == 2;
    is_list.then(|| (name, (**list).clone(), args.clone()))
}

/// What a pattern requires of a value that is there.
fn of_overlay(overlay: &Overlay, path: &Path, scope: &mut Scope<'_>) -> Result<Test> {
    let pattern: Arc<Pattern> = match overlay {
        Overlay::Ready(pattern) => pattern.clone(),
        Overlay::Broken(why) => {
            return Err(scope.refuse(format!("a pattern that cannot be run ({why})"), "correct it"));
        }
        Overlay::Dynamic(own) => return super::open_pattern::test(own, path, scope),
    };
    let found = outcome(&pattern.root, path, false, scope)?;
    Ok(Test::safe(if scope.is_exact { found.pass } else { found.ok }))
}

fn of_overlays(overlays: &Overlays, path: &Path, scope: &mut Scope<'_>) -> Result<Test> {
    let patterns = match overlays {
        Overlays::Ready(patterns) => patterns,
        Overlays::Broken(why) => {
            return Err(scope.refuse(format!("patterns that cannot be run ({why})"), "correct them"));
        }
        Overlays::Dynamic(_) => {
            return Err(scope.refuse("variables in anyPattern", "write a deny rule with conditions"));
        }
    };
    let mut passes = Vec::new();
    let mut skips = Vec::new();
    for pattern in patterns.iter() {
        let found = outcome(&pattern.root, path, false, scope)?;
        skips.push(if found.skips { found.ok.clone() } else { boolean(false) });
        passes.push(found.pass);
    }
    if passes.is_empty() {
        return Ok(Test::constant(true));
    }
    // One passes, or none applies.
    passes.push(all(skips));
    Ok(Test::safe(any(passes)))
}

/// What a loop requires.
fn of_loop(own: &ForEach, depth: usize, object: &Path, scope: &mut Scope<'_>) -> Result<Checked> {
    let outside = std::mem::replace(&mut scope.place, own.origin.clone());
    let list = template::query(&own.list, scope)?.rescued();
    let list = match list {
        // What is no list is a list of one.
        Val::Const(Value::Null) => Val::Const(Value::list(Vec::new())),
        Val::Const(v) if v.as_list().is_none() => Val::Const(Value::list(vec![v])),
        other if is_list(&other) => other,
        Val::Path(path) if path.ty == Ty::Any => Val::Path(Path { ty: Ty::List(Box::new(Ty::Any)), ..path }),
        Val::Optional { node, ty: Ty::Any, faults, rescued } => {
            let ty = Ty::List(Box::new(Ty::Any));
            Val::Optional { node, ty, faults, rescued }
        }
        other => Val::Chain(vec![other]),
    };
    let mut inside: Option<CheckLoop> = None;
    let source = list.clone();
    let test = quantified(Quantifier::Every, &source, scope, &mut |item, scope| {
        let test = of_element(own, depth, item, object, scope)?;
        if let Val::Path(path) = item
            && path.steps.is_empty()
            && let Some(var) = path.base.as_ident()
        {
            let test = test.clone();
            inside = Some(CheckLoop { list: boolean(true), var: var.clone(), test, item: item.clone() });
        }
        Ok(test)
    });
    scope.place = outside;
    let mut test = test?;
    let position = index_name(depth);
    if test.node.mentions(&position) {
        test.node = with_position(&test.node, &position);
        if unbound(&test.node, &position, false) {
            return Err(scope.refuse("the position of an element of several lists", "use the element"));
        }
    }
    // The list as the test reads it.
    let inside = inside.and_then(|inside| match &test.node.kind {
        Kind::Call { target: Some(target), function, .. } if **function == *"all" => {
            Some(CheckLoop { list: (**target).clone(), ..inside })
        }
        _ => None,
    });
    let origin = own.origin.clone();
    Ok(Checked { test, origin, inside, message: None, stated: None })
}

/// The name of an element's position.
fn index_name(depth: usize) -> String {
    if depth == 0 { "index".into() } else { format!("index{depth}") }
}

/// The outermost loop with the position as its first variable.
fn with_position(node: &Node, position: &str) -> Node {
    mapped(node, &|part| match &part.kind {
        Kind::Call { function, target: Some(target), args }
            if matches!(&**function, "all" | "exists") && args.len() == 2 && part.mentions(position) =>
        {
            let mut args = args.clone();
            args.insert(0, build::name(position));
            Some(method((**target).clone(), function, args))
        }
        _ => None,
    })
}

/// Whether a name is read where no loop binds it.
fn unbound(node: &Node, name: &str, is_bound: bool) -> bool {
    if node.as_ident().is_some_and(|n| **n == *name) {
        return !is_bound;
    }
    let binds = matches!(&node.kind, Kind::Call { target: Some(_), args, .. }
        if args.len() == 3 && args.first().and_then(Node::as_ident).is_some_and(|n| **n == *name));
    let mut found = false;
    children(node, &mut |child| found |= unbound(child, name, is_bound || binds));
    found
}

fn of_element(own: &ForEach, depth: usize, item: &Val, object: &Path, scope: &mut Scope<'_>) -> Result<Test> {
    let numbered: Str = format!("element{depth}").into();
    let names = scope.names.clone();
    let bindings = scope.bindings.len();
    scope.names.insert("element".into(), item.clone());
    scope.names.insert(numbered, item.clone());
    let position =
        |name: &str| Val::Node { node: build::name(name), ty: Ty::Int, faults: super::term::Faults::new() };
    let own_position = index_name(depth);
    scope.names.insert("elementIndex".into(), position(&own_position));
    scope.names.insert(format!("elementIndex{depth}").into(), position(&own_position));
    scope.bindings.extend(own.bindings.iter().cloned());
    let found = (|| {
        let admit = match &own.admit {
            None => Test::constant(true),
            // An element whose preconditions fail is skipped.
            Some(admit) => {
                let test = conditions(admit, scope)?;
                if test.faults.is_empty() { test } else { guarded(test, scope)? }
            }
        };
        let is_object = match item {
            Val::Path(path) => path.ty.is_object() || path.ty == Ty::Any,
            _ => false,
        };
        let scoped = own.element_scope.unwrap_or(is_object);
        let inner = match (scoped, item) {
            (true, Val::Path(path)) => path.clone(),
            (true, _) => {
                return Err(scope.refuse("patterns on elements that are no objects", "use conditions"));
            }
            (false, _) => object.clone(),
        };
        let test = match &own.check {
            Check::Deny(conditions_of) => conditions(conditions_of, scope)?.negated(),
            Check::Pattern(overlay, origin) => {
                scope.at(origin, |scope| of_overlay(overlay, &inner, scope))?
            }
            Check::AnyPattern(overlays, _) => of_overlays(overlays, &inner, scope)?,
            Check::ForEach(loops) => {
                let mut tests = Vec::new();
                for own in loops.iter() {
                    tests.push(of_loop(own, depth + 1, &inner, scope)?.test);
                }
                tests
                    .into_iter()
                    .rev()
                    .reduce(|rest, first| both(first, rest))
                    .unwrap_or(Test::constant(true))
            }
            _ => Test::constant(true),
        };
        let node = match constant_bool(&admit.node) {
            Some(true) => test.node.clone(),
            _ => any(vec![not(admit.node.clone()), test.node.clone()]),
        };
        Ok(Test { node, faults: test.faults })
    })();
    scope.names = names;
    scope.bindings.truncate(bindings);
    found
}

/// A test that does not hold where it would fail: what it reads is looked for first.
fn guarded(test: Test, scope: &Scope<'_>) -> Result<Test> {
    let faults: Vec<&String> = test.faults.iter().filter(|path| **path != *ABSORBED).collect();
    let mut terms: Vec<Node> = faults.iter().filter_map(|path| has_of(path)).collect();
    if terms.len() < faults.len() {
        // An element is skipped where its preconditions fail: what fails deep inside cannot be
        // looked for.
        return Err(scope.refuse("a precondition of a loop that may fail", "give what it reads a default"));
    }
    terms.push(test.node);
    Ok(Test::safe(all(terms)))
}
