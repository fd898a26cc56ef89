//! The interpreter of rules on abstract values: what is read, compared and expected where.
//!
//! In: expressions, and the abstract values of their variables. Out: the abstract value of each,
//! with notes on what its evaluation depends on. `expr` and `template` walk; this collects.

use ephor_functions::registry::Operation;
use ephor_ir::late::Late;
use ephor_ir::rule::hole_of;
use ephor_value::{Str, Value};
use foldhash::{HashMap, HashMapExt};

use crate::reads::abstract_value::{
    AbstractValue, CONSTANT, MAX_PARTS_OF_TEXT, Origin, Part, ValueSet, composed, either, empty, further,
    is_built, of_object, origin_of,
};
use crate::reads::comparisons::{By, Comparisons};
use crate::reads::expected_type::{ExpectedType, itself, plain};
use crate::reads::footprint::{NAME_OF_NAMESPACE, ReadTree, Reads, Step, Untracked, UserReads};
use crate::reads::texts::{TextStep, Way};

/// What was read so far, and under which names more can be found.
pub struct Reader {
    /// Lowers what is put together at run time.
    pub late: &'static dyn Late,
    /// What was read.
    pub reads: Reads,
    /// Names on top of the root; the last of equal ones counts.
    pub names: Vec<(Str, ValueSet)>,
    /// The names of bindings in scope.
    pub bound: Vec<Str>,
    /// How many of them are the rule's own.
    pub of_rule: usize,
    /// What variables of expressions give, by the address of the variable.
    pub variables: HashMap<usize, ValueSet>,
    /// How deep the variable that is being read is among those that read it.
    pub depth: usize,
    /// Nodes of expressions that were read.
    pub nodes: u32,
    /// What values are compared with, where that is collected.
    pub tests: Option<Comparisons>,
    /// Whether the object is deleted, where that is known.
    pub is_deletion: Option<bool>,
    /// What the texts of `ir::rule::hole` stand for.
    pub holes: Vec<ValueSet>,
}

impl Reader {
    /// Nothing was read yet.
    pub fn new(late: &'static dyn Late) -> Reader {
        Reader {
            late,
            reads: Reads::default(),
            names: Vec::new(),
            bound: Vec::new(),
            of_rule: 0,
            variables: HashMap::new(),
            depth: 0,
            nodes: 0,
            tests: None,
            is_deletion: None,
            holes: Vec::new(),
        }
    }

    fn tree(&mut self, part: Part) -> &mut ReadTree {
        match part {
            Part::Object => &mut self.reads.object,
            Part::Old => &mut self.reads.old,
            Part::Shown => &mut self.reads.shown,
            Part::Namespace => &mut self.reads.namespace,
        }
    }

    fn read(&mut self, part: Part, steps: &[Step], whole: bool) {
        self.tree(part).add(&plain(steps), whole);
    }

    /// Something depends on all of a value, in a way that is not looked into.
    pub fn consume(&mut self, values: &ValueSet) -> Result<(), Untracked> {
        self.consume_as(values, ExpectedType::ANY)
    }

    /// The same, of values of which the expected types are known.
    pub fn consume_as(&mut self, values: &ValueSet, what: ExpectedType) -> Result<(), Untracked> {
        if let Some(tests) = &mut self.tests {
            tests.anywhere(values);
            tests.is_lost |= values.iter().any(is_built);
        }
        self.read_as(values, what)
    }

    /// Something depends on all of a value, by tests that are noted.
    pub fn read_all(&mut self, values: &ValueSet) -> Result<(), Untracked> {
        self.read_as(values, ExpectedType::ANY)
    }

    /// The same, of values of which the expected types are known.
    pub fn read_as(&mut self, values: &ValueSet, what: ExpectedType) -> Result<(), Untracked> {
        self.look_for(values, what);
        for one in values {
            match one {
                AbstractValue::Root | AbstractValue::Request | AbstractValue::Untracked => {
                    return Err(Untracked);
                }
                AbstractValue::At(part, steps) => self.read(*part, steps, true),
                AbstractValue::Made(of, _) | AbstractValue::Split(of, ..) | AbstractValue::Count(of, ..) => {
                    self.origin(of);
                }
                AbstractValue::List(items) => self.read_as(items, what.of_items())?,
                AbstractValue::Sum(items) => self.read_as(items, what)?,
                AbstractValue::Map(entries) => entries.iter().try_for_each(|(_, v)| self.read_all(v))?,
                AbstractValue::Constant(_)
                | AbstractValue::Computed
                | AbstractValue::Length(_)
                | AbstractValue::Name(_)
                | AbstractValue::Elsewhere => {}
                AbstractValue::User => self.whole_user(),
            }
        }
        Ok(())
    }

    /// Two values are compared with each other, for equality alone.
    pub fn read_compared(&mut self, one: &ValueSet, other: &ValueSet) -> Result<(), Untracked> {
        if let ([AbstractValue::At(part, steps)], [AbstractValue::At(other_part, other_steps)]) =
            (&one[..], &other[..])
            && self.tests.is_some()
        {
            self.look_for(one, ExpectedType::ANY);
            self.look_for(other, ExpectedType::ANY);
            self.tree(*part).add_compared(&plain(steps));
            self.tree(*other_part).add_compared(&plain(other_steps));
            return Ok(());
        }
        // What is compared with something empty is empty, or it is not.
        for (values, with) in [(one, other), (other, one)] {
            if let Some(what) = empty(with).filter(|_| self.tests.is_some()) {
                self.look_for(values, what);
                return self.read_shape(values);
            }
        }
        self.read_all(one)?;
        self.read_all(other)
    }

    /// The text that others are built of is read.
    fn origin(&mut self, of: &Origin) {
        if let Origin::At(part, steps) = of {
            self.read(*part, steps, true);
        }
    }

    /// Something is computed in a way that no test describes.
    pub fn lose(&mut self) {
        self.tests.iter_mut().for_each(|tests| tests.is_lost = true);
    }

    /// What a step makes of texts.
    pub fn stepped(&mut self, values: &ValueSet, step: &TextStep) -> Result<ValueSet, Untracked> {
        self.read_all(values)?;
        let constant = |text: &str| step.made(text).map(Value::from);
        let made = self.of_texts(values, &constant, &|own, of, mut way| {
            way.push(step.clone());
            // Whether there is a text, and whether it is empty.
            own.noted(&of, &way);
            AbstractValue::Made(of, way)
        })?;
        either(made, ValueSet::new())
    }

    /// What is built of texts: of constants, and of those that come from a place.
    fn of_texts(
        &mut self,
        values: &ValueSet,
        constant: &dyn Fn(&str) -> Option<Value>,
        made: &dyn Fn(&mut Reader, Origin, Way) -> AbstractValue,
    ) -> Result<ValueSet, Untracked> {
        let mut out = ValueSet::new();
        for one in values {
            match one {
                one if let Some((of, way)) = origin_of(one) => out.push(made(self, of, way)),
                AbstractValue::Constant(value) => {
                    out.extend(value.as_str().and_then(constant).map(AbstractValue::Constant));
                }
                AbstractValue::Elsewhere => out.push(AbstractValue::Elsewhere),
                _ => {
                    self.lose();
                    self.consume(values)?;
                    return Ok(self.computed());
                }
            }
        }
        Ok(out)
    }

    fn noted(&mut self, of: &Origin, way: &Way) {
        let (Origin::At(_, steps) | Origin::Name(steps)) = of;
        if let Some(tests) = &mut self.tests {
            tests.at_way(steps, way, By::Function(Operation::Equal), &Value::from(""));
        }
    }

    /// The parts of texts between the occurrences of a text.
    pub fn split(&mut self, values: &ValueSet, by: &Str) -> Result<ValueSet, Untracked> {
        self.read_as(values, ExpectedType::TEXT)?;
        let parts = |text: &str| Some(Value::list(text.split(&**by).map(Value::from).collect()));
        self.of_texts(values, &parts, &|_, of, way| AbstractValue::Split(of, way, by.clone()))
    }

    /// An item of lists by its position. Lists have each item that they may have as their first
    /// one.
    pub fn item_at(&mut self, values: &ValueSet, at: i64) -> Result<ValueSet, Untracked> {
        let mut out = ValueSet::new();
        let (parts, others): (ValueSet, ValueSet) =
            values.iter().cloned().partition(|one| matches!(one, AbstractValue::Split(..)));
        if !others.is_empty() {
            let is_fixed =
                |one: &AbstractValue| matches!(one, AbstractValue::Elsewhere | AbstractValue::Constant(_));
            if at != 0 && !others.iter().all(is_fixed) {
                self.lose();
            }
            self.look_for(&others, ExpectedType::LIST);
            out = self.items(&others)?;
        }
        for one in parts {
            let AbstractValue::Split(of, mut way, by) = one else { continue };
            match usize::try_from(at) {
                Ok(at) if at < MAX_PARTS_OF_TEXT => way.push(TextStep::Part { by, at }),
                Err(_) if at == -1 => way.push(TextStep::LastPart { by }),
                _ => {
                    self.lose();
                    out = either(out, self.computed())?;
                    continue;
                }
            }
            self.origin(&of);
            self.noted(&of, &way);
            out = either(out, vec![AbstractValue::Made(of, way)])?;
        }
        Ok(out)
    }

    /// How many parts texts have; other values stay.
    pub fn counted_parts(&mut self, values: &ValueSet) -> (ValueSet, ValueSet) {
        let (parts, others): (ValueSet, ValueSet) =
            values.iter().cloned().partition(|one| matches!(one, AbstractValue::Split(..)));
        let count = parts.into_iter().filter_map(|one| match one {
            AbstractValue::Split(of, way, by) => Some(AbstractValue::Count(of, way, by)),
            _ => None,
        });
        (count.collect(), others)
    }

    /// The names of the fields of an object, on which something depends.
    pub fn names(&mut self, values: &ValueSet) -> Result<ValueSet, Untracked> {
        self.look_for(values, ExpectedType::MAP);
        let mut names = ValueSet::new();
        for one in values {
            let found = match one {
                AbstractValue::At(part, steps) => {
                    self.tree(*part).add_names(&plain(steps));
                    self.tests.is_some().then(|| AbstractValue::Name(steps.clone())).into_iter().collect()
                }
                AbstractValue::Map(_)
                | AbstractValue::Constant(_)
                | AbstractValue::Computed
                | AbstractValue::Length(_)
                | AbstractValue::Name(_)
                | AbstractValue::Elsewhere => self.computed(),
                other => {
                    self.consume(&vec![other.clone()])?;
                    self.computed()
                }
            };
            names = either(names, found)?;
        }
        composed(AbstractValue::List(names))
    }

    /// Something depends on the shape of a value.
    pub fn read_shape(&mut self, values: &ValueSet) -> Result<(), Untracked> {
        for one in values {
            match one {
                AbstractValue::Untracked => return Err(Untracked),
                AbstractValue::At(part, steps) => self.read(*part, steps, false),
                AbstractValue::Sum(values) => self.read_shape(values)?,
                AbstractValue::Made(of, _) | AbstractValue::Split(of, ..) | AbstractValue::Count(of, ..) => {
                    self.origin(of);
                }
                AbstractValue::Root
                | AbstractValue::Request
                | AbstractValue::List(_)
                | AbstractValue::Map(_)
                | AbstractValue::Constant(_)
                | AbstractValue::Computed
                | AbstractValue::Length(_)
                | AbstractValue::Name(_)
                | AbstractValue::Elsewhere
                | AbstractValue::User => {}
            }
        }
        Ok(())
    }

    /// The value under a key.
    pub fn key(&mut self, values: &ValueSet, key: &Str) -> Result<ValueSet, Untracked> {
        self.look_for(values, ExpectedType::MAP);
        let mut out = ValueSet::new();
        for one in values {
            let found = match one {
                AbstractValue::Root => self.of_root(key)?,
                AbstractValue::Request => self.of_request(key)?,
                AbstractValue::At(part, steps) => {
                    let found = further(*part, steps, Step::Key(key.clone()))?;
                    let alias = self.name_of_namespace(&found);
                    std::iter::once(found).chain(alias).collect()
                }
                AbstractValue::Map(entries) => {
                    let found = entries.iter().rev().find(|(k, _)| k == key);
                    found.map(|(_, v)| v.clone()).unwrap_or_default()
                }
                AbstractValue::List(items) => {
                    self.consume(items)?;
                    ValueSet::new()
                }
                AbstractValue::Constant(whole) => {
                    whole.get(key).into_iter().cloned().map(AbstractValue::Constant).collect()
                }
                AbstractValue::Computed | AbstractValue::Length(_) | AbstractValue::Name(_) => {
                    vec![AbstractValue::Computed]
                }
                AbstractValue::Elsewhere => vec![AbstractValue::Elsewhere],
                AbstractValue::User => {
                    match &**key {
                        "username" => self.user(UserReads { name: true, ..UserReads::default() }),
                        "groups" => self.user(UserReads { groups: true, ..UserReads::default() }),
                        _ => self.reads.more_of_request = true,
                    }
                    vec![AbstractValue::Elsewhere]
                }
                // None of these has keys.
                AbstractValue::Made(..)
                | AbstractValue::Split(..)
                | AbstractValue::Count(..)
                | AbstractValue::Sum(_) => {
                    self.consume(&vec![one.clone()])?;
                    self.computed()
                }
                AbstractValue::Untracked => return Err(Untracked),
            };
            out = either(out, found)?;
        }
        Ok(out)
    }

    /// Any of the values inside; how many there are, and the keys of an object, count as read.
    pub fn items(&mut self, values: &ValueSet) -> Result<ValueSet, Untracked> {
        self.read_shape(values)?;
        let mut out = ValueSet::new();
        for one in values {
            let found = match one {
                AbstractValue::At(part, steps) => {
                    let one = further(*part, steps, Step::Items)?;
                    let alias = self.name_of_namespace(&one);
                    let found = vec![one];
                    self.read_shape(&found)?;
                    found.into_iter().chain(alias).collect()
                }
                AbstractValue::List(items) => items.clone(),
                AbstractValue::Sum(lists) => self.items(lists)?,
                AbstractValue::Made(..) | AbstractValue::Split(..) | AbstractValue::Count(..) => {
                    self.consume(&vec![one.clone()])?;
                    self.computed()
                }
                AbstractValue::Map(entries) => {
                    let mut all = ValueSet::new();
                    for (_, v) in entries {
                        all = either(all, v.clone())?;
                    }
                    all
                }
                // The texts of its items are among its own.
                AbstractValue::Constant(_)
                | AbstractValue::Computed
                | AbstractValue::Length(_)
                | AbstractValue::Name(_)
                | AbstractValue::Elsewhere => vec![one.clone()],
                AbstractValue::User => {
                    self.whole_user();
                    vec![AbstractValue::Elsewhere]
                }
                AbstractValue::Root | AbstractValue::Request | AbstractValue::Untracked => {
                    return Err(Untracked);
                }
            };
            out = either(out, found)?;
        }
        Ok(out)
    }

    /// Any of the items of a list, lists among them taken apart. `are_lists`: each is what is found
    /// in an item of another list.
    pub fn flat(&mut self, values: &ValueSet, are_lists: bool) -> Result<ValueSet, Untracked> {
        self.look_for(values, ExpectedType::LIST);
        self.look_for_in_items(values, ExpectedType::LIST);
        let items = self.items(values)?;
        // What is a list is always taken apart.
        let mut out: ValueSet =
            items.iter().filter(|one| !matches!(one, AbstractValue::List(_))).cloned().collect();
        for one in &items {
            let found = match one {
                AbstractValue::At(part, steps) => {
                    let found = vec![further(*part, steps, Step::Nested)?];
                    self.read_shape(&found)?;
                    found
                }
                AbstractValue::List(items) => items.clone(),
                AbstractValue::Made(..)
                | AbstractValue::Split(..)
                | AbstractValue::Count(..)
                | AbstractValue::Sum(_) => {
                    self.consume(&vec![one.clone()])?;
                    self.computed()
                }
                AbstractValue::Map(_)
                | AbstractValue::Constant(_)
                | AbstractValue::Computed
                | AbstractValue::Length(_)
                | AbstractValue::Name(_)
                | AbstractValue::Elsewhere
                | AbstractValue::User => ValueSet::new(),
                AbstractValue::Root | AbstractValue::Request | AbstractValue::Untracked => {
                    return Err(Untracked);
                }
            };
            out = either(out, found)?;
        }
        // What is no list stays as it is.
        let is_field = |steps: &[Step]| matches!(steps.last(), Some(Step::Key(_)));
        for one in out.iter_mut().filter(|_| are_lists) {
            if let AbstractValue::At(part, steps) = one
                && is_field(steps)
            {
                *one = AbstractValue::At(*part, itself(steps));
            }
        }
        Ok(out)
    }

    fn of_root(&mut self, key: &Str) -> Result<ValueSet, Untracked> {
        if let Some((_, values)) = self.names.iter().rev().find(|(name, _)| name == key) {
            return Ok(values.clone());
        }
        let whole = |part| Ok(vec![AbstractValue::At(part, Vec::new())]);
        match &**key {
            "request" => Ok(vec![AbstractValue::Request]),
            "object" => whole(Part::Object),
            "oldObject" => whole(Part::Old),
            "namespaceObject" => whole(Part::Namespace),
            "images" => {
                self.reads.object.add(&[Step::Key("spec".into())], true);
                Ok(self.computed())
            }
            "serviceAccountName" | "serviceAccountNamespace" => {
                self.user(UserReads { name: true, ..UserReads::default() });
                Ok(self.elsewhere())
            }
            constant if CONSTANT.contains(&constant) => Ok(self.computed()),
            // `a || ""`: in double quotes stands the name of a field, and none has this one.
            "" => Ok(vec![AbstractValue::Constant(Value::Null)]),
            _ => Err(Untracked),
        }
    }

    /// The field of the object that is the name of its namespace, when a value of the namespace is
    /// this name, or may be: an API server puts it into a label.
    fn name_of_namespace(&self, value: &AbstractValue) -> Option<AbstractValue> {
        let AbstractValue::At(Part::Namespace, steps) = value else { return None };
        let is = |step: &Step, key: &str| matches!(step, Step::Key(own) if **own == *key);
        let is_name = match &**steps {
            [metadata, name] => is(metadata, "metadata") && is(name, "name"),
            [metadata, labels, label] => {
                let may_be = *label == Step::Items || is(label, NAME_OF_NAMESPACE);
                is(metadata, "metadata") && is(labels, "labels") && may_be
            }
            _ => false,
        };
        (is_name && self.tests.is_some()).then(|| of_object("namespace"))
    }

    fn of_request(&mut self, key: &Str) -> Result<ValueSet, Untracked> {
        match &**key {
            "object" => return Ok(vec![AbstractValue::At(Part::Object, Vec::new())]),
            "oldObject" => return Ok(vec![AbstractValue::At(Part::Old, Vec::new())]),
            "userInfo" => {
                self.reads.user = true;
                if self.tests.is_none() {
                    self.user(UserReads::INFO);
                    self.reads.more_of_request = true;
                }
                return Ok(self.tests.is_some().then_some(AbstractValue::User).into_iter().collect());
            }
            "roles" => self.user(UserReads { roles: true, ..UserReads::default() }),
            "clusterRoles" => self.user(UserReads { cluster_roles: true, ..UserReads::default() }),
            "name" | "namespace" => {
                self.reads.name |= &**key == "name";
                // Where tests are collected, these are those of the object.
                return Ok(self.tests.is_some().then(|| of_object(key)).into_iter().collect());
            }
            "uid" => return Err(Untracked),
            "dryRun" | "options" => self.reads.more_of_request = true,
            // All else counts as read in any case.
            _ => {}
        }
        Ok(self.elsewhere())
    }

    /// An expression reads who makes the request.
    fn user(&mut self, what: UserReads) {
        self.reads.user = true;
        self.reads.by_expression.merge(what);
    }

    /// It reads all that is known of them.
    fn whole_user(&mut self) {
        self.user(UserReads::INFO);
        self.reads.more_of_request = true;
    }

    /// Something computed, where tests are collected.
    pub fn computed(&self) -> ValueSet {
        self.tests.is_some().then_some(AbstractValue::Computed).into_iter().collect()
    }

    fn elsewhere(&self) -> ValueSet {
        self.tests.is_some().then_some(AbstractValue::Elsewhere).into_iter().collect()
    }

    /// A constant, where tests are collected.
    pub fn constant(&self, value: &Value) -> ValueSet {
        if let Some(values) = value.as_str().and_then(hole_of).and_then(|at| self.holes.get(at)) {
            return values.clone();
        }
        self.tests.is_some().then(|| AbstractValue::Constant(value.clone())).into_iter().collect()
    }

    /// Notes that values are compared with each other.
    pub fn test(&mut self, one: &ValueSet, other: &ValueSet, by: By) {
        if let Some(tests) = &mut self.tests {
            tests.compared(one, other, by);
        }
    }
}
