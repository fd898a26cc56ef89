//! Values of expressions: what is read, of which type, and whether it can be missing.
//!
//! A value of JMESPath can be missing (a fault) or null; the value here says which, and gives its
//! tree in the form that the place needs: as it stands, which fails in CEL where the old expression
//! failed, or as an optional.

use std::collections::BTreeSet;

use ephor_kubernetes::schema::Types;
use ephor_value::{Str, Value};

use super::types::Ty;
use crate::cel::build::{
    all, binary, boolean, choose, empty_object, getter, has, held, index, not, operands, optional_none,
    optional_of, or_value, select, select_optional, text,
};
use crate::cel::{build, print};
use crate::expressions::refusal::Result;
use ephor_cel::ast::{Kind, Node};

/// What an expression fails for: paths that may not be there, by their text.
pub type Faults = BTreeSet<String>;

/// Two parts of an expression, and what one of them fails for.
pub fn together<A, B>((a, mut faults): (A, Faults), (b, more): (B, Faults)) -> (A, B, Faults) {
    faults.extend(more);
    (a, b, faults)
}

/// All parts of an expression, and what one of them fails for.
pub fn all_together<A>(parts: impl Iterator<Item = Result<(A, Faults)>>) -> Result<(Vec<A>, Faults)> {
    let mut faults = Faults::new();
    let part = |part: Result<(A, Faults)>| {
        let (own, more) = part?;
        faults.extend(more);
        Ok(own)
    };
    let all = parts.map(part).collect::<Result<Vec<A>>>()?;
    Ok((all, faults))
}

/// The tests that say whether all is there that an expression fails for; none where it fails for
/// something else than missing keys.
pub fn there(faults: &Faults) -> Option<Vec<Node>> {
    faults.iter().filter(|path| **path != *ABSORBED).map(|path| has_of(path)).collect()
}

/// Among faults: all of them are missing keys, which some nodes take for null.
pub const ABSORBED: &str = "?missing keys";

/// `has(path)` of a path's text; none for what is no path outside of the loop that it stands in.
pub fn has_of(path: &str) -> Option<Node> {
    let options = ephor_cel::library::admission(ephor_cel::library::Admission::default()).syntax;
    let node = ephor_cel::syntax::parse(path, options).ok()?;
    match node.kind {
        Kind::Select { operand, field, test: false } => {
            Some(Node::new(0, Kind::Select { operand, field, test: true }))
        }
        Kind::Call { function, target: None, args } if *function == *"_[_]" => match &args[..] {
            [map, key @ Node { kind: Kind::Const(Value::Str(_)), .. }] => {
                Some(binary("in", key.clone(), map.clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Faults as they are seen outside of a loop: paths of its items cannot be named there.
pub fn outside(faults: Faults, var: &str) -> Faults {
    let is_inner = |path: &str| path.strip_prefix(var).is_some_and(|rest| rest.starts_with(['.', '[']));
    faults.into_iter().map(|path| if is_inner(&path) { format!("?{path}") } else { path }).collect()
}

/// The map and the key of an entry that is read under a key that is computed: `map[?key]`; as a map
/// that is there.
fn entry(optional: &Node) -> Option<(Vec<Node>, Node, Node)> {
    let [map, key] = operands(optional, "_[?_]")? else { return None };
    // What is no constant and not computed is the name of an entry.
    let is_name = matches!(key.kind, Kind::Select { test: false, .. } | Kind::Ident(_));
    match &map.kind {
        Kind::Select { test: false, .. } if is_name => Some((Vec::new(), map.clone(), key.clone())),
        Kind::Call { function, target: None, args } if is_name && &**function == "_?._" => {
            let [base, Node { kind: Kind::Const(Value::Str(field)), .. }] = &args[..] else { return None };
            matches!(base.kind, Kind::Select { test: false, .. } | Kind::Ident(_)).then_some(())?;
            let there = binary("in", text(field), base.clone());
            Some((vec![there], select(base.clone(), field), key.clone()))
        }
        _ => None,
    }
}

/// Whether an optional is an entry that is read under a key that is computed.
pub fn is_entry(optional: &Node) -> bool {
    entry(optional).is_some()
}

/// Whether a list has items, and the least or largest of them; of a list without items there is
/// none.
pub fn extreme(optional: &Node) -> Option<(&Node, Node)> {
    let [is_some, some, _] = operands(optional, "_?_:_")? else { return None };
    let value = held(some)?;
    let is_extreme = matches!(&value.kind, Kind::Call { function, target: Some(_), args } if args.is_empty() && matches!(&**function, "min" | "max"));
    is_extreme.then_some((is_some, value))
}

/// Whether there is a value in an optional.
pub fn is_some(optional: &Node) -> Node {
    match extreme(optional) {
        Some((is_some, _)) => is_some.clone(),
        None => getter(optional.clone(), "hasValue"),
    }
}

/// The value in an optional.
pub fn some(optional: &Node) -> Node {
    match extreme(optional) {
        Some((_, value)) => value,
        None => getter(optional.clone(), "value"),
    }
}

/// Whether there is a value in an optional that fails where what it reads cannot be read.
pub fn has_value(optional: &Node) -> Node {
    if held(optional).is_some() {
        return boolean(true);
    }
    match entry(optional) {
        Some((mut terms, map, key)) => {
            terms.push(binary("in", key, map));
            all(terms)
        }
        None => is_some(optional),
    }
}

/// The value in an optional that has one, and fails where what it reads cannot be read.
pub fn value_in(optional: &Node) -> Node {
    if let Some(value) = held(optional) {
        return value;
    }
    match entry(optional) {
        Some((_, map, key)) => index(map, key),
        None => some(optional),
    }
}

/// A truth value, and what it fails for.
#[derive(Clone, Debug)]
pub struct Test {
    /// The expression.
    pub node: Node,
    /// What it fails for.
    pub faults: Faults,
}

impl Test {
    /// An expression that never fails.
    pub fn safe(node: Node) -> Test {
        Test { node, faults: Faults::new() }
    }

    /// A constant.
    pub fn constant(b: bool) -> Test {
        Test::safe(boolean(b))
    }

    /// The opposite.
    pub fn negated(self) -> Test {
        Test { node: not(self.node), faults: self.faults }
    }
}

/// A step of a path.
#[derive(Clone, Debug)]
pub struct PathStep {
    /// The key.
    pub key: Str,
    /// Whether it is always there.
    pub required: bool,
    /// Whether a missing one may be shown as null.
    pub nullable: bool,
    /// Whether it, or an item of it, may be the text `*`.
    pub wild: bool,
}

/// A path below a value that is there.
#[derive(Clone, Debug)]
pub struct Path {
    /// The value.
    pub base: Node,
    /// What the base fails for.
    pub faults: Faults,
    /// The steps.
    pub steps: Vec<PathStep>,
    /// The type of what is found.
    pub ty: Ty,
    /// A missing step is a fault, not null.
    pub fails: bool,
    /// The base itself may be the text `*`.
    pub wild: bool,
    /// The base may be null, which is a fault whatever the steps are: `has` and `.?` would see
    /// none.
    pub guarded: bool,
    /// The base is a pod, and the template of one where the policy is evaluated on controllers: in
    /// files these need not have metadata.
    pub is_template: bool,
}

/// The key of a pod that its templates may lack in files.
const METADATA: &str = "metadata";

impl Path {
    /// The value itself.
    pub fn of(base: Node, ty: Ty) -> Path {
        Path {
            base,
            faults: Faults::new(),
            steps: Vec::new(),
            ty,
            fails: true,
            wild: false,
            guarded: false,
            is_template: false,
        }
    }

    /// One step further.
    #[must_use]
    pub fn key(&self, key: &str, types: &Types) -> Path {
        let field = self.ty.field(key, types);
        let mut path = self.clone();
        // Names, and the values of labels, have no such characters.
        let is_label = matches!(path.last(), Some("labels" | "matchLabels" | "nodeSelector"));
        let is_name = path.last() == Some("metadata") && matches!(key, "name" | "namespace" | "generateName");
        let wild = field.wild && !is_label && !is_name;
        let is_below = self.last() == Some("template") || self.is_template && self.steps.is_empty();
        let may_lack = is_below && key == METADATA;
        let key = self.ty.named(key);
        path.steps.push(PathStep {
            key: key.into(),
            required: field.required && !may_lack,
            nullable: field.nullable,
            wild,
        });
        path.ty = field.ty;
        path
    }

    /// Whether it is always there.
    pub fn is_required(&self) -> bool {
        self.steps.iter().all(|step| step.required)
    }

    /// Whether it may be null where it is not there.
    pub fn is_nullable(&self) -> bool {
        self.steps.last().is_some_and(|step| step.nullable && !step.required)
    }

    /// The path to what it is a part of.
    #[must_use]
    pub fn above(&self) -> Path {
        let mut path = self.clone();
        path.steps.pop();
        path
    }

    /// The path as it stands.
    pub fn strict(&self) -> Node {
        self.steps.iter().fold(self.base.clone(), |node, step| select(node, &step.key))
    }

    /// What the path fails for as it stands.
    pub fn missing(&self) -> Faults {
        let mut faults = self.faults.clone();
        let mut node = self.base.clone();
        for step in &self.steps {
            node = select(node, &step.key);
            if !step.required {
                faults.insert(print(&node, usize::MAX));
            }
        }
        faults
    }

    /// The path as an optional; as it stands where it is always there.
    pub fn optional(&self) -> Node {
        let mut is_open = false;
        let (base, steps) = match self.steps.split_first() {
            // The paths of templates take the place of `object.metadata`, not of
            // `object.?metadata` (`docs/semantics/cel-policies.md`, "Controllers of pods").
            Some((first, rest)) if self.is_template && !first.required && !rest.is_empty() => {
                is_open = true;
                let there = has(self.base.clone(), &first.key);
                (choose(there, select(self.base.clone(), &first.key), empty_object()), rest)
            }
            _ => (self.base.clone(), &self.steps[..]),
        };
        steps.iter().fold(base, |node, step| {
            is_open |= !step.required;
            if is_open { select_optional(node, &step.key) } else { select(node, &step.key) }
        })
    }

    /// The value, or else a default.
    pub fn or(&self, default: Node) -> Node {
        match (self.is_required(), self.faults.is_empty() && !self.is_nullable()) {
            (true, _) => self.strict(),
            (_, true) => or_value(self.optional(), default),
            // Kyverno's `orValue` would take the default for a failure, too.
            (_, false) => choose(self.present(), self.strict(), default),
        }
    }

    /// Whether it is there.
    pub fn present(&self) -> Node {
        if let (true, Some(first)) = (self.guarded, self.steps.first()) {
            let rest = Path { guarded: false, ..self.clone() }.present();
            return all(vec![binary("in", text(&first.key), self.base.clone()), rest]);
        }
        let Some(last) = self.steps.last() else { return boolean(true) };
        if self.is_required() {
            return boolean(true);
        }
        if self.is_nullable() {
            let null = build::constant(Value::Null);
            let found = or_value(self.optional(), null.clone());
            return binary("!=", found, null);
        }
        let parent = self.above();
        match (parent.is_required(), last.required) {
            (true, _) => has(parent.strict(), &last.key),
            (false, true) => parent.present(),
            (false, false) => getter(self.optional(), "hasValue"),
        }
    }

    /// The same path, known to be there.
    #[must_use]
    pub fn known(&self) -> Path {
        let mut path = self.clone();
        path.steps.iter_mut().for_each(|step| step.required = true);
        path
    }

    /// Whether it is a value of annotations or data, which may be any text.
    pub fn is_free_text(&self) -> bool {
        let parent = self.steps.len().checked_sub(2).and_then(|at| self.steps.get(at));
        self.ty == Ty::Text && parent.is_some_and(|step| matches!(&*step.key, "annotations" | "data"))
    }

    /// The last key.
    pub fn last(&self) -> Option<&str> {
        self.steps.last().map(|step| &*step.key)
    }
}

/// What a missing object is, where its keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A fault, which some nodes take for null.
    Fault,
    /// A fault that no node takes for null.
    Firm,
    /// An object without keys: the default of the expression.
    Empty,
}

/// The form of a value.
#[derive(Clone, Debug)]
pub enum Val {
    /// A constant; null too.
    Const(Value),
    /// A path.
    Path(Path),
    /// A value that is always there when the expression does not fail.
    Node {
        /// The expression.
        node: Node,
        /// Its type.
        ty: Ty,
        /// What it fails for.
        faults: Faults,
    },
    /// An optional: none is null.
    Optional {
        /// The expression.
        node: Node,
        /// The type of what is inside.
        ty: Ty,
        /// What it fails for.
        faults: Faults,
        /// The expression where what it fails for is null, and what that one fails for.
        rescued: Option<(Node, Faults)>,
    },
    /// The keys of an object.
    Keys(Path, Missing),
    /// How many items a list has.
    Count(Box<Val>),
    /// A list that is built of others, item by item.
    Loop(Box<Loop>),
    /// Several lists, one after the other.
    Chain(Vec<Val>),
    /// A list of values, of which some may be null.
    Tuple(Vec<Val>),
    /// An object of values.
    Record(Vec<(Str, Val)>),
    /// The first when it is true, else the second.
    Or(Box<[Val; 2]>),
}

/// A list: the items of another list that a test keeps, each replaced by a value; nulls are left
/// out.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where the items come from.
    pub source: Val,
    /// The name for an item.
    pub var: Str,
    /// Which items are retained.
    pub keep: Option<Test>,
    /// What stands for an item.
    pub body: Val,
    /// Whether the value is a list whose items are taken apart.
    pub flat: bool,
    /// Whether the source is an object, of which the values count.
    pub values: bool,
}

impl Val {
    /// Whether it is a constant that is empty, or null.
    pub fn is_empty(&self) -> bool {
        matches!(self, Val::Const(v) if v.is_empty())
    }

    /// A truth value.
    pub fn of_test(test: Test) -> Val {
        Val::Node { node: test.node, ty: Ty::Bool, faults: test.faults }
    }

    /// Missing steps are null from here on.
    #[must_use]
    pub fn rescued(self) -> Val {
        match self {
            Val::Path(path) => Val::Path(Path { fails: false, ..path }),
            Val::Keys(path, Missing::Fault) => Val::Keys(Path { fails: false, ..path }, Missing::Fault),
            // An object that is missing has no values.
            Val::Loop(own) if matches!(own.source, Val::Keys(..) | Val::Loop(_)) => {
                let own = *own;
                Val::Loop(Box::new(Loop { source: own.source.rescued(), ..own }))
            }
            Val::Optional { ty, rescued: Some((node, faults)), .. } => {
                Val::Optional { node, ty, faults, rescued: None }
            }
            Val::Node { node, ty, mut faults } if faults.contains(ABSORBED) => {
                faults.remove(ABSORBED);
                // What is missing is a missing key: null from here on.
                let mut terms: Vec<Node> = faults.iter().filter_map(|path| has_of(path)).collect();
                if terms.len() < faults.len() {
                    return Val::Node { node, ty, faults };
                }
                if ty == Ty::Bool {
                    terms.push(node);
                    return Val::Node { node: all(terms), ty, faults: Faults::new() };
                }
                let some = optional_of(node);
                let none = optional_none();
                let node = choose(all(terms), some, none);
                Val::Optional { node, ty, faults: Faults::new(), rescued: None }
            }
            other => other,
        }
    }
}
