//! What expressions read.

use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::expr::Over;
use ephor_ir::expressions::{Program, Variable};
use ephor_ir::strict::{Comprehension, ComprehensionKind, Make, Step as Walked, Walk};
use ephor_value::{Map, Value};

use crate::reads::abstract_value::{AbstractValue, ValueSet, composed, either};
use crate::reads::comparisons::By;
use crate::reads::expected_type::ExpectedType;
use crate::reads::footprint::Untracked;
use crate::reads::reader::Reader;

pub(crate) type Found = Result<ValueSet, Untracked>;

/// What an expression is run with.
#[derive(Clone, Default)]
pub struct AbstractEnv<'a> {
    /// The data.
    pub root: ValueSet,
    /// Values of binders, the innermost last.
    pub locals: Vec<ValueSet>,
    /// Composed variables.
    pub variables: &'a [Variable],
}

impl<'a> AbstractEnv<'a> {
    /// The data of a request, with composed variables.
    pub fn request(variables: &'a [Variable]) -> AbstractEnv<'a> {
        AbstractEnv { root: vec![AbstractValue::Root], locals: Vec::new(), variables }
    }

    pub(crate) fn with(&self, values: impl IntoIterator<Item = ValueSet>) -> AbstractEnv<'a> {
        let mut inner = self.clone();
        inner.locals.extend(values);
        inner
    }
}

pub(crate) const NOTHING: ValueSet = ValueSet::new();

/// Longer chains of variables that read each other are given up.
const MAX_VARIABLES: usize = 64;

/// Policies with more nodes in their expressions are given up.
const MAX_NODES: u32 = 1 << 20;

/// Whether a value is a scalar: what it is compared with is then read by its shape.
pub(crate) fn is_scalar(e: &Expr) -> bool {
    e.constant().is_some_and(|v| !matches!(v, Value::List(_) | Value::Map(_)))
}

/// Whether an expression is a list or map without items.
pub(crate) fn is_empty(e: &Expr) -> bool {
    match e.constant() {
        Some(Value::List(list)) => list.is_empty(),
        Some(Value::Map(map)) => map.is_empty(),
        _ => matches!(e, Expr::Make(make) if matches!(&**make, Make::List(items, _) if items.is_empty())),
    }
}

/// The type that is expected of a value in whose place there may be another one.
fn like(other: &Expr) -> ExpectedType {
    match other.constant() {
        Some(Value::List(_)) => ExpectedType::LIST,
        Some(Value::Map(_)) => ExpectedType::MAP,
        None if is_empty(other) => ExpectedType::LIST,
        _ => ExpectedType::NONE,
    }
}

/// The type that is expected of a value that is one of some constants.
pub(crate) fn of_set(set: &[Value]) -> ExpectedType {
    let is_scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_));
    if set.iter().all(is_scalar) { ExpectedType::SCALAR } else { ExpectedType::ANY }
}

impl Reader {
    /// What a program gives; one that does not compile gives the same text every time.
    pub fn program(&mut self, program: &Program, env: &AbstractEnv<'_>) -> Found {
        program.as_ref().map_or(Ok(NOTHING), |expr| self.expr(expr, env))
    }

    /// A program whose result is a verdict.
    pub fn verdict(&mut self, program: &Program, env: &AbstractEnv<'_>) -> Result<(), Untracked> {
        let values = self.program(program, env)?;
        self.truth(&values)
    }

    /// Something depends on whether a value is true.
    pub(crate) fn truth(&mut self, values: &ValueSet) -> Result<(), Untracked> {
        self.look_for(values, ExpectedType::SCALAR);
        self.read_shape(values)
    }

    /// A program whose result is printed.
    pub fn read_result(&mut self, program: &Program, env: &AbstractEnv<'_>) -> Result<(), Untracked> {
        let values = self.program(program, env)?;
        self.consume(&values)
    }

    /// What an expression gives.
    pub fn expr(&mut self, expr: &Expr, a: &AbstractEnv<'_>) -> Found {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Untracked);
        }
        match expr {
            Expr::Const(value) => Ok(self.constant(value)),
            Expr::Folded(folded) => Ok(self.constant(&folded.value)),
            Expr::Root => Ok(a.root.clone()),
            Expr::Local(n) => {
                let at = a.locals.len().checked_sub(1 + *n as usize);
                at.and_then(|at| a.locals.get(at)).cloned().ok_or(Untracked)
            }
            Expr::Path { base, keys, .. } => {
                let mut values = self.expr(base, a)?;
                for key in keys {
                    values = self.key(&values, key)?;
                }
                // Whether something is there decides about faults.
                self.read_shape(&values)?;
                Ok(values)
            }
            Expr::Index { base, index } => {
                let base = self.expr(base, a)?;
                self.item_at(&base, *index)
            }
            Expr::Slice { base, .. } => {
                let base = self.expr(base, a)?;
                self.look_for(&base, ExpectedType::LIST);
                composed(AbstractValue::List(self.items(&base)?))
            }
            Expr::Let { value, body } => self.bound(value, body, a),
            Expr::Rescue { expr, .. } | Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => {
                self.expr(expr, a)
            }
            // What has a truth is a boolean, or empty or not.
            Expr::Not(operand) => {
                let values = self.expr(operand, a)?;
                self.truth(&values)?;
                Ok(NOTHING)
            }
            Expr::Or(sides) | Expr::And(sides) | Expr::OrElse { sides, .. } => {
                let left = self.expr(&sides[0], a)?;
                self.read_shape(&left)?;
                self.look_for(&left, like(&sides[1]));
                either(left, self.expr(&sides[1], a)?)
            }
            Expr::Compare { sides, .. } => self.compared(sides, a),
            Expr::Project { over, source, keep, body } => {
                self.project(*over, source, keep.as_deref(), body.as_deref(), a)
            }
            Expr::Flatten(e) => {
                let list = self.expr(e, a)?;
                let are_lists = matches!(**e, Expr::Project { .. });
                composed(AbstractValue::List(self.flat(&list, are_lists)?))
            }
            Expr::List(items) => {
                let mut all = NOTHING;
                for e in items {
                    all = either(all, self.expr(e, a)?)?;
                }
                composed(AbstractValue::List(all))
            }
            Expr::Object(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (k, e) in pairs {
                    entries.push((k.clone(), self.expr(e, a)?));
                }
                composed(AbstractValue::Map(entries))
            }
            Expr::UnlessNull(pair) => {
                let subject = self.expr(&pair[0], a)?;
                self.read_shape(&subject)?;
                self.expr(&pair[1], a)
            }
            Expr::Call { function, args } => {
                if !function.is_pure() {
                    self.reads.external = true;
                }
                match function.operation {
                    Operation::Size => self.counted(args, a),
                    Operation::Keys => {
                        let mut all = NOTHING;
                        for arg in args {
                            let values = self.expr(arg, a)?;
                            all = either(all, self.names(&values)?)?;
                        }
                        Ok(all)
                    }
                    operation => self.called(operation, args, a),
                }
            }
            Expr::Higher { kind, function, args } => {
                if !function.is_pure() {
                    self.reads.external = true;
                }
                self.higher(*kind, args, a)
            }
            Expr::Lambda { .. } => Ok(self.computed()),
            // It gives no value.
            Expr::Fail { args, .. } => self.consumed(args, a).map(|_| NOTHING),
            Expr::Walk(walk) => self.walk(walk, a),
            Expr::Test(test) => {
                let base = self.walk(&test.walk, a)?;
                let found = self.key(&base, &test.key)?;
                self.read_shape(&found)?;
                Ok(NOTHING)
            }
            Expr::Cond(parts) => {
                let [condition, then, other] = &**parts;
                let condition = self.expr(condition, a)?;
                self.truth(&condition)?;
                let (first, second) = (self.expr(then, a)?, self.expr(other, a)?);
                self.look_for(&first, like(other));
                self.look_for(&second, like(then));
                either(first, second)
            }
            Expr::Decide { sides, .. } => {
                for side in &**sides {
                    let values = self.expr(side, a)?;
                    self.truth(&values)?;
                }
                Ok(NOTHING)
            }
            Expr::Variable(n) => self.variable(*n as usize, a),
            Expr::Invoke(invoke) => self.invoked(invoke, a),
            Expr::OneOf { value, set } => {
                let values = self.expr(value, a)?;
                self.read_shape(&values)?;
                self.look_for(&values, of_set(set));
                if self.tests.is_some() {
                    let set = self.constant(&Value::list(set.to_vec()));
                    self.test(&values, &set, By::Function(Operation::Member));
                }
                Ok(NOTHING)
            }
            Expr::Make(make) => self.literal(make, a),
            Expr::Comprehension(l) => self.looped(l, a),
            Expr::Bind(parts) => self.bound(&parts[0], &parts[1], a),
        }
    }

    fn bound(&mut self, value: &Expr, body: &Expr, a: &AbstractEnv<'_>) -> Found {
        let value = self.expr(value, a)?;
        self.expr(body, &a.with([value]))
    }

    /// A value under a name, which sees the earlier ones only.
    fn variable(&mut self, at: usize, a: &AbstractEnv<'_>) -> Found {
        let variable = a.variables.get(at).ok_or(Untracked)?;
        let address = std::ptr::from_ref(variable).addr();
        if let Some(known) = self.variables.get(&address) {
            return Ok(known.clone());
        }
        if self.depth >= MAX_VARIABLES {
            return Err(Untracked);
        }
        let earlier = a.variables.get(..at).unwrap_or_default();
        let env = AbstractEnv { root: a.root.clone(), locals: Vec::new(), variables: earlier };
        self.depth += 1;
        let values = self.program(&variable.program, &env);
        self.depth -= 1;
        let values = values?;
        self.read_shape(&values)?;
        self.variables.insert(address, values.clone());
        Ok(values)
    }

    fn project(
        &mut self,
        over: Over,
        source: &Expr,
        keep: Option<&Expr>,
        body: Option<&Expr>,
        a: &AbstractEnv<'_>,
    ) -> Found {
        let source = self.expr(source, a)?;
        self.look_for(&source, if over == Over::Values { ExpectedType::MAP } else { ExpectedType::LIST });
        let items = self.items(&source)?;
        if over == Over::Values {
            // The body runs on null as well.
            self.read_shape(&items)?;
        }
        let inner = a.with([items.clone()]);
        if let Some(keep) = keep {
            let condition = self.expr(keep, &inner)?;
            self.truth(&condition)?;
        }
        let made = match body {
            Some(body) => self.expr(body, &inner)?,
            None => items,
        };
        self.read_shape(&made)?;
        composed(AbstractValue::List(made))
    }

    fn looped(&mut self, l: &Comprehension, a: &AbstractEnv<'_>) -> Found {
        let range = self.expr(&l.range, a)?;
        self.look_for(&range, ExpectedType::MEMBERS);
        let items = self.items(&range)?;
        let bound = if l.two { vec![self.computed(), items] } else { vec![items] };
        let inner = a.with(bound);
        if let Some(keep) = &l.keep {
            let condition = self.expr(keep, &inner)?;
            self.truth(&condition)?;
        }
        let body = self.expr(&l.body, &inner)?;
        self.read_shape(&body)?;
        match l.kind {
            ComprehensionKind::All | ComprehensionKind::Exists | ComprehensionKind::One => {
                self.look_for(&body, ExpectedType::SCALAR);
                Ok(NOTHING)
            }
            ComprehensionKind::List => composed(AbstractValue::List(body)),
            ComprehensionKind::Map | ComprehensionKind::Entries => {
                self.consume(&body)?;
                Ok(self.computed())
            }
        }
    }

    fn compared(&mut self, sides: &[Expr; 2], a: &AbstractEnv<'_>) -> Found {
        let (left, right) = (self.expr(&sides[0], a)?, self.expr(&sides[1], a)?);
        // Lists and objects are never equal to scalars, nor ordered with them.
        if is_scalar(&sides[0]) {
            self.truth(&right)?;
        } else if is_scalar(&sides[1]) {
            self.truth(&left)?;
        } else {
            self.read_compared(&left, &right)?;
        }
        self.test(&left, &right, By::Function(Operation::Equal));
        Ok(NOTHING)
    }

    fn walk(&mut self, walk: &Walk, a: &AbstractEnv<'_>) -> Found {
        let mut values = self.expr(&walk.base, a)?;
        for step in &walk.steps {
            values = match step {
                Walked::Key { key: Value::Str(key), .. } => self.key(&values, key)?,
                Walked::Key { key: Value::Int(at), .. } => self.item_at(&values, *at)?,
                Walked::Key { .. } => {
                    self.look_for(&values, ExpectedType::ANY);
                    self.items(&values)?
                }
                Walked::Field(_) => return Err(Untracked),
                Walked::At { index, .. } if matches!(index.constant(), Some(Value::Int(_))) => {
                    let at = index.constant().and_then(Value::as_int).unwrap_or_default();
                    self.item_at(&values, at)?
                }
                Walked::At { index, .. } => {
                    let index = self.expr(index, a)?;
                    if let Some(found) = self.looked_up(&values, &index)? {
                        values = found;
                        continue;
                    }
                    self.consume(&index)?;
                    self.look_for(&values, ExpectedType::MEMBERS);
                    self.items(&values)?
                }
            };
        }
        // Whether something is there decides about faults.
        self.read_shape(&values)?;
        Ok(values)
    }

    fn literal(&mut self, make: &Make, a: &AbstractEnv<'_>) -> Found {
        match make {
            Make::List(items, _) => {
                let mut all = NOTHING;
                for e in items {
                    let item = self.expr(e, a)?;
                    // Items that may be missing are there or not.
                    self.read_shape(&item)?;
                    all = either(all, item)?;
                }
                composed(AbstractValue::List(all))
            }
            Make::Map(entries) => {
                let constant = |(k, v, _): &(Expr, Expr, _)| {
                    Some((k.constant()?.as_str()?.into(), v.constant()?.clone()))
                };
                if let Some(map) = entries.iter().map(constant).collect::<Option<Map>>()
                    && self.tests.is_some()
                {
                    return Ok(vec![AbstractValue::Constant(Value::Map(map))]);
                }
                for (k, v, _) in entries {
                    let (key, value) = (self.expr(k, a)?, self.expr(v, a)?);
                    self.consume(&key)?;
                    self.consume(&value)?;
                }
                Ok(self.computed())
            }
            Make::Struct(_, fields) => {
                for (_, v, _) in fields {
                    let value = self.expr(v, a)?;
                    self.consume(&value)?;
                }
                Ok(self.computed())
            }
        }
    }
}
