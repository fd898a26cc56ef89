//! What calls of functions read.

use ephor_functions::registry::Operation;
use ephor_functions::{Function, Higher};
use ephor_ir::Expr;
use ephor_ir::rule::INPUTS;
use ephor_ir::strict::{Invoke, Make};
use ephor_value::{Object, Str, Value};

use crate::reads::abstract_value::{AbstractValue, ValueSet, composed, either};
use crate::reads::comparisons::By;
use crate::reads::expected_type::ExpectedType;
use crate::reads::expr::{AbstractEnv, Found, NOTHING, is_empty, is_scalar, of_set};
use crate::reads::footprint::{Step, Untracked};
use crate::reads::reader::Reader;
use crate::reads::texts::{TextStep, step_of};

/// How a function uses its arguments, where comparisons are collected.
enum ArgumentUse {
    /// Its result is known by what one of two values is and the other is compared with.
    Tested,
    /// It writes the value in another way: what it gives is distinguished as what it is given, of
    /// which this is expected.
    Rewritten(ExpectedType),
    /// The same, as a number, which not every text has.
    Number,
    /// It makes a text, or texts, of one text and constants.
    Text,
    /// It reads what the first one has under the second one.
    Key,
    /// All of them may matter.
    Consumed,
}

impl ArgumentUse {
    fn of(operation: Operation) -> ArgumentUse {
        use Operation::*;
        match operation {
            Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual | Member | StartsWith
            | EndsWith | Contains | Matches | MatchedBy | CompareTo | IsLessThan | IsGreaterThan => {
                ArgumentUse::Tested
            }
            // What is done with the result says what it is.
            Unchanged | OptionalValue | OptionalOf => ArgumentUse::Rewritten(ExpectedType::NONE),
            // Lists and objects have a text there.
            ToJson => ArgumentUse::Rewritten(ExpectedType::ANY),
            ToText => ArgumentUse::Rewritten(ExpectedType::PRINTED),
            ToInt | ToDouble | ToQuantity | IsQuantity | Duration | ToNumber => ArgumentUse::Number,
            Upper | Lower | UpperAscii | LowerAscii | Trim | TrimPrefix | Replace | Split | Join => {
                ArgumentUse::Text
            }
            LookUpKey => ArgumentUse::Key,
            Opaque | And | Or | Not | Choose | Add | Subtract | Multiply | Divide | Remainder | Negate
            | Index | OptionalIndex | OrElse | Insert | Size | Keys | TypeOf | Present | Format
            | Timestamp | ParseJson | ReplaceMatches | OptionalOfNonZero | OptionalNone | ValueOr
            | FirstPresent | Values | Entries | Flatten | Sum | Arithmetic | Round | LabelMatch
            | TimeSince | Now | ParseImage | Repository | Tag | Digest | LookUp | ListObjects
            | LookUpImage | Post | Apply => ArgumentUse::Consumed,
        }
    }
}

/// Whether an expression is the text of a value.
fn is_printed(e: &Expr) -> bool {
    let is_text = |of: &Function| matches!(of.operation, Operation::ToText | Operation::ToJson);
    e.called().is_some_and(is_text)
}

/// The object and the key of `contains(keys(object), 'key')`: whether an object has a key.
fn has_key<'e>(of_keys: &'e Expr, key: &'e Expr) -> Option<(&'e Expr, &'e Str)> {
    match (of_keys, key.constant()) {
        (Expr::Rescue { expr, .. }, _) => has_key(expr, key),
        (call, Some(Value::Str(key))) => match call.applied()? {
            (Operation::Keys, [object]) => Some((object, key)),
            _ => None,
        },
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
    let (Operation::TypeOf, [value]) = of.invoked()? else { return None };
    let Some(Value::Object(object)) = with.constant() else { return None };
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

/// The type that is expected of a value that is in a constant.
fn of_constants(constant: &Value) -> ExpectedType {
    constant.as_list().map_or(ExpectedType::ANY, of_set)
}

impl Reader {
    /// What follows from the arguments of a function.
    pub(crate) fn called(&mut self, operation: Operation, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        if self.tests.is_none() {
            return self.consumed(args, a);
        }
        match (ArgumentUse::of(operation), args) {
            (ArgumentUse::Tested, [of_keys, key])
                if operation == Operation::Contains
                    && let Some((object, key)) = has_key(of_keys, key) =>
            {
                let object = self.expr(object, a)?;
                self.has_field(&object, key)
            }
            (ArgumentUse::Key, [object, key]) => {
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
            (ArgumentUse::Tested, [one, other]) => self.tested(operation, [one, other], a),
            (ArgumentUse::Rewritten(what), [one]) => {
                let values = self.expr(one, a)?;
                self.read_as(&values, what)?;
                Ok(values)
            }
            (ArgumentUse::Number, [one]) => {
                let values = self.expr(one, a)?;
                self.read_as(&values, ExpectedType::SCALAR)?;
                let is_built =
                    |one: &AbstractValue| matches!(one, AbstractValue::Made(..) | AbstractValue::Sum(_));
                if values.iter().any(is_built) {
                    self.lose();
                }
                // Whether a text is one is a difference.
                let number = self.constant(&Value::from("1"));
                self.test(&values, &number, By::Function(operation));
                Ok(values)
            }
            (ArgumentUse::Text, args) => match self.text(operation, args, a)? {
                Some(values) => Ok(values),
                None => self.consumed(args, a),
            },
            (_, args) => self.consumed(args, a),
        }
    }

    /// A test of one value by another one.
    fn tested(&mut self, operation: Operation, args: [&Expr; 2], a: &AbstractEnv<'_>) -> Found {
        let (one, other) = (self.expr(args[0], a)?, self.expr(args[1], a)?);
        match operation {
            Operation::Equal | Operation::Unequal => self.read_compared(&one, &other)?,
            Operation::Member => {
                self.read_as(&one, args[1].constant().map_or(ExpectedType::ANY, of_constants))?;
                self.read_as(&other, ExpectedType::MEMBERS)?;
            }
            // A text in a text, or an item of a list.
            Operation::Contains => {
                let is_text = args[1].constant().is_some_and(|value| value.as_str().is_some());
                let what = if is_printed(args[0]) { ExpectedType::PRINTED } else { ExpectedType::TEXTS };
                self.read_as(&one, if is_text { what } else { ExpectedType::ANY })?;
                self.read_all(&other)?;
            }
            _ => {
                let is_search = operation.searches_text() || operation.searches_pattern();
                for (arg, values) in args.into_iter().zip([&one, &other]) {
                    let what = match is_search {
                        true if is_printed(arg) => ExpectedType::PRINTED,
                        true => ExpectedType::TEXT,
                        false => ExpectedType::SCALAR,
                    };
                    self.read_as(values, what)?;
                }
            }
        }
        let is_list = |values: &ValueSet| {
            let is_one = |one: &AbstractValue| matches!(one, AbstractValue::List(_));
            !values.is_empty() && values.iter().all(is_one)
        };
        // Of a list it says whether an item is in it.
        let is_item = operation == Operation::Contains && (is_list(&one) || is_list(&other));
        self.test(&one, &other, By::Function(if is_item { Operation::Equal } else { operation }));
        Ok(NOTHING)
    }

    /// Whether an object has a field.
    fn has_field(&mut self, object: &ValueSet, key: &Str) -> Found {
        self.look_for(object, ExpectedType::MAP);
        let found = self.key(object, key)?;
        self.read_shape(&found)?;
        Ok(NOTHING)
    }

    /// What a function makes of one text and constants; `None`: it is another one.
    fn text(
        &mut self,
        operation: Operation,
        args: &[Expr],
        a: &AbstractEnv<'_>,
    ) -> Result<Option<ValueSet>, Untracked> {
        if operation == Operation::Join {
            return self.joined(args, a);
        }
        let Some((of, rest)) = args.split_first() else { return Ok(None) };
        let constants = rest.iter().map(|one| one.constant()?.as_str());
        let Some(constants) = constants.collect::<Option<Vec<&str>>>() else { return Ok(None) };
        match (operation, &*constants) {
            (Operation::Split, [by]) if !by.is_empty() => {
                let values = self.expr(of, a)?;
                self.split(&values, &(*by).into()).map(Some)
            }
            (operation, constants) => {
                let Some(step) = step_of(operation, constants) else { return Ok(None) };
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
    pub(crate) fn counted(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
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

    pub(crate) fn higher(&mut self, kind: Higher, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
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

    pub(crate) fn invoked(&mut self, invoke: &Invoke, a: &AbstractEnv<'_>) -> Found {
        if !invoke.function.is_pure() {
            self.reads.external = true;
        }
        match (invoke.function.operation, &*invoke.args) {
            (Operation::Size, args) => self.counted(args, a),
            (Operation::Present, [one]) => {
                let values = self.expr(one, a)?;
                self.read_shape(&values)?;
                Ok(NOTHING)
            }
            // The same value for the checker of types.
            (Operation::Unchanged, [one]) => self.expr(one, a),
            // Which type it has.
            (Operation::Equal | Operation::Unequal, [one, other])
                if let Some((of, what)) = type_test(one, other).or_else(|| type_test(other, one)) =>
            {
                let values = self.expr(of, a)?;
                self.consume_as(&values, what)?;
                Ok(self.computed())
            }
            // Whether it has no items.
            (Operation::Equal | Operation::Unequal, [one, other]) if is_empty(one) || is_empty(other) => {
                for side in [one, other] {
                    let values = self.expr(side, a)?;
                    self.read_shape(&values)?;
                    self.look_for(&values, ExpectedType::EMPTY);
                    self.items(&values)?;
                }
                Ok(self.computed())
            }
            // What is added is a scalar, or a list of the items of both.
            (Operation::Add, [one, other]) => {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                self.read_shape(&one)?;
                self.read_shape(&other)?;
                self.added(one, other)
            }
            (Operation::Equal | Operation::Unequal, [one, other]) if is_scalar(one) || is_scalar(other) => {
                let (one, other) = (self.expr(one, a)?, self.expr(other, a)?);
                self.truth(&one)?;
                self.truth(&other)?;
                self.test(&one, &other, By::Function(Operation::Equal));
                Ok(NOTHING)
            }
            (Operation::Member, [one, list]) if is_scalar(one) => {
                let key = one.constant().and_then(Value::as_str);
                let (one, values) = (self.expr(one, a)?, self.expr(list, a)?);
                if let Some(key) = key.filter(|_| self.tests.is_some() && are_external_objects(&values)) {
                    return self.has_field(&values, &key.into());
                }
                self.look_for(&values, ExpectedType::MEMBERS);
                // Its items are compared with a scalar, also those of a list that is put together.
                self.look_for_in_items(&values, ExpectedType::SCALAR);
                let items = self.items(&values)?;
                self.look_for(&items, ExpectedType::SCALAR);
                self.test(&one, &values, By::Function(Operation::Member));
                Ok(NOTHING)
            }
            (Operation::Flatten, [one]) => self.flattened(std::slice::from_ref(one), a),
            (operation, args) => self.called(operation, args, a),
        }
    }

    /// What objects of constants have under a key; `None`: they are others.
    pub(crate) fn looked_up(
        &mut self,
        objects: &ValueSet,
        key: &ValueSet,
    ) -> Result<Option<ValueSet>, Untracked> {
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
            self.test(key, &own, By::Function(Operation::Equal));
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
    pub(crate) fn consumed(&mut self, args: &[Expr], a: &AbstractEnv<'_>) -> Found {
        for arg in args {
            let values = self.expr(arg, a)?;
            self.consume(&values)?;
        }
        Ok(self.computed())
    }
}
