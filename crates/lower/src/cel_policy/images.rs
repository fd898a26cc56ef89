//! ImageValidatingPolicies → validations of images.
//!
//! Unlike in other kinds, faults of a policy are no errors of loading: every request reports them.

use std::sync::Arc;

use regex::Regex;

use ephor_cel::library::KyvernoKind;
use ephor_cel::types::Type;
use ephor_ir::expressions::{
    AuditAnnotation, Expressions, IMAGES_OF_PAYLOADS, POLICIES, Source, Variable, View,
};
use ephor_ir::facts::FailurePolicy;
use ephor_ir::image_validation::{Attestation, Attestor, ImagePattern, ImageValidation, Reference};
use ephor_ir::rule::Body;
use ephor_value::{Str, Value};

use super::sections::{Failed, FieldError, Sections};

/// Lowers a policy about images: what its expressions share, and the body.
pub fn parts(spec: &Value, view: View, namespaced: bool) -> (Expressions, Body) {
    let wording = if view == View::Payload { &IMAGES_OF_PAYLOADS } else { &POLICIES };
    let shared = Expressions {
        failure_policy: FailurePolicy::of(spec.text_at(&["failurePolicy"])),
        ..super::shared(view, wording)
    };
    match compiled(spec, view, namespaced) {
        Ok(Parts { conditions, variables, images, annotations }) => {
            let shared = Expressions { conditions, variables, annotations, ..shared };
            (shared, Body::ValidateImages(Arc::new(Ok(images))))
        }
        Err(error) => {
            let text = format!("failed to compile policy: {error}").into();
            (shared, Body::ValidateImages(Arc::new(Err(text))))
        }
    }
}

/// Why a policy about images cannot be evaluated.
#[derive(Debug, thiserror::Error)]
enum ImagesError {
    /// The expressions of a section do not compile.
    #[error(transparent)]
    Section(#[from] Failed),
    /// What says which images it is about.
    #[error("<nil>: Internal error: failed to compile matches: {0}")]
    Matches(#[source] FieldError),
    /// An expression of an extractor or an attestor does not compile.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Why a text is no pattern of images.
#[derive(Debug, thiserror::Error)]
enum GlobError {
    /// Something in it is open at its end.
    #[error("unexpected end of input")]
    End,
    /// It has no sense.
    #[error("is not well-formed")]
    Malformed,
}

struct Parts {
    conditions: Box<[Source]>,
    variables: Box<[Variable]>,
    images: ImageValidation,
    annotations: Box<[AuditAnnotation]>,
}

fn compiled(spec: &Value, view: View, namespaced: bool) -> Result<Parts, ImagesError> {
    let kind = KyvernoKind::Images;
    let mut compiler = Sections::new(kind, namespaced, view);
    let conditions = compiler.conditions(spec.get("matchConditions"), "matchConditions")?;
    let references = references(list(spec, "matchImageReferences"), namespaced)?;
    let extractors = extractors(&compiler, spec)?;
    let variables = compiler.variables(spec.get("variables"))?;
    let attestors = list(spec, "attestors").iter().enumerate().map(|(i, a)| attestor(&compiler, i, a));
    let attestors = attestors.collect::<Result<_, FieldError>>()?;
    let validations = compiler.validations(spec.get("validations"))?;
    let annotations = match view {
        View::Payload => Box::default(),
        _ => compiler.annotations(spec.get("auditAnnotations"))?,
    };
    let on = |key: &str| spec.at(&["validationConfigurations", key]).and_then(Value::as_bool).unwrap_or(true);
    let images = ImageValidation {
        credentials: spec.get("credentials").cloned().unwrap_or_default(),
        references,
        extractors,
        attestors,
        attestations: list(spec, "attestations").iter().map(attestation).collect(),
        verify_digest: on("verifyDigest"),
        required: on("required"),
        validations,
    };
    Ok(Parts { conditions, variables, images, annotations })
}

fn list<'v>(spec: &'v Value, key: &str) -> &'v [Value] {
    spec.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn references(all: &[Value], namespaced: bool) -> Result<Box<[Reference]>, ImagesError> {
    let failed = |field, source: &str, detail: String| {
        let source = source.into();
        ImagesError::Matches(FieldError { field, source, detail, is_forbidden: false })
    };
    let compiler = Sections::of_references(namespaced);
    let one = |(i, v): (usize, &Value)| {
        let (glob, expression) = (v.text_at(&["glob"]), v.text_at(&["expression"]));
        let path = |field: &str| format!("spec.MatchImageReferences[{i}]{field}");
        match (glob, expression) {
            ("", "") => Err(failed(path(""), "", "either glob or expression must be set".into())),
            ("", text) => {
                let is_bool = |t: &Type| *t == Type::Bool;
                let wanted = "output is expected to be of type bool";
                let program = compiler.program(&path(".expression"), text, is_bool, wanted);
                program.map(Reference::Expression).map_err(ImagesError::Matches)
            }
            (glob, _) => pattern(glob)
                .map(|p| Reference::Pattern(ImagePattern(p)))
                .map_err(|error| failed(path(".glob"), glob, error.to_string())),
        }
    };
    all.iter().enumerate().map(one).collect()
}

/// The lists that every pod has, which the reference counts with those of the policy.
const BUILT_IN: usize = 3;

fn extractors(
    compiler: &Sections,
    spec: &Value,
) -> Result<Box<[(Str, ephor_ir::expressions::Program)]>, FieldError> {
    let one = |(i, v): (usize, &Value)| {
        let (name, text) = (v.text_at(&["name"]), v.text_at(&["expression"]));
        let path = format!("spec.images[{}].expression", i + BUILT_IN);
        let fits = |t: &Type| match t {
            Type::Dyn => true,
            Type::List(of) => matches!(**of, Type::String | Type::Dyn),
            _ => false,
        };
        let program = compiler.program(&path, text, fits, "output is expected to be of type list");
        program.map(|p| (Str::from(name), p))
    };
    list(spec, "images").iter().enumerate().map(one).collect()
}

/// The parts of attestors that expressions may give, by where the expression stands.
const COMPUTED: [&[&str]; 8] = [
    &["cosign", "key"],
    &["cosign", "certificate", "cert"],
    &["cosign", "certificate", "certChain"],
    &["cosign", "trustedRoot"],
    &["cosign", "keyless", "identities"],
    &["notary", "certs"],
    &["notary", "tsaCerts"],
    &["cosign", "keyless", "roots"],
];

fn attestor(compiler: &Sections, i: usize, written: &Value) -> Result<Attestor, FieldError> {
    let mut computed = Vec::new();
    let mut compile = |path: Box<[Str]>, text: &str| {
        if text.is_empty() {
            return Ok(());
        }
        let program = compiler.program(&format!("spec.attestors[{i}]"), text, |_| true, "");
        computed.push((path, program?));
        Ok::<(), FieldError>(())
    };
    for path in COMPUTED {
        let steps: Box<[Str]> = path.iter().map(|s| Str::from(*s)).collect();
        let Some(part) = written.at(path) else { continue };
        compile(steps.clone(), part.text_at(&["expression"]))?;
        for (n, one) in part.as_list().unwrap_or_default().iter().enumerate() {
            let steps = steps.iter().cloned().chain([Str::from(n.to_string())]).collect();
            compile(steps, one.text_at(&["subjectExpression"]))?;
        }
    }
    Ok(Attestor {
        name: written.text_at(&["name"]).into(),
        written: written.clone(),
        computed: computed.into(),
    })
}

fn attestation(v: &Value) -> Attestation {
    let (stated, refers) = (v.text_at(&["intoto", "type"]), v.text_at(&["referrer", "type"]));
    Attestation {
        name: v.text_at(&["name"]).into(),
        kind: if stated.is_empty() { refers } else { stated }.into(),
        refers: stated.is_empty(),
    }
}

/// The regular expression of a pattern: `*` and `**` for any text, `?` for a character, `[…]` for
/// one of several, `{a,b}` for one of several texts.
fn pattern(glob: &str) -> Result<Regex, GlobError> {
    let mut out = String::from("(?s)^");
    let mut open = 0usize;
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '\\' => out.push_str(&regex::escape(&chars.next().ok_or(GlobError::End)?.to_string())),
            '{' => {
                open += 1;
                out.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                out.push(')');
            }
            ',' if open > 0 => out.push('|'),
            '[' => {
                let (inside, rest) = chars.as_str().split_once(']').ok_or(GlobError::End)?;
                chars = rest.chars();
                let (negated, inside) = match inside.strip_prefix('!') {
                    Some(inside) => ("^", inside),
                    None => ("", inside),
                };
                let escaped: String = inside
                    .chars()
                    .map(|c| if c == '-' || c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") })
                    .collect();
                out.push_str(&format!("[{negated}{escaped}]"));
            }
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    if open > 0 {
        return Err(GlobError::End);
    }
    out.push('$');
    Regex::new(&out).map_err(|_| GlobError::Malformed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{GlobError, pattern};

    #[test]
    fn patterns_match_the_image_as_it_is_written() {
        for (glob, image, fits) in [
            ("ng*", "nginx", true),
            ("n?inx", "nginx", true),
            ("{nginx,foo}", "foo", true),
            ("*/*", "nginx", false),
            ("docker.io/*", "nginx", false),
            ("ghcr.io/*", "ghcr.io/a/b:1", true),
            ("a[b-c]d", "acd", true),
            ("a[!b]d", "abd", false),
            ("a.c", "abc", false),
        ] {
            assert_eq!(pattern(glob).unwrap().is_match(image), fits, "{glob} {image}");
        }
    }

    #[test]
    fn patterns_that_do_not_end_are_refused() {
        for glob in ["[a", "{a", "a\\"] {
            let error = pattern(glob).unwrap_err();
            assert!(matches!(error, GlobError::End), "{glob}");
            assert_eq!(error.to_string(), "unexpected end of input");
        }
    }
}
