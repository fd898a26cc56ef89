//! Macros: calls that stand for loops and tests.
//!
//! In: a call with its arguments. Out: what it stands for, or the call itself when it is no macro.

use crate::ast::{ACCUMULATOR, Fold, Kind, Node, Place, Shape};
use crate::issue::Issue;
use ephor_value::{Str, Value};

use super::builder::Builder;

type Expanded = Result<Node, Issue>;

/// Nodes that a macro copies at most; Kyverno and the API server have no bound. A policy with more
/// does not compile.
const MAX_COPIED: usize = 2048;

/// The forms of macros, and what each of them stands for; `docs/expressions/cel-functions.md` lists
/// them.
pub const MACROS: &[(&str, &str)] = &[
    ("has(object.field)", "whether a field is there"),
    ("list.all(x, CONDITION)", "whether the condition holds for all items, or keys of a map"),
    ("list.all(i, x, CONDITION)", "the same with the position or key"),
    ("list.exists(x, CONDITION)", "whether the condition holds for an item or key"),
    ("list.exists(i, x, CONDITION)", "the same with the position or key"),
    ("list.exists_one(x, CONDITION)", "whether the condition holds for exactly one item or key"),
    ("list.exists_one(i, x, CONDITION)", "the same with the position or key"),
    ("list.existsOne(i, x, CONDITION)", "the same"),
    ("list.map(x, VALUE)", "the list of the values for the items or keys"),
    ("list.map(x, CONDITION, VALUE)", "the same for those for which the condition holds"),
    ("list.filter(x, CONDITION)", "the items or keys for which the condition holds"),
    ("list.transformList(i, x, VALUE)", "the list of the values for the items or entries"),
    ("list.transformList(i, x, CONDITION, VALUE)", "the same for those for which the condition holds"),
    ("list.transformMap(i, x, VALUE)", "a map of the values by position or key"),
    ("list.transformMap(i, x, CONDITION, VALUE)", "the same for those for which the condition holds"),
    ("list.transformMapEntry(i, x, MAP)", "the map of the entries of all maps, each of one entry"),
    ("list.transformMapEntry(i, x, CONDITION, MAP)", "the same for those for which the condition holds"),
    ("list.sortBy(x, KEY)", "the items in the order of their keys"),
    ("optional.optMap(x, VALUE)", "the value for what the optional holds, as an optional"),
    ("optional.optFlatMap(x, OPTIONAL)", "the optional for what the optional holds"),
    ("cel.bind(x, VALUE, EXPRESSION)", "the expression, in which a name stands for a value"),
    ("math.greatest(a, b)", "the greatest of any number of arguments"),
    ("math.least(a, b)", "the least of any number of arguments"),
];

/// A call without receiver; `open` is its parenthesis.
pub fn function(builder: &mut Builder, open: Place, name: &str, args: Vec<Node>) -> Node {
    if name != "has" || args.len() != 1 {
        return Node::call(open, name, args);
    }
    let Some(arg) = args.into_iter().next() else { return Node::constant(open, Value::Null) };
    let (at, kind) = (arg.at, arg.kind);
    match kind {
        Kind::Select { operand, field, .. } => Node::new(open, Kind::Select { operand, field, test: true }),
        _ => failed(builder, Issue::new(at, "invalid argument to has() macro")),
    }
}

fn failed(builder: &mut Builder, issue: Issue) -> Node {
    let at = issue.at;
    builder.issue(issue.at, issue.text);
    Node::constant(at, Value::Null)
}

/// A call with receiver.
pub fn method(
    builder: &mut Builder,
    _dot: Place,
    open: Place,
    target: Node,
    name: &str,
    args: Vec<Node>,
) -> Node {
    let options = builder.options;
    let two = options.two_variables;
    if name == "orValue" && args.len() == 1 && options.untyped_or_value {
        return Node::call(open, name, std::iter::once(target).chain(args).collect());
    }
    let is_on = |namespace: &str| target.as_ident().is_some_and(|n| &**n == namespace);
    if let ("greatest" | "least", true) = (name, options.math && is_on("math")) {
        return extreme(open, target.at, name, args).unwrap_or_else(|issue| failed(builder, issue));
    }
    if let ("hasExt" | "getExt", 2, true) = (name, args.len(), options.proto && is_on("proto")) {
        return extension(open, name == "hasExt", Args(args)).unwrap_or_else(|issue| failed(builder, issue));
    }
    let make: Option<fn(Place, Node, Args) -> Expanded> = match (name, args.len()) {
        ("all", 2) => Some(all),
        ("exists", 2) => Some(exists),
        ("exists_one", 2) => Some(exists_one),
        ("map", 2 | 3) => Some(map),
        ("filter", 2) => Some(filter),
        ("all", 3) if two => Some(all),
        ("exists", 3) if two => Some(exists),
        ("exists_one" | "existsOne", 3) if two => Some(exists_one),
        ("transformList", 3 | 4) if two => Some(transform_list),
        ("transformMap", 3 | 4) if two => Some(transform_map),
        ("transformMapEntry", 3 | 4) if two => Some(transform_entries),
        ("optMap", 2) if options.optional => Some(opt_map),
        ("optFlatMap", 2) if options.optional => Some(opt_flat_map),
        ("sortBy", 2) if options.sort_by => Some(sort_by),
        #[cfg(feature = "test-macros")]
        ("index" | "iterVar" | "accuVar", _)
            if options.block && target.as_ident().is_some_and(|n| &**n == "cel") =>
        {
            return numbered(open, name, &args);
        }
        #[cfg(feature = "test-macros")]
        ("block", 2) if options.block && target.as_ident().is_some_and(|n| &**n == "cel") => Some(block),
        ("bind", 3) if options.bind && target.as_ident().is_some_and(|n| &**n == "cel") => Some(bind),
        _ => None,
    };
    match make {
        None => Node::method(open, name, target, args),
        Some(make) => make(open, target, Args(args)).unwrap_or_else(|issue| failed(builder, issue)),
    }
}

/// The arguments of a macro.
struct Args(Vec<Node>);

impl Args {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn take(&mut self) -> Node {
        if self.0.is_empty() { Node::constant(0, Value::Null) } else { self.0.remove(0) }
    }

    /// The variable of `map` and `filter`.
    fn variable(&mut self) -> Result<Str, Issue> {
        let arg = self.take();
        match arg.as_ident() {
            None => Err(Issue::new(arg.at, "argument is not an identifier")),
            Some(name) => not_accumulator(&arg, name),
        }
    }

    /// The variables of a macro with two.
    fn variables(&mut self) -> Result<(Str, Option<Str>), Issue> {
        let first = self.simple()?;
        let place = self.0.first().map_or(0, |n| n.at);
        let second = self.simple()?;
        if first == second {
            return Err(Issue::new(place, format!("duplicate variable name: {first}")));
        }
        Ok((first, Some(second)))
    }

    fn simple(&mut self) -> Result<Str, Issue> {
        let arg = self.take();
        match arg.as_ident() {
            None => Err(Issue::new(arg.at, "argument must be a simple name")),
            Some(name) => not_accumulator(&arg, name),
        }
    }

    /// One or two variables, as many as there are arguments besides the last.
    fn loop_variables(&mut self) -> Result<(Str, Option<Str>), Issue> {
        if self.len() > 2 { self.variables() } else { Ok((self.simple()?, None)) }
    }
}

fn not_accumulator(arg: &Node, name: &Str) -> Result<Str, Issue> {
    if &**name == ACCUMULATOR {
        return Err(Issue::new(arg.at, "iteration variable overwrites accumulator variable"));
    }
    Ok(name.clone())
}

/// Whether an argument may be a number, as far as it can be seen.
fn may_be_number(arg: &Node) -> bool {
    match &arg.kind {
        Kind::Const(v) => matches!(v, Value::Int(_) | Value::UInt(_) | Value::Float(_)),
        Kind::List { .. } | Kind::Map { .. } | Kind::Struct { .. } => false,
        _ => true,
    }
}

/// `math.greatest` and `math.least`: two numbers are compared as they are, more as a list.
fn extreme(at: Place, namespace: Place, name: &str, args: Vec<Node>) -> Expanded {
    let function = if name == "greatest" { "math.@max" } else { "math.@min" };
    match args.as_slice() {
        [] => return Err(Issue::new(namespace, format!("math.{name}() requires at least one argument"))),
        [arg] => {
            let are_numbers = match &arg.kind {
                Kind::List { items, .. } => !items.is_empty() && items.iter().all(may_be_number),
                _ => may_be_number(arg),
            };
            if !are_numbers {
                return Err(Issue::new(arg.at, format!("math.{name}() invalid single argument value")));
            }
        }
        args => {
            if let Some(arg) = args.iter().find(|arg| !may_be_number(arg)) {
                let text = format!("math.{name}() simple literal arguments must be numeric");
                return Err(Issue::new(arg.at, text));
            }
        }
    }
    let args = match args.len() {
        1 | 2 => args,
        _ => vec![Node::new(at, Kind::List { items: args, optional: Vec::new() })],
    };
    Ok(Node::call(at, function, args))
}

/// `proto.hasExt` and `proto.getExt`: a field with a name of several parts.
fn extension(at: Place, test: bool, mut args: Args) -> Expanded {
    fn name(node: &Node) -> Option<String> {
        match &node.kind {
            Kind::Select { operand, field, test: false } => Some(format!("{}.{field}", name(operand)?)),
            _ => node.as_ident().map(|n| n.to_string()),
        }
    }
    let (operand, field) = (args.take(), args.take());
    let Some(name) = name(&field) else { return Err(Issue::new(field.at, "invalid extension field")) };
    Ok(Node::new(at, Kind::Select { operand: Box::new(operand), field: name.as_str().into(), test }))
}

fn accumulator(at: Place) -> Node {
    Node::ident(at, ACCUMULATOR)
}

fn boolean(at: Place, b: bool) -> Node {
    Node::constant(at, Value::Bool(b))
}

fn empty_list(at: Place) -> Node {
    Node::new(at, Kind::List { items: Vec::new(), optional: Vec::new() })
}

fn not_strictly_false(at: Place, inner: Node) -> Node {
    Node::call(at, "@not_strictly_false", vec![inner])
}

fn fold(at: Place, fold: Fold) -> Expanded {
    Ok(Node::new(at, Kind::Fold(Box::new(fold))))
}

fn all(at: Place, range: Node, mut args: Args) -> Expanded {
    let (var, var2) = args.loop_variables()?;
    fold(
        at,
        Fold {
            shape: Shape::All,
            range,
            var,
            var2,
            init: boolean(at, true),
            condition: not_strictly_false(at, accumulator(at)),
            step: Node::call(at, "_&&_", vec![accumulator(at), args.take()]),
            result: accumulator(at),
        },
    )
}

fn exists(at: Place, range: Node, mut args: Args) -> Expanded {
    let (var, var2) = args.loop_variables()?;
    let negated = Node::call(at, "!_", vec![accumulator(at)]);
    fold(
        at,
        Fold {
            shape: Shape::Exists,
            range,
            var,
            var2,
            init: boolean(at, false),
            condition: not_strictly_false(at, negated),
            step: Node::call(at, "_||_", vec![accumulator(at), args.take()]),
            result: accumulator(at),
        },
    )
}

fn exists_one(at: Place, range: Node, mut args: Args) -> Expanded {
    let (var, var2) = args.loop_variables()?;
    let one = || Node::constant(at, Value::Int(1));
    let more = Node::call(at, "_+_", vec![accumulator(at), one()]);
    fold(
        at,
        Fold {
            shape: Shape::ExistsOne,
            range,
            var,
            var2,
            init: Node::constant(at, Value::Int(0)),
            condition: boolean(at, true),
            step: Node::call(at, "_?_:_", vec![args.take(), more, accumulator(at)]),
            result: Node::call(at, "_==_", vec![accumulator(at), one()]),
        },
    )
}

/// A loop that appends to a list, or adds to a map with `add`.
fn collect(
    at: Place,
    shape: Shape,
    range: Node,
    (var, var2): (Str, Option<Str>),
    keep: Option<Node>,
    [init, step]: [Node; 2],
) -> Expanded {
    let step = match keep {
        None => step,
        Some(keep) => Node::call(at, "_?_:_", vec![keep, step, accumulator(at)]),
    };
    fold(
        at,
        Fold { shape, range, var, var2, init, condition: boolean(at, true), step, result: accumulator(at) },
    )
}

fn appended(at: Place, item: Node) -> Node {
    let single = Node::new(at, Kind::List { items: vec![item], optional: Vec::new() });
    Node::call(at, "_+_", vec![accumulator(at), single])
}

fn map(at: Place, range: Node, mut args: Args) -> Expanded {
    let filtered = args.len() == 3;
    let var = args.variable()?;
    let keep = filtered.then(|| args.take());
    let step = appended(at, args.take());
    collect(at, Shape::List, range, (var, None), keep, [empty_list(at), step])
}

fn filter(at: Place, range: Node, mut args: Args) -> Expanded {
    let var = args.variable()?;
    let step = appended(at, Node::ident(at, &var));
    let keep = Some(args.take());
    collect(at, Shape::List, range, (var, None), keep, [empty_list(at), step])
}

fn transform_list(at: Place, range: Node, mut args: Args) -> Expanded {
    let filtered = args.len() == 4;
    let vars = args.variables()?;
    let keep = filtered.then(|| args.take());
    let step = appended(at, args.take());
    collect(at, Shape::List, range, vars, keep, [empty_list(at), step])
}

fn transform_map(at: Place, range: Node, mut args: Args) -> Expanded {
    let filtered = args.len() == 4;
    let vars = args.variables()?;
    let keep = filtered.then(|| args.take());
    let key = Node::ident(at, &vars.0);
    let step = Node::call(at, "cel.@mapInsert", vec![accumulator(at), key, args.take()]);
    collect(at, Shape::Map, range, vars, keep, [Node::new(at, Kind::Map(Vec::new())), step])
}

fn transform_entries(at: Place, range: Node, mut args: Args) -> Expanded {
    let filtered = args.len() == 4;
    let vars = args.variables()?;
    let keep = filtered.then(|| args.take());
    let step = Node::call(at, "cel.@mapInsert", vec![accumulator(at), args.take()]);
    collect(at, Shape::Entries, range, vars, keep, [Node::new(at, Kind::Map(Vec::new())), step])
}

/// `body` with `value` under a name.
fn named(at: Place, var: Str, value: Node, body: Node) -> Node {
    Node::new(
        at,
        Kind::Fold(Box::new(Fold {
            shape: Shape::Bind,
            range: empty_list(at),
            var: "#unused".into(),
            var2: None,
            init: value,
            condition: boolean(at, false),
            step: Node::ident(at, &var),
            result: Node::new(at, Kind::Const(Value::Null)),
        })),
    )
    .with_result(var, body)
}

impl Node {
    /// Sets the result of a [`Shape::Bind`], and the name of its value (stored as the second
    /// variable).
    fn with_result(mut self, var: Str, body: Node) -> Node {
        if let Kind::Fold(fold) = &mut self.kind {
            fold.var2 = Some(var);
            fold.result = body;
        }
        self
    }
}

/// A name that is composed of numbers: `cel.index(0)`, `cel.iterVar(0, 1)`.
#[cfg(feature = "test-macros")]
fn numbered(at: Place, name: &str, args: &[Node]) -> Node {
    let mut out = format!("@{name}");
    for arg in args {
        if let Kind::Const(Value::Int(n)) = &arg.kind {
            out.push_str(&format!(":{n}"));
        }
    }
    Node::ident(at, &out)
}

/// Values under numbered names, each may use those before it.
#[cfg(feature = "test-macros")]
fn block(at: Place, _: Node, mut args: Args) -> Expanded {
    let list = args.take();
    let place = list.at;
    let Kind::List { items, .. } = list.kind else {
        return Err(Issue::new(place, "cel.block() requires a list of expressions"));
    };
    let mut body = args.take();
    for (i, item) in items.into_iter().enumerate().rev() {
        body = named(at, format!("@index:{i}").into(), item, body);
    }
    Ok(body)
}

fn bind(at: Place, _: Node, mut args: Args) -> Expanded {
    let var = args.take();
    let Some(name) = var.as_ident().cloned() else {
        return Err(Issue::new(var.at, "cel.bind() variable names must be simple identifiers"));
    };
    let value = args.take();
    Ok(named(at, name, value, args.take()))
}

fn optional(at: Place, target: Node, mut args: Args, macro_name: &str, wrap: bool) -> Expanded {
    let var = args.take();
    let Some(name) = var.as_ident().cloned() else {
        return Err(Issue::new(var.at, format!("{macro_name}() variable name must be a simple identifier")));
    };
    // It is copied: a chain of such calls doubles it with each.
    if target.is_larger_than(MAX_COPIED) {
        return Err(Issue::new(at, format!("{macro_name}() is called on an expression that is too large")));
    }
    let value = Node::method(at, "value", target.clone(), Vec::new());
    let body = named(at, name, value, args.take());
    let some = if wrap { Node::call(at, "optional.of", vec![body]) } else { body };
    let has = Node::method(at, "hasValue", target, Vec::new());
    Ok(Node::call(at, "_?_:_", vec![has, some, Node::call(at, "optional.none", Vec::new())]))
}

fn opt_map(at: Place, target: Node, args: Args) -> Expanded {
    optional(at, target, args, "optMap", true)
}

fn opt_flat_map(at: Place, target: Node, args: Args) -> Expanded {
    optional(at, target, args, "optFlatMap", false)
}

/// The keys are computed next to the items: `@sortByAssociatedKeys` orders one by the other.
fn sort_by(at: Place, target: Node, mut args: Args) -> Expanded {
    const INPUT: &str = "@__sortBy_input__";
    let var = args.take();
    let Some(name) = var.as_ident().cloned() else {
        return Err(Issue::new(var.at, "argument is not an identifier"));
    };
    let constant = matches!(target.kind, Kind::Const(_) | Kind::Map(_) | Kind::Struct { .. });
    if constant {
        let text =
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err(Issue::new(target.at, text));
    }
    let input = || Node::ident(at, INPUT);
    let keys =
        collect(at, Shape::List, input(), (name, None), None, [empty_list(at), appended(at, args.take())])?;
    let sorted = Node::method(at, "@sortByAssociatedKeys", input(), vec![keys]);
    Ok(named(at, INPUT.into(), target, sorted))
}
