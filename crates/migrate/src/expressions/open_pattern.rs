//! Patterns with variables → tests.
//!
//! In: a pattern whose leaves hold variables. Out: the test. Each variable is a text of its own
//! while the pattern is read, and is put into its place in the test; what it brings in is compared
//! as it is, never read as a pattern. Semantics: `docs/semantics/validate.md`, "Bodies".

use std::cell::Cell;

use ephor_ir::Template;
use ephor_ir::late::Late;
use ephor_ir::template::Part;
use ephor_lower::LATE;
use ephor_value::{Map, Value};

use super::pattern::outcome;
use super::scope::Scope;
use super::shared::mapped;
use super::term::{Faults, Path, Test};
use super::types::Ty;
use crate::cel::build;
use crate::cel::build::{all, binary, boolean, operands, text};
use crate::expressions::refusal::Result;
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::template::{as_text, query, template};
use crate::expressions::translate::variable_leaves::{
    MARK, ORDER, PatternVariable, has_variable, marked, placed,
};
use ephor_cel::ast::{Kind, Node};

/// What a pattern requires of a value that is there.
///
/// # Errors
/// A variable in a key, or one that cannot be expressed.
pub fn test(own: &Template, path: &Path, scope: &mut Scope<'_>) -> Result<Test> {
    let mut filled = Filled::default();
    let document = filled.document(own, scope)?;
    let late: &dyn Late = LATE;
    let Some(pattern) = late.pattern(&document) else {
        return Err(scope.refuse("a pattern that nests so deeply", "split it into several rules"));
    };
    let found = outcome(&pattern.root, path, false, scope)?;
    let said = if scope.is_exact { found.pass } else { found.ok };
    let is_refused = Cell::new(false);
    let node = flat(&filled.placed(&said, &is_refused));
    if is_refused.get() {
        return Err(scope.refuse(
            "a variable in a pattern that would have to be a number, or part of one",
            "write conditions, with `to_number`",
        ));
    }
    Ok(Test { node, faults: filled.faults })
}

/// The variables of a pattern.
#[derive(Default)]
struct Filled {
    variables: Vec<PatternVariable>,
    faults: Faults,
}

impl Filled {
    fn document(&mut self, own: &Template, scope: &mut Scope<'_>) -> Result<Value> {
        Ok(match own {
            Template::Const(v) => v.clone(),
            Template::Whole(hole) => {
                let found = query(&hole.query, scope)?;
                Value::from(self.mark(&found, scope)?)
            }
            Template::Text(parts) => {
                let mut out = String::new();
                for part in parts.parts.iter() {
                    match part {
                        Part::Literal(s) => out.push_str(s),
                        Part::Hole(own) => {
                            let found = query(own, scope)?;
                            out.push_str(&self.mark(&found, scope)?);
                        }
                    }
                }
                Value::from(out)
            }
            Template::Rounds(_) => {
                let found = template(own, scope)?;
                Value::from(self.mark(&found, scope)?)
            }
            Template::List(items) => {
                let items: Result<Vec<Value>> = items.iter().map(|t| self.document(t, scope)).collect();
                Value::list(items?)
            }
            Template::Object(pairs) => {
                let mut map = Map::new();
                for (key, own) in pairs.iter() {
                    let Template::Const(Value::Str(key)) = key else {
                        return Err(scope.refuse("a variable in a key of a pattern", "write the key"));
                    };
                    let value = self.document(own, scope)?;
                    map.insert::<ephor_value::Str>(key.clone(), value);
                }
                Value::Map(map)
            }
            Template::Fail(why) => {
                return Err(scope.refuse(format!("a reference that fails ({why})"), "correct it"));
            }
        })
    }

    fn mark(&mut self, val: &super::term::Val, scope: &mut Scope<'_>) -> Result<String> {
        if matches!(ty_of(val), Ty::List(_) | Ty::Map(_) | Ty::Object(_)) {
            return Err(scope.refuse("an object or a list in a pattern", "compare its parts in conditions"));
        }
        let (text, faults) = as_text(val, scope)?;
        self.faults.extend(faults);
        let (node, _) = plain(val, scope)?;
        self.variables.push(PatternVariable { text, node, ty: ty_of(val) });
        Ok(marked(self.variables.len() - 1))
    }

    /// An expression with the variables in their places.
    fn placed(&self, node: &Node, is_refused: &Cell<bool>) -> Node {
        mapped(node, &|node| match &node.kind {
            Kind::Const(Value::Str(s)) if has_variable(s) => Some(self.put(s)),
            Kind::Call { function, target: None, args } if **function == *ORDER => {
                let found = match args.as_slice() {
                    [written, op, ty, value] => {
                        let found = placed(
                            [written, op, ty].map(|node| build::as_text(node).unwrap_or_default()),
                            value,
                            &self.variables,
                        );
                        found.map(|found| self.placed(&found, is_refused))
                    }
                    _ => None,
                };
                is_refused.set(is_refused.get() || found.is_none());
                Some(found.unwrap_or_else(|| boolean(false)))
            }
            _ => None,
        })
    }

    /// A text with the variables in their places.
    fn put(&self, s: &str) -> Node {
        let parts = s.split(MARK).enumerate().filter_map(|(i, part)| match i % 2 {
            0 if part.is_empty() => None,
            0 => Some(text(part)),
            _ => Some(self.variables.get(part.parse::<usize>().ok()?)?.text.clone()),
        });
        parts.reduce(|before, node| binary("+", before, node)).unwrap_or_else(|| text(""))
    }
}

/// A test in which no conjunction stands in another one.
fn flat(node: &Node) -> Node {
    mapped(node, &|node| operands(node, "_&&_").map(|args| all(args.iter().map(flat).collect())))
}
