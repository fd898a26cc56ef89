//! Texts in which variables stand in variables.
//!
//! In: a rule. Out: the same with expressions in place of such texts, so that what these
//! say of lists counts: `'{{ element.name }}'` in an expression is the value of the inner variable.
//! Where an inner variable is more of an expression than a text, nothing is known. Semantics:
//! `docs/semantics/variables.md`.

use ephor_analysis::tree::Tree;
use ephor_ir::parts::RulePartMut;
use ephor_ir::rule::QuerySource;
use ephor_ir::template::{Hole, Needs, Part, Rounds, Text};
use ephor_ir::walk::bottom_up;
use ephor_ir::{Expr, Query, Rule, Template};
use ephor_lower::LATE;
use ephor_value::Value;
use ephor_value::variables::{expression, find_variables};

/// Variables nest no deeper.
const MAX_DEPTH: usize = 8;

/// What texts start with that stand for the values of inner variables.
const PLACE: char = '\u{e000}';

/// A rule with expressions in place of texts, and whether it has all of them.
pub(crate) fn read(rule: &Rule) -> (Rule, bool) {
    let mut rule = rule.clone();
    let mut is_all = true;
    read_part(RulePartMut::Rule(&mut rule), &mut is_all);
    (rule, is_all)
}

fn read_part(mut part: RulePartMut, is_all: &mut bool) {
    match &mut part {
        // No result depends on it.
        RulePartMut::Message(_) => return,
        RulePartMut::Template(template) => {
            if let Template::Rounds(rounds) = &**template {
                match template_of(rounds) {
                    Some(found) => **template = found,
                    None => *is_all = false,
                }
                return;
            }
        }
        RulePartMut::QuerySource(source) => {
            if let QuerySource::Dynamic { text: Template::Rounds(rounds), .. } = &**source
                && let Some(query) = query_of(rounds)
            {
                **source = QuerySource::Ready(query);
                return;
            }
        }
        _ => {}
    }
    part.parts(&mut |below| read_part(below, is_all));
}

/// A text as the expressions in it.
fn template_of(rounds: &Rounds) -> Option<Template> {
    let resolved = ResolvedText::of(rounds, false)?;
    if let Some(whole) = resolved.whole {
        return Some(Template::Whole(Box::new(Hole { query: query(whole), rounds: rounds.clone() })));
    }
    let parts = resolved.parts.into_iter().map(|part| Part::Hole(query(part))).collect();
    Some(Template::Text(Box::new(Text { parts, rounds: rounds.clone() })))
}

/// The text of a query as one.
fn query_of(rounds: &Rounds) -> Option<Query> {
    let resolved = ResolvedText::of(rounds, true)?;
    with_values(&resolved.text, rounds, &resolved.values).map(query)
}

fn query(expr: Expr) -> Query {
    let text = Default::default();
    Query { sorts: false, text, expr: Ok(expr), needs: Needs::default(), on_delete: None }
}

/// A text of which the variables are expressions.
#[derive(Default)]
struct ResolvedText {
    /// The only variable, where the text is nothing else.
    whole: Option<Expr>,
    /// What is left of the text, with places for the values of inner variables.
    text: String,
    /// These values.
    values: Vec<Expr>,
    /// The outermost variables.
    parts: Vec<Expr>,
}

impl ResolvedText {
    /// `as_query`: the text is an expression itself.
    fn of(rounds: &Rounds, as_query: bool) -> Option<ResolvedText> {
        let mut own = ResolvedText { text: rounds.source.to_string(), ..ResolvedText::default() };
        for _ in 0..MAX_DEPTH {
            let found = find_variables(&own.text);
            if found.is_empty() {
                break;
            }
            let (mut next, mut from) = (String::new(), 0);
            for at in found {
                let variable = own.text.get(at.clone())?;
                let value = with_values(&expression(variable), rounds, &own.values)?;
                if variable == own.text && !as_query {
                    return Some(ResolvedText { whole: Some(value), ..own });
                }
                let (before, behind) = (own.text.get(..at.start)?, own.text.get(at.end..)?);
                next.push_str(own.text.get(from..at.start)?);
                let is_closed = |open: usize| before.get(open..).is_some_and(|before| before.contains("}}"));
                if before.ends_with('\'') && behind.starts_with('\'') {
                    next.push_str(&format!("{PLACE}{}", own.values.len()));
                    own.values.push(value);
                } else if !as_query && before.rfind("{{").is_none_or(is_closed) {
                    own.parts.push(value);
                    next.push('x');
                } else {
                    return None;
                }
                from = at.end;
            }
            next.push_str(own.text.get(from..)?);
            own.text = next;
        }
        Some(own)
    }
}

/// An expression with the values of inner variables.
fn with_values(text: &str, rounds: &Rounds, values: &[Expr]) -> Option<Expr> {
    let query = LATE.plain_query(text, &rounds.names);
    let expr = ephor_ir::optimise::expression(query.expr.ok()?);
    let value_at = |text: &str| values.get(text.strip_prefix(PLACE)?.parse::<usize>().ok()?).cloned();
    let expr = bottom_up(expr, &mut |expr| match &expr {
        Expr::Const(Value::Str(text)) => value_at(text).unwrap_or(expr),
        _ => expr,
    });
    // Whether something is left that stands for a value.
    let has_place = Tree::of(&expr).is_none_or(|tree| tree.any_text(&|text| text.contains(PLACE)));
    (!has_place).then_some(expr)
}
