//! Expressions of a policy, part by part: what each part sees, and what of it means something else
//! on another release.
//!
//! In: checked expressions, and what the names in them stand for. Out: [`Found`], a text with the
//! place for each part whose meaning depends on the release. A part without such a text gives the
//! same value on both: then only costs differ.

use std::collections::HashMap;
use std::sync::Arc;

use ephor_cel::ast::{ACCUMULATOR, Shape};
use ephor_cel::check::{Typed, TypedFold, TypedKind};
use ephor_cel::types::Type;
use ephor_functions::LevelRules;
use ephor_kubernetes::defaults;
use ephor_kubernetes::release::stored_since;
use ephor_kubernetes::schema::{TypeDef, Types};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::seen::{Form, Scalar, Seen, changed_field};

/// Two releases: the older one and the newer one.
#[derive(Clone, Copy)]
pub(super) struct Releases {
    /// Their names.
    pub of: [Release; 2],
    /// The fields that they know.
    pub types: [&'static Types; 2],
    /// What their CEL does.
    pub level: [&'static LevelRules; 2],
    /// Whether only the newer one shows objects of built-in kinds with their types.
    pub shows_types: bool,
}

impl Releases {
    fn newer(&self) -> Release {
        self.of[1]
    }

    /// Whether a field of a type is known, stored, or filled in by one of both alone.
    pub fn changed(&self, of: &str, field: &str) -> bool {
        let [old, new] = self.of;
        let has = |types: &Types| types.named(of).is_some_and(|def| def.field(field).is_some());
        let default = |release| defaults::constant_of(of, field, release);
        has(self.types[0]) != has(self.types[1])
            || stored_since(of, field).is_some_and(|since| old < since && since <= new)
            || default(old) != default(new)
    }

    /// Whether a field of this name is so in any type that both have: what only one has stands
    /// below such a field.
    fn may_change(&self, field: &str) -> bool {
        let [old, new] = self.types;
        let is_old = |def: &Arc<TypeDef>| old.named(&def.name).is_some();
        let has = |def: &Arc<TypeDef>| {
            let fields = [old, new].map(|types| types.named(&def.name).and_then(|def| def.field(field)));
            fields.iter().any(Option::is_some)
        };
        new.all().any(|def| is_old(def) && has(def) && self.changed(&def.name, field))
    }
}

/// A part of an expression that means something else.
pub(super) struct Found {
    /// The part.
    pub part: Typed,
    /// What differs.
    pub text: String,
}

/// Walks expressions.
pub(super) struct Walk<'w> {
    pub releases: Releases,
    /// What names stand for; those of loops come and go.
    pub names: Vec<(Str, Seen)>,
    /// What the composed variables give, and whether that is an optional value.
    pub variables: &'w HashMap<Str, (Seen, bool)>,
    pub found: Vec<Found>,
}

impl Walk<'_> {
    /// What a part sees; what differs in it is noted.
    pub fn seen(&mut self, t: &Typed) -> Seen {
        match &t.kind {
            TypedKind::Const(value) => Seen::Scalar(match value {
                Value::Null => Scalar::Null,
                Value::Str(_) => Scalar::Text,
                Value::Int(_) => Scalar::Whole,
                _ => Scalar::Other,
            }),
            TypedKind::Variable(name) => self.name(name),
            TypedKind::TypeName(..) => Seen::Scalar(Scalar::Other),
            TypedKind::Select { operand, field, test } => {
                if let TypedKind::Variable(name) = &operand.kind
                    && &**name == "variables"
                {
                    return self.variables.get(field).map_or(Seen::Unknown, |(seen, _)| seen.clone());
                }
                let of = self.seen(operand);
                let seen = self.field(t, &of, field);
                if *test { Seen::Scalar(Scalar::Other) } else { seen }
            }
            TypedKind::Call { function, args, .. } => self.call(t, function, args),
            TypedKind::List { items, .. } => {
                let all = items.iter().map(|item| self.seen(item)).fold(Seen::Never, Seen::or);
                Seen::Made(Form::List, Box::new(all))
            }
            TypedKind::Map(entries) => {
                let mut all = Seen::Never;
                for entry in entries {
                    self.seen(&entry.key);
                    all = all.or(self.seen(&entry.value));
                }
                Seen::Made(Form::Map, Box::new(all))
            }
            TypedKind::Struct { name, fields } => {
                for field in fields {
                    let seen = self.seen(&field.value);
                    if &**name == "JSONPatch" && self.releases.shows_types && seen.has_view() {
                        let newer = self.releases.newer();
                        let is_sure = !matches!(seen, Seen::Unknown);
                        self.note(&field.value, format!(
                            "{} a structure, list or map of an object, which {newer} does not take for the value of a patch",
                            if is_sure { "is" } else { "may be" },
                        ));
                    }
                }
                Seen::Made(Form::Map, Box::new(Seen::Never))
            }
            TypedKind::Fold(fold) => self.fold(fold),
        }
    }

    fn note(&mut self, part: &Typed, text: String) {
        self.found.push(Found { part: part.clone(), text });
    }

    fn name(&self, name: &str) -> Seen {
        let known = self.names.iter().rev().find(|(known, _)| **known == *name);
        known.map_or(Seen::Unknown, |(_, seen)| seen.clone())
    }

    /// A field of a value.
    fn field(&mut self, t: &Typed, of: &Seen, name: &str) -> Seen {
        match of {
            Seen::Struct(defs) => defs.iter().fold(Seen::Never, |all, def| {
                self.release_of_field(t, def, name);
                let ty = def.field(name).map(|field| &field.ty);
                // A field that is in no release is an error in both.
                all.or(ty.map_or(Seen::Never, |ty| Seen::of(ty, self.releases.types[1])))
            }),
            Seen::Known(fields) => {
                let found = fields.iter().find(|(known, _)| *known == name);
                found.map_or(Seen::Never, |(_, field)| Seen::of_known(*field))
            }
            Seen::Unknown => {
                if self.releases.may_change(name) {
                    let [old, new] = self.releases.of;
                    self.note(t, format!("may read a field `{name}` that {old} and {new} treat differently"));
                }
                Seen::Unknown
            }
            other => other.items(),
        }
    }

    /// Notes that all fields of a structure count, where one of them is not the same.
    fn all_fields(&mut self, t: &Typed, of: &Seen) {
        let Seen::Struct(defs) = of else { return };
        let [old, new] = self.releases.of;
        let changed = |def: &Arc<TypeDef>| {
            let field = def.fields.iter().find(|field| self.releases.changed(&def.name, &field.name))?;
            Some(format!("reads all fields, of which {old} and {new} treat `{}` differently", field.name))
        };
        let texts: Vec<String> = defs.iter().filter_map(changed).collect();
        texts.into_iter().for_each(|text| self.note(t, text));
    }

    /// Notes a field that only one release knows, or for which one has another default.
    fn release_of_field(&mut self, t: &Typed, def: &TypeDef, name: &str) {
        let [older, newer] = self.releases.types;
        let has = |types: &Types| types.named(&def.name).is_some_and(|def| def.field(name).is_some());
        let [old, new] = self.releases.of;
        match (has(older), has(newer)) {
            (false, true) => self.note(t, format!("reads `{name}`, which {old} drops and {new} knows")),
            (true, false) => self.note(t, format!("reads `{name}`, which {old} knows and {new} drops")),
            (true, true)
                if stored_since(&def.name, name).is_some_and(|since| old < since && since <= new) =>
            {
                self.note(t, format!("reads `{name}`, of which {old} does not keep all that {new} does"));
            }
            _ => {}
        }
        let default = |release| defaults::constant_of(&def.name, name, release);
        match (default(old), default(new)) {
            (before, now) if before == now => {}
            (_, Some(now)) => {
                let now = ephor_value::print::json(now);
                self.note(t, format!("reads `{name}`, for which {new} has the default {now}"));
            }
            (_, None) => self.note(t, format!("reads `{name}`, for which {new} has no default any more")),
        }
    }

    fn fold(&mut self, fold: &TypedFold) -> Seen {
        let range = self.seen(&fold.range);
        self.all_fields(&fold.range, &range);
        let before = self.names.len();
        let init = self.seen(&fold.init);
        if fold.shape == Shape::Bind {
            let name = fold.var2.clone().unwrap_or_else(|| fold.var.clone());
            self.names.push((ACCUMULATOR.into(), init.clone()));
            self.names.push((name, init));
            let result = self.seen(&fold.result);
            self.names.truncate(before);
            return result;
        }
        let key = || match &fold.range.ty {
            // Keys of what an expression made may be no texts.
            _ if matches!(range, Seen::Map(_) | Seen::Struct(_) | Seen::Known(_)) => {
                Seen::Scalar(Scalar::Text)
            }
            Type::Map(key, _) => of_type(key),
            _ => Seen::Scalar(Scalar::Other),
        };
        let is_map = matches!(range, Seen::Map(_) | Seen::Struct(_) | Seen::Known(_))
            || matches!(fold.range.ty, Type::Map(..));
        match &fold.var2 {
            Some(second) => {
                let first = match &range {
                    _ if is_map => key(),
                    Seen::Unknown | Seen::Tree | Seen::Made(..) => Seen::Scalar(Scalar::Other),
                    _ => Seen::Scalar(Scalar::Whole),
                };
                self.names.push((fold.var.clone(), first));
                self.names.push((second.clone(), range.items()));
            }
            None => self.names.push((fold.var.clone(), if is_map { key() } else { range.items() })),
        }
        // What a round makes of the accumulator, until it stays the same kind of thing.
        self.names.push((ACCUMULATOR.into(), init.clone()));
        let step = self.seen(&fold.step);
        let all = init.or(step);
        if let Some(last) = self.names.last_mut() {
            last.1 = all.clone();
        }
        let result = self.seen(&fold.result);
        self.names.truncate(before);
        match fold.shape {
            Shape::All | Shape::Exists | Shape::ExistsOne => Seen::Scalar(Scalar::Other),
            Shape::List | Shape::Map | Shape::Entries | Shape::Bind => result,
        }
    }

    fn call(&mut self, t: &Typed, function: &str, args: &[Typed]) -> Seen {
        let seen: Vec<Seen> = args.iter().map(|arg| self.seen(arg)).collect();
        let at = |i: usize| seen.get(i).cloned().unwrap_or(Seen::Unknown);
        self.of_level(t, (function, args), &seen);
        match self.releases.shows_types {
            true => self.of_views(t, function, args, &seen),
            false => self.of_trees(t, function, &seen),
        }
        match (function, args) {
            ("@in" | "_in_", [Typed { kind: TypedKind::Const(Value::Str(key)), .. }, _]) => {
                let key = key.clone();
                self.field(t, &at(1), &key);
            }
            ("_[_]" | "_[?_]", [_, Typed { kind: TypedKind::Const(Value::Str(_)), .. }]) => {}
            ("@in" | "_in_" | "_[_]" | "_[?_]" | "size", _) => {
                seen.iter().for_each(|one| self.all_fields(t, one));
            }
            _ => {}
        }
        match (function, args) {
            (
                "dyn" | "optional.of" | "optional.ofNonZeroValue" | "value" | "reverse" | "sort" | "distinct",
                _,
            ) => passed_on(function, at(0)),
            ("slice" | "flatten", _) => Seen::Made(Form::List, Box::new(deep_items(at(0)))),
            ("first" | "last", _) => at(0).items(),
            ("optional.none", _) => Seen::Never,
            ("_?._", [_, Typed { kind: TypedKind::Const(Value::Str(field)), .. }]) => {
                let field = field.clone();
                self.field(t, &at(0), &field)
            }
            ("_[_]" | "_[?_]", [_, key]) => match (&at(0), &key.kind) {
                (of @ (Seen::Struct(_) | Seen::Known(_)), TypedKind::Const(Value::Str(field))) => {
                    let field = field.clone();
                    self.field(t, of, &field)
                }
                (of, _) => of.items(),
            },
            ("_?:_" | "_?_:_", _) => at(1).or(at(2)),
            ("or" | "orValue", _) => at(0).or(at(1)),
            ("_+_", _) if is_scalar(&t.ty) => of_type(&t.ty),
            ("_+_", _) => match (at(0), at(1)) {
                (a @ Seen::Scalar(_), b @ Seen::Scalar(_)) => a.or(b),
                // Where one is empty the sum is the other one itself.
                (a, b) if a.is_view() || b.is_view() => Seen::List(Box::new(a.items().or(b.items()))),
                (a, b) => Seen::Made(Form::List, Box::new(a.items().or(b.items()))),
            },
            ("cel.@mapInsert", _) => Seen::Made(
                Form::Map,
                Box::new(at(0).items().or(seen.last().cloned().unwrap_or(Seen::Unknown))),
            ),
            ("@sortByAssociatedKeys" | "@not_strictly_false", _) => at(0),
            _ if is_scalar(&t.ty) => of_type(&t.ty),
            _ if let Type::List(item) | Type::Map(_, item) = &t.ty
                && is_scalar(item) =>
            {
                Seen::Made(Form::Either, Box::new(of_type(item)))
            }
            // Functions give values of their own.
            _ if matches!(t.ty, Type::List(_) | Type::Map(..)) => {
                let all = seen.iter().map(deep_items_of).fold(Seen::Never, Seen::or);
                Seen::Made(Form::Either, Box::new(all.or(Seen::Scalar(Scalar::Other))))
            }
            _ if seen.iter().any(Seen::has_view) => Seen::Unknown,
            _ => Seen::Tree,
        }
    }

    /// Calls that compare structures where both releases show trees.
    fn of_trees(&mut self, t: &Typed, function: &str, seen: &[Seen]) {
        let compares = ["_==_", "_!=_", "@in", "_in_", "distinct", "indexOf", "lastIndexOf"];
        if compares.contains(&function) || function.starts_with("sets.") {
            let structures = seen.iter().find_map(|one| self.spelling_of_trees(one));
            structures.into_iter().for_each(|text| self.note(t, text));
        }
    }

    fn spelling_of_trees(&self, seen: &Seen) -> Option<String> {
        match seen {
            Seen::List(of) | Seen::Map(of) | Seen::Made(_, of) => self.spelling_of_trees(of),
            Seen::Struct(defs) => defs.iter().find_map(|def| {
                let field =
                    changed_field(def, self.releases.types[1], &|of, name| self.releases.changed(of, name))?;
                let [old, new] = self.releases.of;
                Some(format!("compares structures with `{field}`, which {old} and {new} treat differently"))
            }),
            _ => None,
        }
    }

    /// Calls that see types of objects.
    fn of_views(&mut self, t: &Typed, function: &str, args: &[Typed], seen: &[Seen]) {
        let [a, b] = [0, 1].map(|at| seen.get(at).cloned().unwrap_or(Seen::Never));
        match function {
            "_==_" | "_!=_" => {
                if let Some(text) = self.equality(&a, &b, function == "_!=_") {
                    self.note(t, text);
                }
            }
            "@in" | "_in_" => {
                let key = args.first().map(|arg| text_or_other(arg, &a));
                let text = match &b {
                    Seen::Map(_) | Seen::Struct(_) | Seen::Known(_) if key != Some(Scalar::Text) => {
                        Some("looks a key up that is no text: an error in".to_string() + &self.is_newer())
                    }
                    Seen::List(_) | Seen::Made(..) => {
                        self.equality(&a, &b.items(), true).or_else(|| self.equality(&b.items(), &a, true))
                    }
                    Seen::Unknown if a.has_view() || key != Some(Scalar::Text) => {
                        Some(self.unsure("looks a value up in what may have other types"))
                    }
                    _ => None,
                };
                text.into_iter().for_each(|text| self.note(t, text));
            }
            "_[_]" | "_[?_]" => {
                let key = args.get(1).map(|arg| text_or_other(arg, &b));
                let text = match (&a, key) {
                    (Seen::List(_), Some(Scalar::Whole)) => None,
                    (Seen::List(_), _) if function == "_[?_]" => None,
                    (Seen::Map(_) | Seen::Struct(_) | Seen::Known(_), Some(Scalar::Text)) => None,
                    (Seen::Unknown, Some(Scalar::Whole | Scalar::Text)) => None,
                    (Seen::List(_) | Seen::Map(_) | Seen::Struct(_) | Seen::Known(_) | Seen::Unknown, _) => {
                        Some(self.unsure("reads with an index of another type"))
                    }
                    _ => None,
                };
                text.into_iter().for_each(|text| self.note(t, text));
            }
            "optional.ofNonZeroValue" if a.is_view() => {
                let text = self.unsure("takes an empty structure of an object for a value");
                self.note(t, text);
            }
            "distinct" | "indexOf" | "lastIndexOf" | "sets.contains" | "sets.equivalent"
            | "sets.intersects"
                if seen.iter().any(|one| !matches!(one, Seen::Scalar(_))) =>
            {
                let other = if function == "distinct" { a.items() } else { b.clone() };
                let other = if function.starts_with("sets.") { b.items() } else { other };
                let own = a.items();
                let text = self.equality(&own, &other, true).or_else(|| self.equality(&other, &own, true));
                text.into_iter().for_each(|text| self.note(t, text));
            }
            _ => {}
        }
    }

    /// What differs where two values are compared; `is_open`: what has no overload counts as
    /// unequal, as in `!=` and inside of lists.
    fn equality(&self, a: &Seen, b: &Seen, is_open: bool) -> Option<String> {
        let types = self.releases.types[1];
        let is_alike = |seen: &Seen| matches!(seen, Seen::Never | Seen::Scalar(Scalar::Null));
        if is_alike(a) || is_alike(b) || !a.has_view() && !b.has_view() {
            return None;
        }
        match (a, b) {
            // Left of it a scalar is no other type.
            (Seen::Scalar(_), _) => None,
            (Seen::Unknown, Seen::Scalar(_)) => {
                (!is_open).then(|| self.unsure("compares what may be a structure with a scalar"))
            }
            (_, Seen::Scalar(_)) => {
                let text = || "compares a structure, list or map with a scalar: an error in".to_string();
                (!is_open).then(|| text() + &self.is_newer())
            }
            (Seen::Unknown, _) | (_, Seen::Unknown) => {
                Some(self.unsure("compares what may be structures of objects"))
            }
            (Seen::Struct(own), Seen::Struct(its)) if is_one(own, its) => self.spelling(a, types),
            (Seen::Known(own), Seen::Known(its)) if std::ptr::eq(*own, *its) => None,
            (Seen::List(own), Seen::List(its)) | (Seen::Map(own), Seen::Map(its)) => {
                self.equality(own, its, true).or_else(|| self.spelling(own, types))
            }
            (Seen::List(own), Seen::Made(Form::List, its)) | (Seen::Map(own), Seen::Made(Form::Map, its)) => {
                self.equality(own, its, true)
            }
            // In what an expression made a structure and another type count as equal.
            (Seen::Made(_, own), Seen::List(its) | Seen::Map(its) | Seen::Made(_, its)) => {
                match own.has_view() {
                    true => Some(self.unsure("compares a list or map with parts of an object in it")),
                    false => self.equality(own, its, true),
                }
            }
            _ => Some(self.unsure("compares a structure of an object with a value of another type")),
        }
    }

    /// What is equal by meaning.
    fn spelling(&self, seen: &Seen, types: &Types) -> Option<String> {
        let newer = self.releases.newer();
        if seen.has_spellings(types) {
            return Some(format!(
                "compares structures with quantities, which {newer} takes by their amounts"
            ));
        }
        let Seen::Struct(defs) = seen else { return None };
        let def = defs.first()?;
        let field = changed_field(def, types, &|of, field| self.releases.changed(of, field))?;
        Some(format!("compares structures with `{field}`, which {newer} treats differently"))
    }

    fn is_newer(&self) -> String {
        format!(" {}", self.releases.newer())
    }

    fn unsure(&self, what: &str) -> String {
        format!("{what}, which means something else on {}", self.releases.newer())
    }

    /// Whether a value is optional: variables lose that in their declared type.
    fn is_optional(&self, t: &Typed) -> bool {
        match &t.kind {
            _ if t.ty.as_optional().is_some() => true,
            TypedKind::Select { operand, field, .. } => {
                matches!(&operand.kind, TypedKind::Variable(name) if &**name == "variables")
                    && self.variables.get(field).is_some_and(|(_, is_optional)| *is_optional)
            }
            TypedKind::Call { function, args, .. } if matches!(&**function, "or" | "_?:_" | "_?_:_") => {
                let branches =
                    if &**function == "or" { &args[..] } else { args.get(1..).unwrap_or_default() };
                branches.iter().all(|arg| self.is_optional(arg))
            }
            _ => false,
        }
    }

    /// Calls that another release of CEL evaluates differently.
    fn of_level(&mut self, t: &Typed, (function, args): (&str, &[Typed]), seen: &[Seen]) {
        let [old, new] = self.releases.level;
        let [_, newer] = self.releases.of;
        let constant = |at: usize| {
            args.get(at).and_then(|arg| match &arg.kind {
                TypedKind::Const(value) => Some(value.clone()),
                _ => None,
            })
        };
        let text = match function {
            "or" | "orValue"
                if old.wants_optionals != new.wants_optionals
                    && args.first().is_some_and(|arg| !self.is_optional(arg)) =>
            {
                Some(format!("calls `{function}` on what may be no optional value: an error in {newer}"))
            }
            "lists.range"
                if (old.refuses_negative_ranges, old.longest_range)
                    != (new.refuses_negative_ranges, new.longest_range)
                    && !matches!(constant(0), Some(Value::Int(0..=1_000_000))) =>
            {
                Some("makes a range whose length may be negative, or very large".into())
            }
            "duration" if old.has_integer_durations != new.has_integer_durations => {
                let is_text = args.first().is_some_and(|arg| matches!(arg.ty, Type::String | Type::Duration))
                    || matches!(seen.first(), Some(Seen::Scalar(Scalar::Text)));
                (!is_text).then(|| "makes a duration of what may be a number".into())
            }
            "_<_" | "_<=_" | "_>_" | "_>=_" if old.orders_nan != new.orders_nan => {
                let may_be = |arg: &Typed| {
                    matches!(arg.ty, Type::Double) && matches!(arg.kind, TypedKind::Call { .. })
                };
                args.iter().any(may_be).then(|| "orders what may be no number (NaN)".into())
            }
            "indexOf" | "lastIndexOf"
                if old.bounds_empty_indices != new.bounds_empty_indices && args.len() == 3 =>
            {
                let is_text = matches!(constant(1), Some(Value::Str(text)) if !text.is_empty());
                (!is_text && matches!(args.first().map(|a| &a.ty), Some(Type::String | Type::Dyn)))
                    .then(|| "looks for a text that may be empty".into())
            }
            "isInteger" | "asInteger"
                if old.has_whole_integer_quantities != new.has_whole_integer_quantities =>
            {
                Some(
                    "takes a quantity for an integer, which differs for the least and the greatest one"
                        .into(),
                )
            }
            _ => None,
        };
        text.into_iter().for_each(|text| self.note(t, text));
    }
}

/// Whether two structures are of the same type.
fn is_one(own: &[Arc<TypeDef>], its: &[Arc<TypeDef>]) -> bool {
    matches!((own, its), ([a], [b]) if a.name == b.name)
}

/// The kind of a key: the checker may know more than the schema.
fn text_or_other(arg: &Typed, seen: &Seen) -> Scalar {
    match (&arg.ty, seen) {
        (Type::String, _) => Scalar::Text,
        (Type::Int, _) => Scalar::Whole,
        (Type::Uint | Type::Double | Type::Bool, _) => Scalar::Other,
        (_, Seen::Scalar(scalar)) => *scalar,
        _ => Scalar::Other,
    }
}

fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::List(_)
        | Type::Map(..)
        | Type::Dyn
        | Type::Error
        | Type::Any
        | Type::Struct(_)
        | Type::Param(_) => false,
        // Optional values are what they hold.
        Type::Opaque(..) => ty.as_optional().is_none_or(is_scalar),
        _ => true,
    }
}

fn of_type(ty: &Type) -> Seen {
    Seen::Scalar(match ty {
        Type::String => Scalar::Text,
        Type::Int => Scalar::Whole,
        Type::Null => Scalar::Null,
        _ => Scalar::Other,
    })
}

/// The value of a function that gives what it gets, in a list of its own where it is one.
fn passed_on(function: &str, seen: Seen) -> Seen {
    match function {
        "reverse" | "sort" | "distinct" => Seen::Made(Form::List, Box::new(seen.items())),
        _ => seen,
    }
}

/// The items of a list of lists, or of a list.
fn deep_items(seen: Seen) -> Seen {
    let items = seen.items();
    match &items {
        Seen::List(_) | Seen::Made(..) => items.items(),
        _ => items,
    }
}

fn deep_items_of(seen: &Seen) -> Seen {
    match seen {
        Seen::Scalar(_) => seen.clone(),
        other => deep_items(other.clone()),
    }
}
