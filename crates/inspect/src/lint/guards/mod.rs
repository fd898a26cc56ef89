//! Fields that expressions read although they may be absent, and values that are never equal.
//!
//! In: the expressions of a policy as they are written, the types of the kinds that it is about,
//! and what an API server fills into their objects. Out: a finding for each chain of fields that
//! has no guard, with guarded texts as fixes. Guards are `has()`, optionals, `in`, and what match
//! conditions, other sides of `&&` and `||`, conditions and variables test.
//!
//! - `facts`: what is there where a condition has a truth value
//! - `loops`: the variables of items, and the lists that expressions make
//! - `present`: which fields every object has that an API server admits
//! - `rewrite`: the guarded text of a read
//! - `value`: what is known of the value of a part of an expression
//! - `walk`: walks expressions and finds reads and comparisons

mod facts;
mod loops;
mod present;
mod rewrite;
mod value;
mod walk;

use std::collections::HashMap;

use ephor_cel::ast::Kind;
use ephor_cel::env::Env;
use ephor_cel::syntax;
use ephor_cel::types::Type as CelType;
use ephor_kubernetes::schema::{Type, Whole};
use ephor_value::place::{Path, dotted, parse};
use ephor_value::{Str, Value};

use super::finding::Severity;
use super::fix::edited;
use super::kinds::Known;
use super::subject::{Remedy, Spot, Subject, item, with};
use present::Present;
use rewrite::{Edits, Text};
use value::{Class, Place, What, resolved};
use walk::{Parsed, Read, ReadNames, Unequal, Usage, Walk};

/// The expressions of a policy or rule.
pub(super) struct Expressions<'a> {
    /// What holds them.
    pub(super) holder: &'a Value,
    /// Its path in the document.
    pub(super) path: &'a str,
    /// The section of conditions of which all hold where others are evaluated.
    pub(super) conditions: &'a str,
    /// The sections with checks, and the fields of their expressions and messages.
    pub(super) checks: &'a [(&'a str, &'a str, &'a str)],
    /// Other sections and the fields of their expressions.
    pub(super) others: &'a [(&'a str, &'a str)],
    /// What they may use.
    pub(super) env: Env,
    /// What an error does, as a clause.
    pub(super) consequence: &'a str,
}

/// An expression as it is written.
struct WrittenExpression<'a> {
    path: Path,
    source: &'a str,
    is_message: bool,
}

/// Reports what the expressions read; `kinds` are those of the objects, none when they are unknown.
pub(super) fn check(subject: &mut Subject<'_>, known: &Known, kinds: &[[Str; 3]], of: &Expressions<'_>) {
    let present = Present::of(kinds);
    let mut written: Vec<WrittenExpression<'_>> = Vec::new();
    let mut parsed = |source, path, is_message| -> Option<Parsed> {
        let tree = syntax::parse(source, of.env.syntax).ok()?;
        written.push(WrittenExpression { path, source, is_message });
        Some(Parsed { tree, number: written.len() - 1 })
    };
    let above = parse(of.path);
    let entries = |section: &str| of.holder.get(section).and_then(Value::as_list).unwrap_or_default();
    let mut names = ReadNames {
        types: &known.types,
        present: &present,
        object: objects(known, kinds),
        variables: HashMap::new(),
    };
    for (i, variable) in entries("variables").iter().enumerate() {
        let at = with(&item(&above, "variables", i), "expression");
        if let Some(found) = parsed(variable.text_at(&["expression"]), at, false) {
            names.variables.insert(variable.text_at(&["name"]).into(), found);
        }
    }
    let mut conditions = Vec::new();
    for (i, condition) in entries(of.conditions).iter().enumerate() {
        let at = with(&item(&above, of.conditions, i), "expression");
        conditions.extend(parsed(condition.text_at(&["expression"]), at, false));
    }
    let mut checks = Vec::new();
    for (section, expression, message) in of.checks {
        for (i, check) in entries(section).iter().enumerate() {
            let at = item(&above, section, i);
            let own = parsed(check.text_at(&[expression]), with(&at, expression), false);
            let message = parsed(check.text_at(&[message]), with(&at, message), true);
            checks.push((own, message));
        }
    }
    let mut others = Vec::new();
    for (section, field) in of.others {
        for (i, entry) in entries(section).iter().enumerate() {
            let mut at = item(&above, section, i);
            at.extend(parse(field));
            let keys: Vec<&str> = field.split('.').collect();
            others.extend(parsed(entry.text_at(&keys), at, false));
        }
    }
    let mut walk = Walk::new(&names, Vec::new());
    let of_conditions: Vec<Vec<Place>> =
        conditions.iter().map(|condition| walk.facts_of(&condition.tree, true)).collect();
    for (i, condition) in conditions.iter().enumerate() {
        let guards = of_conditions.iter().enumerate().filter(|(other, _)| *other != i);
        walk.facts = guards.flat_map(|(_, facts)| facts.iter().cloned()).collect();
        walk.run(condition);
    }
    let all: Vec<Place> = of_conditions.concat();
    let mut mixed = Vec::new();
    for (own, message) in &checks {
        walk.facts.clone_from(&all);
        if let Some(own) = own {
            let result = walk.run(own);
            mixed.extend(mixed_choice(own, &result.what));
        }
        if let Some(message) = message {
            // A message is that of a check that does not hold.
            let more = own.as_ref().map(|own| walk.facts_of(&own.tree, false)).unwrap_or_default();
            walk.facts.extend(more);
            walk.run(message);
        }
    }
    walk.facts = all;
    others.iter().for_each(|other| drop(walk.run(other)));
    let (reads, unequal, unreadable) = (walk.reads, walk.unequal, walk.unreadable);
    let reporter = Reporter { of, written, env: with_variables(&of.env) };
    reads.iter().for_each(|read| reporter.read(subject, read));
    unequal.iter().for_each(|unequal| reporter.unequal(subject, unequal));
    unreadable.iter().for_each(|(number, at, what)| reporter.unreadable(subject, (*number, *at), what));
    mixed.iter().for_each(|(number, at, class)| reporter.mixed(subject, (*number, *at), *class));
}

/// The class of the side of a condition that gives no boolean where the other one does: the number
/// of the expression and the byte of the question mark.
fn mixed_choice(own: &Parsed, result: &What) -> Option<(usize, u32, Class)> {
    let Kind::Call { function, .. } = &own.tree.kind else { return None };
    let classes = result.classes().filter(|_| **function == *"_?_:_")?;
    let other = classes.iter().find(|class| **class != Class::Bool)?;
    classes.contains(&Class::Bool).then_some((own.number, own.tree.at, *other))
}

/// The types of the objects of kinds; of unknown ones the metadata is known.
fn objects(known: &Known, kinds: &[[Str; 3]]) -> What {
    let all =
        kinds.iter().map(|kind| Some(Type::Named(known.types.of_object(kind)?.name.clone(), Whole::Merged)));
    match all.collect::<Option<Vec<Type>>>().filter(|all| !all.is_empty()) {
        Some(all) => What::Types(all.iter().map(|ty| resolved(ty, &known.types)).collect()),
        None => What::Object,
    }
}

/// An environment for which variables of the policy are anything.
fn with_variables(env: &Env) -> Env {
    let mut env = env.clone();
    env.variables.insert("variables".into(), CelType::Dyn);
    env
}

/// Whether an expression does not compile: constants of different types are among its errors.
fn is_refused(subject: &Subject<'_>, expression: &WrittenExpression<'_>) -> bool {
    let field = format!("{}: ", dotted(&expression.path));
    subject.found.iter().any(|f| f.id == "cel-expression" && f.message.starts_with(&field))
}

struct Reporter<'a> {
    of: &'a Expressions<'a>,
    written: Vec<WrittenExpression<'a>>,
    env: Env,
}

impl Reporter<'_> {
    fn read(&self, subject: &mut Subject<'_>, read: &Read) {
        let Some(expression) = self.written.get(read.expression) else { return };
        let text = Text::of(expression.source);
        let (Some(first), Some(name)) = (read.at.first(), read.at.first().and_then(|at| text.name(*at)))
        else {
            return;
        };
        let chain = text.chain(read, *first).unwrap_or_default();
        let also = read.at.get(1..).unwrap_or_default().iter().filter_map(|at| {
            Some(format!("`{}`", expression.source.get(text.name(*at)?)?.trim_matches(['\'', '"'])))
        });
        let also: Vec<String> = also.collect();
        let what = match also.as_slice() {
            [] => format!("`{chain}` may be absent"),
            more => format!("`{chain}`, and {} below it, may be absent", more.join(" and ")),
        };
        let then = match (read.usage, expression.is_message) {
            (Usage::Null(_), _) => "an absent field is not null: reading it ends in an error".to_string(),
            (_, true) => "reading it then ends in an error, and the message is lost".to_string(),
            _ => format!("reading it then ends in an error{}", self.of.consequence),
        };
        let remedy =
            self.remedy(subject, expression, text.guards(read), matches!(read.usage, Usage::Null(_)));
        let chars = |byte: usize| expression.source.get(..byte).map_or(0, |text| text.chars().count());
        let spot = Spot::Inside(chars(name.start), chars(name.end) - chars(name.start));
        let path = &expression.path;
        subject.report("may-be-absent", Severity::Warning, path, spot, format!("{what}: {then}"), remedy);
    }

    fn unequal(&self, subject: &mut Subject<'_>, unequal: &Unequal) {
        let Some(expression) = self.written.get(unequal.expression) else { return };
        if is_refused(subject, expression) {
            return;
        }
        let [left, right] = unequal.sides.map(Class::word);
        let result = if unequal.is_equal { "false" } else { "true" };
        let message = format!("this comparison is always {result}: {left} never equals {right}");
        let chars = expression.source.get(..unequal.at as usize).map_or(0, |text| text.chars().count());
        let edits = rewrite::converted(expression.source, unequal);
        let remedy = self.remedy(subject, expression, edits, true);
        let spot = Spot::Inside(chars, 2);
        subject.report("never-equal", Severity::Warning, &expression.path, spot, message, remedy);
    }

    fn unreadable(&self, subject: &mut Subject<'_>, (number, at): (usize, u32), what: &str) {
        let Some(expression) = self.written.get(number).filter(|one| !is_refused(subject, one)) else {
            return;
        };
        let chars = expression.source.get(..at as usize).map_or(0, |text| text.chars().count());
        let message = format!("this is no {what}: the expression ends in an error");
        let spot = Spot::Inside(chars, 1);
        subject.report("invalid-argument", Severity::Warning, &expression.path, spot, message, None);
    }

    fn mixed(&self, subject: &mut Subject<'_>, (number, at): (usize, u32), class: Class) {
        let Some(expression) = self.written.get(number).filter(|one| !is_refused(subject, one)) else {
            return;
        };
        let message = format!("one side of the condition is {}: the result must be a boolean", class.word());
        let chars = expression.source.get(..at as usize).map_or(0, |text| text.chars().count());
        let spot = Spot::Inside(chars, 1);
        subject.report("cel-type", Severity::Warning, &expression.path, spot, message, None);
    }

    /// The fixes whose texts compile.
    fn remedy(
        &self,
        subject: &Subject<'_>,
        expression: &WrittenExpression<'_>,
        edits: Vec<Edits>,
        is_safe: bool,
    ) -> Remedy {
        let mut remedy = Remedy::default();
        for edits in edits {
            let Some(new) = edited(expression.source, &edits) else { continue };
            if ephor_cel::typed(&new, &self.env).is_err() {
                continue;
            }
            let title = match edits.as_slice() {
                [(range, tests)] if range.is_empty() && tests.ends_with("&& ") => {
                    format!("put `{}` before it", tests.trim_end())
                }
                _ => format!("write `{}`", changed_part(&new, &edits)),
            };
            if remedy.help.is_none() {
                remedy.help = Some(title.clone());
            }
            remedy.fixes.extend(subject.fix_inside(
                &expression.path,
                expression.source,
                &edits,
                title,
                is_safe,
            ));
        }
        remedy
    }
}

/// The part of a new text that edits change, with the words around it.
fn changed_part(new: &str, edits: &Edits) -> String {
    const MOST: usize = 160;
    let start = edits.first().map_or(0, |(range, _)| range.start);
    let grown: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let shrunk: usize = edits.iter().map(|(range, _)| range.len()).sum();
    let end = edits.last().map_or(0, |(range, _)| range.end) + grown - shrunk;
    let is_end = |c: char| c.is_whitespace() || "(,!)".contains(c);
    let start = new.get(..start).and_then(|before| before.rfind(is_end)).map_or(0, |at| at + 1);
    let is_behind = |c: char| !(c.is_alphanumeric() || c == '_');
    let end = new.get(end..).and_then(|behind| behind.find(is_behind)).map_or(new.len(), |at| end + at);
    let text = new.get(start..end).unwrap_or(new).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() > MOST {
        true => text.chars().take(MOST).collect::<String>() + "…",
        false => text,
    }
}
