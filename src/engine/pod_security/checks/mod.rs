//! The Pod Security checks: one line of [`CHECKS`] each.
//!
//! In: a pod. Out: the findings of the checks of a level at a version, in the order of the table. The
//! semantics' source is `docs/validate.md`, "podSecurity". A pod that passes costs no allocation.

mod container;
mod host;
mod profile;
mod user;
mod volume;

use super::finding::{FieldError, Finding};
use super::pod::Pod;

/// Versions as the minor number of `v1.N`; the latest is above all.
pub type Minor = u32;

/// The latest version.
pub const LATEST: Minor = Minor::MAX;

/// What a check reports besides its name.
pub struct Violation {
    reason: &'static str,
    detail: String,
    errors: Vec<FieldError>,
}

type Run = fn(&Pod<'_>) -> Option<Violation>;

/// A check and since when each of its forms counts.
pub struct Check {
    id: &'static str,
    control: &'static str,
    baseline: bool,
    /// The first form also counts before its version (the reference's behaviour).
    forms: &'static [(Minor, Run)],
}

const fn baseline(id: &'static str, control: &'static str, forms: &'static [(Minor, Run)]) -> Check {
    Check { id, control, baseline: true, forms }
}

const fn restricted(id: &'static str, control: &'static str, forms: &'static [(Minor, Run)]) -> Check {
    Check { id, control, baseline: false, forms }
}

/// All checks, in the order of reports.
#[rustfmt::skip]
static CHECKS: [Check; 18] = [
    restricted("allowPrivilegeEscalation", "Privilege Escalation",
        &[(8, container::privilege_escalation), (25, |p| unless_windows(p, container::privilege_escalation))]),
    baseline("appArmorProfile", "AppArmor", &[(0, profile::app_armor)]),
    baseline("capabilities_baseline", "Capabilities", &[(0, container::capabilities)]),
    restricted("capabilities_restricted", "Capabilities",
        &[(22, container::all_dropped), (25, |p| unless_windows(p, container::all_dropped))]),
    baseline("hostNamespaces", "Host Namespaces", &[(0, host::namespaces)]),
    baseline("hostPathVolumes", "HostPath Volumes", &[(0, volume::host_path)]),
    baseline("hostPorts", "Host Ports", &[(0, host::ports)]),
    baseline("hostProbesAndHostLifecycle", "", &[(34, host::probes)]),
    baseline("privileged", "Privileged Containers", &[(0, container::privileged)]),
    baseline("procMount", "/proc Mount Type", &[(0, container::proc_mount)]),
    restricted("restrictedVolumes", "Volume Types", &[(0, volume::types)]),
    restricted("runAsNonRoot", "Running as Non-root", &[(0, user::non_root)]),
    restricted("runAsUser", "Running as Non-root user", &[(23, user::not_zero)]),
    baseline("seLinuxOptions", "SELinux", &[(0, profile::se_linux), (31, profile::se_linux_with_engine)]),
    baseline("seccompProfile_baseline", "Seccomp",
        &[(0, profile::seccomp_annotations), (19, profile::seccomp)]),
    restricted("seccompProfile_restricted", "Seccomp",
        &[(19, profile::seccomp_required), (25, |p| unless_windows(p, profile::seccomp_required))]),
    baseline("sysctls", "Sysctls",
        &[(0, host::sysctls), (27, host::sysctls_27), (29, host::sysctls_29), (32, host::sysctls_32)]),
    baseline("windowsHostProcess", "HostProcess", &[(0, user::host_process)]),
];

fn unless_windows(pod: &Pod<'_>, run: Run) -> Option<Violation> {
    if pod.is_windows() { None } else { run(pod) }
}

/// How many forms the checks have together.
pub const FORMS: usize = {
    let (mut sum, mut i) = (0, 0);
    while i < CHECKS.len() {
        sum += CHECKS[i].forms.len();
        i += 1;
    }
    sum
};

/// A check in the form of a version.
pub struct Form {
    /// Its position among all forms of all checks.
    pub position: usize,
    check: &'static Check,
    run: Run,
}

impl Form {
    /// What the check finds.
    pub fn run(&self, pod: &Pod<'_>) -> Option<Finding> {
        let Violation { reason, detail, errors } = (self.run)(pod)?;
        Some(Finding { id: self.check.id, control: self.check.control, reason, detail, errors })
    }
}

/// The minor number of a version; `None` when it is neither `latest`, nor empty, nor `v1.N`.
pub fn version(text: &str) -> Option<Minor> {
    if matches!(text, "" | "latest") {
        return Some(LATEST);
    }
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The checks of a level, in the order of the table. Every level but `baseline` has all checks,
/// `privileged` too (the reference's behaviour).
pub fn of_level(level: &str, version: Minor) -> impl Iterator<Item = Form> {
    let all = level != "baseline";
    let mut first = 0;
    CHECKS.iter().filter_map(move |check| {
        let start = first;
        first += check.forms.len();
        if !all && !check.baseline {
            return None;
        }
        let newest = check.forms.iter().rposition(|(since, _)| *since <= version).unwrap_or(0);
        let (_, run) = check.forms.get(newest)?;
        Some(Form { position: start + newest, check, run: *run })
    })
}

/// What the checks of a control find at a level.
pub fn of_control(control: &str, pod: &Pod<'_>, level: &str, version: Minor) -> Vec<Finding> {
    of_level(level, version).filter(|f| f.check.control == control).filter_map(|f| f.run(pod)).collect()
}
