//! Patterns of images (`imageReferences`) → `matchImageReferences`.
//!
//! In: patterns, which are about the normal form of an image: with registry and tag, without a tag
//! where it has a digest. Out: globs, which are about the image as it is written, where that says
//! the same; else expressions about its parsed parts. Semantics: `docs/semantics/images.md`,
//! "Images", and `docs/semantics/cel-policies.md`, "Images".

use ephor_value::wildcard::Wildcard;

use crate::constraints::cel::{all, literal, matches, not};
use crate::model::unique::add_new;
use crate::text::Node;

/// Images with a digest count, whatever their tag was: the digest is what a mutation has put behind
/// the tag.
pub const DIGESTS: &str = "images with a digest: the old pattern has a tag and is not about them; the new policy verifies them, too";
/// A pattern without a tag.
pub const TAGLESS: &str =
    "a pattern of images without a tag is about no image there; the new policy takes it for any tag";

/// Which images a policy is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References {
    /// Globs or expressions.
    entries: Vec<ReferenceEntry>,
    /// What a reader should know.
    pub notes: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
enum ReferenceEntry {
    Glob(String),
    Expression(String),
}

impl References {
    /// `matchImageReferences`; none = all images.
    pub fn node(&self) -> Option<Node> {
        let one = |entry: &ReferenceEntry| match entry {
            ReferenceEntry::Glob(text) => Node::map([("glob", Node::text(text))]),
            ReferenceEntry::Expression(text) => Node::map([("expression", Node::Code(text.clone()))]),
        };
        (!self.entries.is_empty()).then(|| Node::list(self.entries.iter().map(one)))
    }
}

/// A pattern taken apart.
struct Pattern<'p> {
    repository: &'p str,
    /// What separates the tag or digest, and its pattern.
    end: Option<(char, &'p str)>,
}

impl<'p> Pattern<'p> {
    fn of(text: &'p str) -> Pattern<'p> {
        let last = text.rfind('/').map_or(0, |at| at + 1);
        let end = text.get(last..).and_then(|name| name.find(['@', ':'])).map(|at| last + at);
        match end.and_then(|at| Some((text.get(..at)?, text.get(at..at + 1)?, text.get(at + 1..)?))) {
            Some((repository, separator, end)) => {
                Pattern { repository, end: separator.chars().next().map(|c| (c, end)) }
            }
            None => Pattern { repository: text, end: None },
        }
    }

    /// Its registry, where it is written out.
    fn registry(&self) -> Option<(&'p str, &'p str)> {
        let (registry, rest) = self.repository.split_once('/')?;
        let is_one = registry.contains(['.', ':']) || registry == "localhost";
        (is_one && !registry.contains(['*', '?'])).then_some((registry, rest))
    }

    fn is_hub(&self) -> bool {
        matches!(self.registry(), Some(("docker.io" | "index.docker.io", _)))
    }

    /// Globs for the images as they are written.
    fn globs(&self) -> Option<Vec<String>> {
        let own = self.repository;
        self.registry().filter(|_| !self.is_hub() && !own.contains(['{', '[', '\\']))?;
        Some(match self.end {
            None if own.ends_with('*') => vec![own.to_string()],
            None | Some((':', "*")) => vec![own.to_string(), format!("{own}:*"), format!("{own}@*")],
            Some((':', tag)) => {
                let bare = Wildcard::new(tag).matches("latest").then(|| own.to_string());
                let digest = (!tag.ends_with('*')).then(|| format!("{own}:{tag}@*"));
                bare.into_iter().chain([format!("{own}:{tag}")]).chain(digest).collect()
            }
            Some((_, digest)) => vec![format!("{own}@{digest}"), format!("{own}:*@{digest}")],
        })
    }

    /// A test of an image, `ref`.
    fn test(&self) -> String {
        let parsed = |part: &str| format!("parseImageReference(ref).{part}()");
        let mut tests = match self.registry() {
            Some((_, rest)) if self.is_hub() => {
                let official = !rest.contains('/') && !rest.starts_with('*');
                let rest = if official { format!("library/{rest}") } else { rest.to_string() };
                let hub = format!("{} == 'index.docker.io'", parsed("registry"));
                vec![hub, matches(&parsed("repository"), &Wildcard::new(rest))]
            }
            Some((registry, rest)) => vec![
                format!("{} == {}", parsed("registry"), literal(registry)),
                matches(&parsed("repository"), &Wildcard::new(rest)),
            ],
            None => {
                let whole = format!("({} + '/' + {})", parsed("registry"), parsed("repository"));
                vec![matches(&whole, &Wildcard::new(self.repository))]
            }
        };
        match self.end {
            Some((':', tag)) => tests.push(matches(&parsed("tag"), &Wildcard::new(tag))),
            Some((_, digest)) => tests.push(matches(&parsed("digest"), &Wildcard::new(digest))),
            None => {}
        }
        tests.retain(|test| test != "true");
        if tests.is_empty() { "true".into() } else { all(&tests) }
    }
}

/// The images that one of the patterns is about, without those that one of the others is about.
pub fn references(patterns: &[Wildcard], skipped: &[Wildcard]) -> References {
    let mut out = References::default();
    let mut note = |text| add_new(&mut out.notes, [text]);
    let not_skipped: Vec<String> = skipped.iter().map(|w| not(&Pattern::of(w.pattern()).test())).collect();
    let is_every = |w: &Wildcard| matches!(&**w.pattern(), "*" | "*/*");
    if patterns.iter().any(is_every) {
        if !not_skipped.is_empty() {
            out.entries.push(ReferenceEntry::Expression(all(&not_skipped)));
        }
        return out;
    }
    for wildcard in patterns {
        let own = Pattern::of(wildcard.pattern());
        match own.end {
            Some((':', _)) => note(DIGESTS),
            None if !own.repository.ends_with('*') => note(TAGLESS),
            _ => {}
        }
        match own.globs().filter(|_| not_skipped.is_empty()) {
            Some(globs) => out.entries.extend(globs.into_iter().map(ReferenceEntry::Glob)),
            None => {
                let tests: Vec<String> =
                    std::iter::once(own.test()).chain(not_skipped.iter().cloned()).collect();
                out.entries.push(ReferenceEntry::Expression(all(&tests)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(patterns: &[&str], skipped: &[&str]) -> Vec<String> {
        let wild = |all: &[&str]| all.iter().map(|text| Wildcard::new(*text)).collect::<Vec<_>>();
        let found = references(&wild(patterns), &wild(skipped));
        let text = |entry: &ReferenceEntry| match entry {
            ReferenceEntry::Glob(text) | ReferenceEntry::Expression(text) => text.clone(),
        };
        found.entries.iter().map(text).collect()
    }

    #[test]
    fn patterns_with_a_registry_are_globs_that_cover_digests() {
        assert_eq!(written(&["ghcr.io/a/*"], &[]), ["ghcr.io/a/*"]);
        assert_eq!(written(&["ghcr.io/a/b:*"], &[]), ["ghcr.io/a/b", "ghcr.io/a/b:*", "ghcr.io/a/b@*"]);
        assert_eq!(written(&["ghcr.io/a/b:v1"], &[]), ["ghcr.io/a/b:v1", "ghcr.io/a/b:v1@*"]);
        assert!(written(&["ghcr.io/a/*", "*"], &[]).is_empty());
    }

    #[test]
    fn patterns_that_short_names_match_are_expressions() {
        assert_eq!(
            written(&["docker.io/nginx*"], &[]),
            [
                "parseImageReference(ref).registry() == 'index.docker.io' && parseImageReference(ref).repository().startsWith('library/nginx')"
            ]
        );
        assert_eq!(
            written(&["*/tool:*"], &[]),
            [
                "(parseImageReference(ref).registry() + '/' + parseImageReference(ref).repository()).endsWith('/tool')"
            ]
        );
    }

    #[test]
    fn images_that_are_skipped_are_left_out_of_each_pattern() {
        let all = written(&["*"], &["ghcr.io/a/*"]);
        assert_eq!(
            all,
            [
                "!(parseImageReference(ref).registry() == 'ghcr.io' && parseImageReference(ref).repository().startsWith('a/'))"
            ]
        );
    }
}
