//! Functions of texts: what is cut off, numbers and versions in texts.
//!
//! In: the arguments of a function. Out: its value. Semantics: `docs/functions.md`.

use crate::cel::build::{
    all, any, binary, boolean, call, choose, index, int, list, method, name, object, or_value, over, text,
};
use crate::cel_tree::Node;
use crate::value::Value;

use super::super::Refusal;
use super::super::leaf;
use super::super::scope::Scope;
use super::super::template::as_text;
use super::super::term::{Faults, Test, Val};
use super::super::texts::NUMBER;
use super::super::types::Ty;
use super::strict;

/// `to_number` of a text: null where it is none.
pub(super) fn to_number(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    // Null is no number.
    let (own, faults) = match of {
        Val::Path(path) if !path.fails && !path.is_required() => {
            (leaf::as_text(&path.or(text("")), &path.ty), path.faults.clone())
        }
        Val::Optional { node, ty, faults, .. } if faults.is_empty() => {
            (leaf::as_text(&or_value(node.clone(), text("")), ty), Faults::new())
        }
        of => as_text(&strict(of), scope)?,
    };
    let is_number = method(own.clone(), "matches", vec![text(NUMBER)]);
    let some = method(name("optional"), "of", vec![call("double", vec![own])]);
    let none = method(name("optional"), "none", Vec::new());
    let node = choose(is_number, some, none);
    let node = match scope.loops.is_empty() {
        true => scope.share("number", node, true),
        false => node,
    };
    Ok(Val::Optional { node, ty: Ty::Double, faults, rescued: None })
}

/// `to_boolean`: of no other text than these two, in any case.
pub(super) fn to_boolean(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let (own, faults) = as_text(&strict(of), scope)?;
    let both = ["true", "false"].map(|word| (text(word), boolean(word == "true")));
    let node = index(object(both.to_vec()), method(own, "lowerAscii", Vec::new()));
    Ok(Val::Node { node, ty: Ty::Bool, faults })
}

/// `truncate`: no more than so many characters.
pub(super) fn truncate(of: &Val, length: &Value, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let length = match length {
        Value::Int(n) => Some(*n),
        Value::Float(f) if f.is_finite() => Some(f.trunc() as i64),
        _ => None,
    };
    let Some(length) = length.map(|n| n.max(0)) else {
        return Err(scope.refuse("a length that is no number", "write a number"));
    };
    let (own, faults) = as_text(&strict(of), scope)?;
    let is_longer = binary(">", method(own.clone(), "size", Vec::new()), int(length));
    let cut = method(own.clone(), "substring", vec![int(0), int(length)]);
    Ok(Val::Node { node: choose(is_longer, cut, own), ty: Ty::Text, faults })
}

/// `trim`: without some characters at both ends, which is the longest part between two others.
pub(super) fn trim(of: &Val, cut: &str, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let (own, faults) = as_text(&strict(of), scope)?;
    if cut.is_empty() {
        return Ok(Val::Node { node: own, ty: Ty::Text, faults });
    }
    let escaped = |c: char| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() };
    let others = format!("[^{}]", cut.chars().map(escaped).collect::<String>());
    let node = method(own, "find", vec![text(&format!("(?s){others}(.*{others})?"))]);
    Ok(Val::Node { node, ty: Ty::Text, faults })
}

/// `semver_compare`: whether a version, which is 0.0.0 where the text is none, is in a range.
pub(super) fn semver_compare(of: &Val, range: &str, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let Some(branches) = branches(range) else {
        return Err(
            scope.refuse("a range of versions with such terms", "write whole versions: `>=1.2.0 <2.0.0`")
        );
    };
    let (own, faults) = as_text(&strict(of), scope)?;
    let version = |node: Node| call("semver", vec![node]);
    let read = choose(call("isSemver", vec![own.clone()]), version(own), version(text("0.0.0")));
    let (range, var) = (list(vec![read]), scope.unused("version"));
    let of_term = |(sign, bound): &(&str, String)| {
        binary(sign, method(name(&var), "compareTo", vec![version(text(bound))]), int(0))
    };
    let of_branch = |terms: &Vec<(&str, String)>| all(terms.iter().map(of_term).collect());
    let test = any(branches.iter().map(of_branch).collect());
    let node = over(range, "exists", &var, test);
    Ok(Val::of_test(Test { node, faults }))
}

/// The terms of a range of versions; none where one is no whole version.
fn branches(range: &str) -> Option<Vec<Vec<(&'static str, String)>>> {
    crate::value::semver::Range::parse(range).ok()?;
    let mut all = vec![Vec::new()];
    for word in range.split(' ').filter(|word| !word.is_empty()) {
        if word == "||" {
            all.push(Vec::new());
            continue;
        }
        let bound = word.trim_start_matches(['<', '>', '=', '!']);
        let sign = match word.strip_suffix(bound)? {
            "" | "=" | "==" => "==",
            "!" | "!=" => "!=",
            ">" => ">",
            ">=" => ">=",
            "<" => "<",
            "<=" => "<=",
            _ => return None,
        };
        crate::value::semver::Version::parse(bound).ok()?;
        all.last_mut()?.push((sign, bound.to_string()));
    }
    Some(all)
}
