//! Certificates: what a comparison evaluated, so that another run can repeat it.
//!
//! In: sides, a comparison and the objects that an [`super::Observer`] saw. Out: a [`Certificate`]
//! as JSON, with the digests of the policies, the answer, and each object with what both sides say
//! of it. [`Certified::check`] evaluates these objects again: it finds that the policies have
//! changed, or that the program says something else of an object, or that the objects do not bear
//! out the answer. It does not search for other objects: which objects stand for all is what the
//! comparison worked out.

use std::collections::BTreeMap;
use std::sync::Arc;

use ephor_document::json::parse;
use ephor_engine::request::UserParts;
use ephor_ir::json::{Bundle, JsonError};
use ephor_value::print::json;
use ephor_value::{Map, Value};
use sha2::{Digest, Sha256};

use crate::admitted::view::{AdmittedView, seen_in_clusters};
use crate::model::answer::Comparison;
use crate::model::environment::Environment;
use crate::model::observer::Evaluated;
use crate::model::request::{Case, RequestContext, request};
use crate::model::verdict::{Effect, Verdict};
use crate::sides::environments::environments;
use crate::sides::side::Side;

/// The form of certificates.
const API_VERSION: &str = "ephor.dev/comparison/v1";

/// Why a certificate cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The policies cannot be written.
    #[error(transparent)]
    Policies(#[from] JsonError),
    /// It is not JSON.
    #[error("the certificate is no JSON: {0}")]
    Json(String),
    /// It has another form.
    #[error("the certificate has no usable field `{0}`")]
    Field(&'static str),
    /// It is of another version.
    #[error("the certificate is of the form `{0}`; this program reads `{API_VERSION}`")]
    Form(String),
}

/// What was compared, and what came of it.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The version of the program that wrote it.
    pub version: String,
    /// Each pair.
    pub policies: Vec<Certified>,
}

/// The certificate of one pair.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The name of the pair.
    pub name: String,
    /// The digests of the old and of the new policies.
    pub digests: [String; 2],
    /// The answer, as `Answer::name` gives it.
    pub answer: String,
    /// Why the objects do not stand for all.
    pub reasons: Vec<String>,
    /// How many objects are not in it, because there are too many.
    pub left_out: usize,
    cases: Vec<CertifiedCase>,
}

#[derive(Clone, Debug)]
struct CertifiedCase {
    group: String,
    environment: String,
    case: Case,
    said: [CertifiedJudgement; 2],
}

/// What a side says of an object: the verdict, and what follows from it.
type CertifiedJudgement = (Verdict, Effect);

/// Whether a certificate holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCertificate {
    /// How many objects were evaluated again.
    pub objects: usize,
    /// Why it does not hold; empty when it does.
    pub problems: Vec<String>,
}

impl Certified {
    /// The certificate of a comparison.
    ///
    /// # Errors
    /// The policies cannot be written.
    pub fn of(
        name: &str,
        sides: [&Side; 2],
        found: &Comparison,
        (evaluated, left_out): (Vec<Evaluated>, usize),
    ) -> Result<Certified, CertificateError> {
        let [old, new] = sides.map(digest);
        let cases = evaluated.into_iter().filter_map(|one| {
            let case = Case { object: one.object, old: one.old_object, around: one.around };
            let said = said(sides, &one.environment, &case)?;
            let (group, environment) = key(&one.environment);
            Some(CertifiedCase { group, environment, case, said })
        });
        let mut cases: Vec<CertifiedCase> = cases.collect();
        cases.sort_by(|a, b| (&a.group, &a.environment).cmp(&(&b.group, &b.environment)));
        Ok(Certified {
            name: name.into(),
            digests: [old?, new?],
            answer: found.answer.name().into(),
            reasons: found.reasons.clone(),
            left_out,
            cases,
        })
    }

    /// Evaluates the objects again.
    ///
    /// # Errors
    /// The policies cannot be written, which their digests need.
    pub fn check(&self, sides: [&Side; 2]) -> Result<CheckedCertificate, CertificateError> {
        let mut problems = Vec::new();
        for (side, (word, digest_of)) in sides.into_iter().zip([("old", 0), ("new", 1)]) {
            if self.digests.get(digest_of) != Some(&digest(side)?) {
                problems.push(format!("{}: the {word} policy is another one, or changed", self.name));
            }
        }
        if !problems.is_empty() {
            return Ok(CheckedCertificate { objects: 0, problems });
        }
        let known: BTreeMap<(String, String), Environment> =
            environments(sides).0.into_iter().map(|e| (key(&e), e)).collect();
        let (mut changed, mut against) = (0, 0);
        for certified in &self.cases {
            let key = (certified.group.clone(), certified.environment.clone());
            let Some(environment) = known.get(&key) else {
                problems.push(format!("{}: no rule concerns {}", self.name, certified.environment));
                break;
            };
            let now = said(sides, environment, &certified.case);
            changed += usize::from(now != Some(certified.said));
            against += usize::from(differs_in_clusters(sides, environment, &certified.case));
        }
        if changed > 0 {
            problems.push(format!("{}: other verdicts on {}", self.name, objects(changed)));
        }
        if against > 0 && matches!(&*self.answer, "proved" | "proved relative" | "tested") {
            let answer = &self.answer;
            problems.push(format!(
                "{}: {answer}, but the policies differ on {}",
                self.name,
                objects(against)
            ));
        }
        Ok(CheckedCertificate { objects: self.cases.len(), problems })
    }

    fn value(&self) -> Value {
        let mut of_environments: Vec<(&str, &str, Vec<Value>)> = Vec::new();
        for CertifiedCase { group, environment, case, said } in &self.cases {
            let word = said.map(letters).concat();
            let mut fields = vec![case.object.clone(), Value::from(&*word)];
            if case.old.is_some() || !case.around.is_usual() {
                fields.push(case.old.clone().unwrap_or_default());
            }
            if !case.around.is_usual() {
                fields.push(written(&case.around));
            }
            match of_environments.last_mut() {
                Some((of, name, cases)) if of == group && name == environment => {
                    cases.push(Value::list(fields));
                }
                _ => of_environments.push((group, environment, vec![Value::list(fields)])),
            }
        }
        let environments = of_environments.into_iter().map(|(group, name, cases)| {
            Value::map([
                ("group", Value::from(group)),
                ("cases", Value::list(cases)),
                ("name", Value::from(name)),
            ])
        });
        let [old, new] = &self.digests;
        let reasons = self.reasons.iter().map(|reason| Value::from(&**reason));
        Value::map([
            ("answer", Value::from(&*self.answer)),
            ("environments", Value::list(environments.collect())),
            ("leftOut", Value::from(i64::try_from(self.left_out).unwrap_or(i64::MAX))),
            ("name", Value::from(&*self.name)),
            ("new", Value::from(&**new)),
            ("old", Value::from(&**old)),
            ("reasons", Value::list(reasons.collect())),
        ])
    }

    fn of_value(value: &Value) -> Result<Certified, CertificateError> {
        let text = |key: &'static str| match value.text_at(&[key]) {
            "" => Err(CertificateError::Field(key)),
            text => Ok(text.to_string()),
        };
        let list = |of: &Value, key: &'static str| {
            of.at(&[key]).and_then(Value::as_list).map(<[Value]>::to_vec).ok_or(CertificateError::Field(key))
        };
        let mut cases = Vec::new();
        for environment in list(value, "environments")? {
            let of = |key| environment.text_at(&[key]).to_string();
            for case in list(&environment, "cases")? {
                let fields = case.as_list().unwrap_or_default();
                let [object, said, more @ ..] = fields else {
                    return Err(CertificateError::Field("cases"));
                };
                let mut letters = said.as_str().unwrap_or_default().chars();
                let mut next = || Some((of_letter(letters.next()?)?, effect_of_letter(letters.next()?)?));
                let (Some(before), Some(after)) = (next(), next()) else {
                    return Err(CertificateError::Field("cases"));
                };
                let around = more.get(1).map(read).unwrap_or_default();
                let old = more.first().filter(|old| !old.is_null()).cloned();
                cases.push(CertifiedCase {
                    group: of("group"),
                    environment: of("name"),
                    case: Case { object: object.clone(), old, around: Arc::new(around) },
                    said: [before, after],
                });
            }
        }
        let reasons = list(value, "reasons")?;
        Ok(Certified {
            name: text("name")?,
            digests: [text("old")?, text("new")?],
            answer: text("answer")?,
            reasons: reasons.iter().filter_map(|reason| Some(reason.as_str()?.to_string())).collect(),
            left_out: 0,
            cases,
        })
    }
}

impl Certificate {
    /// It as JSON, in one line.
    pub fn write(&self) -> String {
        let policies = self.policies.iter().map(Certified::value);
        let mut text = json(&Value::map([
            ("apiVersion", Value::from(API_VERSION)),
            ("policies", Value::list(policies.collect())),
            ("version", Value::from(&*self.version)),
        ]));
        text.push('\n');
        text
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is not JSON, or of another form.
    pub fn read(text: &str) -> Result<Certificate, CertificateError> {
        let value = parse(text).map_err(|cause| CertificateError::Json(cause.to_string()))?;
        match value.text_at(&["apiVersion"]) {
            API_VERSION => {}
            other => return Err(CertificateError::Form(other.into())),
        }
        let policies = value.at(&["policies"]).and_then(Value::as_list);
        let policies = policies.ok_or(CertificateError::Field("policies"))?;
        let policies: Result<Vec<Certified>, _> = policies.iter().map(Certified::of_value).collect();
        Ok(Certificate { version: value.text_at(&["version"]).into(), policies: policies? })
    }
}

/// The digest of the policies of a side with their exceptions and bindings, however they are
/// written.
fn digest(side: &Side) -> Result<String, CertificateError> {
    let set = side.engine.set();
    let bundle = Bundle {
        policies: set.policies().to_vec(),
        exceptions: set.exceptions().to_vec(),
        cel_exceptions: set.cel_exceptions().to_vec(),
        ..Bundle::default()
    };
    let written = bundle.write()?;
    // Keys in one order: that of a policy's text does not matter.
    let canonical = parse(&written).map_or(written, |value| json(&value));
    let digest = Sha256::digest(canonical.as_bytes());
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What identifies an environment.
fn key(environment: &Environment) -> (String, String) {
    let resource = &environment.resource;
    (format!("{}/{}", resource.group, resource.version), environment.name())
}

fn said(sides: [&Side; 2], environment: &Environment, case: &Case) -> Option<[CertifiedJudgement; 2]> {
    let request = request(environment, case)?;
    Some(sides.map(|side| {
        let judgement = side.judge(&request);
        (judgement.verdict, judgement.effect)
    }))
}

/// Whether the sides differ on an object in the form in which admission webhooks see it.
fn differs_in_clusters(sides: [&Side; 2], environment: &Environment, case: &Case) -> bool {
    let allows = sides.map(Side::allows_existing);
    let is_existing = |violated: [bool; 2]| {
        // One side alone allows updates of objects that are violations already:
        // `Comparison::existing`.
        environment.operation == "UPDATE" && allows[0] != allows[1] && allows != violated
    };
    let has_effects = !sides.into_iter().any(Side::is_unbound);
    let only_generate = sides.into_iter().all(Side::only_generates);
    let differs = |case: &Case| {
        said(sides, environment, case).is_some_and(|[old, new]| {
            let violated = [old.0, new.0].map(|own| own.is_violation() && !only_generate);
            match violated {
                [true, true] => old.0 != new.0 || (has_effects && old.1 != new.1),
                [false, false] => false,
                _ => !is_existing(violated),
            }
        })
    };
    differs(case)
        && match seen_in_clusters(environment, case) {
            AdmittedView::Admitted(seen) => differs(&seen),
            AdmittedView::MissingField(_) | AdmittedView::InvalidText | AdmittedView::Refused(_) => false,
            AdmittedView::Unknown => true,
        }
}

fn objects(count: usize) -> String {
    if count == 1 { "1 object".into() } else { format!("{count} objects") }
}

/// The first letters of what a side says.
fn letters((verdict, effect): CertifiedJudgement) -> String {
    let first = |word: &str| word.chars().next().unwrap_or_default();
    [first(verdict.name()), first(effect.name())].into_iter().collect()
}

fn of_letter(letter: char) -> Option<Verdict> {
    let all = [Verdict::Skip, Verdict::Pass, Verdict::Error, Verdict::Fail];
    all.into_iter().find(|verdict| verdict.name().starts_with(letter))
}

fn effect_of_letter(letter: char) -> Option<Effect> {
    let all = [Effect::Allowed, Effect::Warned, Effect::Denied];
    all.into_iter().find(|effect| effect.name().starts_with(letter))
}

/// What surrounds the objects of a request.
fn written(around: &RequestContext) -> Value {
    let list = |texts: &[String]| Value::list(texts.iter().map(|text| Value::from(&**text)).collect());
    let [labels, annotations] = &around.namespace;
    Value::map([
        ("annotations", Value::Map(annotations.clone())),
        ("clusterRoles", list(&around.user.cluster_roles)),
        ("labels", Value::Map(labels.clone())),
        ("roles", list(&around.user.roles)),
        ("user", around.user.info.clone()),
    ])
}

fn read(written: &Value) -> RequestContext {
    let map = |key: &str| written.at(&[key]).and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    let list = |key: &str| {
        let items = written.at(&[key]).and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(|item| Some(item.as_str()?.to_string())).collect()
    };
    let info = written.at(&["user"]).cloned().unwrap_or_default();
    let user = UserParts { info, roles: list("roles"), cluster_roles: list("clusterRoles") };
    RequestContext::new(user, [map("labels"), map("annotations")])
}
