//! Values that a function makes of a value of the object: matches of a regular expression, or a
//! part of a text, that become another text.
//!
//! In: an expression of either language. Out: the function with its constants, and the place of the
//! text. Sides that write what the same function makes of the text at the same place write the
//! same, whatever it is; where they write is seen on texts of which the function makes another one.

use ephor_analysis::reads::Step;
use ephor_functions::regex::go_regex;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::template::{Hole, Rounds};
use ephor_kubernetes::schema::Leaf;
use ephor_lower::LATE;
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use crate::effects::writes::made::{DerivedValue, Function, Piece};
use crate::effects::writes::model::{Done, WriteCollector, Written, in_items};
use crate::effects::writes::places::{in_element, in_item, in_object, lists_in_turn, place_of};
use crate::model::field_types::type_at;
use crate::model::unsupported::Unsupported;

/// Whether at each place the same function of the same text is written, by each side once, and
/// nothing else: all of them.
pub(crate) fn makes_alike(
    sides: &[Vec<(Vec<Step>, DerivedValue)>],
    places: &[(Vec<Step>, Written)],
) -> Result<Vec<(Vec<Step>, DerivedValue)>, Unsupported> {
    let all: Vec<&(Vec<Step>, DerivedValue)> = sides.iter().flatten().collect();
    for (place, made) in &all {
        let is_twice =
            |own: &Vec<(Vec<Step>, DerivedValue)>| own.iter().filter(|(p, _)| p == place).count() > 1;
        let of_all = all.iter().filter(|(p, _)| p == place).count();
        let is_other = places.iter().filter(|(p, _)| p == place).count() > of_all;
        if all.iter().any(|(p, other)| p == place && other != made) || sides.iter().any(is_twice) || is_other
        {
            return Err(Unsupported::OtherComputation);
        }
        // What another function makes of it is no text of the object.
        if all.iter().any(|(p, other)| other.of == *place && p != place) {
            return Err(Unsupported::ComputedOfComputed);
        }
    }
    Ok(all.into_iter().cloned().collect())
}

/// The pieces of a replacement, in which `sign` comes before the number of a group; `None`:
/// something else does.
fn pieces(replacement: &str, sign: char, groups: usize) -> Option<Vec<Piece>> {
    let mut all = Vec::new();
    let mut text = String::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once(sign) {
        text.push_str(before);
        if let Some(behind) = after.strip_prefix(sign) {
            text.push(sign);
            rest = behind;
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (name, behind) = match (sign, after.strip_prefix('{')) {
            ('$', Some(inside)) => inside.split_once('}')?,
            ('$', None) => after.split_at(after.find(|c| !is_word(c)).unwrap_or(after.len())),
            _ => after.split_at_checked(1)?,
        };
        let group: usize = name.parse().ok().filter(|group| *group <= groups)?;
        if !text.is_empty() {
            all.push(Piece::Text(std::mem::take(&mut text)));
        }
        all.push(Piece::Group(group));
        rest = behind;
    }
    text.push_str(rest);
    if !text.is_empty() {
        all.push(Piece::Text(text));
    }
    Some(all)
}

/// A function that is called, and what it is called with.
fn called(expr: &Expr) -> Option<(Function, &Expr)> {
    let (function, of) = function(expr)?;
    Some((function, if let Expr::Rescue { expr, .. } = of { expr } else { of }))
}

pub(crate) fn function(expr: &Expr) -> Option<(Function, &Expr)> {
    let text = |expr: &Expr| expr.constant().and_then(Value::as_str).map(Str::from);
    let matches = |pattern: &Expr, with: &Expr, sign: char| {
        let (pattern, with) = (text(pattern)?, text(with)?);
        let groups = go_regex(&pattern).ok()?.captures_len() - 1;
        Some(Function::Matches { with: pieces(&with, sign, groups)?, pattern })
    };
    let occurrences = |of: &Expr, with: &Expr| {
        let (of, with) = (text(of)?, text(with)?);
        (!of.is_empty()).then_some(Function::Occurrences { of, with })
    };
    match expr {
        Expr::Call { function, args } => match (function.operation, &**args) {
            (Operation::ReplaceMatches, [pattern, of, with]) => Some((matches(pattern, with, '$')?, of)),
            (Operation::Replace, [of, old, new]) => Some((occurrences(old, new)?, of)),
            _ => None,
        },
        Expr::Invoke(call) => match (call.function.operation, &*call.args) {
            (Operation::ReplaceMatches, [of, pattern, with]) => Some((matches(pattern, with, '\\')?, of)),
            (Operation::Replace, [of, old, new]) => Some((occurrences(old, new)?, of)),
            _ => None,
        },
        _ => None,
    }
}

/// An expression with variables in quotes, as one without: `f('{{ a.b }}')` is `f(a.b)`; and these
/// variables.
fn unquoted(rounds: &Rounds) -> Option<(String, Vec<String>)> {
    let source = rounds.source.trim();
    let (mut text, mut from, mut variables) = (String::new(), 0, Vec::new());
    for at in find_variables(source) {
        let before = source.get(from..at.start)?.strip_suffix('\'')?;
        let after = at.end.checked_add(1)?;
        if source.get(at.end..after)? != "'" {
            return None;
        }
        let variable = expression(source.get(at)?);
        text.push_str(before);
        text.push_str(&variable);
        variables.push(variable);
        from = after;
    }
    text.push_str(source.get(from..)?);
    let inside = text.strip_prefix("{{")?.strip_suffix("}}")?;
    (!variables.is_empty() && !inside.contains("{{")).then(|| (inside.trim().to_string(), variables))
}

impl<'r> WriteCollector<'r> {
    /// What a function makes of a value, in CEL.
    pub(crate) fn made(&mut self, expr: &'r Expr) -> Done {
        let (function, of) = called(expr).or_else(|| self.image_text(expr)).ok_or(Unsupported::Computed)?;
        let of_item = || -> Option<Vec<Step>> {
            let [list] = &*lists_in_turn(self.loops.last()?.0)? else { return None };
            Some(in_items(list, &in_item(of)?))
        };
        let place = place_of(of).or_else(of_item).ok_or(Unsupported::Computed)?;
        self.makes(function, place)?;
        self.copied(of)
    }

    /// The same in a document.
    pub(crate) fn computed_in_rounds(&mut self, rounds: &'r Rounds) -> Done {
        if let Ok((function, place)) = self.image_text_in_rounds(rounds) {
            self.makes(function, place.clone())?;
            self.found.copied.insert(place);
            return Ok(());
        }
        let (text, variables) = unquoted(rounds).ok_or(Unsupported::Computed)?;
        let query = LATE.query(&text, &rounds.names);
        let (function, of) = query.expr.as_ref().ok().and_then(called).ok_or(Unsupported::Computed)?;
        let ([_], true) = (&*variables, query.needs.is_empty()) else { return Err(Unsupported::Computed) };
        let of_element = || -> Option<Vec<Step>> {
            let ([list], true) = (&*self.elements, self.is_in_list()) else { return None };
            Some(in_items(list, &in_element(of)?))
        };
        let place = in_object(of).or_else(of_element).ok_or(Unsupported::Computed)?;
        self.makes(function, place.clone())?;
        self.found.quoted.insert(place.clone());
        self.found.copied.insert(place);
        let variable = variables.first().map_or("", |text| text);
        let query = LATE.query(variable, &rounds.names);
        self.holes.push(Hole { query, rounds: rounds.clone() });
        Ok(())
    }

    fn makes(&mut self, function: Function, of: Vec<Step>) -> Done {
        let ty = type_at(self.types, self.kind, &of);
        if ty.and_then(|ty| crate::effects::writes::leaf_of(self.types, ty)) != Some(Leaf::String) {
            return Err(Unsupported::Computed);
        }
        self.found.made.push((self.path.clone(), DerivedValue { of, function }));
        self.add(Written::Copied);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_of_both_languages_have_the_same_pieces() {
        let group = |text: &str| vec![Piece::Text(text.into()), Piece::Group(2)];
        assert_eq!(pieces("a/$2", '$', 2), Some(group("a/")));
        assert_eq!(pieces(r"a/\2", '\\', 2), Some(group("a/")));
        assert_eq!(pieces("$$${2}", '$', 2), Some(group("$")));
        assert_eq!(pieces(r"$\2", '\\', 2), Some(group("$")));
        // `$2x` is the group of that name; there is no third group.
        assert_eq!(pieces("$2x", '$', 2), None);
        assert_eq!(pieces(r"\3", '\\', 2), None);
        assert_eq!(pieces(r"\", '\\', 2), None);
    }

    #[test]
    fn a_function_makes_what_it_makes_in_policies() {
        let pattern = Str::from("^([a-z.]+/)?(.*)$");
        let with = pieces("r/$2", '$', 2).unwrap();
        let made = DerivedValue { of: Vec::new(), function: Function::Matches { pattern, with } };
        assert_eq!(made.made("docker.io/a:b").as_deref(), Some("r/a:b"));
        let function = Function::Occurrences { of: "a".into(), with: "b".into() };
        assert_eq!(DerivedValue { of: Vec::new(), function }.made("aca").as_deref(), Some("bcb"));
    }
}
