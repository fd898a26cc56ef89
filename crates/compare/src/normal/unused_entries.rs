//! Entries of the context that nothing reads.
//!
//! In: a rule that checks what decides about the changes of another one. Out: the rule without the
//! entries that it does not read: they are loaded when something does.

use std::sync::Arc;

use ephor_ir::parts::RulePart;
use ephor_ir::rule::{Binding, BindingSource};
use ephor_ir::{Rule, Template};
use ephor_value::Value;

/// A rule with a constant for each entry that nothing else in it reads: their positions stay.
pub(crate) fn without_unread(rule: Arc<Rule>) -> Arc<Rule> {
    let mut bindings = rule.bindings.to_vec();
    for at in 0..bindings.len() {
        let Some(name) = bindings.get(at).map(|binding| binding.name.clone()) else { continue };
        let others: Vec<_> = bindings.iter().filter(|binding| binding.name != name).cloned().collect();
        let is_only = others.len() + 1 == bindings.len();
        let other = Rule { bindings: others.into(), ..(*rule).clone() };
        let is_read = reads(RulePart::Rule(&other), &name);
        if let Some(binding) = bindings.get_mut(at).filter(|_| is_only && !is_read) {
            let source = BindingSource::Variable {
                value: Some(Template::Const(Value::Null)),
                query: None,
                default: None,
                raw: Value::Null,
            };
            *binding = Arc::new(Binding { source, ..(**binding).clone() });
        }
    }
    Arc::new(Rule { bindings: bindings.into(), ..(*rule).clone() })
}

/// Whether something reads an entry, or may do so: texts that are put together may name any.
fn reads(part: RulePart, name: &str) -> bool {
    use RulePart::*;
    let below = || part.any(&mut |below| reads(below, name));
    match part {
        Message(_) => false,
        Template(template) => match template {
            ephor_ir::Template::Text(_) | ephor_ir::Template::Rounds(_) => true,
            ephor_ir::Template::Const(_)
            | ephor_ir::Template::Whole(_)
            | ephor_ir::Template::List(_)
            | ephor_ir::Template::Object(_)
            | ephor_ir::Template::Fail(_) => below(),
        },
        Expr(ephor_ir::Expr::Root) => true,
        Expr(expr) if let Some((first, _)) = expr.of_root() => **first == *name,
        Rule(_) | Bound(_) | Filter(_) | Constraints(_) | ResourceRule(_) | Selector(_)
        | ActionOverride(_) | Binding(_) | BindingSource(_) | QuerySource(_) | Query(_) | Conditions(_)
        | Condition(_) | Expressions(_) | Variable(_) | Source(_) | AuditAnnotation(_) | Properties(_)
        | Check(_) | ForEach(_) | Overlay(_) | Overlays(_) | Shape(_) | MapShape(_) | Entry(_) | Leaf(_)
        | PodSecurity(_) | Change(_) | Merge(_) | Json(_) | PatchLoop(_) | MutationTarget(_)
        | Described(_) | GenerationLoop(_) | Place(_) | Claim(_) | Expr(_) | OnDelete(_)
        | MessageProgram(_) => below(),
    }
}
