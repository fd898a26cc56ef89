//! What templates, conditions and bindings read.

use ephor_ir::condition::Operator;
use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_ir::template::{Part, Rounds};
use ephor_ir::{Conditions, Query, Template};
use ephor_value::variables::{expression, find_all_variables, find_variables};
use ephor_value::{Str, Value};

use super::expr::AbstractEnv;
use super::texts::TextStep;
use crate::reads::abstract_value::{AbstractValue, Origin, ValueSet, composed, either, empty};
use crate::reads::comparisons::By;
use crate::reads::expected_type::{ExpectedType, plain};
use crate::reads::footprint::{GIVEN, Untracked};
use crate::reads::reader::Reader;

/// Longer texts are given up.
const MAX_ROUNDS: usize = 8;

/// Whether what comes behind is no part of an expression, or of a text in quotes in it.
fn is_in_text(before: &str) -> bool {
    match before.rfind("{{") {
        None => true,
        Some(at) => {
            let expression = before.get(at..).unwrap_or_default();
            !expression.contains(['"', '`', '\\']) && expression.matches('\'').count() % 2 == 1
        }
    }
}

/// What names start with that stand for variables in an expression.
const NAME: char = '\u{e000}';

/// The place of the quote that is open at the end of an expression; `None`: there is none, or it is
/// of another kind.
fn quote(before: &str) -> Option<usize> {
    let start = before.rfind("{{")?;
    let mut open: Option<(usize, char)> = None;
    let mut is_escaped = false;
    for (at, c) in before.char_indices().skip_while(|(at, _)| *at < start) {
        match open {
            // In single quotes a backslash stands for itself, unless a quote follows.
            Some((_, quote)) if c == quote && !is_escaped => open = None,
            Some((_, quote)) => is_escaped = c == '\\' && (quote == '\'' || !is_escaped),
            None if matches!(c, '\'' | '"' | '`') => (open, is_escaped) = (Some((at, c)), false),
            None => {}
        }
    }
    open.filter(|(_, quote)| *quote == '\'').map(|(at, _)| at)
}

/// A variable that is a key: `name."{{ … }}"`, or `name.{{ … }}`.
struct Key {
    /// What is before it.
    before: String,
    /// Of what it is one.
    of: String,
    is_quoted: bool,
}

fn key(before: &str, rest: &str) -> Option<Key> {
    let is_quoted = before.ends_with('"') && rest.starts_with('"');
    let way = if is_quoted { before.strip_suffix('"')? } else { before };
    let way = way.strip_suffix('.')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let of = way.rsplit(|c: char| !is_word(c)).next().filter(|of| !of.is_empty())?;
    let before = way.strip_suffix(of)?;
    // In a path or in quotes it is another one.
    let ends = before.ends_with(['.', '"', '\'', '`']) || (!is_quoted && rest.starts_with(is_word));
    (!ends && quote(before).is_none()).then(|| Key { before: before.into(), of: of.into(), is_quoted })
}

/// The texts around the only variable of a text.
fn around(parts: &[Part]) -> Option<(Str, &Query, Str)> {
    match parts {
        [Part::Hole(query), Part::Literal(behind)] => Some(("".into(), query, behind.clone())),
        [Part::Literal(before), Part::Hole(query)] => Some((before.clone(), query, "".into())),
        [Part::Literal(before), Part::Hole(query), Part::Literal(behind)] => {
            Some((before.clone(), query, behind.clone()))
        }
        _ => None,
    }
}

impl Reader {
    /// What a query gives.
    pub fn query(&mut self, query: &Query) -> Result<ValueSet, Untracked> {
        self.query_on(query, vec![AbstractValue::Root])
    }

    /// What a query gives on other data.
    fn query_on(&mut self, query: &Query, root: ValueSet) -> Result<ValueSet, Untracked> {
        let env = AbstractEnv { root, ..AbstractEnv::default() };
        let values = query.expr.as_ref().map_or(Ok(ValueSet::new()), |expr| self.expr(expr, &env))?;
        match &query.on_delete {
            Some(other) if self.is_deletion != Some(false) => either(values, self.query_on(other, env.root)?),
            _ => Ok(values),
        }
    }

    /// What a template becomes. Results that bring in variables are noticed when they do.
    pub fn template(&mut self, template: &Template) -> Result<ValueSet, Untracked> {
        match template {
            Template::Const(value) => Ok(self.constant(value)),
            Template::Fail(_) => Ok(ValueSet::new()),
            Template::Whole(hole) => self.query(&hole.query),
            Template::Text(text) => {
                if let (true, Some((before, query, behind))) = (self.tests.is_some(), around(&text.parts)) {
                    let values = self.query(query)?;
                    let values = self.stepped(&values, &TextStep::Before(before))?;
                    return self.stepped(&values, &TextStep::Behind(behind));
                }
                for part in &text.parts {
                    if let Part::Hole(query) = part {
                        let values = self.query(query)?;
                        self.consume(&values)?;
                    }
                }
                self.lose();
                Ok(self.computed())
            }
            Template::Rounds(rounds) => {
                let names = self.names.len();
                let found = self.rounds(rounds);
                self.names.truncate(names);
                found
            }
            Template::List(items) => {
                let mut all = ValueSet::new();
                for item in items {
                    all = either(all, self.template(item)?)?;
                }
                composed(AbstractValue::List(all))
            }
            Template::Object(pairs) => {
                let mut entries: Vec<(Str, ValueSet)> = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let value = self.template(value)?;
                    match key {
                        Template::Const(Value::Str(key)) => entries.push((key.clone(), value)),
                        key => {
                            // Under which key the value stands is not known here.
                            self.filled(key)?;
                            self.consume(&value)?;
                        }
                    }
                }
                composed(AbstractValue::Map(entries))
            }
        }
    }

    /// A text that is resolved in rounds, as long as results only become parts of texts in it. What
    /// breaks out of these is noticed when it does.
    fn rounds(&mut self, rounds: &Rounds) -> Result<ValueSet, Untracked> {
        let mut text = rounds.source.to_string();
        for _ in 0..MAX_ROUNDS {
            let found = find_variables(&text);
            if found.is_empty() {
                break;
            }
            let mut next = String::new();
            let mut from = 0;
            for at in found {
                let variable = text.get(at.clone()).ok_or(Untracked)?;
                let expr = expression(variable);
                if expr == "@" || expr.starts_with('-') {
                    return Err(Untracked);
                }
                let query = self.late.query(&expr, &rounds.names);
                if let (Some(tests), Ok(expr)) = (&mut self.tests, &query.expr) {
                    tests.late.push(expr.clone());
                }
                let values = self.query(&query)?;
                if variable == text {
                    return Ok(values);
                }
                self.read_all(&values)?;
                next.push_str(text.get(from..at.start).ok_or(Untracked)?);
                if let Some((head, tail)) = self.in_quotes(&next, text.get(at.end..).ok_or(Untracked)?) {
                    let name = self.part(values, true);
                    next = format!("{head}\"{name}\"{}", tail.0);
                    from = at.end + tail.1;
                    continue;
                }
                let rest = text.get(at.end..).ok_or(Untracked)?;
                if let Some(key) = self.tests.is_some().then(|| key(&next, rest)).flatten()
                    && self.bound.iter().any(|own| **own == *key.of)
                {
                    let name = self.part(values, key.is_quoted);
                    next = format!("{}lookup({}, \"{name}\")", key.before, key.of);
                    from = at.end + usize::from(key.is_quoted);
                    continue;
                }
                self.lose();
                self.consume(&values)?;
                if !is_in_text(&next) {
                    return Err(Untracked);
                }
                next.push('x');
                from = at.end;
            }
            next.push_str(text.get(from..).ok_or(Untracked)?);
            text = next;
        }
        match text.contains("{{") {
            true => Err(Untracked),
            false => Ok(self.computed()),
        }
    }

    /// An expression around a variable that is a part of a text in quotes: what comes before the
    /// value and behind it, with how much of the rest that is. A text with more than the variable
    /// is joined.
    fn in_quotes(&self, before: &str, rest: &str) -> Option<(String, (String, usize))> {
        if self.tests.is_none() || before.contains(NAME) || rest.contains(NAME) {
            return None;
        }
        let open = quote(before)?;
        let (head, inside) = (before.get(..open)?, before.get(open + 1..)?);
        let close = rest.find('\'')?;
        let behind = rest.get(..close)?;
        let is_plain = |text: &str| !text.contains(['\\', '{', '}', '\'']);
        if !is_plain(inside) || !is_plain(behind) {
            return None;
        }
        if inside.is_empty() && behind.is_empty() {
            return Some((head.into(), (String::new(), close + 1)));
        }
        Some((format!("{head}join('', ['{inside}', "), (format!(", '{behind}'])"), close + 1)))
    }

    /// Values become parts of an expression under a name, which is returned: their texts are taken
    /// to end no quotes, or to be keys without any.
    fn part(&mut self, values: ValueSet, is_quoted: bool) -> String {
        let name = format!("{NAME}{}", self.names.len());
        self.taken_for_parts(&values, is_quoted);
        self.names.push((Str::from(&*name), values));
        name
    }

    fn taken_for_parts(&mut self, values: &ValueSet, is_quoted: bool) {
        let Some(tests) = &mut self.tests else { return };
        for one in values {
            match one {
                AbstractValue::At(_, steps)
                | AbstractValue::Made(Origin::At(_, steps) | Origin::Name(steps), _) => {
                    let steps = plain(steps);
                    let known = if is_quoted { &mut tests.quoted } else { &mut tests.keys };
                    if !known.iter().any(|own| **own == *steps) {
                        known.push(steps.into_owned());
                    }
                }
                AbstractValue::Constant(Value::Str(_)) | AbstractValue::Elsewhere => {}
                _ => tests.is_lost = true,
            }
        }
    }

    /// A template whose text is shown or compared.
    pub fn filled(&mut self, template: &Template) -> Result<(), Untracked> {
        let values = self.template(template)?;
        self.consume(&values)
    }

    /// What conditions read.
    pub fn conditions(&mut self, conditions: &Conditions) -> Result<(), Untracked> {
        for condition in conditions.any.iter().flatten().chain(&conditions.all) {
            let (key, value) = (self.template(&condition.key)?, self.template(&condition.value)?);
            use Operator::{AllIn, AllNotIn, AnyIn, AnyNotIn, In, NotIn};
            let is_scalar = matches!(&condition.value, Template::Const(value)
                if !matches!(value, Value::List(_) | Value::Map(_) | Value::Null));
            let what = match condition.operator {
                Some(In | NotIn | AnyIn | AllIn | AnyNotIn | AllNotIn) => ExpectedType::SCALARS,
                _ if is_scalar => ExpectedType::SCALAR,
                _ => ExpectedType::ANY,
            };
            let is_equality = matches!(condition.operator, Some(Operator::Equals | Operator::NotEquals));
            match empty(&value).filter(|_| is_equality && self.tests.is_some()) {
                // Whether it is empty says all.
                Some(what) => {
                    self.look_for(&key, what);
                    self.read_shape(&key)?;
                }
                None => {
                    self.read_as(&key, what)?;
                    self.read_as(&value, what)?;
                }
            }
            let by = match condition.operator {
                Some(In | NotIn | AnyIn | AllIn | AnyNotIn | AllNotIn) => By::Membership,
                // The value is a pattern for the key.
                _ if !matches!(condition.value, Template::Const(_)) => By::Membership,
                _ => By::Condition,
            };
            self.test(&key, &value, by);
            if let (Some(tests), false) = (&mut self.tests, matches!(condition.value, Template::Const(_))) {
                let has_order =
                    matches!(condition.operator, Some(Operator::Order(_) | Operator::DurationOrder(_)));
                if has_order || is_equality {
                    tests.measured(&key, &value, has_order);
                }
            }
            if condition.message.contains("{{") {
                return Err(Untracked);
            }
        }
        Ok(())
    }

    /// Puts the values of bindings under their names.
    pub fn bindings<'b>(&mut self, bindings: impl IntoIterator<Item = &'b Binding>) {
        for binding in bindings {
            let found = match GIVEN.contains(&&*binding.name) {
                true => Err(Untracked),
                false => self.binding(binding),
            };
            let values = found.unwrap_or_else(|Untracked| vec![AbstractValue::Untracked]);
            self.names.push((binding.name.clone(), values));
            self.bound.push(binding.name.clone());
        }
    }

    /// What a query finds in what is given.
    fn of_given(
        &mut self,
        given: ValueSet,
        query: Option<&QuerySource>,
        shown: Option<&Query>,
    ) -> Result<ValueSet, Untracked> {
        let (text, names) = match (query, shown) {
            (None, _) => return Ok(given),
            (Some(QuerySource::Ready(query)), _) => return self.query_on(query, given),
            (Some(QuerySource::Dynamic { text, names }), Some(_)) => (text, names),
            (Some(QuerySource::Dynamic { .. }), None) => return Err(Untracked),
        };
        let source = match text {
            Template::Rounds(rounds) => &rounds.source,
            Template::Text(text) => &text.rounds.source,
            _ => return Err(Untracked),
        };
        let mut holes = Vec::new();
        for at in find_all_variables(source) {
            let expr = expression(source.get(at).ok_or(Untracked)?);
            let values = self.query(&self.late.query(&expr, names))?;
            // It becomes a part of the text.
            self.consume(&values)?;
            holes.push(values);
        }
        let outside = std::mem::replace(&mut self.holes, holes);
        let found = shown.map_or(Err(Untracked), |shown| self.query_on(shown, given));
        self.holes = outside;
        found
    }

    fn binding(&mut self, binding: &Binding) -> Result<ValueSet, Untracked> {
        if let BindingSource::Given { answer, query, shown, default } = &binding.source {
            let found = self.query(answer)?;
            self.read_shape(&found)?;
            let found = self.of_given(found, query.as_ref(), shown.as_ref())?;
            return either(found, default.iter().flat_map(|default| self.constant(default)).collect());
        }
        let BindingSource::Variable { value, query, default, .. } = &binding.source else {
            // A lookup is noted.
            self.reads.external = true;
            return Ok(self.computed());
        };
        let mut part = |template: &Option<Template>| match template {
            None => Ok(None),
            Some(template) => self.template(template).map(Some),
        };
        let (default, value) = (part(default)?, part(value)?);
        let found = match (query, value) {
            (None, value) => value.unwrap_or_default(),
            (Some(QuerySource::Dynamic { .. }), _) => {
                self.reads.external = true;
                return Ok(self.computed());
            }
            (Some(QuerySource::Ready(query)), value) => {
                self.query_on(query, value.unwrap_or_else(|| vec![AbstractValue::Root]))?
            }
        };
        // One that is null fails or gives way to the default.
        self.read_shape(&found)?;
        either(found, default.unwrap_or_default())
    }
}
