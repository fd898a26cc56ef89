//! What the results of an expression depend on, when rules of many policies may share them.
//!
//! In: the program of an expression or composed variable, with the variables that it may read. Out:
//! a key that equal programs have in common, and the variables that it always reads; none for
//! programs that read more than the object, that call functions which may say something else next
//! time, or that are so small that looking up a result is as much work. What is done with the key:
//! `engine::shared`; `docs/internals/ir.md`, "Evaluated once".

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::OnceLock;

use ephor_functions::Function;
use ephor_functions::registry::Operation;

use super::Expr;
use super::derived::Derived;
use super::expressions::Variable;
use super::strict::Make;
use super::walk::{Runs, children, map_children};

/// Chains of variables that are longer are not shared. Each link is hashed once more; what is not
/// shared is evaluated again, at the same result.
const MAX_VARIABLES: u32 = 16;

/// The key of a program, found when it first runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sharing(Derived<Option<Shared>>);

/// See the module page.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Programs that compute the same have the same key.
    pub key: u128,
    /// The variables that it reads, each of them every time.
    pub variables: Box<[u32]>,
}

impl Sharing {
    /// What identifies the program; `variables` are always the same ones.
    pub fn of(&self, expr: &Expr, variables: &[Variable]) -> Option<&Shared> {
        let found = || if is_worth_it(expr) { shared(expr, variables, 0) } else { None };
        self.0.get_or_find(found).as_ref()
    }
}

/// Whether evaluating is more work than looking up a result: it loops, or makes a list of others.
fn is_worth_it(expr: &Expr) -> bool {
    let mut found = match expr {
        Expr::Comprehension(_) => true,
        Expr::Make(make) => !matches!(**make, Make::Struct(..)),
        Expr::Invoke(invoke) => invoke.function.operation == Operation::Add,
        _ => false,
    };
    children(expr, &mut |e, _| found = found || is_worth_it(e));
    found
}

fn shared(expr: &Expr, variables: &[Variable], depth: u32) -> Option<Shared> {
    if depth > MAX_VARIABLES {
        return None;
    }
    let mut read = Read::default();
    if !read.all(expr, true) || !read.maybe.iter().all(|n| read.certain.contains(n)) {
        return None;
    }
    // Variables count by what they compute, not by name or position.
    let Read { certain, .. } = read;
    let numbered = numbered(expr.clone(), &certain);
    let keys = certain.iter().map(|n| {
        let at = *n as usize;
        let program = variables.get(at)?.program.as_ref().ok()?;
        Some(shared(program, variables.get(..at)?, depth + 1)?.key)
    });
    let keys: Vec<u128> = keys.collect::<Option<_>>()?;
    Some(Shared { key: hashed(&(numbered, keys)), variables: certain.into() })
}

/// The keys are random and secret, so no policy can have two programs with one key.
fn hashed(what: &impl Hash) -> u128 {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let [high, low] = KEYS.get_or_init(Default::default);
    (u128::from(high.hash_one(what)) << 64) | u128::from(low.hash_one(what))
}

/// The program with its variables numbered as in a list.
fn numbered(expr: Expr, positions: &[u32]) -> Expr {
    match expr {
        Expr::Variable(n) => {
            Expr::Variable(positions.iter().position(|known| *known == n).map_or(u32::MAX, |at| at as u32))
        }
        expr => map_children(expr, &mut |e, _| numbered(e, positions)),
    }
}

/// The variables that a program reads.
#[derive(Default)]
struct Read {
    /// Each of these is read whenever the program has a value.
    certain: Vec<u32>,
    /// These may be.
    maybe: Vec<u32>,
}

impl Read {
    /// Collects variables; false = the program is not one to share.
    fn all(&mut self, expr: &Expr, is_certain: bool) -> bool {
        match expr {
            Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => {
                return keys.first().is_some_and(|key| &**key == "object");
            }
            Expr::Root => return false,
            Expr::Variable(n) => {
                let list = if is_certain { &mut self.certain } else { &mut self.maybe };
                if !list.contains(n) {
                    list.push(*n);
                }
            }
            _ if !expr.called().is_none_or(Function::is_repeatable) => return false,
            _ => {}
        }
        let mut all = true;
        children(expr, &mut |e, child| {
            all = all && self.all(e, is_certain && child.runs == Runs::Once);
        });
        all
    }
}
