//! Validate rules of the IR → expressions in CEL.
//!
//! In: a rule as it was lowered (`ephor_lower::policy::policy_as_lowered`; the optimiser's nodes
//! are not read) and the kinds it is about. Out: [`Converted`], the expressions of a
//! ValidatingPolicy or ValidatingAdmissionPolicy that is violated by the same requests, or a
//! [`Refusal`] that names what cannot be said. Semantics: `docs/semantics/conditions.md`,
//! `docs/semantics/patterns.md`, `docs/expressions/jmespath.md`, `docs/semantics/validate.md` on
//! one side, `docs/expressions/cel.md` on the other.

mod alternatives;
mod api_call;
mod bindings;
mod certificates;
mod compare;
mod composed;
mod conditions;
mod counts;
pub mod each;
mod forms;
mod functions;
mod leaf;
mod lists;
mod measured;
mod membership;
mod message;
mod open;
mod open_pattern;
mod ordering;
mod pattern;
mod pod_security;
mod regular;
mod root;
mod rule;
mod scope;
mod shared;
mod slices;

mod template;
mod term;
mod texts;
mod types;
mod values;
mod yaml;

pub use message::outer_variables;
pub use shared::children;

use std::sync::Arc;

use ephor_ir::rule::Binding;
use ephor_ir::{Conditions, Origin, Rule, Template};
use ephor_kubernetes::schema::Types;
use ephor_value::Str;

/// Which dialect of CEL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// That of `policies.kyverno.io`, with Kyverno's libraries.
    Kyverno,
    /// That of Kubernetes' own admission policies.
    Kubernetes,
}

/// What is known of the requests that a rule is about.
#[derive(Clone, Debug)]
pub struct Context {
    /// The dialect.
    pub target: Target,
    /// The kinds: group, version, kind. A path is required where all of them require it.
    pub kinds: Vec<[Str; 3]>,
    /// Their schemas.
    pub types: Arc<Types>,
    /// The namespace of a namespaced policy.
    pub namespace: Option<Str>,
    /// The operations that the new policy is for.
    pub operations: Vec<Str>,
    /// The request, where expressions are about another object than that of the request.
    pub trigger: Option<Trigger>,
    /// Whether the new policy, which is about pods, is evaluated on the pods of CronJobs, too, with
    /// paths that are replaced.
    pub generates_cron_jobs: bool,
}

/// A request because of which other objects are changed.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The kinds of its object.
    pub kinds: Vec<[Str; 3]>,
    /// Context entries of the other objects.
    pub bindings: Vec<Arc<Binding>>,
}

impl Context {
    /// A cluster-wide policy for objects of these kinds that are created and updated.
    pub fn new(target: Target, kinds: Vec<[Str; 3]>, types: Arc<Types>) -> Context {
        let operations = vec!["CREATE".into(), "UPDATE".into()];
        Context {
            target,
            kinds,
            types,
            namespace: None,
            operations,
            trigger: None,
            generates_cron_jobs: false,
        }
    }
}

/// An expression under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: Str,
    /// The expression, laid out.
    pub expression: String,
}

/// What must be true of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// The expression, laid out.
    pub expression: String,
    /// The message of a violation, where it is the same for all objects.
    pub message: Option<Str>,
    /// What computes the message; it never fails. With it, `message` is none.
    pub message_expression: Option<String>,
    /// What it was written for in the old policy.
    pub origin: Origin,
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// What must be true of a request for the rule to apply: its preconditions.
    pub conditions: Vec<Named>,
    /// What validations read as `variables.NAME`, in the order in which they must be declared;
    /// conditions read none.
    pub variables: Vec<Named>,
    /// The validations, in the order of the rule.
    pub validations: Vec<Validation>,
    /// Variables of messages that no expression reads without failing: the messages are without
    /// them.
    pub left_out: Vec<Str>,
    /// Context entries whose default covers data that cannot be read, which fail in CEL.
    pub unanswered: Vec<Origin>,
}

/// A construct that cannot be said in CEL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{place}: {construct} cannot be written in CEL; {nearest}", place = place.path)]
pub struct Refusal {
    /// What it is: `function random`, `roles in match`.
    pub construct: Str,
    /// Where it is written.
    pub place: Origin,
    /// The nearest rewrite.
    pub nearest: Str,
}

impl Refusal {
    /// The refusal of a construct at a place.
    pub fn new(construct: impl Into<Str>, place: Origin, nearest: impl Into<Str>) -> Refusal {
        Refusal { construct: construct.into(), place, nearest: nearest.into() }
    }

    /// The refusal at another place, where it is at the one that this other place is a part of.
    #[must_use]
    pub fn moved(self, from: &Origin, to: &Origin) -> Refusal {
        match self.place == *from {
            true => Refusal { place: to.clone(), ..self },
            false => self,
        }
    }
}

/// The expressions of a validate rule.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn convert(rule: &Rule, context: &Context) -> Result<Converted, Refusal> {
    rule::convert(rule, rule::Readers::Validations, context)
}

/// The preconditions of a rule that changes, generates or deletes objects, and what a pattern
/// requires: conditions that read no variables.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn convert_conditions(rule: &Rule, context: &Context) -> Result<Converted, Refusal> {
    rule::convert(rule, rule::Readers::None, context)
}

/// Whether a text matches the leaf of a pattern, as a test; `None` where that cannot be said.
pub fn leaf_test(pattern: &ephor_value::Value, text: &str) -> Option<String> {
    let syntax = ephor_cel::library::general("").syntax;
    let value = ephor_cel::syntax::parse(text, syntax).ok()?;
    let written = pattern.as_str()?;
    (!written.contains("{{")).then_some(())?;
    let leaf = ephor_ir::pattern::Leaf::new(pattern.clone());
    Some(crate::cel::print(&leaf::test(&leaf, &value, &types::Ty::Text), usize::MAX))
}

/// An element of a list of the object, which expressions of a loop are about.
#[derive(Clone, Copy, Debug)]
pub struct Element<'e> {
    /// The name that expressions have for it.
    pub var: &'e str,
    /// The keys that lead to the list.
    pub list: &'e [&'e str],
    /// Context entries of the loop.
    pub bindings: &'e [Arc<Binding>],
}

/// A scope for expressions of a rule, or of a loop in it.
fn scope_of<'c>(rule: &'c Rule, element: Option<&Element<'_>>, context: &'c Context) -> scope::Scope<'c> {
    let mut scope = scope::Scope::new(context, rule);
    scope.bindings = rule.bindings.to_vec();
    scope.bindings.extend(context.trigger.iter().flat_map(|trigger| trigger.bindings.iter().cloned()));
    if let Some(element) = element {
        let list = element.list.iter().fold(root::object(&scope), |path, key| path.key(key, &context.types));
        let item = term::Path::of(crate::cel::build::name(element.var), list.ty.item());
        scope.names.insert("element".into(), term::Val::Path(item));
        scope.bindings.extend(element.bindings.iter().cloned());
    }
    scope
}

/// An expression with what it shares with others written out.
fn whole(mut node: crate::cel_tree::Node, scope: &scope::Scope<'_>) -> String {
    for one in scope.shared.iter().rev() {
        node = shared::replaced(&node, &one.name, &one.node);
    }
    crate::cel::print(&node, usize::MAX)
}

/// The value of a template of a rule: it fails where the template cannot be filled in.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn value(
    own: &Template,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<String, Refusal> {
    let mut scope = scope_of(rule, element, context);
    let val = template::template(own, &mut scope)?;
    let (node, _) = forms::plain(&val, &mut scope)?;
    Ok(whole(node, &scope))
}

/// What YAML reads where a template stands in a text, in quotes or not.
///
/// # Errors
/// The first construct that cannot be said in CEL, or a text that YAML may read as something else.
pub fn in_yaml(own: &Template, is_quoted: bool, rule: &Rule, context: &Context) -> Result<String, Refusal> {
    let mut scope = scope_of(rule, None, context);
    let node = read_by_yaml(own, is_quoted, &mut scope)?;
    Ok(whole(node, &scope))
}

fn read_by_yaml(
    own: &Template,
    is_quoted: bool,
    scope: &mut scope::Scope<'_>,
) -> Result<crate::cel_tree::Node, Refusal> {
    match is_quoted {
        true => yaml::quoted(own, scope),
        false => yaml::unquoted(own, scope),
    }
}

/// The value of a template as an optional, where it is one of two values that may both be missing.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn optional(
    own: &Template,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<Option<String>, Refusal> {
    let mut scope = scope_of(rule, element, context);
    let term::Val::Or(sides) = template::template(own, &mut scope)? else { return Ok(None) };
    let [term::Val::Path(left), term::Val::Path(right)] = &*sides else { return Ok(None) };
    let is_open = |path: &term::Path| !path.is_required() && path.faults.is_empty();
    // What counts as false is not there.
    let is_firm = matches!(left.ty, types::Ty::Int | types::Ty::Quantity | types::Ty::IntOrText);
    if !is_open(left) || !is_open(right) || !is_firm {
        return Ok(None);
    }
    let node = crate::cel::build::method(left.optional(), "or", vec![right.optional()]);
    Ok(Some(whole(node, &scope)))
}

/// Whether conditions of a loop, or of other objects, hold.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn holds(
    own: &Conditions,
    rule: &Rule,
    element: Option<&Element<'_>>,
    context: &Context,
) -> Result<String, Refusal> {
    let mut scope = scope_of(rule, element, context);
    let test = conditions::conditions(own, &mut scope)?;
    Ok(whole(test.node, &scope))
}

/// What a statement about an image says, `image` in expressions of images.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The name under which conditions read it; `None` = its fields stand at the root.
    pub name: Option<Str>,
    /// The expression for it.
    pub expression: String,
}

/// Whether conditions about statements of an image hold, or do not hold.
///
/// # Errors
/// The first construct that cannot be said in CEL.
pub fn fails_not(
    own: &Conditions,
    rule: &Rule,
    payloads: &[Payload],
    negated: bool,
    context: &Context,
) -> Result<String, Refusal> {
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
    let test = conditions::conditions(own, &mut scope)?;
    let test = if negated { test.negated() } else { test };
    Ok(whole(test.node, &scope))
}
