//! The walk over a document along its schema table: unknown fields, types, defaults.
//!
//! In: a value and the table of its kind. Out: the value with defaults, and the problems found,
//! each with its place. Null members count as absent everywhere.

use regex::Regex;

use super::decode;
use super::problem::Problem;
use super::shape::{Field, Kind, Literal, Object, Rule, Shape};
use super::walk::{Walk, type_name};
use ephor_value::place::dotted;
use ephor_value::time::Time;
use ephor_value::{List, Map, Str, Value, print};

impl Walk {
    /// Collects the fields of `value` that its table does not know.
    pub fn unknown_fields(&mut self, kind: &Kind, value: &Value) {
        match (kind, value) {
            (Kind::Any | Kind::Conditions | Kind::ValidateLoops | Kind::MutateLoops | Kind::Open, _) => {}
            (Kind::TextMap, Value::Map(fields)) => {
                for (key, value) in fields.iter() {
                    self.in_key(key, |walk| walk.unknown_fields(&Kind::Text, value));
                }
            }
            (Kind::Object(table), Value::Map(fields)) => {
                let is_strict = !matches!(table.rule, Rule::LateUnknown);
                for key in fields.keys().filter(|key| is_strict && table.field(key).is_none()) {
                    self.unknown(key);
                }
                for (key, value) in fields.iter() {
                    if let Some(field) = table.field(key) {
                        self.in_key(key, |walk| walk.unknown_fields(&field.kind, value));
                    }
                }
            }
            (Kind::MapOf(kind), Value::Map(fields)) => {
                for (key, value) in fields.iter() {
                    self.in_key(key, |walk| walk.unknown_fields(kind, value));
                }
            }
            (
                Kind::List(kind) | Kind::Atomic(kind) | Kind::Set(kind) | Kind::Named(kind),
                Value::List(items),
            ) => {
                self.unknown_in_items(kind, items);
            }
            (_, Value::Map(fields)) => fields.keys().for_each(|key| self.unknown(key)),
            // Where no list belongs, nothing is known of its items.
            (_, Value::List(items)) => self.unknown_in_items(&Kind::Text, items),
            _ => {}
        }
    }

    fn unknown_in_items(&mut self, kind: &Kind, items: &[Value]) {
        for (index, item) in items.iter().enumerate() {
            self.in_item(index, |walk| walk.unknown_fields(kind, item));
        }
    }

    /// Notes an unknown member of the object at the place of the walk.
    pub fn unknown(&mut self, key: &str) {
        self.in_key(key, |walk| walk.refuse("Invalid value: value provided for unknown field"));
    }

    /// Checks `value` and gives it back with defaults.
    pub fn value(&mut self, kind: &Kind, value: &Value) -> Value {
        let fits = match kind {
            Kind::Any | Kind::Conditions | Kind::ValidateLoops | Kind::MutateLoops => true,
            Kind::Text | Kind::Duration | Kind::Short(_) | Kind::Shaped(_) | Kind::Choice(_) => {
                matches!(value, Value::Str(_))
            }
            Kind::DateTime => return self.moment(value),
            Kind::Flag | Kind::Switch => matches!(value, Value::Bool(_)),
            Kind::Int32 | Kind::Int64 | Kind::Count | Kind::Whole(_) => return self.integer(kind, value),
            Kind::Open | Kind::TextMap | Kind::MapOf(_) | Kind::Object(_) => {
                matches!(value, Value::Map(_))
            }
            Kind::List(_) | Kind::Atomic(_) | Kind::Set(_) | Kind::Named(_) => {
                matches!(value, Value::List(_))
            }
        };
        if let Kind::Choice(choices) = kind
            && !value.as_str().is_some_and(|text| choices.contains(&text))
        {
            let choices: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
            let value = print::json(value);
            self.refuse(format!("Unsupported value: {value}: supported values: {}", choices.join(", ")));
        }
        if !fits {
            self.wrong_type(value, expected_type(kind));
            if let (Kind::Object(table), false) = (kind, value.is_null()) {
                // What is no object meets every requirement for members, so rules that forbid them
                // break.
                self.rule(table, &|_| true);
            }
            return value.clone();
        }
        match (kind, value) {
            (Kind::Short(max), Value::Str(text)) if text.len() > *max => {
                self.refuse(format!("Too long: may not be more than {max} bytes"));
                value.clone()
            }
            (Kind::Shaped(shape), Value::Str(text)) => {
                self.shaped(shape, text);
                value.clone()
            }
            (Kind::Conditions, _) => decode::conditions(self, value),
            (Kind::ValidateLoops | Kind::MutateLoops, _) => decode::loops(self, kind, value),
            (Kind::Object(table), Value::Map(fields)) => Value::Map(self.object(table, fields)),
            (Kind::List(kind) | Kind::Atomic(kind), Value::List(items)) => {
                Value::List(self.items(kind, items))
            }
            (Kind::Set(kind), Value::List(items)) => {
                self.repeated(items.iter().map(print::json));
                Value::List(self.items(kind, items))
            }
            (Kind::Named(kind), Value::List(items)) => {
                let name = |item: &Value| {
                    format!("{{\"name\":{}}}", print::json(item.get("name").unwrap_or(&Value::Null)))
                };
                self.repeated(items.iter().map(name));
                Value::List(self.items(kind, items))
            }
            (Kind::TextMap, Value::Map(fields)) => self.members(&Kind::Text, fields),
            (Kind::MapOf(kind), Value::Map(fields)) => self.members(kind, fields),
            _ => value.clone(),
        }
    }

    /// Checks the form of a text; what is too short or too long is not read further.
    fn shaped(&mut self, shape: &Shape, text: &str) {
        let place = dotted(&self.path);
        if shape.filled && text.is_empty() {
            self.refuse(format!("Invalid value: \"\": {place} in body should be at least 1 chars long"));
        } else if text.len() > shape.most {
            self.refuse(format!("Too long: may not be more than {} bytes", shape.most));
        } else if Regex::new(shape.pattern).is_ok_and(|pattern| !pattern.is_match(text)) {
            let value = print::json(&Value::from(text));
            self.refuse(format!("Invalid value: {value}: {place} in body should match '{}'", shape.pattern));
        }
    }

    /// Refuses items that were there before.
    fn repeated(&mut self, items: impl Iterator<Item = String>) {
        let mut seen: Vec<String> = Vec::new();
        for (index, text) in items.enumerate() {
            if seen.contains(&text) {
                self.in_item(index, |walk| walk.refuse(format!("Duplicate value: {text}")));
            } else {
                seen.push(text);
            }
        }
    }

    fn members(&mut self, kind: &Kind, fields: &Map) -> Value {
        let checked = fields.iter().filter(|(_, value)| !value.is_null());
        Value::Map(
            checked.map(|(key, v)| (key.clone(), self.in_key(key, |walk| walk.value(kind, v)))).collect(),
        )
    }

    fn items(&mut self, kind: &Kind, items: &[Value]) -> List {
        let items = items.iter().enumerate();
        items.map(|(index, item)| self.in_item(index, |walk| walk.value(kind, item))).collect()
    }

    fn integer(&mut self, kind: &Kind, value: &Value) -> Value {
        let whole = match value {
            Value::Int(i) => Some(*i),
            Value::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => Some(*f as i64),
            Value::UInt(_) => Some(i64::MAX),
            _ => None,
        };
        let place = dotted(&self.path);
        let format = if matches!(kind, Kind::Count | Kind::Int64) { "int64" } else { "int32" };
        match (kind, whole) {
            (Kind::Count, Some(i)) if i < 0 => {
                self.refuse(format!(
                    "Invalid value: {i}: {place} in body should be greater than or equal to 0"
                ));
            }
            (Kind::Int32, Some(i)) if i32::try_from(i).is_err() => self.wrong_format("with format int32"),
            (Kind::Whole(Some(least)), Some(i)) if i < *least => {
                self.refuse(format!(
                    "Invalid value: {i}: {place} in body should be greater than or equal to {least}"
                ));
            }
            (_, Some(i)) => return Value::Int(i),
            (Kind::Int32 | Kind::Int64 | Kind::Count, None) if matches!(value, Value::Float(_)) => {
                self.refuse_type(format!(
                    "Invalid value: \"float64\": {place} in body must be of type {format}: \"float64\""
                ));
                self.wrong_format(&format!("with format {format}"));
            }
            (Kind::Int32 | Kind::Int64 | Kind::Count, None)
                if matches!(value, Value::Bool(_) | Value::Map(_)) =>
            {
                self.refuse_type(format!(
                    "Invalid value: \"\": {place} in body must be of type {format}: \"\""
                ));
            }
            (_, None) => {
                self.wrong_type(value, "integer");
                if matches!(value, Value::Float(_)) {
                    self.wrong_format("(default format)");
                }
            }
        }
        value.clone()
    }

    fn moment(&mut self, value: &Value) -> Value {
        let found = match value {
            Value::Str(text) if Time::parse_rfc3339(text).is_ok() => return value.clone(),
            Value::Str(text) => text.to_string(),
            Value::Int(_) | Value::UInt(_) => "int64".into(),
            Value::Float(_) => "float64".into(),
            _ => String::new(),
        };
        let place = dotted(&self.path);
        self.refuse_type(format!(
            "Invalid value: \"{found}\": {place} in body must be of type date-time: \"{found}\""
        ));
        value.clone()
    }

    fn wrong_format(&mut self, format: &str) {
        let place = dotted(&self.path);
        self.refuse_whole(format!(
            "<nil>: Invalid value: \"\": Checked value must be of type integer {format} in {place}"
        ));
        self.is_type();
    }

    /// Refuses a value whose type is not the wanted one.
    pub fn wrong_type(&mut self, value: &Value, wanted: &str) {
        let (found, place) = (type_name(value), dotted(&self.path));
        self.refuse_type(format!(
            "Invalid value: \"{found}\": {place} in body must be of type {wanted}: \"{found}\""
        ));
    }

    /// Notes a value of another type, behind the place's name.
    fn refuse_type(&mut self, detail: impl AsRef<str>) {
        self.refuse(detail);
        self.is_type();
    }

    /// The last problem is one of types.
    fn is_type(&mut self) {
        if let Some(last) = self.problems.last_mut() {
            last.is_type = true;
        }
    }

    /// Notes a problem whose text does not begin with the place.
    fn refuse_whole(&mut self, text: String) {
        self.problems.push(Problem { path: self.path.clone(), text, is_type: false });
    }

    /// Checks an object and gives it back with the defaults of missing fields at its end.
    pub fn object(&mut self, table: &Object, fields: &Map) -> Map {
        let mut out: Vec<(Str, Value)> = Vec::with_capacity(fields.len());
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match table.field(key) {
                Some(field) => {
                    let value = self.in_key(key, |walk| walk.value(&field.kind, value));
                    out.push((key.clone(), value));
                }
                None => {
                    let place = dotted(&self.path);
                    self.refuse_late(format!("strict decoding error: unknown field \"{place}.{key}\""));
                }
            }
        }
        let is_missing = |name: &str| fields.get(name).is_none_or(Value::is_null);
        for field in table.fields.iter().filter(|field| is_missing(field.name)) {
            if let Some(value) = default_of(field) {
                out.push((field.name.into(), value));
            } else if field.required {
                self.in_key(field.name, |walk| walk.refuse("Required value"));
            }
        }
        self.rule(table, &|name| !is_missing(name));
        Map::from_unique(out)
    }

    fn rule(&mut self, table: &Object, is_there: &dyn Fn(&str) -> bool) {
        let place = dotted(&self.path);
        match table.rule {
            Rule::NotBoth(a, b) if is_there(a) && is_there(b) => self.refuse_whole(format!(
                "<nil>: Invalid value: \"\": \"{place}\" must not validate the schema (not)"
            )),
            Rule::OneOf(names) => {
                let problem = format!(
                    "<nil>: Invalid value: \"\": \"{place}\" must validate one and only one schema (oneOf). Found"
                );
                match (names.iter().filter(|name| is_there(name)).count(), names.first()) {
                    (0, Some(first)) => {
                        self.refuse_whole(format!("{problem} none valid"));
                        self.in_key(first, |walk| walk.refuse("Required value"));
                    }
                    (0 | 1, _) => {}
                    (n, _) => self.refuse_whole(format!("{problem} {n} valid alternatives")),
                }
            }
            _ => {}
        }
    }
}

fn default_of(field: &Field) -> Option<Value> {
    field.default.map(Literal::value)
}

fn expected_type(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Duration | Kind::Short(_) | Kind::Shaped(_) | Kind::DateTime | Kind::Choice(_) => {
            "string"
        }
        Kind::Flag | Kind::Switch => "boolean",
        Kind::Int32 | Kind::Int64 | Kind::Count | Kind::Whole(_) => "integer",
        Kind::List(_) | Kind::Atomic(_) | Kind::Set(_) | Kind::Named(_) => "array",
        _ => "object",
    }
}
