//! What expressions write: `Object` literals, which are merged, and lists of `JSONPatch` literals.
//!
//! In: the expression of a mutation. Out: the places that its literals name, where their values are
//! constants. Conditional expressions and optional fields decide which of them are written.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::rule::{BindingSource, QuerySource};
use ephor_ir::strict::Make;
use ephor_kubernetes::schema::{ListKind, Whole};
use ephor_value::{Object, Str, Value};

use crate::effects::writes::model::{Done, PlaceType, WriteCollector, Written};
use crate::model::field_types::Resolved;
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

impl<'r> WriteCollector<'r> {
    /// What an expression is without what changes nothing, unless it is nested too deeply.
    pub(crate) fn shallow(&self, expr: &'r Expr, depth: usize) -> Result<&'r Expr, Unsupported> {
        if depth > MAX_WRITE_DEPTH { Err(Unsupported::TooDeep) } else { Ok(self.plain(expr)) }
    }

    /// What an expression is without what changes nothing.
    pub(crate) fn plain(&self, expr: &'r Expr) -> &'r Expr {
        let mut expr = expr;
        for _ in 0..MAX_WRITE_DEPTH {
            expr = match expr {
                Expr::Walk(walk) if walk.steps.is_empty() => &walk.base,
                Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => expr,
                Expr::Invoke(_) => match expr.invoked() {
                    Some((Operation::Unchanged, [one])) => one,
                    _ => return expr,
                },
                Expr::Variable(n) => {
                    match self.variables.get(*n as usize).map(|variable| &variable.program) {
                        Some(Ok(program)) => program,
                        _ => return expr,
                    }
                }
                Expr::Path { base, keys, .. } if self.is_document => match (&**base, &**keys) {
                    (Expr::Root, [name]) => match self.binding(name) {
                        Some(expr) => expr,
                        None => return expr,
                    },
                    _ => return expr,
                },
                _ => return expr,
            };
        }
        expr
    }

    /// The query that an entry of the context is, whatever it gives.
    fn binding(&self, name: &Str) -> Option<&'r Expr> {
        let mut all = self.bindings.iter().filter(|binding| binding.name == *name);
        match (&all.next()?.source, all.next()) {
            (
                BindingSource::Variable {
                    value: None,
                    query: Some(QuerySource::Ready(query)),
                    default: None,
                    ..
                },
                None,
            ) => query.expr.as_ref().ok(),
            _ => None,
        }
    }

    /// Both parts of a conditional expression.
    pub(crate) fn either(
        &mut self,
        parts: &'r [Expr; 3],
        mut write: impl FnMut(&mut Self, &'r Expr) -> Done,
    ) -> Done {
        let [condition, then, other] = parts;
        self.condition(condition)?;
        write(self, then)?;
        write(self, other)
    }

    /// An `Object` literal, which is merged.
    pub(crate) fn applied(&mut self, expr: &'r Expr, at: PlaceType<'r>, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        if let Expr::Cond(parts) = expr {
            return self.either(parts, |own, part| own.applied(part, at, depth + 1));
        }
        if let Resolved::List(kind, _) = at.resolved(self.types) {
            if *kind != ListKind::Atomic {
                return match (expr, expr.constant()) {
                    (_, Some(Value::List(items))) => self.applied_items(items, at, depth + 1),
                    (Expr::Make(make), None) => match &**make {
                        Make::List(items, optional) if optional.is_empty() => {
                            self.made_items(items, at, depth + 1)
                        }
                        _ => Err(Unsupported::ItemsChanged),
                    },
                    _ => self.each(expr, at, depth + 1),
                };
            }
            self.is_constant(expr, depth + 1)?;
            self.add(Written::WholeList);
            return Ok(());
        }
        let is_whole = self.is_whole(at);
        if let Some(value) = expr.constant() {
            return self.applied_value(value, at, is_whole, depth);
        }
        let make = match expr {
            Expr::Make(make) => make,
            Expr::Comprehension(l) => return self.made_entries(l, at),
            _ => return self.copy(expr),
        };
        let fields = match &**make {
            Make::Struct(_, fields) => {
                fields.iter().map(|(key, value, is)| (Some(key.clone()), value, *is)).collect()
            }
            Make::Map(entries) => {
                let key = |key: &'r Expr| self.plain(key).constant().and_then(Value::as_str).map(Str::from);
                entries.iter().map(|(name, value, is)| (key(name), value, *is)).collect::<Vec<_>>()
            }
            // The schema knows no list there.
            Make::List(..) => {
                self.is_constant(expr, depth + 1)?;
                self.add(Written::WholeList);
                return Ok(());
            }
        };
        if depth > 0 {
            self.add(if is_whole { Written::Whole } else { Written::Shape });
        }
        for (key, value, is_optional) in fields {
            let Some(key) = key else { return Err(Unsupported::Computed) };
            let at = at.field(self.types, &key);
            self.below(&key, |own| match is_optional {
                true => own.optional(value, at, depth + 1),
                false => own.applied(value, at, depth + 1),
            })?;
        }
        Ok(())
    }

    /// Whether what is merged there takes the place of all that is.
    pub(crate) fn is_whole(&self, at: PlaceType<'r>) -> bool {
        matches!(
            at.resolved(self.types),
            Resolved::Object(_, Whole::Atomic) | Resolved::Map(_, Whole::Atomic)
        )
    }

    /// A constant `Object` literal, or what is in one.
    pub(crate) fn applied_value(
        &mut self,
        value: &Value,
        at: PlaceType<'r>,
        is_whole: bool,
        depth: usize,
    ) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        let fields = match value {
            Value::Map(map) => map,
            Value::Object(object) => match &**object {
                Object::Struct(_, fields) => fields,
                _ => return Err(Unsupported::Computed),
            },
            Value::List(items) => {
                if let Resolved::List(kind, _) = at.resolved(self.types)
                    && *kind != ListKind::Atomic
                {
                    return self.applied_items(items, at, depth + 1);
                }
                self.add(Written::WholeList);
                return Ok(());
            }
            scalar => return self.scalar(scalar),
        };
        if depth > 0 {
            self.add(if is_whole { Written::Whole } else { Written::Shape });
        }
        fields.iter().try_for_each(|(key, value)| {
            let at = at.field(self.types, key);
            let is_whole = self.is_whole(at);
            self.below(key, |own| own.applied_value(value, at, is_whole, depth + 1))
        })
    }

    /// A field that may be left out.
    pub(crate) fn optional(&mut self, expr: &'r Expr, at: PlaceType<'r>, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        match expr {
            Expr::Cond(parts) => self.either(parts, |own, part| own.optional(part, at, depth + 1)),
            Expr::Invoke(call) => match (call.function.operation, &*call.args) {
                (Operation::OptionalNone, []) => Ok(()),
                (Operation::OptionalOf, [value]) => self.applied(value, at, depth + 1),
                _ => self.optional_copy(expr),
            },
            _ => match expr.constant() {
                Some(Value::Object(object)) => match &**object {
                    Object::Optional(None) => Ok(()),
                    Object::Optional(Some(value)) => self.applied_value(value, at, false, depth + 1),
                    _ => Err(Unsupported::Computed),
                },
                Some(_) => Err(Unsupported::Computed),
                None => self.optional_copy(expr),
            },
        }
    }

    /// Whether a value is the same for all objects, but for conditions and for values that are
    /// copied into it.
    fn is_constant(&mut self, expr: &'r Expr, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        if expr.constant().is_some() {
            return Ok(());
        }
        match expr {
            Expr::Cond(parts) => self.either(parts, |own, part| own.is_constant(part, depth + 1)),
            Expr::Make(make) => match &**make {
                Make::List(items, optional) if optional.is_empty() => {
                    items.iter().try_for_each(|item| self.is_constant(item, depth + 1))
                }
                Make::Map(entries) if entries.iter().all(|(.., is_optional)| !is_optional) => {
                    entries.iter().try_for_each(|(key, value, _)| {
                        self.plain(key).constant().ok_or(Unsupported::Computed)?;
                        self.is_constant(value, depth + 1)
                    })
                }
                Make::Struct(_, fields) if fields.iter().all(|(.., is_optional)| !is_optional) => {
                    fields.iter().try_for_each(|(_, value, _)| self.is_constant(value, depth + 1))
                }
                _ => Err(Unsupported::Computed),
            },
            _ => self.copied(expr),
        }
    }

    /// A list of `JSONPatch` literals.
    pub(crate) fn operations(&mut self, expr: &'r Expr, at: PlaceType<'r>, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        match expr {
            Expr::Cond(parts) => self.either(parts, |own, part| own.operations(part, at, depth + 1)),
            Expr::Make(make) => match &**make {
                Make::List(items, optional) if optional.is_empty() => {
                    items.iter().try_for_each(|item| self.operation(item, at, depth + 1))
                }
                _ => Err(Unsupported::Computed),
            },
            Expr::Invoke(call) => match (call.function.operation, &*call.args) {
                (Operation::Add, parts) => {
                    parts.iter().try_for_each(|part| self.operations(part, at, depth + 1))
                }
                (Operation::Flatten, [lists]) => self.operations(lists, at, depth + 1),
                _ => Err(Unsupported::Computed),
            },
            Expr::Comprehension(l) => self.operations_of_items(l, at, depth + 1),
            _ => match expr.constant() {
                Some(Value::List(items)) => {
                    items.iter().try_for_each(|item| self.constant_operation(item, at))
                }
                _ => Err(Unsupported::Computed),
            },
        }
    }

    pub(crate) fn operation(&mut self, expr: &'r Expr, at: PlaceType<'r>, depth: usize) -> Done {
        let expr = self.shallow(expr, depth)?;
        match expr {
            Expr::Cond(parts) => self.either(parts, |own, part| own.operation(part, at, depth + 1)),
            Expr::Make(make) => {
                let Make::Struct(_, fields) = &**make else { return Err(Unsupported::Computed) };
                let field = |name: &str| {
                    let mut own = fields.iter().filter(|(key, ..)| **key == *name);
                    own.next().filter(|(.., is_optional)| !is_optional).map(|(_, value, _)| value)
                };
                let text = |name: &str| {
                    field(name).map(|value| {
                        self.plain(value).constant().and_then(Value::as_str).ok_or(Unsupported::Computed)
                    })
                };
                let op = text("op").ok_or(Unsupported::Computed)??;
                let (at, path) = match self.loops.is_empty() {
                    true => (at, text("path").ok_or(Unsupported::Computed)??.to_string()),
                    false => (at, self.path_in_item(field("path").ok_or(Unsupported::Computed)?)?),
                };
                let path = &*path;
                match op {
                    "remove" if self.positioned.is_some() => Err(Unsupported::ItemsChanged),
                    "remove" => self.at_path(path, at, false, |own| {
                        own.add(Written::Shape);
                        Ok(())
                    }),
                    "add" | "replace" => {
                        let Some(value) = field("value") else { return Err(Unsupported::Computed) };
                        let value = self.plain(value);
                        self.at_path(path, at, op == "add", |own| own.written(value, depth + 1))
                    }
                    _ => Err(Unsupported::Computed),
                }
            }
            _ => match expr.constant() {
                Some(value) => self.constant_operation(value, at),
                None => Err(Unsupported::Computed),
            },
        }
    }

    fn constant_operation(&mut self, item: &Value, at: PlaceType<'r>) -> Done {
        if !self.loops.is_empty() {
            // It does the same for each item.
            return Err(Unsupported::ItemsChanged);
        }
        let Value::Object(object) = item else { return Err(Unsupported::Computed) };
        let Object::Struct(_, fields) = &**object else { return Err(Unsupported::Computed) };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).ok_or(Unsupported::Computed);
        match text("op")? {
            "remove" => self.at_path(text("path")?, at, false, |own| {
                own.add(Written::Shape);
                Ok(())
            }),
            op @ ("add" | "replace") => {
                let Some(value) = fields.get("value") else { return Err(Unsupported::Computed) };
                self.at_path(text("path")?, at, op == "add", |own| own.literal(value))
            }
            _ => Err(Unsupported::Computed),
        }
    }

    /// The value of an operation.
    fn written(&mut self, value: &'r Expr, depth: usize) -> Done {
        if let Some(value) = value.constant() {
            return self.literal(value);
        }
        if let Expr::Cond(parts) = value {
            return self.either(parts, |own, part| {
                let part = own.plain(part);
                own.written(part, depth + 1)
            });
        }
        if !matches!(value, Expr::Make(_)) {
            return self.copy(value);
        }
        self.is_constant(value, depth)?;
        match value {
            Expr::Make(make) if matches!(&**make, Make::List(..)) => self.add(Written::WholeList),
            other => {
                self.add(Written::Whole);
                self.lists_of(other, depth);
            }
        }
        Ok(())
    }

    /// The lists in an object that is put together.
    fn lists_of(&mut self, expr: &'r Expr, depth: usize) {
        if depth > MAX_WRITE_DEPTH {
            return;
        }
        let expr = self.plain(expr);
        let mut fields: Vec<(Str, &'r Expr)> = Vec::new();
        match expr {
            Expr::Cond(parts) => parts.iter().skip(1).for_each(|part| self.lists_of(part, depth + 1)),
            Expr::Make(make) => match &**make {
                Make::Struct(_, own) => fields.extend(own.iter().map(|(key, value, _)| (key.clone(), value))),
                Make::Map(entries) => {
                    for (key, value, _) in entries {
                        let key = self.plain(key).constant().and_then(Value::as_str).map(Str::from);
                        fields.extend(key.map(|key| (key, value)));
                    }
                }
                Make::List(..) => self.add(Written::WholeList),
            },
            other => {
                if let Some(Value::Map(map)) = other.constant() {
                    self.lists_in(map);
                } else if let Some(Value::List(_)) = other.constant() {
                    self.add(Written::WholeList);
                } else {
                    self.found.inside.insert(self.path.clone());
                }
            }
        }
        for (key, value) in fields {
            self.path.push(Step::Key(key));
            self.lists_of(value, depth + 1);
            self.path.pop();
        }
    }

    /// A constant of CEL in the place of all that is there.
    fn literal(&mut self, value: &Value) -> Done {
        match value {
            Value::Object(object) => match &**object {
                Object::Struct(_, fields) => self.constant(&Value::Map(fields.clone())),
                _ => Err(Unsupported::Computed),
            },
            other => self.constant(other),
        }
    }
}
