//! `random(pattern)`: text that matches a pattern.
//!
//! Patterns are Go's without Perl's extensions. Alternatives, members of classes and repeat counts
//! are drawn uniformly; an open repeat goes up to [`MAX_REPEAT`] more, all repeats together make at
//! most [`MAX_LENGTH`] characters; anchors produce nothing.

use rand::RngExt;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::args::text;
use super::go_syntax::{Dialect, translate};
use super::{Arg, Context};
use ephor_value::{Fault, Value, budget};

/// Repetitions that `*`, `+` and `{n,}` may add. Larger counts make longer texts, not other ones.
const MAX_REPEAT: u32 = 4096;
/// Bytes that a pattern may have.
const MAX_PATTERN: usize = 64 << 10;
/// Characters after which repeats end early. A longer text is of no use as a name or a password.
const MAX_LENGTH: usize = 1 << 20;

pub(super) fn random(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    super::untracked::note();
    let pattern = text(args, 0);
    if pattern.is_empty() {
        return Err(Fault::new("no pattern provided"));
    }
    if pattern.len() > MAX_PATTERN {
        return Err(Fault::new("error parsing regexp: expression too large"));
    }
    let translated = translate(pattern, Dialect::Plain).map_err(|error| Fault::new(error.to_string()))?;
    let hir = regex_syntax::ParserBuilder::new()
        .nest_limit(1000)
        .build()
        .parse(&translated.pattern)
        .map_err(|_| Fault::new(format!("error parsing regexp: expression too large: `{pattern}`")))?;
    let mut out = String::new();
    generate(&hir, &mut out, &mut super::chance::rng());
    budget::step()?;
    Ok(out.into())
}

/// Recursion is as deep as groups nest, which the translation limits.
fn generate(hir: &Hir, out: &mut String, rng: &mut impl RngExt) {
    if !budget::spend_step() {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(member(class, rng)),
        HirKind::Repetition(r) => {
            let max = r.max.unwrap_or(r.min.saturating_add(MAX_REPEAT));
            for _ in 0..rng.random_range(r.min..=max.max(r.min)) {
                if out.len() > MAX_LENGTH {
                    return;
                }
                generate(&r.sub, out, rng);
            }
        }
        HirKind::Capture(c) => generate(&c.sub, out, rng),
        HirKind::Concat(parts) => parts.iter().for_each(|p| generate(p, out, rng)),
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.get(rng.random_range(0..parts.len().max(1))) {
                generate(part, out, rng);
            }
        }
    }
}

/// A member of a class, never NUL when there is another.
fn member(class: &Class, rng: &mut impl RngExt) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(c) => c.iter().map(|r| (u32::from(r.start()).max(1), u32::from(r.end()))).collect(),
        Class::Bytes(c) => c.iter().map(|r| (u32::from(r.start()).max(1), u32::from(r.end()))).collect(),
    };
    let sizes = ranges.iter().map(|(low, high)| (high + 1).saturating_sub(*low));
    let total: u32 = sizes.sum();
    let mut pick = if total == 0 { return None } else { rng.random_range(0..total) };
    for (low, high) in ranges {
        let size = (high + 1).saturating_sub(low);
        if pick < size {
            // Ranges of characters may span the surrogates.
            return char::from_u32(low + pick).or(Some(char::REPLACEMENT_CHARACTER));
        }
        pick -= size;
    }
    None
}
