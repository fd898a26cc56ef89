//! What expressions read.

use ephor_functions::Higher;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::expr::Over;
use ephor_ir::expressions::{Program, Variable};
use ephor_ir::rule::INPUTS;
use ephor_ir::strict::{Comprehension, ComprehensionKind, Invoke, Make, Step as Walked, Walk};
use ephor_value::{Map, Object, Str, Value};

use super::texts::{TextStep, step_of};
use crate::reads::abstract_value::{AbstractValue, ValueSet, composed, either};
use crate::reads::comparisons::By;
use crate::reads::expected_type::ExpectedType;
use crate::reads::footprint::{Step, Untracked};
use crate::reads::reader::Reader;

type Found = Result<ValueSet, Untracked>;

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

    fn with(&self, values: impl IntoIterator<Item = ValueSet>) -> AbstractEnv<'a> {
        let mut inner = self.clone();
        inner.locals.extend(values);
        inner
    }
}

/// Functions of two values whose result is known by what one is and the other is compared with.
const TESTS: [&str; 18] = [
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "@in",
    "_in_",
    "startsWith",
    "endsWith",
    "contains",
    "matches",
    "starts_with",
    "ends_with",
    "regex_match",
    "compareTo",
    "isLessThan",
    "isGreaterThan",
];

/// Functions that write a value in another way.
const SAME: [&str; 11] = [
    "dyn",
    "string",
    "int",
    "double",
    "quantity",
    "isQuantity",
    "duration",
    "optional.of",
    "value",
    "to_number",
    "to_string",
];

/// Those of them that not every text has a value for.
const NUMBERS: [&str; 6] = ["int", "double", "quantity", "isQuantity", "duration", "to_number"];

const NOTHING: ValueSet = ValueSet::new();

/// Longer chains of variables that read each other are given up.
const MAX_VARIABLES: usize = 64;

/// Policies with more nodes in their expressions are given up.
const MAX_NODES: u32 = 1 << 20;

/// Whether a value is a scalar: what it is compared with is then read by its shape.
fn is_scalar(e: &Expr) -> bool {
    e.constant().is_some_and(|v| !matches!(v, Value::List(_) | Value::Map(_)))
}

/// Whether an expression is a list or map without items.
fn is_empty(e: &Expr) -> bool {
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

/// Whether an expression is the text of a value.
fn is_printed(e: &Expr) -> bool {
    let name = match e {
        Expr::Call { function, .. } => function.name,
        Expr::Invoke(invoke) => invoke.function.name,
        _ => return false,
    };
    matches!(name, "string" | "to_string")
}

/// The object and the key of `contains(keys(object), 'key')`: whether an object has a key.
fn has_key<'e>(of_keys: &'e Expr, key: &'e Expr) -> Option<(&'e Expr, &'e Str)> {
    match (of_keys, key.constant()) {
        (Expr::Rescue { expr, .. }, _) => has_key(expr, key),
        (Expr::Call { function, args }, Some(Value::Str(key)))
            if function.operation() == Some(Operation::Keys) =>
        {
            match &**args {
                [object] => Some((object, key)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether values are objects that are looked up, or the data of ConfigMaps.
fn are_external_objects(values: &ValueSet) -> bool {
    let is_one = |one: &AbstractValue| {
        let AbstractValue::At(_, steps) = one else { return false };
        match &steps[..] {
            [.., Step::Key(inputs), Step::Key(answer)] if **inputs == *INPUTS => answer.starts_with("get|"),
            [.., Step::Key(inputs), Step::Key(answer), Step::Key(data)] if **inputs == *INPUTS => {
                answer.starts_with("get||v1|ConfigMap|") && **data == *"data"
            }
            _ => false,
        }
    };
    !values.is_empty() && values.iter().all(is_one)
}

/// The value whose type is compared with a constant, and which one is expected.
fn type_test<'e>(of: &'e Expr, with: &Expr) -> Option<(&'e Expr, ExpectedType)> {
    let Expr::Invoke(invoke) = of else { return None };
    let [value] = &*invoke.args else { return None };
    let Some(Value::Object(object)) = with.constant().filter(|_| invoke.function.name == "type") else {
        return None;
    };
    let Object::Type(name) = &**object else { return None };
    let what = match &**name {
        "list" => ExpectedType::LIST,
        "map" => ExpectedType::MAP,
        "string" => ExpectedType::TEXT,
        "bool" | "int" | "double" | "uint" => ExpectedType::SCALAR,
        _ => ExpectedType::ANY,
    };
    Some((value, what))
}

/// The type that is expected of a value that is one of some constants.
fn of_set(set: &[Value]) -> ExpectedType {
    let is_scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_));
    if set.iter().all(is_scalar) { ExpectedType::SCALAR } else { ExpectedType::ANY }
}

/// The type that is expected of a value that is in a constant.
fn of_constants(constant: &Value) -> ExpectedType {
    constant.as_list().map_or(ExpectedType::ANY, of_set)
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
    fn truth(&mut self, values: &ValueSet) -> Result<(), Untracked> {
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
            Expr::Let { value, body } => {
                let value = self.expr(value, a)?;
                self.expr(body, &a.with([value]))
            }
            Expr::Rescue { expr, .. } | Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => {
                self.expr(expr, a)
            }
            // What has a truth is a boolean, or empty or not.
            Expr::Not(operand) => {
                let values = self.expr(operand, a)?;
                self.truth(&values)?;
                Ok(NOTHING)
            }
            Expr::Or(sides) | Expr::And(sides) => {
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
                match function.operation() {
                    Some(Operation::Size) => self.counted(args, a),
                    Some(Operation::Keys) => {
                        let mut all = NOTHING;
                        for arg in args {
                            let values = self.expr(arg, a)?;
                            all = either(all, self.names(&values)?)?;
                        }
                        Ok(all)
                    }
                    _ => self.called(function.name, args, a),
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
                    self.test(&values, &set, By::Function("@in"));
                }
                Ok(NOTHING)
            }
            Expr::Make(make) => self.literal(make, a),
            Expr::Comprehension(l) => self.looped(l, a),
            Expr::Bind(parts) => {
                let value = self.expr(&parts[0], a)?;
                self.expr(&parts[1], &a.with([value]))
            }
            Expr::OrElse { sides, .. } => {
                let left = self.expr(&sides[0], a)?;
                self.read_shape(&left)?;
                self.look_for(&left, like(&sides[1]));
                either(left, self.expr(&sides[1], a)?)
            }
        }
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
        self.test(&left, &right, By::Function("_==_"));
        Ok(NOTHING)
    }

    /// The items of lists of lists: lists are expected.
    fn flattened(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        for arg in args {
            let values = self.expr(arg, a)?;
            self.look_for_in_items(&values, ExpectedType::LIST);
            self.consume_as(&values, ExpectedType::LIST)?;
        }
        Ok(self.computed())
    }

    /// What follows from all of some values.
    fn consumed(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        for arg in args {
            let values = self.expr(arg, a)?;
            self.consume(&values)?;
        }
        Ok(self.computed())
    }

    /// What follows from the arguments of a function.
    fn called(&mut self, name: &'static str, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        match args {
            _ if self.tests.is_none() => self.consumed(args, a),
            [of_keys, key]
                if name == "contains"
                    && let Some((object, key)) = has_key(of_keys, key) =>
            {
                let object = self.expr(object, a)?;
                self.look_for(&object, ExpectedType::MAP);
                let found = self.key(&object, key)?;
                self.read_shape(&found)?;
                Ok(NOTHING)
            }
            [object, key] if name == "lookup" => {
                let (object, key) = (self.expr(object, a)?, self.expr(key, a)?);
                match self.looked_up(&object, &key)? {
                    Some(found) => Ok(found),
                    None => {
                        self.consume(&object)?;
                        self.consume(&key)?;
                        Ok(self.computed())
                    }
                }
            }
            [one, other] if TESTS.contains(&name) => {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                match name {
                    "_==_" | "_!=_" => self.read_compared(&one, &other)?,
                    "@in" | "_in_" => {
                        self.read_as(&one, args[1].constant().map_or(ExpectedType::ANY, of_constants))?;
                        self.read_as(&other, ExpectedType::MEMBERS)?;
                    }
                    // A text in a text, or an item of a list.
                    "contains" => {
                        let is_text = args[1].constant().is_some_and(|value| value.as_str().is_some());
                        let what =
                            if is_printed(&args[0]) { ExpectedType::PRINTED } else { ExpectedType::TEXTS };
                        self.read_as(&one, if is_text { what } else { ExpectedType::ANY })?;
                        self.read_all(&other)?;
                    }
                    "startsWith" | "endsWith" | "matches" | "starts_with" | "ends_with" | "regex_match" => {
                        for (arg, values) in args.iter().zip([&one, &other]) {
                            let what =
                                if is_printed(arg) { ExpectedType::PRINTED } else { ExpectedType::TEXT };
                            self.read_as(values, what)?;
                        }
                    }
                    _ => {
                        self.read_as(&one, ExpectedType::SCALAR)?;
                        self.read_as(&other, ExpectedType::SCALAR)?;
                    }
                }
                let is_list = |values: &ValueSet| {
                    let is_one = |one: &AbstractValue| matches!(one, AbstractValue::List(_));
                    !values.is_empty() && values.iter().all(is_one)
                };
                // Of a list it says whether an item is in it.
                let is_item = name == "contains" && (is_list(&one) || is_list(&other));
                self.test(&one, &other, By::Function(if is_item { "_==_" } else { name }));
                Ok(NOTHING)
            }
            // What it gives is distinguished as what it is given.
            [one] if SAME.contains(&name) => {
                let values = self.expr(one, a)?;
                let what = match name {
                    // What is done with the result says what it is.
                    "dyn" | "value" | "optional.of" => ExpectedType::NONE,
                    // Lists and objects have a text there.
                    "to_string" => ExpectedType::ANY,
                    "string" => ExpectedType::PRINTED,
                    _ => ExpectedType::SCALAR,
                };
                self.read_as(&values, what)?;
                if NUMBERS.contains(&name) {
                    if values.iter().any(|one| matches!(one, AbstractValue::Made(..) | AbstractValue::Sum(_)))
                    {
                        self.lose();
                    }
                    // Whether a text is one is a difference.
                    let number = self.constant(&Value::from("1"));
                    self.test(&values, &number, By::Function(name));
                }
                Ok(values)
            }
            args => match self.text(name, args, a)? {
                Some(values) => Ok(values),
                None => self.consumed(args, a),
            },
        }
    }

    /// What a function makes of one text and constants; `None`: it is another one.
    fn text(
        &mut self,
        name: &str,
        args: &[Expr],
        a: &AbstractEnv<'_>,
    ) -> Result<Option<ValueSet>, Untracked> {
        if name == "join" {
            return self.joined(args, a);
        }
        let Some((of, rest)) = args.split_first() else { return Ok(None) };
        let constants = rest.iter().map(|one| one.constant()?.as_str());
        let Some(constants) = constants.collect::<Option<Vec<&str>>>() else { return Ok(None) };
        match (name, &*constants) {
            ("split", [by]) if !by.is_empty() => {
                let values = self.expr(of, a)?;
                self.split(&values, &(*by).into()).map(Some)
            }
            (name, constants) => {
                let Some(step) = step_of(name, constants) else { return Ok(None) };
                let values = self.expr(of, a)?;
                self.stepped(&values, &step).map(Some)
            }
        }
    }

    /// A text that is put together from constants and one other text.
    fn joined(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Result<Option<ValueSet>, Untracked> {
        // The list comes first in one language, what stands between its items in the other one.
        let (items, by) = match args {
            [Expr::List(items), by] | [by, Expr::List(items)] => (&**items, by),
            [Expr::Make(make), by] => match &**make {
                Make::List(items, optional) if optional.is_empty() => (&**items, by),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(by) = by.constant().and_then(|by| by.as_str()) else { return Ok(None) };
        let of_constant = |item: &Expr| item.constant().map(|value| value.as_str().map(str::to_string));
        let mut sides = [String::new(), String::new()];
        let mut other = None;
        for (at, item) in items.iter().enumerate() {
            let side = &mut sides[usize::from(other.is_some())];
            if at > 0 {
                side.push_str(by);
            }
            match of_constant(item) {
                Some(Some(text)) => side.push_str(&text),
                None if other.is_none() => other = Some(item),
                _ => return Ok(None),
            }
        }
        let Some(other) = other else { return Ok(None) };
        let mut values = self.expr(other, a)?;
        let [before, behind] = sides;
        values = self.stepped(&values, &TextStep::Before(before.into()))?;
        self.stepped(&values, &TextStep::Behind(behind.into())).map(Some)
    }

    /// What follows from how many items there are.
    fn counted(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        let mut all = NOTHING;
        for arg in args {
            let values = self.expr(arg, a)?;
            self.read_shape(&values)?;
            let (counts, others) = self.counted_parts(&values);
            all = either(all, counts)?;
            if !others.is_empty() || values.is_empty() {
                self.look_for(&others, ExpectedType::MEMBERS);
                self.items(&others)?;
                if self.tests.is_some() {
                    all = either(all, composed(AbstractValue::Length(others))?)?;
                }
            }
        }
        Ok(all)
    }

    fn higher(&mut self, kind: Higher, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        let mut items = NOTHING;
        for arg in args.iter().filter(|e| !matches!(e, Expr::Lambda { .. })) {
            let list = self.expr(arg, a)?;
            // Faults show what is no list.
            self.consume_as(&list, ExpectedType::LIST)?;
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
                self.read_shape(&bodies)?;
                composed(AbstractValue::List(bodies))
            }
            Higher::SortBy => {
                self.consume(&bodies)?;
                composed(AbstractValue::List(items))
            }
            Higher::MaxBy | Higher::MinBy => {
                self.consume(&bodies)?;
                Ok(items)
            }
        }
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

    fn invoked(&mut self, invoke: &Invoke, a: &AbstractEnv<'_>) -> Found {
        if !invoke.function.is_pure() {
            self.reads.external = true;
        }
        match (invoke.function.operation(), &*invoke.args) {
            (Some(Operation::Size), args) => self.counted(args, a),
            (Some(Operation::Present), [one]) => {
                let values = self.expr(one, a)?;
                self.read_shape(&values)?;
                Ok(NOTHING)
            }
            // The same value for the checker of types.
            (_, [one]) if invoke.function.name == "dyn" => self.expr(one, a),
            // Which type it has.
            (Some(Operation::Equal | Operation::Unequal), [one, other])
                if let Some((of, what)) = type_test(one, other).or_else(|| type_test(other, one)) =>
            {
                let values = self.expr(of, a)?;
                self.consume_as(&values, what)?;
                Ok(self.computed())
            }
            // Whether it has no items.
            (Some(Operation::Equal | Operation::Unequal), [one, other])
                if is_empty(one) || is_empty(other) =>
            {
                for side in [one, other] {
                    let values = self.expr(side, a)?;
                    self.read_shape(&values)?;
                    self.look_for(&values, ExpectedType::EMPTY);
                    self.items(&values)?;
                }
                Ok(self.computed())
            }
            // What is added is a scalar, or a list of the items of both.
            (Some(Operation::Add), [one, other]) => {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                self.read_shape(&one)?;
                self.read_shape(&other)?;
                self.added(one, other)
            }
            (Some(Operation::Equal | Operation::Unequal), [one, other])
                if is_scalar(one) || is_scalar(other) =>
            {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                self.truth(&one)?;
                self.truth(&other)?;
                self.test(&one, &other, By::Function("_==_"));
                Ok(NOTHING)
            }
            (Some(Operation::Member), [one, list]) if is_scalar(one) => {
                let key = one.constant().and_then(Value::as_str);
                let (one, values) = (self.expr(one, a)?, self.expr(list, a)?);
                if let Some(key) = key.filter(|_| self.tests.is_some() && are_external_objects(&values)) {
                    self.look_for(&values, ExpectedType::MAP);
                    let found = self.key(&values, &key.into())?;
                    self.read_shape(&found)?;
                    return Ok(NOTHING);
                }
                self.look_for(&values, ExpectedType::MEMBERS);
                // Its items are compared with a scalar, also those of a list that is put together.
                self.look_for_in_items(&values, ExpectedType::SCALAR);
                let items = self.items(&values)?;
                self.look_for(&items, ExpectedType::SCALAR);
                self.test(&one, &values, By::Function("@in"));
                Ok(NOTHING)
            }
            (_, [one]) if invoke.function.name == "flatten" => self.flattened(std::slice::from_ref(one), a),
            (_, args) => self.called(invoke.function.name, args, a),
        }
    }

    /// What objects of constants have under a key; `None`: they are others.
    fn looked_up(&mut self, objects: &ValueSet, key: &ValueSet) -> Result<Option<ValueSet>, Untracked> {
        if self.tests.is_none() || objects.is_empty() {
            return Ok(None);
        }
        let mut entries: Vec<(Str, ValueSet)> = Vec::new();
        for object in objects {
            match object {
                AbstractValue::Constant(Value::Map(map)) => {
                    let of = |(key, value): (&Str, &Value)| {
                        (key.clone(), vec![AbstractValue::Constant(value.clone())])
                    };
                    entries.extend(map.iter().map(of));
                }
                AbstractValue::Map(own) => entries.extend(own.iter().cloned()),
                _ => return Ok(None),
            }
        }
        let mut found = vec![AbstractValue::Constant(Value::Null)];
        for (own, values) in entries {
            let own = self.constant(&Value::Str(own));
            self.test(key, &own, By::Function("_==_"));
            found = either(found, values)?;
        }
        self.read_as(key, ExpectedType::SCALAR)?;
        Ok(Some(found))
    }

    /// The sum of two values, of which one may be a constant text.
    fn added(&mut self, one: ValueSet, other: ValueSet) -> Found {
        if self.tests.is_none() {
            return either(one, other);
        }
        let text = |values: &ValueSet| match &**values {
            [AbstractValue::Constant(Value::Str(text))] => Some(text.clone()),
            _ => None,
        };
        match (text(&one), text(&other)) {
            (Some(before), _) => self.stepped(&other, &TextStep::Before(before)),
            (None, Some(behind)) => self.stepped(&one, &TextStep::Behind(behind)),
            (None, None) => {
                let mut all = NOTHING;
                for values in [one, other] {
                    // What is added to a sum is one of its lists.
                    for value in values {
                        match value {
                            AbstractValue::Sum(lists) => all = either(all, lists)?,
                            value => all = either(all, vec![value])?,
                        }
                    }
                }
                composed(AbstractValue::Sum(all))
            }
        }
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
