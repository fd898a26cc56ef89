//! What editors show of policies and manifests, without a protocol and without I/O.
//!
//! In: the texts of a [`Workspace`], with versions, and bytes of them. Out: diagnostics, hints,
//! completion, symbols, places, commands and changes. The unit is the file: what it gives to others
//! is an entry of the [`index`](self), which is read anew when its text changes; what depends on an
//! entry is checked again, nothing else. A text that does not parse leaves its last entry, so that
//! no other file loses its diagnostics. Offsets are bytes of UTF-8; [`Text`] converts lines and
//! columns of a protocol. Work that may take long has a [`Cancellation`].
//!
//! - `actions`: changes that are offered at a place
//! - `cancel`: tokens that end work whose result is no longer wanted
//! - `check`: the diagnostics of a file
//! - `compiled`: the policies of all files, ready to be evaluated on the manifests
//! - [`complete`]: what could be written at the cursor
//! - `cursor`: where a cursor stands in a document, also in one that is half typed
//! - `definition`: where what the cursor is at is defined, and where it is used
//! - `diagnostic`: what an editor shows at a place of a text
//! - `embedded`: expressions in values of policies
//! - `entry`: what a file gives to others
//! - `fields`: the fields that a part of a document may have, by the schema of its kind
//! - `fixture`: workspaces of tests
//! - `format`: the layout of CEL expressions in values of policies
//! - `functions`: what is known of a function, as text
//! - `hover`: what is known of the text at the cursor
//! - `index`: the files of a workspace and what they give to one another
//! - `lenses`: commands that are offered above policies and tests
//! - `linted`: what `ephor lint` finds in a text, as diagnostics
//! - `places`: places of a document as parts of its text
//! - `readable`: documents that are half typed, read as well as they can be
//! - `reading`: large texts, which are read and checked on a thread of the caller
//! - `samples`: objects on which a policy can be tried
//! - `settings`: what a user sets
//! - `span`: parts of a text, and changes of them
//! - `symbols`: what a file has: policies with their rules, validations and variables, and objects
//! - `target`: what the text at a cursor names
//! - `text`: a text with its lines: bytes ↔ lines and columns in the units of a protocol
//! - `workspace`: the front door: texts with versions in, what an editor shows out
#![forbid(unsafe_code)]

mod actions;
mod cancel;
mod check;
mod compiled;
pub mod complete;
mod cursor;
mod definition;
mod diagnostic;
mod embedded;
mod entry;
mod fields;
#[cfg(test)]
mod fixture;
mod format;
mod functions;
mod hover;
mod index;
mod lenses;
mod linted;
mod places;
mod readable;
mod reading;
mod samples;
mod settings;
mod span;
mod symbols;
mod target;
mod text;
mod workspace;

pub use actions::Action;
pub use cancel::{Cancellation, Cancelled};
pub use complete::{CompletionItem, CompletionKind};
pub use diagnostic::{Diagnostic, Fix, Level, MAX_DIAGNOSTICS};
pub use format::layout;
pub use hover::Hover;
pub use lenses::{Lens, LensCommand};
pub use reading::{ReadText, Reading};
pub use settings::Settings;
pub use span::{Location, Span, TextEdit};
pub use symbols::{Symbol, SymbolKind};
pub use text::{LineColumn, MAX_TEXT, Text, Units};
pub use workspace::{FileText, Workspace};
