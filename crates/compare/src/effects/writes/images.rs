//! Texts with parts of the name of a container's image.
//!
//! In: an expression of either language: `images.containers."{{ element.name }}".path` and
//! `parseImageReference(element.image).repository()`. Out: the parts that stand in the text, and
//! the place of the name. ClusterPolicies know a path without the folder that registries give
//! Docker's own images; CEL has to take it away. Semantics: `value::image`, `external::reference`.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::template::{Hole, Rounds};
use ephor_lower::LATE;
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use crate::effects::writes::made::{FOLDER, Function, ImagePart, TextPart};
use crate::effects::writes::model::{WriteCollector, in_items};
use crate::effects::writes::places::{has_plain_names, in_element, keys_of};
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

/// The place of the images that `images.containers`, or another list, gives; for objects of a kind.
fn list_of(kind: &str, list: &str) -> Option<Vec<Step>> {
    let above: &[&str] = match kind {
        "Pod" => &["spec"],
        "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "ReplicationController" | "StatefulSet" => {
            &["spec", "template", "spec"]
        }
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    };
    let is_known = matches!(list, "containers" | "initContainers" | "ephemeralContainers");
    is_known.then(|| above.iter().chain([&list]).map(|key| Step::Key((*key).into())).collect())
}

impl<'r> WriteCollector<'r> {
    /// A text with parts of one name, in CEL.
    pub(crate) fn image_text(&self, expr: &'r Expr) -> Option<(Function, &'r Expr)> {
        let (mut parts, mut of) = (Vec::new(), Vec::new());
        self.image_parts(expr, &mut parts, &mut of, 0)?;
        let (first, others) = of.split_first()?;
        others.iter().all(|other| is_same(first, other)).then_some((Function::Parts(parts), *first))
    }

    fn image_parts(
        &self,
        expr: &'r Expr,
        parts: &mut Vec<TextPart>,
        of: &mut Vec<&'r Expr>,
        depth: usize,
    ) -> Option<()> {
        let expr = self.plain(expr);
        if let Some(text) = expr.constant() {
            parts.push(TextPart::Text(text.as_str()?.into()));
            return Some(());
        }
        if let Some((Operation::Add, addends)) = expr.invoked() {
            let mut addends = addends.iter().filter(|_| depth < MAX_WRITE_DEPTH);
            return addends.try_for_each(|one| self.image_parts(one, parts, of, depth + 1));
        }
        let (part, image) = self.image_part(expr)?;
        parts.push(TextPart::Image(part));
        of.push(image);
        Some(())
    }

    /// A part of a name. Where a path has the folder in front it is written so, or Docker's
    /// registry puts it there.
    fn image_part(&self, expr: &'r Expr) -> Option<(ImagePart, &'r Expr)> {
        match expr {
            Expr::Cond(parts) => {
                let [condition, then, other] = &**parts;
                let (image, folder) = self.called(Operation::Contains, condition)?;
                let (own, []) = self.called(Operation::Repository, then)? else { return None };
                let (path, [from, to]) = self.called(Operation::Replace, other)? else { return None };
                let (same, []) = self.called(Operation::Repository, path)? else { return None };
                let [own, same] = [self.image_of(own)?, self.image_of(same)?];
                let is = |expr: &Expr, text: &str| {
                    self.plain(expr).constant().and_then(Value::as_str) == Some(text)
                };
                let is_path =
                    matches!(folder, [folder] if is(folder, FOLDER)) && is(from, FOLDER) && is(to, "");
                (is_path && is_same(image, own) && is_same(image, same)).then_some((ImagePart::Path, own))
            }
            Expr::Invoke(call) => match (call.function.operation, &*call.args) {
                (Operation::Tag, [image]) => Some((ImagePart::TagOrEmpty, self.image_of(image)?)),
                (Operation::Digest, [image]) => Some((ImagePart::DigestOrEmpty, self.image_of(image)?)),
                // `optional.ofNonZeroValue(…).value()`
                (Operation::OptionalValue, [found]) => {
                    let (Operation::OptionalOfNonZero, [part]) = self.plain(found).invoked()? else {
                        return None;
                    };
                    match self.image_part(self.plain(part))? {
                        (ImagePart::TagOrEmpty, image) => Some((ImagePart::Tag, image)),
                        (ImagePart::DigestOrEmpty, image) => Some((ImagePart::Digest, image)),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What the name is that is parsed.
    fn image_of(&self, expr: &'r Expr) -> Option<&'r Expr> {
        self.called(Operation::ParseImage, expr).filter(|(_, rest)| rest.is_empty()).map(|(image, _)| image)
    }

    /// The first argument of a function, and the others.
    fn called(&self, operation: Operation, expr: &'r Expr) -> Option<(&'r Expr, &'r [Expr])> {
        let (_, args) = self.plain(expr).invoked().filter(|(called, _)| *called == operation)?;
        args.split_first().map(|(first, rest)| (self.plain(first), rest))
    }

    /// The same in a document, for the element of a loop over containers.
    pub(crate) fn image_text_in_rounds(
        &mut self,
        rounds: &'r Rounds,
    ) -> Result<(Function, Vec<Step>), Unsupported> {
        let [list] = &*self.elements else { return Err(Unsupported::Computed) };
        let parts = parts_in(&rounds.source, list, &self.kind[2]).ok_or(Unsupported::Computed)?;
        if !self.is_in_list() || !has_plain_names(list) {
            return Err(Unsupported::Computed);
        }
        let place = in_items(list, &[Step::Key("image".into())]);
        for read in ["element.name", "element.image"] {
            let query = LATE.query(read, &rounds.names);
            if query.expr.as_ref().ok().and_then(in_element).is_none() {
                return Err(Unsupported::Computed);
            }
            self.holes.push(Hole { query, rounds: rounds.clone() });
        }
        Ok((Function::Parts(parts), place))
    }
}

/// Whether two expressions read the same.
fn is_same(one: &Expr, other: &Expr) -> bool {
    matches!((keys_of(one), keys_of(other)), (Some((one, keys)), Some((other, same))) if one == other && keys == same)
}

/// The parts of a text with variables like `images.containers."{{ element.name }}".path` for the
/// elements of a list.
fn parts_in(source: &str, list: &[Step], kind: &str) -> Option<Vec<TextPart>> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("{{") {
        // The key is a variable of its own.
        let (inside, behind) = variable(after)?;
        if !before.is_empty() {
            parts.push(TextPart::Text(before.into()));
        }
        parts.push(TextPart::Image(part_in(inside, list, kind)?));
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(TextPart::Text(rest.into()));
    }
    Some(parts)
}

/// What is in a variable that has another one in it, and what comes behind it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let inner = find_variables(text).into_iter().next()?;
    let end = inner.end + text.get(inner.end..)?.find("}}")?;
    Some((text.get(..end)?, text.get(end + 2..)?))
}

/// The part that `images.containers."{{ element.name }}".path` is of the image of an element.
fn part_in(query: &str, list: &[Step], kind: &str) -> Option<ImagePart> {
    let inner = find_variables(query).into_iter().next()?;
    let is_name = expression(query.get(inner.clone())?) == "element.name";
    let name: Str = query.get(..inner.start)?.trim().strip_prefix("images.")?.strip_suffix(".\"")?.into();
    let part = query.get(inner.end..)?.trim().strip_prefix("\".")?;
    (is_name && list_of(kind, &name)? == list).then(|| ImagePart::named(part))?
}

#[cfg(test)]
mod tests {
    use ephor_external::reference;

    use super::*;
    use crate::effects::writes::made::is_image;

    fn parts(source: &str) -> Option<Vec<TextPart>> {
        let list = ["spec", "containers"].map(|key| Step::Key(key.into()));
        parts_in(source, &list, "Pod")
    }

    #[test]
    fn variables_with_the_name_of_the_element_are_parts_of_its_image() {
        let image = |part| TextPart::Image(part);
        let text = |text: &str| TextPart::Text(text.into());
        let found = parts(
            r#"r.io/{{ images.containers."{{element.name}}".path}}:{{images.containers."{{ element.name }}".tag }}"#,
        );
        let expected = [text("r.io/"), image(ImagePart::Path), text(":"), image(ImagePart::Tag)];
        assert_eq!(found.as_deref(), Some(&expected[..]));
        assert_eq!(parts(r#"{{ images.initContainers."{{element.name}}".path}}"#), None);
        assert_eq!(parts(r#"{{ images.containers."{{element.image}}".path}}"#), None);
        assert_eq!(parts(r#"{{ images.containers."{{element.name}}".registry}}"#), None);
        assert_eq!(parts(r#"{{ images.containers."{{element.name}}".path"#), None);
        assert_eq!(parts(r#"{{ images.containers."a{{element.name}}".path}}"#), None);
    }

    /// The parts of names as CEL has them, of which the path as migrated policies write it.
    fn in_cel(name: &str) -> Option<[String; 3]> {
        let parsed = reference::parse(name)?;
        let path = match name.contains(FOLDER) {
            true => parsed.repository.clone(),
            false => parsed.repository.replace(FOLDER, ""),
        };
        Some([path, parsed.tag.to_string(), parsed.digest.to_string()])
    }

    #[test]
    fn the_parts_of_all_names_are_the_same_in_both_languages() {
        let hosts = [
            "",
            "docker.io/",
            "index.docker.io/",
            "r.io/",
            "r.io:5000/",
            "localhost/",
            "my.library/",
            "library/",
        ];
        let paths =
            ["ab", "a/b", "library/ab", "x/library/ab", "mylibrary/ab", "library/library/a", "a_b/c", "a"];
        let tags = ["", ":1", ":latest", ":library"];
        let digest = format!("@sha256:{}", "a".repeat(64));
        let digests = ["", &*digest];
        let mut known = 0;
        for host in hosts {
            for (path, tag) in paths.iter().flat_map(|path| tags.map(|tag| (path, tag))) {
                for digest in digests {
                    let name = format!("{host}{path}{tag}{digest}");
                    if !is_image(&name) {
                        continue;
                    }
                    known += 1;
                    let own = [ImagePart::Path, ImagePart::TagOrEmpty, ImagePart::DigestOrEmpty]
                        .map(|part| part.of(&name));
                    assert_eq!(Some(own.map(Option::unwrap)), in_cel(&name), "{name}");
                }
            }
        }
        assert!(known > 400, "{known}");
    }
}
