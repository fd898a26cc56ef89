//! Checks an object against `rules.txt`, field by field, in the order of the schema.

use super::refusal::{Checked, Reason, Refusal, is_set, join, quantity, refuse};
use super::table::{self, Rule, Test};
use super::{formats, kinds, local};
use crate::schema::{Leaf, Type, TypeDef, Types};
use ephor_value::quantity::Quantity;
use ephor_value::time::Time;
use ephor_value::{Map, Str, Value};

/// Objects that nest deeper are refused.
const MAX_DEPTH: usize = 64;

/// Whether the texts with a syntax of their own can be read.
pub fn decodes(object: &Value, def: &TypeDef, types: &Types) -> Checked {
    let Value::Map(m) = object else { return Err(Refusal::new("", Reason::Type)) };
    members(m, def, types, "", 0, &|v, leaf, path| {
        let fits = match (leaf, v) {
            (Leaf::Quantity, Value::Str(s)) => {
                let Some(amount) = Quantity::parse(s) else { return Err(Refusal::new(path, Reason::Type)) };
                // Amounts below a thousandth are rounded up in some places.
                if amount.to_string().ends_with(['n', 'u']) {
                    return Err(Refusal::new(path, Reason::NotRecorded));
                }
                true
            }
            (Leaf::Quantity, v) => matches!(v, Value::Int(_)),
            (Leaf::Time | Leaf::MicroTime, Value::Str(s)) => Time::parse_rfc3339(s).is_ok(),
            (Leaf::IntOrString, Value::Int(i)) => i32::try_from(*i).is_ok(),
            (Leaf::IntOrString, v) => matches!(v, Value::Str(_)),
            _ => true,
        };
        if fits { Ok(()) } else { Err(Refusal::new(path, Reason::Type)) }
    })
}

type OfLeaf<'a> = &'a dyn Fn(&Value, Leaf, &str) -> Checked;

fn members(m: &Map, def: &TypeDef, types: &Types, path: &str, depth: usize, leaf: OfLeaf) -> Checked {
    for (key, v) in m.iter() {
        let Some(field) = def.field(key) else { continue };
        if !v.is_null() {
            parts(v, &field.ty, types, &join(path, key), depth + 1, leaf)?;
        }
    }
    Ok(())
}

fn parts(v: &Value, ty: &Type, types: &Types, path: &str, depth: usize, leaf: OfLeaf) -> Checked {
    if depth > MAX_DEPTH || v.is_null() {
        // What becomes of null in a list or a map depends on the type of its values.
        return Err(Refusal::new(path, Reason::NotRecorded));
    }
    match (ty, v) {
        (Type::Leaf(of), v) => leaf(v, *of, path),
        (Type::Named(name, _), Value::Map(m)) => match types.named(name) {
            Some(def) if def.leaf.is_none() => members(m, def, types, path, depth, leaf),
            _ => Ok(()),
        },
        (Type::List(_, item), Value::List(items)) => {
            let mut each = items.iter().enumerate();
            each.try_for_each(|(i, v)| parts(v, item, types, &format!("{path}[{i}]"), depth + 1, leaf))
        }
        (Type::Map(inner, _), Value::Map(m)) => {
            m.iter().try_for_each(|(k, v)| parts(v, inner, types, &format!("{path}[{k}]"), depth + 1, leaf))
        }
        _ => Ok(()),
    }
}

/// Whether the server stores an object, as it is after decoding; `is_new`: when it is created.
pub fn check(kind: &[Str; 3], object: &Value, (def, types): (&TypeDef, &Types), is_new: bool) -> Checked {
    let Value::Map(m) = object else { return Err(Refusal::new("", Reason::Type)) };
    let walk = RuleWalk { types, is_new };
    walk.object(m, def, "", 0)?;
    match def.field("metadata") {
        Some(_) => kinds::check(kind, m, types.release()),
        None => Ok(()),
    }
}

/// The paths of fields that no object has.
pub fn never_set(object: &Value, (def, types): (&TypeDef, &Types), is_new: bool, out: &mut Vec<String>) {
    let Value::Map(m) = object else { return };
    let walk = RuleWalk { types, is_new };
    walk.never_set(m, def, "", 0, out);
}

struct RuleWalk<'t> {
    types: &'t Types,
    is_new: bool,
}

impl RuleWalk<'_> {
    fn object(&self, m: &Map, def: &TypeDef, path: &str, depth: usize) -> Checked {
        let Some(rules) = table::rules(&def.name) else {
            return Err(Refusal::new(path, Reason::NotRecorded));
        };
        // What a claim in a template has of a kind and a status is written by the server.
        let is_top = depth == 0 || &*def.name == "core/v1.PersistentVolumeClaim";
        for field in &def.fields {
            if is_top && matches!(&*field.name, "apiVersion" | "kind" | "status") {
                continue;
            }
            let v = m.get(&field.name);
            let of_field = match (rules.of(&field.name), v) {
                (Some(rules), _) => rules,
                (None, None) => continue,
                (None, Some(_)) => return refuse(path, &field.name, Reason::NotRecorded),
            };
            let at = join(path, &field.name);
            let is_added = self.is_added(&at, depth);
            for rule in of_field.iter().filter(|_| !is_added) {
                of_value(rule, v, m, &field.name).map_err(|reason| Refusal::new(at.clone(), reason))?;
            }
            if let Some(v) = v {
                self.value(v, &field.ty, &at, depth + 1)?;
            }
        }
        for rule in rules.of("*").unwrap_or_default() {
            of_object(rule, m, path)?;
        }
        local::check(&def.name, m, path)
    }

    /// Whether a field is one of ephemeral containers, which are added to pods that are there.
    fn is_added(&self, path: &str, depth: usize) -> bool {
        !self.is_new && depth == 1 && path == "spec.ephemeralContainers"
    }

    fn never_set(&self, m: &Map, def: &TypeDef, path: &str, depth: usize, out: &mut Vec<String>) {
        for (key, v) in m.iter().filter(|(key, v)| is_set(m, key) && !v.is_null()) {
            let Some(field) = def.field(key).filter(|_| depth < MAX_DEPTH) else { continue };
            let at = join(path, key);
            if table::is_never(&def.name, key) && !self.is_added(&at, depth) {
                out.push(at.clone());
            }
            self.never_set_in(v, &field.ty, &at, depth + 1, out);
        }
    }

    fn never_set_in(&self, v: &Value, ty: &Type, path: &str, depth: usize, out: &mut Vec<String>) {
        match (ty, v) {
            (Type::Named(name, _), Value::Map(m)) => {
                if let Some(def) = self.types.named(name) {
                    self.never_set(m, def, path, depth, out);
                }
            }
            (Type::List(_, item), Value::List(items)) => {
                for (i, v) in items.iter().enumerate() {
                    self.never_set_in(v, item, &format!("{path}[{i}]"), depth + 1, out);
                }
            }
            _ => {}
        }
    }

    fn value(&self, v: &Value, ty: &Type, path: &str, depth: usize) -> Checked {
        match (ty, v) {
            (Type::Named(name, _), Value::Map(m)) => match self.types.named(name) {
                Some(def) if def.leaf.is_none() => self.object(m, def, path, depth),
                _ => Ok(()),
            },
            (Type::List(_, item), Value::List(items)) => {
                let mut each = items.iter().enumerate();
                each.try_for_each(|(i, v)| self.value(v, item, &format!("{path}[{i}]"), depth + 1))
            }
            (Type::Map(inner, _), Value::Map(m)) => {
                m.iter().try_for_each(|(k, v)| self.value(v, inner, &format!("{path}[{k}]"), depth + 1))
            }
            _ => Ok(()),
        }
    }
}

fn ensure(holds: bool, reason: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(reason) }
}

/// Whether a field's value, which may be missing, is as a rule says.
fn of_value(rule: &Rule, v: Option<&Value>, holder: &Map, field: &str) -> Result<(), Reason> {
    if matches!(rule, Rule::Required) {
        let is_empty_map = v.and_then(Value::as_map).is_some_and(Map::is_empty);
        return ensure(is_set(holder, field) && !(is_empty_map && field != "spec"), Reason::Required);
    }
    if matches!(rule, Rule::Expected) {
        return ensure(is_set(holder, field), Reason::NotRecorded);
    }
    let Some(v) = v else { return Ok(()) };
    match rule {
        Rule::Absent | Rule::Never => Err(Reason::Forbidden),
        Rule::Enum(words) => {
            // A port may be a number or a name; only texts are enumerated.
            ensure(v.as_str().is_some_and(|s| words.contains(&s)), Reason::NotSupported)
        }
        Rule::Range(low, high) => {
            ensure(v.as_int().is_some_and(|i| i >= *low && i <= *high), Reason::Invalid)
        }
        Rule::MaxLength(n) => ensure(v.as_str().is_some_and(|s| s.len() <= *n), Reason::Invalid),
        Rule::MaxItems(n) => ensure(v.as_list().is_some_and(|l| l.len() <= *n), Reason::Invalid),
        Rule::Unique(keys) => ensure(is_unique(v, keys), Reason::Duplicate),
        Rule::Each(rule) => {
            let items = v.as_list().unwrap_or_default();
            items.iter().try_for_each(|v| of_value(rule, Some(v), holder, field))
        }
        Rule::Keys(rule) => {
            let mut keys = v.as_map().into_iter().flat_map(Map::keys);
            keys.try_for_each(|k| of_value(rule, Some(&Value::Str(k.clone())), holder, field))
        }
        Rule::Values(rule) => {
            let mut values = v.as_map().into_iter().flat_map(Map::values);
            values.try_for_each(|v| of_value(rule, Some(v), holder, field))
        }
        Rule::QuantityMin(min) => {
            let least = Quantity::parse(&min.to_string());
            ensure(quantity(v).is_some_and(|q| Some(q) >= least), Reason::Invalid)
        }
        Rule::IntOrPercent => ensure(is_count_or_percent(v), Reason::Invalid),
        Rule::PortOrName => match v {
            Value::Int(i) => ensure((1..=65535).contains(i), Reason::Invalid),
            v => ensure(
                v.as_str().is_some_and(|s| formats::fits("port-name", s) == Some(true)),
                Reason::Invalid,
            ),
        },
        Rule::OrEmpty(_) if v.as_str() == Some("") => Ok(()),
        Rule::OrEmpty(rule) => of_value(rule, Some(v), holder, field),
        Rule::Form(form) => {
            let text = v.as_str().unwrap_or_default();
            ensure(formats::fits(form, text) == Some(true), Reason::Invalid)
        }
        Rule::Free
        | Rule::Required
        | Rule::Expected
        | Rule::OneOf(_)
        | Rule::SomeOf(_)
        | Rule::AtMostOne(_)
        | Rule::When { .. } => Ok(()),
    }
}

fn is_count_or_percent(v: &Value) -> bool {
    match v {
        Value::Int(i) => *i >= 0,
        v => {
            let number = v.as_str().and_then(|s| s.strip_suffix('%'));
            number.is_some_and(|n| n.parse::<u32>().is_ok_and(|i| i <= 100 && i.to_string() == n))
        }
    }
}

fn is_unique(v: &Value, keys: &[&str]) -> bool {
    let items = v.as_list().unwrap_or_default();
    let key = |v: &Value| -> Vec<Value> {
        if keys.is_empty() {
            return vec![v.clone()];
        }
        keys.iter().map(|k| v.get(k).cloned().unwrap_or_default()).collect()
    };
    let found: Vec<Vec<Value>> = items.iter().map(key).collect();
    let same = |a: &[Value], b: &[Value]| a.iter().zip(b).all(|(a, b)| a.json_eq(b));
    found.iter().enumerate().all(|(i, a)| !found.iter().take(i).any(|b| same(a, b)))
}

/// Whether the fields of an object go together as a rule says.
fn of_object(rule: &Rule, m: &Map, path: &str) -> Checked {
    let present = |f: &&&str| m.contains_key(f);
    match rule {
        Rule::OneOf(fields) => match fields.iter().filter(present).count() {
            0 => Err(Refusal::new(path, Reason::Required)),
            1 => Ok(()),
            _ => Err(Refusal::new(path, Reason::Forbidden)),
        },
        Rule::SomeOf(fields) if !fields.iter().any(|f| m.contains_key(f)) => {
            Err(Refusal::new(path, Reason::Required))
        }
        Rule::AtMostOne(fields) if fields.iter().filter(present).count() > 1 => {
            Err(Refusal::new(path, Reason::Forbidden))
        }
        Rule::When { field, test, needs, fields } => {
            let holds = match test {
                Test::Present => is_set(m, field),
                Test::Missing => !is_set(m, field),
                Test::Is(value) => m.get(field).and_then(Value::as_str) == Some(value),
            };
            let wrong = fields.iter().find(|f| if *needs { !is_set(m, f) } else { m.contains_key(f) });
            match wrong {
                Some(field) if holds && *needs => refuse(path, field, Reason::Required),
                Some(field) if holds => refuse(path, field, Reason::Forbidden),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
