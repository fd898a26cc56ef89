//! Patterns with variables → tests.
//!
//! In: a pattern whose leaves hold variables. Out: the test. Each variable is a text of its own while the pattern is read, and is put
//! into its place in the test; what it brings in is compared as it is, never read as a pattern. Semantics: `docs/validate.md`,
//! "Bodies".

use crate::cel::build::{binary, text};
use crate::cel_tree::{Kind, Node};
use crate::ir::Template;
use crate::ir::late::Late;
use crate::ir::template::Part;
use crate::lower::LATE;
use crate::value::{Map, Value};

use super::Refusal;
use super::forms::ty_of;
use super::pattern::outcome;
use super::scope::Scope;
use super::shared::mapped;
use super::template::{as_text, query, template};
use super::term::{Faults, Path, Test};
use super::types::Ty;

/// What stands before and after the number of a variable.
const MARK: char = '\u{1}';

/// Whether a text of a pattern is a variable and nothing else.
pub fn is_marked(text: &str) -> bool {
    text.starts_with(MARK) && text.ends_with(MARK) && text.matches(MARK).count() == 2
}

/// What a pattern requires of a value that is there.
///
/// # Errors
/// A variable in a key, or one that cannot be said.
pub fn test(own: &Template, path: &Path, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let mut filled = Filled::default();
    let document = filled.document(own, scope)?;
    let late: &dyn Late = LATE;
    let Some(pattern) = late.pattern(&document) else {
        return Err(scope.refuse("a pattern that nests so deeply", "split it into several rules"));
    };
    let found = outcome(&pattern.root, path, false, scope)?;
    let said = if scope.is_exact { found.pass } else { found.ok };
    let node = mapped(&said, &|node| match &node.kind {
        Kind::Const(Value::Str(s)) if s.contains(MARK) => Some(filled.put(s)),
        _ => None,
    });
    Ok(Test { node, faults: filled.faults })
}

/// The variables of a pattern.
#[derive(Default)]
struct Filled {
    nodes: Vec<Node>,
    faults: Faults,
}

impl Filled {
    fn document(&mut self, own: &Template, scope: &mut Scope<'_>) -> Result<Value, Refusal> {
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
                let items: Result<Vec<Value>, Refusal> =
                    items.iter().map(|t| self.document(t, scope)).collect();
                Value::list(items?)
            }
            Template::Object(pairs) => {
                let mut map = Map::new();
                for (key, own) in pairs.iter() {
                    let Template::Const(Value::Str(key)) = key else {
                        return Err(scope.refuse("a variable in a key of a pattern", "write the key"));
                    };
                    let value = self.document(own, scope)?;
                    map.insert::<crate::value::Str>(key.clone(), value);
                }
                Value::Map(map)
            }
            Template::Fail(why) => {
                return Err(scope.refuse(format!("a reference that fails ({why})"), "correct it"));
            }
        })
    }

    fn mark(&mut self, val: &super::term::Val, scope: &mut Scope<'_>) -> Result<String, Refusal> {
        if matches!(ty_of(val), Ty::List(_) | Ty::Map(_) | Ty::Object(_)) {
            return Err(scope.refuse("an object or a list in a pattern", "compare its parts in conditions"));
        }
        let (node, faults) = as_text(val, scope)?;
        self.faults.extend(faults);
        self.nodes.push(node);
        Ok(format!("{MARK}{}{MARK}", self.nodes.len() - 1))
    }

    /// A text with the variables in their places.
    fn put(&self, s: &str) -> Node {
        let parts = s.split(MARK).enumerate().filter_map(|(i, part)| match i % 2 {
            0 if part.is_empty() => None,
            0 => Some(text(part)),
            _ => self.nodes.get(part.parse::<usize>().ok()?).cloned(),
        });
        parts.reduce(|before, node| binary("+", before, node)).unwrap_or_else(|| text(""))
    }
}
