//! Editor.
#![forbid(unsafe_code)]
mod cancel;
mod check;
pub mod complete;
mod compiled;
mod cursor;
mod diagnostic;
mod embedded;
mod entry;
mod fields;
mod functions;
mod index;
mod places;
mod readable;
mod settings;
mod span;
mod text;
mod workspace;

pub use cancel::{Cancellation, Cancelled};
pub use diagnostic::{Diagnostic, Fix, Level, MAX_DIAGNOSTICS};
pub use settings::Settings;
pub use span::{Location, Span, TextEdit};
pub use text::{LineColumn, Text, Units};
pub use workspace::{FileText, Workspace};
