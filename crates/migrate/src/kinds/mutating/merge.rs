//! Strategic merges (`patchStrategicMerge`) → apply configurations, and JSON patches for what they
//! cannot say.
//!
//! In: a constant patch as written. Out: an `Object{…}` with what is merged by keys and names, and
//! expressions of JSON patches for lists that are replaced as a whole, for what is removed, and for
//! kinds without a schema. Anchors: `+(key)` becomes a field that is there only where the object
//! has none, `(key)` of a list's items chooses items, `(key)` elsewhere is a condition of the
//! policy. Semantics: `docs/semantics/mutate.md`.

use ephor_ir::Origin;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::Type;
use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Value};

use crate::constraints::cel::{literal, matches};
use crate::expressions::leaf_test;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::mutating::anchors::{
    Key, conditions, is_condition, is_pattern_of_text, is_whole, key, merged_items, merges_into_itself,
    of_element, plain,
};
use crate::kinds::mutating::constant::{Place, are_alike, constant, is_map, is_name, is_scalar, keyed_items};
use crate::kinds::mutating::json::{add_item, remove, set};
use crate::kinds::mutating::nested_items::{ChangedItems, ITEM};
use crate::kinds::mutating::optional_parts::without_test;
use crate::kinds::shared::Fill;

/// What a patch becomes.
#[derive(Debug, Default)]
pub struct Merged {
    /// The apply configuration, if something is merged.
    pub apply: Option<String>,
    /// Expressions of JSON patches, in order.
    pub patches: Vec<String>,
    /// What the object must look like for the patch to apply: a pattern.
    pub condition: Option<Value>,
    /// Whether it changes elements of a loop and nothing else.
    pub is_of_elements: bool,
}

struct MergeWriter<'w> {
    types: &'w Types,
    origin: &'w Origin,
    fill: Fill<'w>,
    element: Option<&'w Chosen<'w>>,
    patches: Vec<String>,
    /// The items around.
    inside: Option<ChangedItems>,
    /// What keeps out the values of items that are replaced as a whole: that something above them
    /// is there already.
    above: Option<String>,
    /// Which item decides whether a field is added to all of them: for its own fields, and for
    /// those below.
    deciding: Option<[String; 2]>,
    /// Whether something is for elements of the loop, and whether something is not.
    elements: [bool; 2],
}

/// The elements of a list that a loop is about.
pub struct Chosen<'c> {
    /// The list.
    pub list: &'c Place,
    /// The name of an element in expressions.
    pub var: &'c str,
    /// Which elements count; `None` = all.
    pub test: Option<String>,
    /// A text with variables as an optional, where its value may be null.
    pub optional: Optional<'c>,
}

/// What fills texts with variables in that may have no value.
pub type Optional<'f> = &'f dyn Fn(&str) -> Result<Option<String>>;

/// What a patch becomes for objects of a kind.
pub fn merged(
    patch: &Value,
    object: &Place,
    types: &Types,
    origin: &Origin,
    fill: Fill<'_>,
    element: Option<&Chosen<'_>>,
) -> Result<Merged> {
    let mut writer = MergeWriter {
        types,
        origin,
        fill,
        element,
        patches: Vec::new(),
        inside: None,
        above: None,
        deciding: None,
        elements: [false; 2],
    };
    if patch.any_text(&|text| text.contains("$(")) {
        return Err(writer.refuse(
            "references in a merge",
            "write the values, or read them from `object`: CEL has no references `$(…)`",
        ));
    }
    if patch.any_text(&|text| text == "$patch") {
        return Err(writer.refuse(
            "a `$patch` directive",
            "write a JSON patch that removes or replaces the part: an apply configuration has no directives",
        ));
    }
    let Some(fields) = patch.as_map() else {
        return Err(writer.refuse("a merge that is no object", "write the fields that it changes"));
    };
    let condition = conditions(fields);
    let apply = writer.object(fields, object, "Object")?;
    let apply = (!apply.is_empty()).then(|| format!("Object{{{}}}", apply.join(", ")));
    let is_of_elements = writer.elements == [true, false];
    Ok(Merged { apply, patches: writer.patches, condition, is_of_elements })
}

impl MergeWriter<'_> {
    fn refuse(&self, construct: &str, nearest: &str) -> Refusal {
        Refusal::new(construct, self.origin.clone(), nearest)
    }

    /// The fields of an object or struct.
    fn object(&mut self, fields: &Map, place: &Place, name: &str) -> Result<Vec<String>> {
        let mut out = Vec::new();
        // Members of a map have one type for the checker.
        let is_mixed = is_map(place.ty.as_ref()) && !are_alike(&self.scalars(fields)?);
        for (written, value) in fields.iter() {
            if written.contains("{{") {
                let is_text = value.as_str().is_some() && matches!(key(written), Key::Plain(_));
                if !is_text || !is_map(place.ty.as_ref()) || self.element.is_some() {
                    return Err(self.refuse("a variable in a key of a merge", "write a JSON patch with the variable in its path: keys of an apply configuration are constants"));
                }
                let text = constant(value, self.fill)?;
                let text = if is_mixed { format!("dyn({text})") } else { text };
                out.push(format!("{}: {text}", (self.fill)(written)?));
                continue;
            }
            let (key, absent) = match key(written) {
                Key::Plain(key) => (key, false),
                Key::Absent(key) => (key, true),
                // It was tested; what is left of it when it has parts would be merged.
                Key::Condition(_) | Key::Global(_) if is_condition(value) || merges_into_itself(value) => {
                    continue;
                }
                Key::Condition(_) | Key::Global(_) => return Err(self.refuse("a condition with parts", "write the condition in `preconditions`, and its fields without anchor: an apply configuration has no condition that also merges")),
            };
            let own = place.key(key, self.types);
            // What is there decides about all that would be added with it.
            let added = (absent && value.as_map().is_some()).then(|| plain(value));
            let value = added.as_ref().unwrap_or(value);
            if let Some(optional) = self.optional(value, &own)? {
                let written = if is_map(place.ty.as_ref()) { literal(key) } else { key.to_string() };
                out.push(match self.decides(&own).filter(|_| absent) {
                    Some(test) => format!("?{written}: {test} ? optional.none() : {optional}"),
                    None => format!("?{written}: {optional}"),
                });
                continue;
            }
            let field = match self.types_say(&own, value) {
                true => {
                    let before = self.patches.len();
                    // Where one item decides for all, what it has keeps out all that would be added
                    // below: other items keep what they have there.
                    let above = self.above.clone();
                    if added.is_some() && place.text == ITEM {
                        self.above = above
                            .clone()
                            .into_iter()
                            .chain(self.decides(&own))
                            .reduce(|a, b| format!("{a} || {b}"));
                    }
                    let field = self.field(value, &own, &format!("{name}.{key}"));
                    self.above = above;
                    match field {
                        // A list that is not there is added as it is.
                        Err(_) if absent && value.as_list().is_some() && place.text == "object" => {
                            self.patches.truncate(before);
                            None
                        }
                        // One patch adds all of it: behind one that adds a part, it is there.
                        Ok(_) if added.is_some() && self.patches.len() > before && place.text != ITEM => {
                            self.patches.truncate(before);
                            None
                        }
                        Ok(_) if added.is_some() && self.patches.len() > before + 1 => {
                            return Err(self.refuse("an anchor above several lists that are replaced", "write a rule for each list: the patch of the first one would be there for the second one"));
                        }
                        found => found?,
                    }
                }
                false => None,
            };
            let is_field = is_name(key) || is_map(place.ty.as_ref());
            let field = field.map(|text| if is_mixed { format!("dyn({text})") } else { text });
            match field.filter(|_| is_field) {
                // Patches say all of it.
                Some(text) if text.is_empty() => {}
                Some(text) if let Some(tests) = self.added_alone(value, &own) => {
                    // Nothing of it is added where all is there.
                    let written = if is_map(place.ty.as_ref()) { literal(key) } else { key.to_string() };
                    let text = without_test(&text, &tests);
                    out.push(format!("?{written}: {tests} ? optional.none() : optional.of({text})"));
                }
                Some(text) => {
                    let chooses = !absent && text.contains(".map(") && value.as_list().is_some();
                    match own.is_there().filter(|_| chooses) {
                        // No list is not an empty one.
                        Some(test) => {
                            out.push(format!("?{key}: {test} ? optional.of({text}) : optional.none()"));
                        }
                        None => out.extend(self.member(place, key, &own, &text, absent)),
                    }
                }
                None if !absent && self.adds_items(value, &own)? => {}
                None if place.text != "object" => self.inside(value, &own, absent)?,
                None if absent => {
                    let patch = set(&own, &plain(value), self.fill)?;
                    self.patches.push(match own.is_there() {
                        Some(test) => format!("{test} ? [] : {}", bracketed(&patch)),
                        None => continue,
                    });
                }
                None if value.is_null() => self.patches.push(remove(&own)),
                None => self.others(value, &own)?,
            }
        }
        Ok(out)
    }

    /// The values of a map that are no objects or lists.
    fn scalars(&self, fields: &Map) -> Result<Vec<String>> {
        let is_scalar = |value: &&Value| !matches!(value, Value::Null | Value::Map(_) | Value::List(_));
        fields.iter().map(|(_, value)| value).filter(is_scalar).map(|v| constant(v, self.fill)).collect()
    }

    /// The value of an element's field as an optional, where it may be null: a merge leaves out a
    /// field that was not there then.
    fn optional(&self, value: &Value, place: &Place) -> Result<Option<String>> {
        let text = value.as_str().filter(|text| text.contains("{{") && place.is_there().is_some());
        match (self.element, text) {
            (Some(element), Some(text)) if is_scalar(place.ty.as_ref()) => (element.optional)(text),
            _ => Ok(None),
        }
    }

    /// Whether a value is a list of items that are their keys and nothing more, in a list that is
    /// merged by these and whose items are replaced as a whole: each is added where there is none
    /// of its name.
    fn adds_items(&mut self, value: &Value, place: &Place) -> Result<bool> {
        let Some((item, _, keys)) = keyed_items(place.ty.as_ref()).filter(|_| place.text == "object") else {
            return Ok(false);
        };
        let items = value.as_list().unwrap_or_default();
        let has_keys = |item: &Value| {
            item.as_map()
                .is_some_and(|map| map.len() == keys.len() && keys.iter().all(|key| map.get(key).is_some()))
        };
        if !is_whole(item, self.types) || items.is_empty() || !items.iter().all(has_keys) {
            return Ok(false);
        }
        for item in items {
            self.patches.push(add_item(place, item, keys, self.fill)?);
        }
        Ok(true)
    }

    /// Whether the schema says how a value is merged.
    fn types_say(&self, place: &Place, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Map(_) => place.fields(self.types).is_some() || is_map(place.ty.as_ref()),
            Value::List(items) => merged_items(place.ty.as_ref(), items, self.types).is_some(),
            _ => is_scalar(place.ty.as_ref()),
        }
    }

    /// For an object of an item of which each part is added where another item has none: whether
    /// all parts are there.
    fn added_alone(&self, value: &Value, own: &Place) -> Option<String> {
        self.deciding.as_ref()?;
        let mut tests = Vec::new();
        self.tests_of_added(value.as_map()?, own, &mut tests)?;
        (!tests.is_empty()).then(|| tests.join(" && "))
    }

    fn tests_of_added(&self, fields: &Map, place: &Place, tests: &mut Vec<String>) -> Option<()> {
        for (written, value) in fields.iter() {
            match key(written) {
                Key::Absent(key) => tests.extend(self.decides(&place.key(key, self.types))),
                Key::Plain(key) => {
                    self.tests_of_added(value.as_map()?, &place.key(key, self.types), tests)?;
                }
                Key::Condition(_) | Key::Global(_) => return None,
            }
        }
        Some(())
    }

    /// Whether a field is there, as a test of what decides about it; `None` = always.
    fn decides(&self, own: &Place) -> Option<String> {
        match &self.deciding {
            Some([first, chosen]) if own.text == ITEM => {
                let text = if own.steps.len() == 1 { first } else { chosen };
                Place { text: text.clone(), ..own.clone() }.is_there()
            }
            _ => own.is_there(),
        }
    }

    fn member(&self, place: &Place, key: &str, own: &Place, text: &str, absent: bool) -> Option<String> {
        let written = if is_map(place.ty.as_ref()) { literal(key) } else { key.to_string() };
        match (absent, self.decides(own)) {
            (false, _) => Some(format!("{written}: {text}")),
            (true, Some(test)) => Some(format!("?{written}: {test} ? optional.none() : optional.of({text})")),
            // It is always there.
            (true, None) => None,
        }
    }

    /// The value of a field; `None` when nothing of it is merged.
    fn field(&mut self, value: &Value, place: &Place, name: &str) -> Result<Option<String>> {
        match value {
            Value::Map(fields) => {
                let is_free = is_map(place.ty.as_ref());
                let before = self.patches.len();
                let members = self.object(fields, place, name)?;
                let text = if is_free { String::new() } else { name.to_string() };
                Ok(match (members.is_empty(), self.patches.len() > before) {
                    (false, _) => Some(format!("{text}{{{}}}", members.join(", "))),
                    (true, true) => Some(String::new()),
                    (true, false) => None,
                })
            }
            Value::List(items) => match merged_items(place.ty.as_ref(), items, self.types).cloned() {
                Some(ty) => self.items(items, &ty, place, name).map(Some),
                None => Ok(None),
            },
            scalar => {
                self.elements[1] |= self.inside.is_none();
                Ok(Some(constant(scalar, self.fill)?))
            }
        }
    }

    /// A list that is merged by names: items that are chosen by conditions, and items of their own.
    fn items(&mut self, items: &[Value], ty: &Type, place: &Place, name: &str) -> Result<String> {
        let mut own = Vec::new();
        let mut chosen = Vec::new();
        for item in items {
            let Some(fields) = item.as_map() else {
                return Err(self.refuse(
                    "an item that is no object",
                    "write its fields: items of this list are merged by their keys",
                ));
            };
            let is_its = |element: &&Chosen<'_>| element.list.pointer() == place.pointer();
            if let Some(element) = self.element.filter(is_its)
                && let Some(own) = of_element(fields)
            {
                chosen.extend(self.elements(element, &own, ty, place, name)?);
                continue;
            }
            // An item of an element's own list belongs to the element.
            self.elements[1] |= !self.inside.as_ref().is_some_and(|inside| inside.is_element);
            let has_anchor = fields.keys().any(|written| !matches!(key(written), Key::Plain(_)));
            if !has_anchor {
                // What is replaced as a whole is put into the item once it is there.
                let has_names = keyed_items(place.ty.as_ref()).is_some_and(|(_, is_name, _)| is_name);
                let named = fields.get("name").filter(|_| has_names);
                let named = named.map(|name| constant(name, self.fill)).transpose()?;
                let inside = named.map(|named| ChangedItems::named(place, &named, self.inside.as_ref()));
                let var = ChangedItems::var_in(self.inside.as_ref());
                let outside = std::mem::replace(&mut self.inside, inside);
                let members = self.object(fields, &Place::item(var, ty), name);
                self.inside = outside;
                let members = members?;
                own.push(format!("{name}{{{}}}", members.join(", ")));
                continue;
            }
            chosen.extend(self.chosen(fields, ty, place, name)?);
        }
        let adds = !own.is_empty() && !chosen.is_empty() && place.is_there().is_some();
        if chosen.len() > 1 || adds {
            return Err(self.refuse("several items with anchors in one list", "write a rule for each item: Kyverno 1.19.1 loses the items that none of them matches (kyverno#16862)"));
        }
        let mut parts = chosen;
        if !own.is_empty() {
            parts.push(format!("[{}]", own.join(", ")));
        }
        Ok(parts.join(" + "))
    }

    /// The items of the object's list that an item with anchors is for.
    fn chosen(&mut self, fields: &Map, ty: &Type, place: &Place, name: &str) -> Result<Option<String>> {
        let var = ITEM;
        let item = Place::item(var, ty);
        let (mut tests, mut rest) = (Vec::new(), Map::new());
        for (written, value) in fields.iter() {
            match key(written) {
                Key::Condition(key) => {
                    let own = item.key(key, self.types);
                    let test = match value.as_str().filter(|text| is_pattern_of_text(text)) {
                        Some(text) => Some(matches(&own.value(), &Wildcard::new(text))),
                        None if is_scalar(own.ty.as_ref()) => leaf_test(value, &own.value())
                            .map(|test| if test.contains(" || ") { format!("({test})") } else { test }),
                        None => None,
                    };
                    let Some(test) = test else {
                        return Err(self.refuse(
                            "a condition of an item that is no text",
                            "write a loop (`foreach`) with the condition in its preconditions",
                        ));
                    };
                    let both: Vec<String> =
                        own.is_there().into_iter().chain([test]).filter(|test| test != "true").collect();
                    tests.extend(both);
                }
                // It is tested before, and the rest of the item counts for nothing.
                Key::Global(_) => return Ok(None),
                Key::Plain("name") => {
                    return Err(self.refuse(
                        "an item with a name and anchors",
                        "write `(name)`, or leave the other anchors out",
                    ));
                }
                Key::Plain(_) | Key::Absent(_) => {
                    rest.insert(written.clone(), value.clone());
                }
            }
        }
        let test = tests.join(" && ");
        // The first item decides for all of them, and below it the first one that is chosen.
        let list = place.value();
        let first = match test.is_empty() {
            true => format!("{list}[0]"),
            false => format!("{list}.filter({var}, {test})[0]"),
        };
        let deciding = self.deciding.replace([format!("{list}[0]"), first]);
        let inside = ChangedItems::chosen(place, var, test, false);
        let outside = self.inside.replace(inside);
        let members = self.object(&rest, &item, name);
        self.inside = outside;
        self.deciding = deciding;
        let members = members?;
        if members.is_empty() {
            return Ok(None);
        }
        let list = place.value();
        let some = match tests.is_empty() {
            true => list,
            false => format!("{list}.filter({var}, {})", tests.join(" && ")),
        };
        let all: Vec<String> = [format!("name: {var}.name")].into_iter().chain(members).collect();
        Ok(Some(format!("{some}.map({var}, {name}{{{}}})", all.join(", "))))
    }

    /// A value of items that is replaced as a whole: a patch for each of them.
    fn inside(&mut self, value: &Value, own: &Place, absent: bool) -> Result<()> {
        let Some(inside) =
            self.inside.clone().filter(|inside| *inside.var == *own.text && inside.is_reached())
        else {
            return Err(self.refuse("a value in a list's items that is replaced as a whole", "write a loop (`foreach`) over the list with a JSON patch: an apply configuration merges such items and replaces nothing"));
        };
        if absent && inside.around.is_some() {
            return Err(self.refuse(
                "an anchor in an item of an item's list",
                "write a loop (`foreach`) over the outer list",
            ));
        }
        if value.any_text(&|text| !matches!(key(text), Key::Plain(_))) {
            return Err(self.refuse("anchors in a list that is replaced as a whole", "write a loop (`foreach`) with preconditions: items of such a list have no keys to find them by"));
        }
        let place = Place { prefix: inside.prefix(), ..own.clone() };
        let body = match (value.is_null(), absent, self.decides(&place)) {
            (true, ..) => remove(&place),
            (false, true, Some(test)) => {
                format!("{test} ? [] : {}", bracketed(&set(&place, &plain(value), self.fill)?))
            }
            (false, true, None) => return Ok(()),
            (false, false, _) => set(&place, value, self.fill)?,
        };
        let body = match &self.above {
            Some(test) => format!("{test} ? [] : {}", bracketed(&body)),
            None => body,
        };
        self.elements[usize::from(!inside.is_element)] = true;
        self.patches.push(inside.each(body));
        Ok(())
    }

    /// The elements of a loop, each changed by the item that names it.
    fn elements(
        &mut self,
        element: &Chosen<'_>,
        fields: &Map,
        ty: &Type,
        place: &Place,
        name: &str,
    ) -> Result<Option<String>> {
        let test = element.test.clone().filter(|test| test != "true").unwrap_or_default();
        let inside = ChangedItems::chosen(place, element.var, test, true);
        let outside = self.inside.replace(inside);
        let members = self.object(fields, &Place::item(element.var, ty), name);
        self.inside = outside;
        let members = members?;
        if members.is_empty() {
            return Ok(None);
        }
        self.elements[0] = true;
        let some = match &element.test {
            Some(test) => format!("{}.filter({}, {test})", place.value(), element.var),
            None => place.value(),
        };
        let all: Vec<String> = [format!("name: {}.name", element.var)].into_iter().chain(members).collect();
        Ok(Some(format!("{some}.map({}, {name}{{{}}})", element.var, all.join(", "))))
    }

    /// What the schema does not describe, or replaces as a whole.
    fn others(&mut self, value: &Value, place: &Place) -> Result<()> {
        match value {
            // Without a schema maps are merged by their keys.
            Value::Map(fields) => {
                for (written, value) in fields.iter() {
                    match key(written) {
                        Key::Plain(key) if value.is_null() => {
                            self.patches.push(remove(&place.key(key, self.types)));
                        }
                        Key::Plain(key) => self.others(value, &place.key(key, self.types))?,
                        Key::Absent(key) => {
                            let own = place.key(key, self.types);
                            if let Some(test) = own.is_there() {
                                self.patches.push(format!(
                                    "{test} ? [] : {}",
                                    bracketed(&set(&own, &plain(value), self.fill)?)
                                ));
                            }
                        }
                        Key::Condition(_) | Key::Global(_)
                            if is_condition(value) || merges_into_itself(value) => {}
                        Key::Condition(_) | Key::Global(_) => {
                            return Err(self.refuse("a condition with parts", "write the condition in `preconditions`, and its fields without anchor: an apply configuration has no condition that also merges"));
                        }
                    }
                }
                Ok(())
            }
            Value::List(_) if value.any_text(&|text| !matches!(key(text), Key::Plain(_))) => {
                Err(self.refuse("anchors in a list that is replaced as a whole", "write a loop (`foreach`) with preconditions: items of such a list have no keys to find them by"))
            }
            other => {
                self.patches.push(set(place, other, self.fill)?);
                Ok(())
            }
        }
    }
}

fn bracketed(text: &str) -> String {
    if text.starts_with('[') { text.into() } else { format!("({text})") }
}
