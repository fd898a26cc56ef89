//! What expressions read.

use crate::functions::Higher;
use crate::functions::registry::Operation;
use crate::ir::Expr;
use crate::ir::expr::Over;
use crate::ir::expressions::{Program, Variable};
use crate::ir::strict::{Comprehension, ComprehensionKind, Invoke, Make, Step as Walked, Walk};
use crate::value::Value;

use super::Untracked;
use super::seen::{One, Reader, Seen, composed, either};

type Found = Result<Seen, Untracked>;

/// What an expression is run with.
#[derive(Clone, Default)]
pub struct Around<'a> {
    /// The data.
    pub root: Seen,
    /// Values of binders, the innermost last.
    pub locals: Vec<Seen>,
    /// Values under names.
    pub variables: &'a [Variable],
}

impl<'a> Around<'a> {
    /// The data of a request, with values under names.
    pub fn request(variables: &'a [Variable]) -> Around<'a> {
        Around { root: vec![One::Root], locals: Vec::new(), variables }
    }

    fn with(&self, values: impl IntoIterator<Item = Seen>) -> Around<'a> {
        let mut inner = self.clone();
        inner.locals.extend(values);
        inner
    }
}

const NOTHING: Seen = Seen::new();

/// Longer chains of variables that read each other are given up.
const MOST_VARIABLES: usize = 64;

/// Policies with more nodes in their expressions are given up.
const MOST_NODES: u32 = 1 << 20;

/// Whether a value is a scalar: what it is compared with is then looked at in outline.
fn is_scalar(e: &Expr) -> bool {
    let v = match e {
        Expr::Const(v) => v,
        Expr::Folded(charged) => &charged.value,
        _ => return false,
    };
    !matches!(v, Value::List(_) | Value::Map(_))
}

impl Reader {
    /// What a program gives; one that does not compile gives the same text every time.
    pub fn program(&mut self, program: &Program, around: &Around<'_>) -> Found {
        program.as_ref().map_or(Ok(NOTHING), |expr| self.expr(expr, around))
    }

    /// A program whose result is a verdict.
    pub fn verdict(&mut self, program: &Program, around: &Around<'_>) -> Result<(), Untracked> {
        let seen = self.program(program, around)?;
        self.outline(&seen)
    }

    /// A program whose result is shown.
    pub fn told(&mut self, program: &Program, around: &Around<'_>) -> Result<(), Untracked> {
        let seen = self.program(program, around)?;
        self.consume(&seen)
    }

    /// What an expression gives.
    pub fn expr(&mut self, expr: &Expr, a: &Around<'_>) -> Found {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(Untracked);
        }
        match expr {
            Expr::Const(_) | Expr::Folded(_) => Ok(NOTHING),
            Expr::Root => Ok(a.root.clone()),
            Expr::Local(n) => {
                let at = a.locals.len().checked_sub(1 + *n as usize);
                at.and_then(|at| a.locals.get(at)).cloned().ok_or(Untracked)
            }
            Expr::Path { base, keys, .. } => {
                let mut seen = self.expr(base, a)?;
                for key in keys {
                    seen = self.key(&seen, key)?;
                }
                // Whether something is there decides about faults.
                self.outline(&seen)?;
                Ok(seen)
            }
            Expr::Index { base, .. } => {
                let base = self.expr(base, a)?;
                self.items(&base)
            }
            Expr::Slice { base, .. } => {
                let base = self.expr(base, a)?;
                composed(One::List(self.items(&base)?))
            }
            Expr::Let { value, body } => {
                let value = self.expr(value, a)?;
                self.expr(body, &a.with([value]))
            }
            Expr::Rescue { expr, .. } | Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => {
                self.expr(expr, a)
            }
            // What has a truth is a boolean, or empty or not.
            Expr::Not(operand) => {
                let seen = self.expr(operand, a)?;
                self.outline(&seen)?;
                Ok(NOTHING)
            }
            Expr::Or(sides) | Expr::And(sides) => {
                let left = self.expr(&sides[0], a)?;
                self.outline(&left)?;
                either(left, self.expr(&sides[1], a)?)
            }
            Expr::Compare { sides, .. } => self.compared(sides, a),
            Expr::Project { over, source, keep, body } => {
                self.project(*over, source, keep.as_deref(), body.as_deref(), a)
            }
            Expr::Flatten(e) => {
                let list = self.expr(e, a)?;
                composed(One::List(self.flat(&list)?))
            }
            Expr::List(items) => {
                let mut all = NOTHING;
                for e in items {
                    all = either(all, self.expr(e, a)?)?;
                }
                composed(One::List(all))
            }
            Expr::Object(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (k, e) in pairs {
                    entries.push((k.clone(), self.expr(e, a)?));
                }
                composed(One::Map(entries))
            }
            Expr::UnlessNull(pair) => {
                let subject = self.expr(&pair[0], a)?;
                self.outline(&subject)?;
                self.expr(&pair[1], a)
            }
            Expr::Call { function, args } => {
                if !function.is_pure() {
                    self.reads.external = true;
                }
                match function.operation() {
                    Some(Operation::Size) => self.counted(args, a),
                    Some(Operation::Keys) => {
                        for arg in args {
                            let seen = self.expr(arg, a)?;
                            self.names(&seen)?;
                        }
                        Ok(NOTHING)
                    }
                    _ => self.consumed(args, a),
                }
            }
            Expr::Higher { kind, function, args } => {
                if !function.is_pure() {
                    self.reads.external = true;
                }
                self.higher(*kind, args, a)
            }
            Expr::Lambda { .. } => Ok(NOTHING),
            Expr::Fail { args, .. } => self.consumed(args, a),
            Expr::Walk(walk) => self.walk(walk, a),
            Expr::Test(test) => {
                let base = self.walk(&test.walk, a)?;
                let found = self.key(&base, &test.key)?;
                self.outline(&found)?;
                Ok(NOTHING)
            }
            Expr::Cond(parts) => {
                let [condition, then, other] = &**parts;
                let condition = self.expr(condition, a)?;
                self.outline(&condition)?;
                either(self.expr(then, a)?, self.expr(other, a)?)
            }
            Expr::Decide { sides, .. } => {
                for side in &**sides {
                    let seen = self.expr(side, a)?;
                    self.outline(&seen)?;
                }
                Ok(NOTHING)
            }
            Expr::Variable(n) => self.variable(*n as usize, a),
            Expr::Invoke(invoke) => self.invoked(invoke, a),
            Expr::OneOf { value, .. } => {
                let seen = self.expr(value, a)?;
                self.outline(&seen)?;
                Ok(NOTHING)
            }
            Expr::Make(make) => self.made(make, a),
            Expr::Comprehension(l) => self.looped(l, a),
            Expr::Bind(parts) => {
                let value = self.expr(&parts[0], a)?;
                self.expr(&parts[1], &a.with([value]))
            }
            Expr::OrElse { sides, .. } => {
                let left = self.expr(&sides[0], a)?;
                self.outline(&left)?;
                either(left, self.expr(&sides[1], a)?)
            }
        }
    }

    /// A value under a name, which sees the earlier ones only.
    fn variable(&mut self, at: usize, a: &Around<'_>) -> Found {
        let variable = a.variables.get(at).ok_or(Untracked)?;
        let address = std::ptr::from_ref(variable).addr();
        if let Some(known) = self.variables.get(&address) {
            return Ok(known.clone());
        }
        if self.depth >= MOST_VARIABLES {
            return Err(Untracked);
        }
        let earlier = a.variables.get(..at).unwrap_or_default();
        let around = Around { root: a.root.clone(), locals: Vec::new(), variables: earlier };
        self.depth += 1;
        let seen = self.program(&variable.program, &around);
        self.depth -= 1;
        let seen = seen?;
        self.outline(&seen)?;
        self.variables.insert(address, seen.clone());
        Ok(seen)
    }

    fn project(
        &mut self,
        over: Over,
        source: &Expr,
        keep: Option<&Expr>,
        body: Option<&Expr>,
        a: &Around<'_>,
    ) -> Found {
        let source = self.expr(source, a)?;
        let items = self.items(&source)?;
        if over == Over::Values {
            // The body runs on null as well.
            self.outline(&items)?;
        }
        let inner = a.with([items.clone()]);
        if let Some(keep) = keep {
            let kept = self.expr(keep, &inner)?;
            self.outline(&kept)?;
        }
        let made = match body {
            Some(body) => self.expr(body, &inner)?,
            None => items,
        };
        self.outline(&made)?;
        composed(One::List(made))
    }

    fn looped(&mut self, l: &Comprehension, a: &Around<'_>) -> Found {
        let range = self.expr(&l.range, a)?;
        let items = self.items(&range)?;
        let bound = if l.two { vec![NOTHING, items] } else { vec![items] };
        let inner = a.with(bound);
        if let Some(keep) = &l.keep {
            let kept = self.expr(keep, &inner)?;
            self.outline(&kept)?;
        }
        let body = self.expr(&l.body, &inner)?;
        self.outline(&body)?;
        match l.kind {
            ComprehensionKind::All | ComprehensionKind::Exists | ComprehensionKind::One => Ok(NOTHING),
            ComprehensionKind::List => composed(One::List(body)),
            ComprehensionKind::Map | ComprehensionKind::Entries => {
                self.consume(&body)?;
                Ok(NOTHING)
            }
        }
    }

    fn compared(&mut self, sides: &[Expr; 2], a: &Around<'_>) -> Found {
        let (left, right) = (self.expr(&sides[0], a)?, self.expr(&sides[1], a)?);
        // Lists and objects are never equal to scalars, nor ordered with them.
        if is_scalar(&sides[0]) {
            self.outline(&right)?;
        } else if is_scalar(&sides[1]) {
            self.outline(&left)?;
        } else {
            self.consume(&left)?;
            self.consume(&right)?;
        }
        Ok(NOTHING)
    }

    /// What follows from all of some values.
    fn consumed(&mut self, args: &[Expr], a: &Around<'_>) -> Found {
        for arg in args {
            let seen = self.expr(arg, a)?;
            self.consume(&seen)?;
        }
        Ok(NOTHING)
    }

    /// What follows from how many items there are.
    fn counted(&mut self, args: &[Expr], a: &Around<'_>) -> Found {
        for arg in args {
            let seen = self.expr(arg, a)?;
            self.items(&seen)?;
        }
        Ok(NOTHING)
    }

    fn higher(&mut self, kind: Higher, args: &[Expr], a: &Around<'_>) -> Found {
        let mut items = NOTHING;
        for arg in args.iter().filter(|e| !matches!(e, Expr::Lambda { .. })) {
            let list = self.expr(arg, a)?;
            // Faults show what is no list.
            self.consume(&list)?;
            items = either(items, self.items(&list)?)?;
        }
        let mut bodies = NOTHING;
        for arg in args {
            if let Expr::Lambda { body, .. } = arg {
                bodies = either(bodies, self.expr(body, &a.with([items.clone()]))?)?;
            }
        }
        match kind {
            Higher::Map => {
                self.outline(&bodies)?;
                composed(One::List(bodies))
            }
            Higher::SortBy => {
                self.consume(&bodies)?;
                composed(One::List(items))
            }
            Higher::MaxBy | Higher::MinBy => {
                self.consume(&bodies)?;
                Ok(items)
            }
        }
    }

    fn walk(&mut self, walk: &Walk, a: &Around<'_>) -> Found {
        let mut seen = self.expr(&walk.base, a)?;
        for step in &walk.steps {
            seen = match step {
                Walked::Key { key: Value::Str(key), .. } => self.key(&seen, key)?,
                Walked::Key { .. } => self.items(&seen)?,
                Walked::Field(_) => return Err(Untracked),
                Walked::At { index, .. } => {
                    let index = self.expr(index, a)?;
                    self.consume(&index)?;
                    self.items(&seen)?
                }
            };
        }
        // Whether something is there decides about faults.
        self.outline(&seen)?;
        Ok(seen)
    }

    fn invoked(&mut self, invoke: &Invoke, a: &Around<'_>) -> Found {
        if !invoke.function.is_pure() {
            self.reads.external = true;
        }
        match (invoke.function.operation(), &*invoke.args) {
            (Some(Operation::Size), args) => self.counted(args, a),
            // What is added is a scalar, or a list of the items of both.
            (Some(Operation::Add), [one, other]) => {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                self.outline(&one)?;
                self.outline(&other)?;
                either(one, other)
            }
            (Some(Operation::Equal | Operation::Unequal), [one, other])
                if is_scalar(one) || is_scalar(other) =>
            {
                for side in [one, other] {
                    let seen = self.expr(side, a)?;
                    self.outline(&seen)?;
                }
                Ok(NOTHING)
            }
            (Some(Operation::Member), [one, list]) if is_scalar(one) => {
                let seen = self.expr(list, a)?;
                self.items(&seen)?;
                Ok(NOTHING)
            }
            (_, args) => self.consumed(args, a),
        }
    }

    fn made(&mut self, make: &Make, a: &Around<'_>) -> Found {
        match make {
            Make::List(items, _) => {
                let mut all = NOTHING;
                for e in items {
                    let item = self.expr(e, a)?;
                    // Items that may be missing are there or not.
                    self.outline(&item)?;
                    all = either(all, item)?;
                }
                composed(One::List(all))
            }
            Make::Map(entries) => {
                for (k, v, _) in entries {
                    let (key, value) = (self.expr(k, a)?, self.expr(v, a)?);
                    self.consume(&key)?;
                    self.consume(&value)?;
                }
                Ok(NOTHING)
            }
            Make::Struct(_, fields) => {
                for (_, v, _) in fields {
                    let value = self.expr(v, a)?;
                    self.consume(&value)?;
                }
                Ok(NOTHING)
            }
        }
    }
}
