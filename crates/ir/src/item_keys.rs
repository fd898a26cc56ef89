//! Which keys of its items a loop reads.
//!
//! In: a loop. Out: the keys, when its body and its filter read nothing else of an item and call
//! only functions that depend on nothing but their arguments: then all items without these keys are
//! alike. Most comprehensions read what few items have (`env.?valueFrom`), so the evaluator
//! evaluates the body for one of those and gives the others the same (`docs/internals/ir.md`,
//! "Evaluated once").

use ephor_value::{Str, Value};

use super::Expr;
use super::derived::Derived;
use super::strict::{Comprehension, Step, Walk};
use super::walk::children;

/// More keys than this do not pay. Each item is compared by all of them; with too
/// few keys a loop evaluates its body for each item, at the same result.
const MAX_KEYS: usize = 8;

/// The keys, found when the loop first runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ItemKeys(Derived<Option<Box<[Str]>>>);

impl ItemKeys {
    /// The keys that the loop reads of its items; `None` = it may read anything.
    pub fn of(&self, l: &Comprehension) -> Option<&[Str]> {
        self.0.get_or_find(|| found(l)).as_deref()
    }

    /// Those of a loop of which nothing is known: its body is evaluated for each item.
    pub fn unknown() -> ItemKeys {
        ItemKeys(Derived::from(None))
    }
}

fn found(l: &Comprehension) -> Option<Box<[Str]>> {
    if l.two {
        return None;
    }
    let mut keys = Vec::new();
    let all = l.keep.iter().chain([&l.body]).all(|e| reads(e, 0, &mut keys));
    (all && !keys.is_empty() && keys.len() <= MAX_KEYS).then(|| keys.into())
}

/// Collects the keys that an expression reads of the local with this many binders between; false =
/// it reads more than keys.
fn reads(expr: &Expr, between: u32, keys: &mut Vec<Str>) -> bool {
    let mut note = |key: &Str| {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    };
    let is_item = |e: &Expr| matches!(e, Expr::Local(n) if *n == between);
    let first = |walk: &Walk| match (is_item(&walk.base), walk.steps.first()) {
        (true, Some(Step::Key { key: Value::Str(key), .. })) => Some(key.clone()),
        _ => None,
    };
    let read = match expr {
        Expr::Local(_) if is_item(expr) => return false,
        Expr::Path { base, keys, .. } if is_item(base) => keys.first().cloned(),
        Expr::Walk(walk) => first(walk),
        Expr::Test(test) if is_item(&test.walk.base) && test.walk.steps.is_empty() => Some(test.key.clone()),
        Expr::Test(test) => first(&test.walk),
        Expr::Invoke(invoke) if !invoke.function.is_repeatable() => return false,
        Expr::Call { .. } | Expr::Higher { .. } | Expr::Lambda { .. } | Expr::Fail { .. } => return false,
        _ => None,
    };
    if let Some(key) = &read {
        note(key);
    }
    let (mut all, mut nth) = (true, 0);
    children(expr, &mut |e, child| {
        // Of what is read by a key, the item itself is the first child.
        let is_read = nth == 0 && read.is_some();
        nth += 1;
        all = all && (is_read || reads(e, between + child.binders, keys));
    });
    all
}
