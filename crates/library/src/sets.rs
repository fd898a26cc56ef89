//! Sets and groups of the library: tables.
//!
//! A group is a folder of `policies/`; a set is what a team adopts as one: some groups. Each group
//! is a set of its own, too, and `all` is every control.

/// A folder of controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The folder.
    pub name: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What its controls have in common.
    pub about: &'static str,
}

/// Groups under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// The groups in it.
    pub groups: &'static [&'static str],
    /// What it is for.
    pub about: &'static str,
}

/// The groups, in the order in which pages show them.
pub const GROUPS: &[Group] = &[
    Group {
        name: "pod-security-baseline",
        title: "Pod Security: baseline",
        about: "The Baseline profile of the Pod Security Standards, one control for each row. It rules out known ways to take over a node.",
    },
    Group {
        name: "pod-security-restricted",
        title: "Pod Security: restricted",
        about: "What the Restricted profile requires beyond Baseline.",
    },
    Group {
        name: "best-practices",
        title: "Best practices",
        about: "Habits that spare a team its next outage. Adapt names of registries and labels to yours.",
    },
    Group {
        name: "workload-hardening",
        title: "Workload hardening",
        about: "What pods should not do, or should, beyond the Pod Security Standards.",
    },
    Group {
        name: "reliability",
        title: "Reliability",
        about: "What keeps a workload available while nodes are maintained, releases roll out and jobs fail.",
    },
    Group {
        name: "rbac",
        title: "RBAC",
        about: "Who may do what: rights that are as good as all rights, and bindings that are wider than meant.",
    },
    Group {
        name: "supply-chain",
        title: "Supply chain",
        about: "Where images come from, and that they stay what they were.",
    },
    Group {
        name: "networking",
        title: "Networking",
        about: "What is reachable, from where, and through what.",
    },
    Group {
        name: "storage",
        title: "Storage",
        about: "Volumes, their classes and claims: whose data, how much, and what happens to it.",
    },
    Group {
        name: "multi-tenancy",
        title: "Multi-tenancy",
        about: "Namespaces of teams: what they must say, and what is generated in them.",
    },
    Group {
        name: "defaults",
        title: "Defaults",
        about: "Fields that a mutation sets where a manifest does not. What is set stays as it is.",
    },
    Group {
        name: "cost",
        title: "Cost",
        about: "Limits of what one manifest may order, and labels for the bill. Adapt the numbers to yours.",
    },
    Group {
        name: "cleanup",
        title: "Cleanup",
        about: "Objects that are no longer needed, deleted on a schedule.",
    },
];

/// The sets that hold more than one group, or have a shorter name.
pub const SETS: &[Set] = &[
    Set {
        name: "pss-baseline",
        groups: &["pod-security-baseline"],
        about: "the Baseline profile of the Pod Security Standards",
    },
    Set {
        name: "pss-restricted",
        groups: &["pod-security-baseline", "pod-security-restricted"],
        about: "the Restricted profile of the Pod Security Standards, which includes Baseline",
    },
    Set {
        name: "starter",
        groups: &["pod-security-baseline", "best-practices"],
        about: "what most teams begin with",
    },
];

/// The name of the set with every control.
pub const ALL: &str = "all";
