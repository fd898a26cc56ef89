//! Membership (`AnyIn`, `AllIn`, `AnyNotIn`, `AllNotIn`, `In`, `NotIn`), with wildcards and ranges.
//!
//! In: a key, an operator, a list or a text. Out: the test. Semantics:
//! `docs/semantics/conditions.md`, "AnyIn, AllIn, AnyNotIn, AllNotIn".
use ephor_ir::pattern::Leaf;
use ephor_value::range::Range;
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Str, Value};

use crate::cel::build::{any, binary, boolean, call, choose, equals, int, is, method, on, operands, text};
use crate::cel::{build, is_same};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Path, Test, Val, is_entry, together};
use crate::expressions::translate::comparisons::equal_constant;
use crate::expressions::translate::composed::has_wildcards;
use crate::expressions::translate::conditions::{both, not_null};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::lists::{Quantifier, built, is_list, known_unless_failing, quantified};
use crate::expressions::translate::{composed, leaf, texts};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// Which operator of the `In` family.
#[derive(Clone, Copy)]
pub struct Member {
    /// Every item of the key, not some.
    pub every: bool,
    /// Is not in the list.
    pub negated: bool,
}

pub fn membership(member: Member, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    if let Val::Const(Value::Null) = key {
        return Ok(Test::constant(false));
    }
    if is_list(key) {
        return list_membership(member, key, right, scope);
    }
    if let (Some(list), Val::Const(_)) = (as_list(key), right) {
        // Of a value without a schema either may be there.
        let of_list = list_membership(member, &list, right, scope)?;
        let of_scalar = scalar_membership(member, key, right, scope)?;
        return either_kind(key, of_list, of_scalar, scope);
    }
    scalar_membership(member, key, right, scope)
}

/// A value without a schema as a list.
fn as_list(val: &Val) -> Option<Val> {
    match val {
        Val::Path(path) if path.ty == Ty::Any => {
            Some(Val::Path(Path { ty: Ty::List(Box::new(Ty::Any)), ..path.clone() }))
        }
        _ => None,
    }
}

/// A statement about a value that may be a list or a scalar.
fn either_kind(val: &Val, list: Test, scalar: Test, scope: &mut Scope<'_>) -> Result<Test> {
    let Val::Path(path) = val else { return Ok(scalar) };
    let there = not_null(val, scope)?;
    let is_list = equals(call("type", vec![path.strict()]), build::name("list"));
    let faults = [&there, &list, &scalar].into_iter().flat_map(|t| t.faults.iter().cloned()).collect();
    let node = choose(is_list, list.node, scalar.node);
    Ok(both(there, Test { node, faults }))
}

fn scalar_membership(member: Member, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    if matches!(ty_of(key), Ty::Map(_) | Ty::Object(_)) {
        return Ok(Test::constant(false));
    }
    if matches!(right, Val::Const(v) if !matches!(v, Value::List(_) | Value::Str(_))) {
        return Ok(Test::constant(false));
    }
    let there = not_null(key, scope)?;
    let wild = may_be_wild(key, scope);
    let known = known_unless_failing(key);
    let found = match right {
        // A text is a pattern for a scalar, but a scalar is none for it.
        Val::Const(Value::Str(s)) => {
            let (node, faults) = plain(&known, scope)?;
            let found = in_text(&node, &ty_of(key), s, wild, false);
            // What is missing equals no text.
            if !member.negated && is_same(&found, &equals(node, text(s))) {
                return equal_constant(key, &Value::Str(s.clone()), scope);
            }
            Test { node: found, faults }
        }
        right => scalar_in(&known, right, wild, scope)?,
    };
    let test = if member.negated { found.negated() } else { found };
    let test = match (member.negated, is_list(right)) {
        // Nothing is in a list that is null, and nothing is not in it.
        (true, true) => both(not_null(right, scope)?, test),
        _ => test,
    };
    Ok(both(there, test))
}

/// Whether a value that is compared may be the text `*`, which as a pattern matches everything.
pub fn may_be_wild(val: &Val, scope: &Scope<'_>) -> bool {
    match val {
        Val::Path(path) => path.steps.last().map_or(path.wild, |step| step.wild),
        Val::Loop(own) => {
            // In upper or lower case it stays what it is.
            let stays = is_own(&own.body) || matches!(&own.body, Val::Node { ty: Ty::Text, .. });
            may_be_wild(&own.body, scope) || (stays && may_be_wild(&own.source, scope))
        }
        Val::Chain(parts) => parts.iter().any(|part| may_be_wild(part, scope)),
        Val::Or(sides) => may_be_wild(&sides[0], scope),
        Val::Optional { node, ty, .. } => {
            matches!(ty, Ty::Text | Ty::Any) && (is_entry(node) || is_wild_word(node))
        }
        Val::Node { node, .. } => scope.wild || is_wild_word(node),
        _ => false,
    }
}

/// Whether an expression is a text in upper or lower case, or a part of one, which may be `*`;
/// names and labels have no such characters.
fn is_wild_word(node: &Node) -> bool {
    let Kind::Call { function, target, args } = &node.kind else { return false };
    match (&**function, target, &args[..]) {
        ("upperAscii" | "lowerAscii" | "split", Some(target), _) => is_wild_word(target) || is_free(target),
        ("_[_]" | "_[?_]", None, [list, _]) => is_wild_word(list),
        ("value" | "orValue", Some(target), _) => is_wild_word(target),
        ("_?_:_", None, [_, then, _]) => is_wild_word(then),
        _ => false,
    }
}

/// Whether an expression reads a field that may be `*`, as far as its name says.
fn is_free(node: &Node) -> bool {
    let (operand, field) = match &node.kind {
        Kind::Select { operand, field, .. } => (&**operand, &**field),
        _ => match (on(node, "value"), operands(node, "_?._")) {
            (Some((target, _)), _) => return is_free(target),
            (_, Some([operand, Node { kind: Kind::Const(Value::Str(field)), .. }])) => (operand, &**field),
            _ => return false,
        },
    };
    let of = match &operand.kind {
        Kind::Select { field, .. } => &**field,
        _ => "",
    };
    let is_label = matches!(of, "labels" | "matchLabels" | "nodeSelector");
    let is_name = of == "metadata" && matches!(field, "name" | "namespace" | "generateName");
    !is_label && !is_name && operand.as_ident().is_none_or(|name| **name != *"request")
}

/// Whether a value is the item of a loop itself.
fn is_own(val: &Val) -> bool {
    matches!(val, Val::Path(path) if path.steps.is_empty())
}

/// Whether a scalar is in a list, or matches a text; `wild`: it may be `*`.
fn scalar_in(key: &Val, right: &Val, wild: bool, scope: &mut Scope<'_>) -> Result<Test> {
    match right {
        Val::Const(Value::List(items)) => {
            let (node, faults) = plain(key, scope)?;
            Ok(Test { node: word_in(&node, &ty_of(key), items, wild), faults })
        }
        Val::Const(Value::Str(s)) => {
            let (node, faults) = plain(key, scope)?;
            Ok(Test { node: in_text(&node, &ty_of(key), s, wild, true), faults })
        }
        Val::Const(_) => Ok(Test::constant(false)),
        // Each item may have wildcards of its own.
        Val::Tuple(items) if items.iter().any(is_wild_pattern) && !matches!(key, Val::Const(_)) => {
            let (own, mut faults) = plain(key, scope)?;
            let mut tests = Vec::new();
            for item in items {
                tests.push(match item {
                    Val::Const(c) => word_in(&own, &ty_of(key), std::slice::from_ref(c), wild),
                    item => {
                        let (other, more) = plain(item, scope)?;
                        faults.extend(more);
                        let own = leaf::as_text(&own, &ty_of(key));
                        match composed::matches(&own, &other, scope)? {
                            Some(test) => test,
                            None => equals(own, other),
                        }
                    }
                });
            }
            Ok(Test { node: any(tests), faults })
        }
        Val::Keys(path, _) if matches!(key, Val::Const(Value::Str(s)) if !has_wildcard(s)) => {
            let Val::Const(Value::Str(s)) = key else { return Ok(Test::constant(false)) };
            Ok(has_key(path, s, scope))
        }
        right if is_list(right) => match key {
            Val::Const(c) => {
                let wild = may_be_wild(right, scope);
                quantified(Quantifier::Some, right, scope, &mut |item, scope| {
                    let (node, faults) = plain(item, scope)?;
                    Ok(Test { node: word_in(&node, &ty_of(item), std::slice::from_ref(c), wild), faults })
                })
            }
            key => match (wild && is_text(key), may_be_wild(right, scope)) {
                (false, false) => {
                    let (own, list, faults) = together(plain(key, scope)?, built(right, scope)?);
                    Ok(Test { node: binary("in", own, list), faults })
                }
                wild => quantified(Quantifier::Some, right, scope, &mut |item, scope| {
                    matching(key, item, wild, scope)
                }),
            },
        },
        right => {
            let (own, other, faults) = together(plain(key, scope)?, plain(right, scope)?);
            let wild = may_be_wild(right, scope);
            let same = is_one_of(&other, &own, (wild && is_text(right)).then(|| text("*")));
            if is_text_of_list(right) && scope.needs_kyverno("a list in a text").is_ok() {
                let is_json = method(other.clone(), "startsWith", vec![text("[")]);
                let list = method(build::name("json"), "unmarshal", vec![other.clone()]);
                let node = choose(is_json, binary("in", own.clone(), list), same);
                return Ok(Test { node: in_any(own, other, &ty_of(right), node), faults });
            }
            // As a pattern it matches the key, and as the text of a list it has it.
            let node = match (wild, key) {
                (true, Val::Const(Value::Str(s))) => {
                    let list = Value::list(vec![Value::Str(s.clone())]);
                    let words = [&**s, "*", &ephor_value::print::json(&list)].map(text);
                    call("@in", vec![other, build::list(words.into())])
                }
                _ => in_any(own, other, &ty_of(right), same),
            };
            Ok(Test { node, faults })
        }
    }
}

/// Whether a value is in another one, of which nothing is known: in a list, or else as `other`
/// says.
fn in_any(own: Node, right: Node, ty: &Ty, other: Node) -> Node {
    match ty {
        Ty::Any => {
            let is_list = equals(call("type", vec![right.clone()]), build::name("list"));
            choose(is_list, binary("in", own, right), other)
        }
        _ => other,
    }
}

/// Whether a value is another one, or one more.
fn is_one_of(value: &Node, own: &Node, other: Option<Node>) -> Node {
    match other {
        Some(other) => any(vec![equals(value.clone(), own.clone()), equals(value.clone(), other)]),
        None => equals(value.clone(), own.clone()),
    }
}

/// Whether a value is a pattern with wildcards that are written, perhaps behind a variable.
fn is_wild_pattern(val: &Val) -> bool {
    match val {
        Val::Const(Value::Str(s)) => has_wildcard(s),
        Val::Node { node, .. } => has_wildcards(node),
        _ => false,
    }
}

fn is_text(val: &Val) -> bool {
    matches!(ty_of(val), Ty::Text | Ty::Any)
}

/// Whether a key and an item of a list match; `wild`: which of them may be `*`, which as a pattern
/// matches the other one.
fn matching(key: &Val, item: &Val, wild: (bool, bool), scope: &mut Scope<'_>) -> Result<Test> {
    let (own, other, faults) = together(plain(key, scope)?, plain(item, scope)?);
    let star = || text("*");
    let is_star = wild.1 && is_text(item);
    let node = match (wild.0, is_star) {
        (true, false) => is_one_of(&own, &other, Some(star())),
        (false, is_star) => is_one_of(&other, &own, is_star.then(star)),
        (true, true) => texts::either(is_one_of(&other, &own, Some(star())), equals(own, star())),
    };
    Ok(Test { node, faults })
}

/// Whether a value is a text in which people write lists: one of lookups, or a value of
/// annotations or data.
fn is_text_of_list(val: &Val) -> bool {
    match val {
        Val::Path(path) => !path.faults.is_empty() || path.is_free_text(),
        Val::Optional { faults, .. } => !faults.is_empty(),
        Val::Node { node, ty, faults } => {
            is_read(node) && !faults.is_empty() && matches!(ty, Ty::Text | Ty::Any)
        }
        _ => false,
    }
}

/// Whether an expression reads a value, and has at most a default for it.
fn is_read(node: &Node) -> bool {
    match &node.kind {
        Kind::Select { test, .. } => !test,
        Kind::Call { function, target: None, args } if &**function == "_?_:_" => {
            args.get(1).is_some_and(is_read)
        }
        Kind::Call { function, .. } => matches!(&**function, "_[_]" | "value"),
        _ => false,
    }
}

/// Whether an object has a key; one that is missing fails, or has none.
pub fn has_key(path: &Path, key: &str, scope: &Scope<'_>) -> Test {
    let of = |path: &Path| path.key(key, &scope.cx.types).present();
    match path.fails {
        true => Test { node: of(&path.known()), faults: path.missing() },
        false => Test { node: of(path), faults: path.faults.clone() },
    }
}

/// Whether a value is one of the items of a list, as texts, or `*` where it may be.
fn word_in(node: &Node, ty: &Ty, items: &[Value], wild: bool) -> Node {
    let words: Vec<Str> = items.iter().map(|v| Str::from(ephor_value::print::display(v))).collect();
    let words: Vec<&str> = words.iter().map(|w| &**w).collect();
    match ty {
        Ty::Bool => {
            let holds = |b: bool| {
                words.iter().any(|w| ephor_value::wildcard::matches(w, if b { "true" } else { "false" }))
            };
            match [holds(true), holds(false)] {
                [true, true] => boolean(true),
                [false, false] => boolean(false),
                [is_true, _] => is(node.clone(), is_true),
            }
        }
        Ty::Int => {
            let numbers: Option<Vec<i64>> = words.iter().map(|w| ephor_value::number::parse_int(w)).collect();
            match numbers {
                Some(numbers) => {
                    call("@in", vec![node.clone(), build::list(numbers.into_iter().map(int).collect())])
                }
                None => texts::matches_any(&leaf::as_text(node, ty), &words, &[]),
            }
        }
        ty => {
            // As a pattern it matches whatever is in the list.
            let is_star = wild
                && !words.is_empty()
                && matches!(ty, Ty::Text | Ty::IntOrText | Ty::Any)
                && !words.iter().any(|word| ephor_value::wildcard::matches(word, "*"));
            leaf::words_of(node, ty, &words, if is_star { &["*"] } else { &[] })
        }
    }
}

/// Whether a value matches a text: as a wildcard pattern, in a range, or in the list that the text
/// is one of. `wild`: it may be any text; `is_item`: it is an item of a list, which is a pattern
/// for the text, too.
fn in_text(node: &Node, ty: &Ty, s: &str, wild: bool, is_item: bool) -> Node {
    if Range::parse(s).is_some_and(|range| !range.negated) {
        return leaf::test(&Leaf::new(Value::from(s)), node, ty);
    }
    match texts_of_list(s) {
        Some(words) if is_item => {
            let words: Vec<Value> = words.into_iter().map(Value::Str).collect();
            word_in(node, ty, &words, wild)
        }
        // For a scalar its items are no patterns.
        Some(mut words) => {
            if wild {
                words.push(s.into());
            }
            let own = leaf::as_text(node, ty);
            match &words[..] {
                [only] => equals(own, text(only)),
                words => call("@in", vec![own, build::texts(words.iter().map(|word| &**word))]),
            }
        }
        None => word_in(node, ty, &[Value::from(s)], wild && is_item),
    }
}

/// The texts of a list that is written as JSON in a text.
fn texts_of_list(s: &str) -> Option<Vec<Str>> {
    let own = s.trim().starts_with('[').then(|| ephor_document::decode_json(s).ok())??;
    own.as_list()?.iter().map(|item| item.as_str().map(Str::from)).collect()
}

fn list_membership(member: Member, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    // `AnyNotIn`: some item is outside; `AllNotIn`: none is inside.
    let quantifier = if member.every { Quantifier::Every } else { Quantifier::Some };
    if let (Val::Const(Value::List(keys)), true) = (key, is_list(right)) {
        // Some key is in the list: some item is one of the keys.
        if !member.every && !member.negated {
            let (keys, wild) = (keys.clone(), may_be_wild(right, scope));
            return quantified(Quantifier::Some, right, scope, &mut |item, scope| {
                let (node, faults) = plain(item, scope)?;
                Ok(Test { node: word_in(&node, &ty_of(item), &keys, wild), faults })
            });
        }
    }
    if let Val::Const(v) = right
        && !matches!(v, Value::List(_) | Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
    {
        return Ok(Test::constant(false));
    }
    let wild = may_be_wild(key, scope);
    let one = |item: &Val, scope: &mut Scope<'_>| -> Result<Test> {
        let found = match right {
            Val::Const(Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                let Val::Const(v) = right else { return Ok(Test::constant(false)) };
                let (node, faults) = plain(item, scope)?;
                Test { node: word_in(&node, &ty_of(item), std::slice::from_ref(v), wild), faults }
            }
            right => scalar_in(item, right, wild, scope)?,
        };
        Ok(if member.negated { found.negated() } else { found })
    };
    let test = quantified(quantifier, key, scope, &mut |item, scope| one(item, scope))?;
    // Nothing is in a list that is null, and nothing is not in it.
    let test = match is_list(right) && (member.negated || member.every) {
        true => both(not_null(right, scope)?, test),
        false => test,
    };
    if quantifier == Quantifier::Every && !matches!(key, Val::Chain(_) | Val::Const(_)) {
        return Ok(both(not_null(key, scope)?, test));
    }
    Ok(test)
}
