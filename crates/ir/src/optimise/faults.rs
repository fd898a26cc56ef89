//! Which faults an expression can give: an upper bound, by its form alone.

use crate::Expr;
use crate::expr::{Faults, Missing};
use crate::walk::{Runs, children};
use ephor_functions::registry::{Arity, Overloads};
use ephor_functions::{Function, Higher, Ty};

/// Kinds of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct May {
    /// A missing key.
    pub missing: bool,
    /// Anything else.
    pub other: bool,
}

impl May {
    /// Whether none is possible.
    pub fn nothing(self) -> bool {
        self == May::default()
    }

    fn or(self, other: May) -> May {
        May { missing: self.missing || other.missing, other: self.other || other.other }
    }

    /// Whether one of these is possible that `faults` absorbs.
    pub fn meets(self, faults: Faults) -> bool {
        match faults {
            Faults::MissingAsNull => self.missing,
            Faults::AllAsNull => self.missing || self.other,
        }
    }
}

/// The faults that evaluating `expr` can give.
pub fn may(expr: &Expr) -> May {
    let mut below = May::default();
    // An expression reference is run by the function that takes it.
    if !matches!(expr, Expr::Lambda { .. }) {
        children(expr, &mut |e, child| {
            let found = may(e);
            // Projections skip items for which a key is missing.
            let skips = child.runs == Runs::PerItem && matches!(expr, Expr::Project { .. });
            below = below.or(May { missing: found.missing && !skips, ..found });
        });
    }
    let own = |missing: bool, other: bool| below.or(May { missing, other });
    match expr {
        Expr::Path { scalar, .. } => own(true, *scalar == Missing::Fault),
        Expr::Slice { bounds: [_, _, step], .. } => own(false, *step == Some(0)),
        Expr::Rescue { faults, .. } => match faults {
            Faults::MissingAsNull => May { missing: false, ..below },
            Faults::AllAsNull => May::default(),
        },
        // The expressions that they run give no missing key either: it is null or another fault.
        Expr::Higher { .. } => own(false, true),
        // Bounds are never absorbed, so they count as no fault.
        Expr::Call { function, args } if !function.fails && takes_anything(function, args) => below,
        // No function gives a missing key; see `functions::call`.
        Expr::Call { .. } | Expr::Fail { .. } => own(false, true),
        // Strict nodes may fail in every way.
        Expr::Walk(_)
        | Expr::Test(_)
        | Expr::Cond(_)
        | Expr::Decide { .. }
        | Expr::Invoke(_)
        | Expr::Variable(_)
        | Expr::Folded(_)
        | Expr::OneOf { .. }
        | Expr::Make(_)
        | Expr::Comprehension(_)
        | Expr::Bind(_)
        | Expr::OrElse { .. } => own(true, true),
        Expr::Const(_)
        | Expr::Root
        | Expr::Local(_)
        | Expr::Index { .. }
        | Expr::Let { .. }
        | Expr::Not(_)
        | Expr::Or(_)
        | Expr::And(_)
        | Expr::Compare { .. }
        | Expr::Project { .. }
        | Expr::Flatten(_)
        | Expr::List(_)
        | Expr::Object(_)
        | Expr::UnlessNull(_)
        | Expr::Once { .. }
        | Expr::Cells { .. }
        | Expr::Lambda { .. } => below,
    }
}

/// Whether a function takes arguments whatever their types are.
fn takes_anything(function: &Function, args: &[Expr]) -> bool {
    match function.overloads {
        Overloads::Checked { params, arity: Arity::Fixed, .. } => {
            params.len() == args.len() && params.iter().all(|tys| tys.contains(&Ty::Any))
        }
        Overloads::Checked { arity: Arity::AtLeastOne, .. } => !args.is_empty(),
        Overloads::Checked { arity: Arity::Ignored, .. } => true,
        Overloads::Declared | Overloads::InPlaceOf(_) => false,
    }
}

/// Whether the function that runs an expression for each item takes a missing key for null.
pub fn takes_missing_for_null(kind: Higher) -> bool {
    kind != Higher::SortBy
}
