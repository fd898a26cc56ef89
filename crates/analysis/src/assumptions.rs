//! What of a rule is known only at run time, because it is put together from the results of
//! variables.
//!
//! In: a rule. Out: its nodes whose meaning depends on data, with the path where each is written: a
//! proof about a rule assumes that these stay as they are. How they are lowered at run time is
//! [`ephor_ir::late::Late`].

use ephor_ir::parts::RulePart;
use ephor_ir::{Rule, Template, check, mutate, rule};

/// Why a node has no meaning before a request is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Open {
    /// The result of a variable may hold variables, which are then resolved (`Template::Whole`).
    Result,
    /// A result inside of a text may hold variables (`Template::Text`).
    Text,
    /// A text whose variables nest, touch or are escaped is resolved in rounds
    /// (`Template::Rounds`).
    Rounds,
    /// The text of a query holds variables (`QuerySource::Dynamic`).
    Query,
    /// A pattern, or several, is lowered once it is filled in (`Overlay::Dynamic`,
    /// `Overlays::Dynamic`).
    Pattern,
    /// A document to be merged is lowered once it is filled in (`Merge::Dynamic`).
    Merge,
    /// A JSON patch is decoded once it is filled in (`Json::Dynamic`).
    JsonPatch,
    /// Keys of a pattern hold wildcards, which are found in each object (`MapShape::expand`).
    Keys,
}

/// A node that is known only at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Why.
    pub open: Open,
    /// The path of the nearest piece around it that has one.
    pub origin: String,
    /// Its text, where it is one.
    pub text: String,
}

/// The nodes of a rule that are known only at run time, in the order in which they stand in it.
pub fn of_rule(rule: &Rule) -> Vec<Assumption> {
    let mut found = Vec::new();
    walk(RulePart::Rule(rule), "", &mut found);
    found
}

fn walk<'p>(part: RulePart<'p>, origin: &'p str, found: &mut Vec<Assumption>) {
    let origin = part.origin().map_or(origin, |own| &own.path);
    if let Some((open, text)) = open(part) {
        found.push(Assumption { open, origin: origin.into(), text: text.into() });
    }
    part.parts(&mut |below| walk(below, origin, found));
}

/// Why a part is one, and its text.
fn open(part: RulePart<'_>) -> Option<(Open, &str)> {
    use RulePart::*;
    let when = |is: bool, open: Open| is.then_some((open, ""));
    match part {
        Template(template) => of_template(template),
        QuerySource(query) => when(matches!(query, rule::QuerySource::Dynamic { .. }), Open::Query),
        Overlay(overlay) => when(matches!(overlay, check::Overlay::Dynamic(_)), Open::Pattern),
        Overlays(overlays) => when(matches!(overlays, check::Overlays::Dynamic(_)), Open::Pattern),
        Merge(merge) => when(matches!(merge, mutate::Merge::Dynamic(_)), Open::Merge),
        Json(patch) => when(matches!(patch, mutate::Json::Dynamic(_)), Open::JsonPatch),
        MapShape(map) => when(map.expand, Open::Keys),
        Rule(_) | Bound(_) | Filter(_) | Constraints(_) | ResourceRule(_) | Selector(_)
        | ActionOverride(_) | Binding(_) | BindingSource(_) | Query(_) | Conditions(_) | Condition(_)
        | Expressions(_) | Variable(_) | Source(_) | AuditAnnotation(_) | Properties(_) | Message(_)
        | Check(_) | ForEach(_) | Shape(_) | Entry(_) | Leaf(_) | PodSecurity(_) | Change(_)
        | PatchLoop(_) | MutationTarget(_) | Described(_) | GenerationLoop(_) | Place(_) | Claim(_)
        | Expr(_) | OnDelete(_) | MessageProgram(_) => None,
    }
}

fn of_template(template: &Template) -> Option<(Open, &str)> {
    match template {
        Template::Whole(hole) => Some((Open::Result, &hole.rounds.source)),
        Template::Text(text) => Some((Open::Text, &text.rounds.source)),
        Template::Rounds(rounds) => Some((Open::Rounds, &rounds.source)),
        Template::Const(_) | Template::List(_) | Template::Object(_) | Template::Fail(_) => None,
    }
}
