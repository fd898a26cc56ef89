//! Validate rules of the IR → expressions in CEL.
//!
//! In: a rule as it was lowered (`ephor_lower::policy::policy_as_lowered`; the optimiser's nodes
//! are not read) and the kinds it is about. Out: [`Converted`], the expressions of a
//! ValidatingPolicy or ValidatingAdmissionPolicy that is violated by the same requests, or a
//! [`Refusal`] that names what cannot be expressed. Semantics: `docs/semantics/conditions.md`,
//! `docs/semantics/patterns.md`, `docs/expressions/jmespath.md`, `docs/semantics/validate.md` on
//! one side, `docs/expressions/cel.md` on the other.
//!
//! - `certificates`: which fields CEL lacks
//! - `context`: where expressions stand
//! - `converted`: a rule in CEL
//! - `each`: loops that change or generate something
//! - `message`: messages
//! - `open`: what the type check of Kubernetes needs
//! - `open_pattern`: patterns with variables
//! - `pattern`: patterns
//! - `pod_security`: Pod Security Standards
//! - `refusal`: why a construct is not migrated
//! - `rule`: a rule → conditions and validations
//! - `scope`: types, names, shared expressions of a conversion
//! - `shared`: expressions that others share
//! - `term`: values of expressions
//! - `translate`: values, conditions and leaves, one recursion
//! - `types`: what schemas say of a path

pub(crate) mod certificates;
pub(crate) mod context;
pub(crate) mod converted;
pub(crate) mod each;
pub(crate) mod message;
pub(crate) mod open;
pub(crate) mod open_pattern;
pub(crate) mod pattern;
pub(crate) mod pod_security;
pub(crate) mod refusal;
pub(crate) mod rule;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod term;
pub(crate) mod translate;
pub(crate) mod types;

use crate::cel::build::method;
use crate::cel::{build, print};
use crate::expressions::refusal::Result;
use crate::expressions::translate::conditions::conditions;
use crate::expressions::translate::forms::plain;
use crate::expressions::translate::leaf;
use crate::expressions::translate::root::object;
use crate::expressions::translate::template::template;
use crate::expressions::translate::yaml::{quoted, unquoted};
use ephor_ir::{Conditions, Rule, Template};
pub use message::outer_variables;

pub use crate::expressions::context::{Context, Element, Payload, Target, Trigger};
pub use crate::expressions::converted::{Converted, NamedExpression, Validation};
pub use crate::expressions::refusal::Refusal;

/// The expressions of a validate rule.
///
/// # Errors
/// The first construct that cannot be expressed in CEL.
pub fn convert(rule: &Rule, context: &Context) -> Result<Converted> {
    rule::convert(rule, rule::Readers::Validations, context)
}

/// The preconditions of a rule that changes, generates or deletes objects, and what a pattern
/// requires: conditions that read no variables.
pub fn convert_conditions(rule: &Rule, context: &Context) -> Result<Converted> {
    rule::convert(rule, rule::Readers::None, context)
}

/// Whether a text matches the leaf of a pattern, as a test; `None` where that cannot be expressed.
pub fn leaf_test(pattern: &ephor_value::Value, text: &str) -> Option<String> {
    let syntax = ephor_cel::library::general("").syntax;
    let value = ephor_cel::syntax::parse(text, syntax).ok()?;
    let written = pattern.as_str()?;
    (!written.contains("{{")).then_some(())?;
    let leaf = ephor_ir::pattern::Leaf::new(pattern.clone());
    Some(print(&leaf::test(&leaf, &value, &types::Ty::Text), usize::MAX))
}

/// A scope for expressions of a rule, or of a loop in it.
fn scope_of<'c>(rule: &'c Rule, element: Option<&Element<'_>>, context: &'c Context) -> scope::Scope<'c> {
    let mut scope = scope::Scope::new(context, rule);
    scope.bindings = rule.bindings.to_vec();
    scope.bindings.extend(context.trigger.iter().flat_map(|trigger| trigger.bindings.iter().cloned()));
    if let Some(element) = element {
        let list = element.list.iter().fold(object(&scope), |path, key| path.key(key, &context.types));
        let item = term::Path::of(build::name(element.var), list.ty.item());
        scope.names.insert("element".into(), term::Val::Path(item));
        scope.bindings.extend(element.bindings.iter().cloned());
    }
    scope
}

/// An expression with what it shares with others written out.
fn whole(mut node: ephor_cel::ast::Node, scope: &scope::Scope<'_>) -> String {
    for one in scope.shared.iter().rev() {
        node = shared::replaced(&node, &one.name, &one.node);
    }
    print(&node, usize::MAX)
}

/// The value of a template of a rule: it fails where the template cannot be filled in.
pub fn value(
    own: &Template,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<String> {
    let mut scope = scope_of(rule, element, context);
    let val = template(own, &mut scope)?;
    let (node, _) = plain(&val, &mut scope)?;
    Ok(whole(node, &scope))
}

/// What YAML reads where a template stands in a text, in quotes or not.
///
/// # Errors
/// The first construct that cannot be expressed in CEL, or a text that YAML may read as something
/// else.
pub fn in_yaml(own: &Template, is_quoted: bool, rule: &Rule, context: &Context) -> Result<String> {
    let mut scope = scope_of(rule, None, context);
    let node = read_by_yaml(own, is_quoted, &mut scope)?;
    Ok(whole(node, &scope))
}

fn read_by_yaml(
    own: &Template,
    is_quoted: bool,
    scope: &mut scope::Scope<'_>,
) -> Result<ephor_cel::ast::Node> {
    match is_quoted {
        true => quoted(own, scope),
        false => unquoted(own, scope),
    }
}

/// The value of a template as an optional, where it is one of two values that may both be missing.
pub fn optional(
    own: &Template,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<Option<String>> {
    let mut scope = scope_of(rule, element, context);
    let term::Val::Or(sides) = template(own, &mut scope)? else {
        return Ok(None);
    };
    let [term::Val::Path(left), term::Val::Path(right)] = &*sides else { return Ok(None) };
    let is_open = |path: &term::Path| !path.is_required() && path.faults.is_empty();
    // What counts as false is not there.
    let is_firm = matches!(left.ty, types::Ty::Int | types::Ty::Quantity | types::Ty::IntOrText);
    if !is_open(left) || !is_open(right) || !is_firm {
        return Ok(None);
    }
    let node = method(left.optional(), "or", vec![right.optional()]);
    Ok(Some(whole(node, &scope)))
}

/// Whether conditions of a loop, or of other objects, hold.
pub fn holds(
    own: &Conditions,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<String> {
    let mut scope = scope_of(rule, element, context);
    let test = conditions(own, &mut scope)?;
    Ok(whole(test.node, &scope))
}

/// Whether conditions about statements of an image hold, or do not hold.
pub fn fails_not(
    own: &Conditions,
    rule: &Rule,
    payloads: &[Payload],
    negated: bool,
    context: &Context,
) -> Result<String> {
    let mut scope = scope_of(rule, None, context);
    scope.loops.push("image".into());
    for payload in payloads {
        let syntax = ephor_cel::library::general("").syntax;
        let node = ephor_cel::syntax::parse(&payload.expression, syntax)
            .map_err(|_| scope.refuse("a name of an attestation", "name it with letters and digits"))?;
        let found = term::Val::Path(term::Path::of(node, types::Ty::Any));
        match &payload.name {
            Some(name) => {
                scope.names.insert(name.clone(), found);
            }
            None => scope.data = Some(found),
        }
    }
    let test = conditions(own, &mut scope)?;
    let test = if negated { test.negated() } else { test };
    Ok(whole(test.node, &scope))
}
