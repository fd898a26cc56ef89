//! Checked trees → IR.
//!
//! In: a checked tree. Out: an expression of strict nodes, or the fault of a part that lowering
//! computes: literals, conversions of literals, constant regular expressions. What is computed here
//! costs nothing later, as in the reference.

use ephor_functions::cel::{self as library, Call, operation};
use ephor_functions::registry::{Constants, Dispatch, Operation, Run};
use ephor_functions::{Context, regex};
use ephor_ir::Expr;
use ephor_ir::expr::{
    Comprehension, ComprehensionKind, Guard, Invoke, Known, Make, Missing, Step, Test, Walk,
};
use ephor_ir::strict::map_of;
use ephor_ir::walk::bottom_up;
use ephor_value::object::is_mutation;
use ephor_value::{Fault, Map, Object, Str, Value};

use super::ast::Shape;
use super::check::{Typed, TypedFold, TypedKind};
use super::env::{Env, Overload};
use super::types::Type;

/// What makes an expression impossible to plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// A type that is unknown.
    #[error("reference to undefined type: {0}")]
    UnknownType(Str),
    /// A key of this type.
    #[error("invalid qualifier type: {0}")]
    Qualifier(Box<str>),
    /// A function that is unknown.
    #[error("no such function: {0}")]
    UnknownFunction(Str),
    /// A regular expression that cannot be read; the words are those of its compiler.
    #[error("{0}")]
    Pattern(Box<str>),
    /// A constant part that has no value.
    #[error("{}", .0.cel_text())]
    Constant(#[source] Fault),
    /// A loop without a step.
    #[error("a loop without a step")]
    NoStep,
    /// A step without its parts.
    #[error("a step without its parts")]
    NoParts,
    /// A list without its item.
    #[error("a list without its item")]
    NoItem,
}

type Lowered = Result<Expr, Impossible>;

/// Lowers a checked tree.
///
/// # Errors
/// See [`Impossible`].
pub fn lower(typed: &Typed, env: &Env, cx: &Context) -> Lowered {
    Lowering { cx, env, scope: Vec::new(), declared: Vec::new() }.node(typed)
}

/// Lowers a part of a checked tree that is inside of binders with these names, outermost first.
///
/// # Errors
/// As [`lower`].
pub fn lower_in(typed: &Typed, env: &Env, cx: &Context, scope: &[Str]) -> Lowered {
    Lowering { cx, env, scope: scope.to_vec(), declared: Vec::new() }.node(typed)
}

struct Lowering<'c> {
    cx: &'c Context,
    env: &'c Env,
    /// The names of enclosing binders, outermost first.
    scope: Vec<Str>,
    /// Those of them that stand for items of what a schema declares.
    declared: Vec<usize>,
}

impl Lowering<'_> {
    fn node(&mut self, t: &Typed) -> Lowered {
        match &t.kind {
            TypedKind::Const(v) => Ok(Expr::Const(v.clone())),
            // What has the type of types is taken for the name of one.
            TypedKind::Variable(name) if matches!(t.ty, Type::Type(_)) => {
                Err(Impossible::UnknownType(name.clone()))
            }
            TypedKind::Variable(name) => Ok(walk(self.variable(name), true)),
            TypedKind::TypeName(ty, name) => {
                if !is_value(ty, name) {
                    return Err(Impossible::UnknownType(name.clone()));
                }
                let name = ty.formal();
                let bare = name.split('(').next().unwrap_or_default();
                Ok(Expr::Const(Value::object(Object::Type(bare.into()))))
            }
            TypedKind::Select { operand, field, test: false } => {
                let of_mutation = matches!(&operand.ty, Type::Struct(name) if is_mutation(name));
                let operand = self.node(operand)?;
                if of_mutation {
                    return Ok(step(operand, Step::Field(field.clone())));
                }
                Ok(step(operand, Step::Key { key: Value::Str(field.clone()), optional: false }))
            }
            TypedKind::Select { operand, field, test: true } => {
                let walk = uncharged(self.node(operand)?);
                Ok(Expr::Test(Box::new(Test { walk, key: field.clone() })))
            }
            TypedKind::Call { function, args, member, overloads } => {
                self.call(function, args, *member, overloads)
            }
            TypedKind::List { items, optional } => {
                let items = self.all(items)?;
                match constants(&items).filter(|_| optional.is_empty()) {
                    Some(values) => Ok(Expr::Const(Value::list(values))),
                    None => Ok(make(Make::List(items.into(), optional.clone().into()))),
                }
            }
            TypedKind::Map(entries) => {
                let mut lowered = Vec::with_capacity(entries.len());
                for e in entries {
                    lowered.push((self.node(&e.key)?, self.node(&e.value)?, e.optional));
                }
                let known: Option<Vec<(Value, Value)>> = lowered
                    .iter()
                    .map(|(k, v, optional)| match (k, v) {
                        (Expr::Const(k), Expr::Const(v)) if !optional => Some((k.clone(), v.clone())),
                        _ => None,
                    })
                    .collect();
                Ok(match known {
                    Some(entries) => Expr::Const(map_of(entries)),
                    None => make(Make::Map(lowered.into())),
                })
            }
            TypedKind::Struct { name, fields } => {
                let mut lowered = Vec::with_capacity(fields.len());
                for f in fields {
                    lowered.push((f.key.clone(), self.node(&f.value)?, f.optional));
                }
                Ok(make(Make::Struct(name.clone(), lowered.into())))
            }
            TypedKind::Fold(fold) => self.fold(fold),
        }
    }

    fn all(&mut self, items: &[Typed]) -> Result<Vec<Expr>, Impossible> {
        items.iter().map(|i| self.node(i)).collect()
    }

    fn variable(&self, name: &Str) -> Expr {
        match self.scope.iter().rev().position(|n| n == name) {
            Some(n) => Expr::Local(u32::try_from(n).unwrap_or(u32::MAX)),
            None => Expr::Path {
                base: Box::new(Expr::Root),
                keys: Box::new([name.clone()]),
                scalar: Missing::Fault,
            },
        }
    }

    fn call(&mut self, function: &Str, args: &[Typed], member: bool, overloads: &[usize]) -> Lowered {
        let types = args;
        let one_form = overloads.len() == 1;
        let form = self.form(function, overloads);
        let walked = form.is_some_and(|f| match f.params.get(1) {
            Some(Type::String) => true,
            Some(Type::List(_)) => &**function == "@in",
            _ => false,
        });
        let guards = form.map(|form| self.guards(function, form, args)).unwrap_or_default();
        let mut lowered = self.all(args)?.into_iter();
        let mut next = || lowered.next().unwrap_or(Expr::Const(Value::Null));
        match (&**function, member) {
            ("_&&_", _) => return Ok(Expr::Decide { all: true, sides: Box::new([next(), next()]) }),
            ("_||_", _) => return Ok(Expr::Decide { all: false, sides: Box::new([next(), next()]) }),
            ("_?_:_", _) => {
                let condition = next();
                let rereads = self.cx.cel_level.rules().rereads_branches;
                let side = |expr: Expr| match branch(expr) {
                    call @ (Expr::Invoke(_) | Expr::Bind(_) | Expr::OrElse { .. }) if rereads => reread(call),
                    other => other,
                };
                let [then, other] = [side(next()), side(next())];
                return Ok(Expr::Cond(Box::new([condition, then, other])));
            }
            ("_[_]" | "_[?_]" | "_?._", _) => {
                let optional = &**function != "_[_]";
                let base = next();
                return Ok(step(
                    base,
                    match next() {
                        Expr::Const(key) if is_key(&key) => Step::Key { key, optional },
                        Expr::Const(key) => {
                            return Err(Impossible::Qualifier(library::go_type(&key).to_string().into()));
                        }
                        index => Step::At { index: branch(index), optional },
                    },
                ));
            }
            ("or" | "orValue", true) => {
                let unwrap = &**function == "orValue";
                return Ok(Expr::OrElse { sides: Box::new([next(), next()]), unwrap, eager: false });
            }
            ("orValue", false) if args.len() == 2 && self.cx.cel_level.rules().has_global_or_value => {
                return Ok(Expr::OrElse { sides: Box::new([next(), next()]), unwrap: true, eager: true });
            }
            _ => {}
        }
        let args: Vec<Expr> = lowered.collect();
        if &**function == "@in"
            && one_form
            && let Some(expr) = membership(&args)
        {
            return Ok(expr);
        }
        let of_text = types.first().is_some_and(|t| t.ty == Type::String);
        let declared = types.first().is_some_and(|t| self.is_declared(t));
        let function = match &**function {
            "reverse" if of_text => "@reverseText",
            "format" if self.env.late_strings => "@formatPlainly",
            "indexOf" if self.env.late_strings => "@indexOfWithin",
            "lastIndexOf" if self.env.late_strings => "@lastIndexOfWithin",
            // What a schema declares is never empty to it.
            "optional.ofNonZeroValue" if declared && !is_scalar(types.first()) => "optional.of",
            "_==_" if declared => "@equalsDeclared",
            "_!=_" if declared => "@differsFromDeclared",
            other => other,
        };
        // The sum of nothing has the type of the list.
        let function = match types {
            [list] if function == "sum" && one_form => {
                let item = list.ty.parameters().first().map(|t| t.formal()).unwrap_or_default();
                library::sum_of(&item)
            }
            _ => function,
        };
        let Some(function) = library::find(function).filter(|f| matches!(f.run, Run::Strict(_))) else {
            return Err(Impossible::UnknownFunction(function.into()));
        };
        // Of additions and orders only those of texts cost by their size.
        let by_size = !function.operation.is_sum_or_order()
            || types.iter().any(|a| matches!(a.ty, Type::String | Type::Bytes));
        let one_form = one_form && by_size;
        let mut known = Known { one_form, member, prepared: false, walked };
        if function.constants == Constants::Converted
            && let [Expr::Const(v)] = &args[..]
        {
            let call = Call { args: &[v], known, cx: self.cx };
            match library::call(function, &call) {
                Ok(value) => return Ok(Expr::Const(value)),
                Err(_) if self.env.late_faults => {}
                Err(fault) => return Err(Impossible::Constant(fault)),
            }
        }
        if let Constants::Pattern { late } = function.constants
            && let Some(Expr::Const(Value::Str(pattern))) = args.get(1)
        {
            match regex::compiled(pattern) {
                Ok(_) => known.prepared = args.len() == 2,
                Err(_) if self.env.late_faults && late => {}
                Err(e) => return Err(Impossible::Pattern(e.to_string().into())),
            }
        }
        Ok(Expr::Invoke(Box::new(Invoke { function, args: args.into(), known, guards })))
    }

    /// The one form of a function that fits.
    fn form(&self, function: &str, overloads: &[usize]) -> Option<&Overload> {
        let forms = self.env.functions.get(function)?;
        let [one] = overloads else { return None };
        forms.get(*one)
    }

    /// What the arguments of a form have to be when they are there. Arguments whose types are sure
    /// need no guards, nor do those of functions that have one overload only: their bodies check
    /// the types.
    fn guards(&self, function: &str, form: &Overload, args: &[Typed]) -> Box<[Guard]> {
        let forms = self.env.functions.get(function).map(Vec::as_slice).unwrap_or_default();
        let is_like = |f: &&Overload| f.member == form.member && f.params.len() == form.params.len();
        let alone = forms.iter().filter(is_like).count() < 2;
        let surely = alone || args.iter().all(|a| self.is_sure(a));
        let row = library::find(function);
        // A constant pattern is matched by another body.
        let searches = row.is_some_and(|f| f.constants == Constants::Pattern { late: false })
            && !matches!(args.get(1).map(|a| &a.kind), Some(TypedKind::Const(_)));
        if row.is_some_and(|f| f.dispatch == Dispatch::Operator) || surely && !searches {
            return Box::default();
        }
        let guards: Box<[Guard]> = form.params.iter().map(guard).collect();
        if guards.iter().all(|g| *g == Guard::Any) { Box::default() } else { guards }
    }

    /// Whether a part's value comes from a variable whose type a schema declares, as it is.
    fn is_declared(&self, t: &Typed) -> bool {
        match &t.kind {
            TypedKind::Variable(name) => match self.scope.iter().rposition(|n| n == name) {
                Some(at) => self.declared.contains(&at),
                None => self.env.declared.iter().any(|(n, _)| n == name),
            },
            TypedKind::Select { operand, test: false, .. } => self.is_declared(operand),
            TypedKind::Call { function, args, .. } => match operation(function) {
                Some(Operation::Choose) => args.iter().skip(1).all(|a| self.is_declared(a)),
                Some(Operation::Index | Operation::Add | Operation::Unchanged) => {
                    args.first().is_some_and(|a| self.is_declared(a))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a part surely has the type that the checker gave it: where a type was found by what
    /// an unknown met first, it need not.
    fn is_sure(&self, t: &Typed) -> bool {
        match &t.kind {
            TypedKind::Const(_) => true,
            TypedKind::Call { function, overloads, .. } => {
                self.form(function, overloads).is_some_and(|form| form.type_params.is_empty())
            }
            // The host gives times of namespaces as texts.
            TypedKind::Select { operand, test, .. } => {
                *test || matches!(operand.ty, Type::Struct(_)) && t.ty != Type::Timestamp
            }
            TypedKind::Variable(name) => !self.scope.contains(name),
            _ => false,
        }
    }

    fn fold(&mut self, fold: &TypedFold) -> Lowered {
        let depth = self.scope.len();
        if fold.shape == Shape::Bind {
            let name = fold.var2.as_ref().unwrap_or(&fold.var);
            // A value that no part reads is never computed.
            let is_read = mentions(&fold.result, name);
            let value = if is_read { self.node(&fold.init)? } else { Expr::Const(Value::Null) };
            self.scope.push(fold.var2.clone().unwrap_or_else(|| fold.var.clone()));
            let body = self.node(&fold.result);
            self.scope.truncate(depth);
            return Ok(Expr::Bind(Box::new([value, body?])));
        }
        let range = self.node(&fold.range)?;
        self.scope.push(fold.var.clone());
        self.scope.extend(fold.var2.clone());
        let known = self.declared.len();
        if self.is_declared(&fold.range) {
            self.declared.push(self.scope.len() - 1);
        }
        let parts = self.parts(fold);
        self.scope.truncate(depth);
        self.declared.truncate(known);
        let (kind, keep, body, wraps) = parts?;
        let two = fold.var2.is_some();
        Ok(Expr::Comprehension(Box::new(Comprehension {
            kind,
            range,
            two,
            keep,
            body,
            wraps,
            item_keys: Default::default(),
        })))
    }

    /// The arguments of the macro, taken out of the step of its expansion.
    fn parts(
        &mut self,
        fold: &TypedFold,
    ) -> Result<(ComprehensionKind, Option<Expr>, Expr, bool), Impossible> {
        let TypedKind::Call { args, .. } = &fold.step.kind else {
            return Err(Impossible::NoStep);
        };
        let arg = |args: &[Typed], at: usize| args.get(at).cloned().ok_or(Impossible::NoParts);
        let simple = match fold.shape {
            Shape::All => Some((ComprehensionKind::All, 1)),
            Shape::Exists => Some((ComprehensionKind::Exists, 1)),
            Shape::ExistsOne => Some((ComprehensionKind::One, 0)),
            _ => None,
        };
        if let Some((kind, at)) = simple {
            return Ok((kind, None, self.node(&arg(args, at)?)?, false));
        }
        let filtered = matches!(&fold.step.kind, TypedKind::Call { function, .. } if &**function == "_?_:_");
        let keep = if filtered { Some(self.node(&arg(args, 0)?)?) } else { None };
        let step = if filtered { arg(args, 1)? } else { fold.step.clone() };
        let TypedKind::Call { args, .. } = &step.kind else { return Err(Impossible::NoStep) };
        match fold.shape {
            Shape::List => {
                let TypedKind::List { items, .. } = &arg(args, 1)?.kind else {
                    return Err(Impossible::NoItem);
                };
                let body = self.node(&arg(items, 0)?)?;
                let wraps = !matches!(body, Expr::Const(_));
                Ok((ComprehensionKind::List, keep, body, wraps))
            }
            Shape::Map => Ok((ComprehensionKind::Map, keep, self.node(&arg(args, 2)?)?, false)),
            _ => Ok((ComprehensionKind::Entries, keep, self.node(&arg(args, 1)?)?, false)),
        }
    }
}

/// Whether a part has a type without items or fields.
fn is_scalar(t: Option<&Typed>) -> bool {
    !t.is_some_and(|t| matches!(t.ty, Type::List(_) | Type::Map(..) | Type::Struct(_)))
}

/// What a parameter requires of its argument.
fn guard(param: &Type) -> Guard {
    match param {
        Type::List(item) => Guard::List(Box::new(guard(item))),
        Type::Map(..) => Guard::Kind("map".into()),
        Type::Bool | Type::Int | Type::Uint | Type::Double | Type::String | Type::Bytes => {
            Guard::Kind(param.formal().into())
        }
        Type::Timestamp | Type::Duration => Guard::Kind(param.formal().into()),
        Type::Opaque(name, _) if name.starts_with("kubernetes.") || name.starts_with("net.") => {
            Guard::Kind(name.clone())
        }
        _ => Guard::Any,
    }
}

/// Whether a type's name is a value.
fn is_value(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Struct(name) => &**name == "google.protobuf.Empty",
        Type::Timestamp | Type::Duration => name.starts_with("google.protobuf."),
        _ => !name.starts_with("google.protobuf."),
    }
}

/// Whether a constant can be a key or a position.
fn is_key(v: &Value) -> bool {
    matches!(v, Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Str(_))
}

/// Whether a name occurs in a tree.
fn mentions(t: &Typed, name: &Str) -> bool {
    let any = |items: &[Typed]| items.iter().any(|i| mentions(i, name));
    match &t.kind {
        TypedKind::Variable(n) => n == name,
        TypedKind::Const(_) | TypedKind::TypeName(..) => false,
        TypedKind::Select { operand, .. } => mentions(operand, name),
        TypedKind::Call { args, .. } => any(args),
        TypedKind::List { items, .. } => any(items),
        TypedKind::Map(entries) => entries.iter().any(|e| mentions(&e.key, name) || mentions(&e.value, name)),
        TypedKind::Struct { fields, .. } => fields.iter().any(|f| mentions(&f.value, name)),
        TypedKind::Fold(f) => [&f.range, &f.init, &f.step, &f.result].into_iter().any(|p| mentions(p, name)),
    }
}

/// A value as the host's, read anew.
fn reread(value: Expr) -> Expr {
    let known = Known { one_form: true, member: false, prepared: true, walked: false };
    match library::find("@reread") {
        Some(function) => {
            let guards = Box::default();
            Expr::Invoke(Box::new(Invoke { function, args: Box::new([value]), known, guards }))
        }
        None => value,
    }
}

fn walk(base: Expr, has_cost: bool) -> Expr {
    Expr::Walk(Box::new(Walk { base, steps: Box::default(), has_cost }))
}

fn make(make: Make) -> Expr {
    Expr::Make(Box::new(make))
}

/// One more step; a choice takes it in both branches.
fn step(base: Expr, last: Step) -> Expr {
    match base {
        Expr::Walk(mut walk) => {
            let mut steps = std::mem::take(&mut walk.steps).into_vec();
            steps.push(last);
            walk.steps = steps.into();
            Expr::Walk(walk)
        }
        Expr::Cond(parts) => {
            let [condition, then, other] = *parts;
            let [then, other] = [step(branch_walk(then), last.clone()), step(branch_walk(other), last)];
            Expr::Cond(Box::new([condition, then, other]))
        }
        base => Expr::Walk(Box::new(Walk { base, steps: Box::new([last]), has_cost: true })),
    }
}

/// As a branch of a choice or as an index, the read itself costs nothing.
fn branch(expr: Expr) -> Expr {
    match expr {
        Expr::Walk(mut walk) => {
            walk.has_cost = false;
            Expr::Walk(walk)
        }
        other => other,
    }
}

fn branch_walk(expr: Expr) -> Expr {
    match expr {
        Expr::Walk(_) | Expr::Cond(_) => branch(expr),
        other => walk(other, false),
    }
}

fn uncharged(expr: Expr) -> Walk {
    match branch_walk(expr) {
        Expr::Walk(walk) => *walk,
        other => Walk { base: other, steps: Box::default(), has_cost: false },
    }
}

fn constants(items: &[Expr]) -> Option<Vec<Value>> {
    let value = |e: &Expr| match e {
        Expr::Const(v) => Some(v.clone()),
        _ => None,
    };
    items.iter().map(value).collect()
}

/// `x in [literals]`, where all literals are scalars.
fn membership(args: &[Expr]) -> Option<Expr> {
    let [value, Expr::Const(Value::List(items))] = args else { return None };
    if items.is_empty() {
        return Some(Expr::Const(Value::Bool(false)));
    }
    let is_scalar = |v: &Value| {
        matches!(v, Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Str(_))
    };
    let set: Box<[Value]> = items.iter().cloned().collect();
    items.iter().all(is_scalar).then(|| Expr::OneOf { value: Box::new(value.clone()), set })
}

/// Replaces the reading of `variables.x` by the value's position among `names`.
pub fn with_variables(expr: Expr, names: &[Str]) -> Expr {
    let position = |name: &Str| {
        let at = names.iter().rposition(|n| n == name)?;
        u32::try_from(at).ok()
    };
    let in_place = |walk: Walk| match walk.steps.first() {
        Some(Step::Key { key: Value::Str(key), .. }) if is_variables(&walk.base) => match position(key) {
            Some(at) => {
                let steps = walk.steps.into_vec().into_iter().skip(1).collect();
                Walk { base: Expr::Variable(at), steps, has_cost: walk.has_cost }
            }
            None => walk,
        },
        _ => walk,
    };
    let placed = bottom_up(expr, &mut |e| match e {
        Expr::Walk(walk) => Expr::Walk(Box::new(in_place(*walk))),
        Expr::Test(test) => {
            let Test { walk, key } = *test;
            match position(&key).filter(|_| walk.steps.is_empty() && is_variables(&walk.base)) {
                // `has(variables.x)` computes the value.
                Some(at) => Expr::Let {
                    value: Box::new(self::walk(Expr::Variable(at), walk.has_cost)),
                    body: Box::new(Expr::Const(Value::Bool(true))),
                },
                None => Expr::Test(Box::new(Test { walk: in_place(walk), key })),
            }
        }
        other => other,
    });
    // What is left of them is something, whatever it holds: `variables == null` is false.
    bottom_up(placed, &mut |e| if is_variables(&e) { Expr::Const(Value::Map(Map::new())) } else { e })
}

fn is_variables(expr: &Expr) -> bool {
    matches!(expr, Expr::Path { base, keys, .. }
        if matches!(**base, Expr::Root) && matches!(&**keys, [k] if &**k == "variables"))
}
