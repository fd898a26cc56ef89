//! Strict expressions for laws: generated ones, and CEL's recorded random expressions.
//!
//! In: bytes that decide what is generated. Out: expressions whose locals are all bound, and what
//! they give, in a form that can be compared. Generated ones need not be such that CEL's checker
//! admits them: what holds of all strict nodes holds of those that it does.

use ephor_functions::{Run, cel};
use ephor_ir::Expr;
use ephor_ir::expr::Missing;
use ephor_ir::strict::{
    Comprehension, ComprehensionKind, Folded, Guard, Invoke, Known, Make, Step, Test, Walk,
};
use ephor_samples::Tape;
use ephor_value::{Str, Value};

use crate::{KEYS, value};

/// The data of a request as strict expressions read it: an object.
pub fn object(tape: &mut Tape<'_>) -> Value {
    let keys = KEYS.iter().filter(|_| tape.pick(8) != 7).copied().collect::<Vec<_>>();
    Value::Map(keys.into_iter().map(|key| (key.into(), value(tape, 2))).collect())
}

/// A strict expression whose locals are all bound; `bound` binders are around it.
pub fn strict(tape: &mut Tape<'_>, depth: usize, bound: u32) -> Expr {
    if depth == 0 {
        return leaf(tape, bound);
    }
    let below = |tape: &mut Tape<'_>| strict(tape, depth - 1, bound);
    let pair = |tape: &mut Tape<'_>| Box::new([below(tape), below(tape)]);
    match tape.pick(14) {
        0 => leaf(tape, bound),
        1 | 2 => Expr::Walk(Box::new(walk(tape, 1, &below))),
        3 => Expr::Test(Box::new(Test { walk: walk(tape, 0, &below), key: tape.of(KEYS).into() })),
        4 => Expr::Cond(Box::new([below(tape), below(tape), below(tape)])),
        5 => Expr::Decide { all: tape.flip(), sides: pair(tape) },
        6 | 7 => invoke(tape, &below),
        8 => Expr::OneOf {
            set: (0..tape.pick(3)).map(|_| value(tape, 0)).collect(),
            value: Box::new(below(tape)),
        },
        9 => Expr::Make(Box::new(make(tape, &below))),
        10 | 11 => {
            let kind = tape.of(KINDS);
            let two = tape.flip();
            let inner = bound + if two { 2 } else { 1 };
            Expr::Comprehension(Box::new(Comprehension {
                kind,
                range: below(tape),
                two,
                keep: tape.flip().then(|| strict(tape, depth - 1, inner)),
                body: strict(tape, depth - 1, inner),
                wraps: tape.flip(),
                item_keys: Default::default(),
            }))
        }
        12 => Expr::Bind(Box::new([below(tape), strict(tape, depth - 1, bound + 1)])),
        _ => Expr::OrElse { sides: pair(tape), unwrap: tape.flip(), eager: tape.flip() },
    }
}

/// All kinds of comprehensions.
pub const KINDS: &[ComprehensionKind] = &[
    ComprehensionKind::All,
    ComprehensionKind::Exists,
    ComprehensionKind::One,
    ComprehensionKind::List,
    ComprehensionKind::Map,
    ComprehensionKind::Entries,
];

type Below<'m> = &'m dyn Fn(&mut Tape<'_>) -> Expr;

fn leaf(tape: &mut Tape<'_>, bound: u32) -> Expr {
    match tape.pick(5) {
        0 | 1 => {
            let keys = Box::new([Str::from(tape.of(KEYS))]);
            let base = Expr::Path { base: Box::new(Expr::Root), keys, scalar: Missing::Fault };
            Expr::Walk(Box::new(Walk { base, steps: Box::default(), has_cost: tape.flip() }))
        }
        2 if tape.pick(8) == 7 => {
            let costs = (0..tape.pick(3)).map(|_| tape.pick(4) as u64).collect();
            Expr::Folded(Box::new(Folded { costs, value: value(tape, 1) }))
        }
        2 | 3 if bound > 0 => Expr::Local(tape.pick(bound as usize) as u32),
        _ => Expr::Const(value(tape, 2)),
    }
}

fn walk(tape: &mut Tape<'_>, least: usize, below: Below<'_>) -> Walk {
    let base = below(tape);
    let step = |tape: &mut Tape<'_>| {
        let optional = tape.pick(3) == 2;
        match tape.pick(5) {
            0 => Step::At { index: below(tape), optional },
            1 => Step::Key { key: Value::Int(tape.pick(3) as i64), optional },
            _ => Step::Key { key: Value::from(tape.of(KEYS)), optional },
        }
    };
    let steps = (0..least + tape.pick(3)).map(|_| step(tape)).collect();
    Walk { base, steps, has_cost: tape.flip() }
}

/// Functions that expressions use much, and how many arguments they take.
const FREQUENT: &[(&str, usize)] = &[
    ("_==_", 2),
    ("_!=_", 2),
    ("_<_", 2),
    ("_+_", 2),
    ("@in", 2),
    ("size", 1),
    ("!_", 1),
    ("type", 1),
    ("string", 1),
    ("startsWith", 2),
    ("first", 1),
    ("quantity", 1),
    ("_-_", 2),
    ("compareTo", 2),
];

fn invoke(tape: &mut Tape<'_>, below: Below<'_>) -> Expr {
    let (function, arity) = if tape.pick(4) == 3 {
        let pure: Vec<_> =
            cel::all().iter().filter(|f| f.is_pure() && matches!(f.run, Run::Strict(_))).collect();
        (pure[(tape.pick(256) * 256 + tape.pick(256)) % pure.len()], 1 + tape.pick(3))
    } else {
        let (name, arity) = tape.of(FREQUENT);
        let Some(function) = cel::find(name) else { return Expr::fail("there is no such function") };
        (function, arity)
    };
    let known = Known {
        one_form: tape.flip(),
        member: tape.flip(),
        prepared: tape.pick(4) == 3,
        walked: tape.flip(),
    };
    let guard = |tape: &mut Tape<'_>| match tape.pick(3) {
        0 => Guard::Kind("string".into()),
        1 => Guard::List(Box::new(Guard::Kind("int".into()))),
        _ => Guard::Any,
    };
    let guards = if tape.pick(6) == 5 { (0..arity).map(|_| guard(tape)).collect() } else { Box::default() };
    let args = (0..arity).map(|_| below(tape)).collect();
    Expr::Invoke(Box::new(Invoke { function, args, known, guards }))
}

fn make(tape: &mut Tape<'_>, below: Below<'_>) -> Make {
    let many = tape.pick(3);
    let optional = |tape: &mut Tape<'_>| tape.pick(5) == 4;
    match tape.pick(3) {
        0 => {
            let places = (0..many).filter(|_| optional(tape)).collect();
            Make::List((0..many).map(|_| below(tape)).collect(), places)
        }
        1 => Make::Map((0..many).map(|_| (below(tape), below(tape), optional(tape))).collect()),
        _ => {
            let field = |tape: &mut Tape<'_>| (Str::from(tape.of(KEYS)), below(tape), optional(tape));
            Make::Struct("Object".into(), (0..many).map(|_| field(tape)).collect())
        }
    }
}
