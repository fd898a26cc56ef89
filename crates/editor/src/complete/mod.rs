//! What could be written at the cursor.
//!
//! Documents need not parse: the place is found by indentation (`cursor`), the rest of the
//! document is read as well as it can be. Also used by the prompts `ephor cel repl` and `ephor jp
//! repl`.
//!
//! - [`cel`]: completion of CEL expressions at the cursor
//! - `expressions`: expressions in policies
//! - [`item`](self): what is offered
//! - [`jmespath`]: completion of JMESPath expressions at the cursor
//! - `names`: names of policies, rules, objects and files
//! - `yaml`: keys and values by the schema of the document

pub mod cel;
mod expressions;
mod item;
pub mod jmespath;
mod names;
mod yaml;

pub use item::{CompletionItem, CompletionKind};
pub(crate) use yaml::detail;

use crate::cancel::{Cancellation, Cancelled};
use crate::cursor::cursor;
use crate::embedded::embedded;
use crate::index::Index;
use crate::readable::readable;

/// Items that are offered at most: more do not help to choose, and clients filter as the user
/// types.
const MAX_ITEMS: usize = 500;

/// What could be written at a byte of a file.
///
/// # Errors
/// The token was cancelled.
pub fn complete(
    index: &Index,
    name: &str,
    offset: usize,
    token: &Cancellation,
) -> Result<Vec<CompletionItem>, Cancelled> {
    let Some(file) = index.file(name) else { return Ok(Vec::new()) };
    let at = cursor(file.text.as_str(), offset);
    let document = readable(&file.text, at.document, offset);
    token.step()?;
    let mut items = match &at.value {
        Some(value) => match embedded(&document, &at.path, &value.before) {
            Some(expression) => expressions::complete(index, &document, &at, offset, &expression),
            None => {
                let mut items = yaml::values(index, &document, &at);
                items.extend(names::complete(index, name, &document, &at));
                items
            }
        },
        None => {
            let mut items = yaml::keys(index, &file.text, &document, &at);
            if at.is_item {
                let mut of_item = yaml::values(index, &document, &at);
                of_item.extend(names::complete(index, name, &document, &at));
                of_item.append(&mut items);
                items = of_item;
            }
            items
        }
    };
    items.truncate(MAX_ITEMS);
    Ok(items)
}

#[cfg(test)]
mod tests;
