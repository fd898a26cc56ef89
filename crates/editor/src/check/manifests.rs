//! The policies that the objects of a file violate.

use std::time::Duration;

use ephor_document::locate::{locate, locate_key};
use ephor_inspect::remedy::{WrittenObject, remedy};
use ephor_policies::load::LoadedPolicy;
use ephor_value::place::{PathPart, dotted};
use ephor_value::{budget, clock};

use crate::cancel::{Cancellation, Cancelled};
use crate::compiled::{Compiled, Violated};
use crate::diagnostic::{Diagnostic, Fix, Level};
use crate::entry::{Part, Role};
use crate::index::{FileState, Index};
use crate::places::position_span;
use crate::span::{Location, Span, TextEdit};

/// How long the policies may take on one object. Policies take microseconds; one that takes longer
/// than this is reported as one that cannot be evaluated, as a webhook with a timeout does. A
/// request of the user waits for it.
const TIME_LIMIT: Duration = Duration::from_millis(400);

/// Violations of an object that are shown of a file that is not edited. Such files are many, and a
/// list of all that is wrong in a workspace is not read to its end; with more, the first check of a
/// large workspace takes longer.
const MAX_CLOSED: usize = 20;

/// The same of one that is edited: each takes a part of a millisecond after each key stroke.
const MAX_OPEN: usize = 100;

/// Adds the violations of the objects of a file.
///
/// # Errors
/// The token was cancelled.
pub(super) fn check(
    index: &Index,
    file: &FileState,
    token: &Cancellation,
    out: &mut Vec<Diagnostic>,
) -> Result<(), Cancelled> {
    let Some(compiled) = index.compiled().filter(|compiled| !compiled.is_empty()) else { return Ok(()) };
    for part in file.latest.of_role(Role::Object) {
        token.step()?;
        let deadline = clock::after(TIME_LIMIT);
        let most = if file.is_open { MAX_OPEN } else { MAX_CLOSED };
        let found = budget::until(deadline, || compiled.violated(&part.value, most, token));
        let (violated, left) = found?;
        out.extend(violated.iter().filter_map(|one| diagnostic(index, compiled, file, part, one)));
        if left > 0 {
            let text = match file.is_open {
                true => format!("{left} more violations are not shown: repair some first"),
                false => format!("{left} more violations are shown when the file is opened"),
            };
            out.push(Diagnostic::new(field_span(part, None), Level::Note, "too-many", text));
        }
    }
    Ok(())
}

fn diagnostic(
    index: &Index,
    compiled: &Compiled,
    file: &FileState,
    part: &Part,
    found: &Violated,
) -> Option<Diagnostic> {
    let source = compiled.source(&found.policy);
    // What needs a cluster cannot be evaluated on files.
    if found.is_error && (source.is_none() || compiled.needs_cluster(&found.policy)) {
        return None;
    }
    let level = match (found.is_error, found.is_enforced) {
        (true, _) => Level::Note,
        (false, true) => Level::Error,
        (false, false) => Level::Warning,
    };
    let name = match &*found.rule {
        "" => found.policy.key(),
        rule => format!("{}/{rule}", found.policy.key()),
    };
    let message = match found.is_error {
        true => format!("{name} cannot be evaluated: {}", found.message),
        false => format!("{name}: {}", found.message),
    };
    let span = field_span(part, found.field.as_deref());
    let mut out = Diagnostic::new(span, level, found.policy.key(), message);
    // Other places and changes are for files that are edited.
    if !file.is_open {
        return Some(out);
    }
    out.related =
        source.into_iter().filter_map(|(file, loaded)| related(index, file, loaded, found)).collect();
    if let (Some((_, loaded)), Some(decision), Some(field)) = (source, &found.decision, &found.field) {
        let object = WrittenObject { text: &part.text, prefix: &part.prefix, value: &part.value };
        out.fixes.extend(remedy(object, loaded, decision, field).map(|fix| offered(part, fix)));
    }
    Some(out)
}

/// A change of a document as one of its file.
fn offered(part: &Part, fix: ephor_inspect::lint::Fix) -> Fix {
    let edit = |edit: ephor_inspect::lint::TextEdit| TextEdit {
        span: Span { start: edit.range.start, end: edit.range.end }.moved(part.document.start),
        text: edit.text,
    };
    Fix { title: fix.title, edits: fix.edits.into_iter().map(edit).collect(), is_preferred: fix.is_safe }
}

/// Where the field that decided stands, or the nearest one around it; else the kind of the object.
fn field_span(part: &Part, field: Option<&[PathPart]>) -> Span {
    let text = &part.text;
    let whole: Vec<PathPart> = part.prefix.iter().chain(field.unwrap_or_default()).cloned().collect();
    let kind = || {
        let kind: Vec<PathPart> = part.prefix.iter().cloned().chain([PathPart::Key("kind".into())]).collect();
        locate(text, &kind)
    };
    let is_scalar = |path: &[PathPart]| locate(text, path).map(|value| (value, locate_key(text, path)));
    let nearest = (part.prefix.len() + 1..=whole.len()).rev().find_map(|n| {
        let path = whole.get(..n)?;
        let (value, key) = is_scalar(path)?;
        // Of an object or list the key, which is one line.
        let is_below = n < whole.len() || key.is_some_and(|key| key.line != value.line);
        if is_below { key.or(Some(value)) } else { Some(value) }
    });
    match nearest.or_else(kind) {
        Some(position) => position_span(text, position).moved(part.document.start),
        None => Span::of(part.document.start, text.lines().next().map_or(0, str::len)),
    }
}

/// The rule that is violated, where its file is in the workspace.
fn related(index: &Index, file: &str, loaded: &LoadedPolicy, found: &Violated) -> Option<(Location, String)> {
    let (name, state) = index.named(file)?;
    let path = loaded.path_in_text(found.decision.as_deref().unwrap_or_default());
    let position = (0..=path.len()).rev().find_map(|n| locate_key(&loaded.text, path.get(..n)?))?;
    let start = state.text.offset_of_character(loaded.line, 1);
    let span = position_span(&loaded.text, position).moved(start);
    let field = found.field.as_ref().map(|field| format!(" of `{}`", dotted(field))).unwrap_or_default();
    Some((Location { file: name.clone(), span }, format!("what decides{field}")))
}
