//! ClusterPolicies rewritten as policies in CEL.

use std::time::Duration;

use ephor_kubernetes::{Kinds, Types};
use ephor_migrate::report::{MigrateRow, Status, rows};
use ephor_migrate::{File, Limits, Options, TargetApi, exceptions, file};

use crate::diff::{Difference, Verdict};
use crate::{Error, Release};

/// Which policies in CEL are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MigrationTarget {
    /// Those of `policies.kyverno.io`.
    #[default]
    Kyverno,
    /// Kubernetes' own, `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`, as API servers
    /// from this release on evaluate them.
    Kubernetes(Release),
}

/// How policies are migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationOptions {
    /// Which policies are written.
    pub target: MigrationTarget,
    /// The longest time for the proof of a policy: 60 seconds by default.
    pub time_limit: Duration,
}

impl Default for MigrationOptions {
    fn default() -> MigrationOptions {
        MigrationOptions { target: MigrationTarget::default(), time_limit: Duration::from_secs(60) }
    }
}

/// A text with its policies migrated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Migration {
    /// The new text; documents that did not move are the same byte for byte.
    pub text: String,
    /// What came of each policy and exception.
    pub policies: Vec<MigratedPolicy>,
}

/// What came of a policy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MigratedPolicy {
    /// Its name.
    pub name: String,
    /// The line on which it begins.
    pub line: usize,
    /// Whether what was written means the same; of a policy that did not move
    /// [`Verdict::Incomparable`].
    pub verdict: Verdict,
    /// Why the verdict is no more than it is, in words; empty where there is nothing to say.
    pub reason: String,
    /// What the verdict is not about: `deletions`, `ReplicationControllers` and the like.
    pub but_for: Vec<&'static str>,
    /// What a reader should know, with places.
    pub remarks: Vec<String>,
    /// What cannot be expressed in CEL: `FILE:LINE: construct; nearest rewrite`. Where it is not
    /// empty, the policy stays as it was.
    pub refused: Vec<String>,
    /// The objects on which old and new differ.
    pub differences: Vec<Difference>,
    /// The new documents; empty where nothing was written.
    pub text: String,
}

/// Migrates the ClusterPolicies, cleanup policies and exceptions of a text to policies in CEL, each
/// compared with its origin, as `ephor migrate` does.
///
/// ```
/// let migrated = ephor::migrate("p.yaml", r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: no-latest}
/// spec:
///   rules:
///   - name: tag
///     match: {any: [{resources: {kinds: [Pod]}}]}
///     validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
/// "#, &ephor::MigrationOptions::default())?;
/// let policy = migrated.policies.first().ok_or("no policy")?;
/// assert_eq!(policy.verdict, ephor::Verdict::Proved);
/// assert!(migrated.text.contains("kind: ValidatingPolicy"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The text cannot be cut into documents.
pub fn migrate(name: &str, text: &str, options: &MigrationOptions) -> Result<Migration, Error> {
    let (to, kubernetes) = match options.target {
        MigrationTarget::Kyverno => (TargetApi::Kyverno, None),
        MigrationTarget::Kubernetes(release) => (TargetApi::Kubernetes, Some(release)),
    };
    let of = Options {
        to,
        kinds: Kinds::built_in().clone(),
        types: Types::built_in().clone(),
        ..Options::default()
    };
    let limits = Limits { time: Some(options.time_limit), kubernetes, ..Limits::default() };
    let read = file(name, text, &of, limits);
    let mut files: Vec<File> = vec![read.map_err(|cause| Error::Object {
        place: format!("{name}:{}", cause.line),
        message: cause.to_string(),
    })?];
    exceptions(&mut files, &of, limits);
    let policies = files.iter().flat_map(rows).map(MigratedPolicy::from).collect();
    Ok(Migration { text: files.iter().map(File::migrated).collect(), policies })
}

impl From<MigrateRow<'_>> for MigratedPolicy {
    fn from(row: MigrateRow<'_>) -> MigratedPolicy {
        let refused =
            |one: &ephor_migrate::Refused| format!("{}: {}; {}", one.place, one.construct, one.nearest);
        MigratedPolicy {
            name: row.name.into(),
            line: row.line,
            verdict: match row.status {
                Status::Proved => Verdict::Proved,
                Status::Relative => Verdict::ProvedRelative,
                Status::Tested => Verdict::Tested,
                Status::Differs => Verdict::Differs,
                Status::NotCompared | Status::Refused | Status::Failed => Verdict::Incomparable,
            },
            reason: row.why,
            but_for: row.but_for,
            remarks: row.remarks,
            refused: row.refused.iter().map(refused).collect(),
            differences: row.differences.iter().map(Difference::from).collect(),
            text: row.new_text,
        }
    }
}
