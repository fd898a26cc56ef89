//! Whether two sets of policies mean the same.

use ephor_compare::{self as compare, Answer, Ignored, Mapping, Options, Side, compare_observed, pairs};
use ephor_inspect::compared::answered::Compared;
use ephor_value::Value;

use crate::{Error, PolicySet};

/// Whether two policies mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// They agree on every object.
    Proved,
    /// They agree on every object when what [`Comparison::reasons`] names is the same for both.
    ProvedRelative,
    /// They agree on all objects that were tried; the reasons say why that is no proof.
    Tested,
    /// They differ.
    Differs,
    /// They cannot be compared.
    Incomparable,
    /// Only the old set has the policy.
    OnlyOld,
    /// Only the new set has it.
    OnlyNew,
}

/// A policy of both sets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The name of the policy.
    pub name: String,
    /// Whether both mean the same.
    pub verdict: Verdict,
    /// What a proof is relative to, or why there is none.
    pub reasons: Vec<String>,
    /// What the verdict is not about: `deletions` and the like.
    pub but_for: Vec<&'static str>,
    /// The smallest objects on which they differ, one for each kind of difference.
    pub differences: Vec<Difference>,
    /// How many objects were evaluated; 0 with [`Verdict::Proved`]: the rules are the same.
    pub objects: usize,
}

/// An object on which two policies differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// What the difference is: `weaker`, `stricter`, `action`, `errors`, `result`.
    pub kind: &'static str,
    /// The object.
    pub object: Value,
    /// The object before an update, where it counts.
    pub old_object: Option<Value>,
    /// The request in words: operation, user, labels of the namespace.
    pub request: String,
    /// What the old policy says: verdict and message.
    pub old: (&'static str, String),
    /// What the new policy says.
    pub new: (&'static str, String),
}

impl From<&compare::Difference> for Difference {
    fn from(found: &compare::Difference) -> Difference {
        Difference {
            kind: found.kind.name(),
            object: found.object.clone(),
            old_object: found.old_object.clone(),
            request: found.environment.name().to_string(),
            old: (found.old.verdict.name(), found.old.message.to_string()),
            new: (found.new.verdict.name(), found.new.message.to_string()),
        }
    }
}

/// Compares the policies of two sets, paired by name or by what says that one replaces another, as
/// `ephor diff` does: proved equal for all objects, or the object on which they differ.
///
/// ```
/// let policy = |image: &str| ephor::PolicySet::from_yaml(&format!(r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {{name: images}}
/// spec:
///   rules:
///   - name: tag
///     match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
///     validate: {{message: no tag, pattern: {{spec: {{containers: [{{image: "{image}"}}]}}}}}}
/// "#));
/// let found = ephor::diff(&policy("!*:latest")?, &policy("!*:dev")?)?;
/// let one = found.first().ok_or("no pair")?;
/// assert_eq!(one.verdict, ephor::Verdict::Differs);
/// assert!(one.differences.iter().any(|d| d.kind == "weaker"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Policies that cannot be paired or used.
pub fn diff(old: &PolicySet, new: &PolicySet) -> Result<Vec<Comparison>, Error> {
    let failed = |cause: &dyn std::fmt::Display| Error::Comparison(cause.to_string());
    let all = pairs(&old.loaded, &new.loaded, &Mapping::default()).map_err(|cause| failed(&cause))?;
    let mut out = Vec::new();
    for pair in all {
        let (Some(before), Some(after)) = (pair.old, pair.new.clone()) else {
            let verdict = if pair.new.is_some() { Verdict::OnlyNew } else { Verdict::OnlyOld };
            out.push(Comparison::without(pair.name, verdict));
            continue;
        };
        let side = |load: &_, name: &str| Side::new(Clone::clone(load), name).map_err(|cause| failed(&cause));
        let (old, new) = (side(&before, &pair.name)?, side(&after, &pair.name)?);
        let options = Options::default();
        let found = compare_observed(&old, &new, options, None);
        let claims = (options, &Ignored::default(), true);
        let loads = ([&before, &after], pair.by);
        let found = Compared::answered(&pair.name, found, [&old, &new], loads, claims);
        out.push(Comparison {
            name: pair.name,
            verdict: Verdict::of(&found.claimed),
            reasons: match found.claimed {
                Answer::ProvedRelative(all) | Answer::Tested(all) => all,
                Answer::Incomparable(why) => vec![why],
                Answer::Proved | Answer::Differs => Vec::new(),
            },
            but_for: found.but_for,
            differences: found.differences.iter().map(|one| Difference::from(&one.difference)).collect(),
            objects: found.objects,
        });
    }
    Ok(out)
}

impl Comparison {
    fn without(name: String, verdict: Verdict) -> Comparison {
        Comparison {
            name,
            verdict,
            reasons: Vec::new(),
            but_for: Vec::new(),
            differences: Vec::new(),
            objects: 0,
        }
    }
}

impl Verdict {
    fn of(answer: &Answer) -> Verdict {
        match answer {
            Answer::Proved => Verdict::Proved,
            Answer::ProvedRelative(_) => Verdict::ProvedRelative,
            Answer::Tested(_) => Verdict::Tested,
            Answer::Differs => Verdict::Differs,
            Answer::Incomparable(_) => Verdict::Incomparable,
        }
    }
}
