//! Generated expressions of the nodes that read on past what is missing, as JMESPath uses them.

use ephor_functions::{self as functions, Higher, Run};
use ephor_ir::Expr;
use ephor_ir::expr::{Cmp, Faults, Missing, Over};
use ephor_samples::Tape;
use ephor_value::Str;

use crate::{KEYS, value};

/// An expression whose locals are all bound; `bound` binders are around it.
pub fn generate(tape: &mut Tape<'_>, depth: usize, bound: u32) -> Expr {
    let leaf = |tape: &mut Tape<'_>| match tape.pick(4) {
        0 => Expr::Root,
        1 | 2 if bound > 0 => Expr::Local(tape.pick(bound as usize) as u32),
        _ => Expr::Const(value(tape, 2)),
    };
    if depth == 0 {
        return leaf(tape);
    }
    let below = |tape: &mut Tape<'_>| generate(tape, depth - 1, bound);
    let inside = |tape: &mut Tape<'_>| generate(tape, depth - 1, bound + 1);
    let boxed = |tape: &mut Tape<'_>| Box::new(below(tape));
    let pair = |tape: &mut Tape<'_>| Box::new([below(tape), below(tape)]);
    match tape.pick(20) {
        0 => leaf(tape),
        1 | 2 => Expr::Path {
            keys: (0..=tape.pick(2)).map(|_| Str::from(tape.of(KEYS))).collect(),
            scalar: tape.of(&[Missing::Fault, Missing::Null]),
            base: boxed(tape),
        },
        3 => Expr::Index { index: tape.pick(4) as i64 - 2, base: boxed(tape) },
        4 => {
            let bound = |tape: &mut Tape<'_>| (tape.pick(2) == 0).then(|| tape.pick(5) as i64 - 2);
            Expr::Slice { bounds: [bound(tape), bound(tape), bound(tape)], base: boxed(tape) }
        }
        5 | 6 => Expr::Let { value: boxed(tape), body: Box::new(inside(tape)) },
        7 | 8 => {
            let faults = [Faults::MissingAsNull, Faults::AllAsNull];
            Expr::Rescue { faults: tape.of(&faults), expr: boxed(tape) }
        }
        9 => Expr::Not(boxed(tape)),
        10 => Expr::Or(pair(tape)),
        11 => Expr::And(pair(tape)),
        12 => Expr::Compare {
            op: tape.of(&[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]),
            sides: pair(tape),
        },
        13 => {
            let some = |tape: &mut Tape<'_>| (tape.pick(2) == 0).then(|| Box::new(inside(tape)));
            let over = tape.of(&[Over::Items, Over::Values]);
            Expr::Project { over, source: boxed(tape), keep: some(tape), body: some(tape) }
        }
        14 => Expr::Flatten(boxed(tape)),
        15 => Expr::List((0..tape.pick(3)).map(|_| below(tape)).collect()),
        16 => Expr::Object((0..tape.pick(3)).map(|_| (Str::from(tape.of(KEYS)), below(tape))).collect()),
        17 => Expr::UnlessNull(pair(tape)),
        18 => higher(tape, &below, &inside),
        _ => call(tape, &below),
    }
}

type Make<'m> = &'m dyn Fn(&mut Tape<'_>) -> Expr;

fn higher(tape: &mut Tape<'_>, below: Make<'_>, inside: Make<'_>) -> Expr {
    let kinds = [
        (Higher::Map, "map"),
        (Higher::SortBy, "sort_by"),
        (Higher::MaxBy, "max_by"),
        (Higher::MinBy, "min_by"),
    ];
    let (kind, name) = tape.of(&kinds);
    let lambda = Expr::Lambda { body: Box::new(inside(tape)), text: "{e}".into() };
    let list = below(tape);
    let args = if kind == Higher::Map { [lambda, list] } else { [list, lambda] };
    match functions::find(name) {
        Some(function) => Expr::Higher { kind, function, args: Box::new(args) },
        None => Expr::fail("there is no such function"),
    }
}

fn call(tape: &mut Tape<'_>, below: Make<'_>) -> Expr {
    if tape.pick(8) == 0 {
        return Expr::Fail { args: (0..tape.pick(3)).map(|_| below(tape)).collect(), text: "no".into() };
    }
    let pure: Vec<_> =
        functions::all().iter().filter(|f| f.is_pure() && matches!(f.run, Run::Plain(_))).collect();
    let function = pure[(tape.pick(256) * 256 + tape.pick(256)) % pure.len()];
    let args = (0..function.params().len()).map(|_| below(tape)).collect();
    Expr::Call { function, args }
}
