//! Types that say where pods run.

use super::meta::LABEL_SELECTOR;
use super::*;

pub static AFFINITY: Struct = shape(
    "Affinity",
    &[
        one("nodeAffinity", &NODE_AFFINITY),
        one("podAffinity", &POD_AFFINITY),
        one("podAntiAffinity", &POD_ANTI_AFFINITY),
    ],
);

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

static NODE_AFFINITY: Struct = shape(
    "NodeAffinity",
    &[one(REQUIRED, &NODE_SELECTOR), of(PREFERRED, List(&Kind::Struct(&PREFERRED_TERM)))],
);

static NODE_SELECTOR: Struct =
    shape("NodeSelector", &[of("nodeSelectorTerms", List(&Kind::Struct(&NODE_TERM)))]);

static NODE_TERM: Struct = shape(
    "NodeSelectorTerm",
    &[
        of("matchExpressions", List(&Kind::Struct(&NODE_REQUIREMENT))),
        of("matchFields", List(&Kind::Struct(&NODE_REQUIREMENT))),
    ],
);

static NODE_REQUIREMENT: Struct = shape(
    "NodeSelectorRequirement",
    &[text("key"), named("operator", "v1.NodeSelectorOperator"), of("values", STRINGS)],
);

static PREFERRED_TERM: Struct =
    shape("PreferredSchedulingTerm", &[int32("weight"), one("preference", &NODE_TERM)]);

static POD_AFFINITY: Struct = shape(
    "PodAffinity",
    &[of(REQUIRED, List(&Kind::Struct(&POD_TERM))), of(PREFERRED, List(&Kind::Struct(&WEIGHTED_TERM)))],
);

static POD_ANTI_AFFINITY: Struct = shape(
    "PodAntiAffinity",
    &[of(REQUIRED, List(&Kind::Struct(&POD_TERM))), of(PREFERRED, List(&Kind::Struct(&WEIGHTED_TERM)))],
);

static POD_TERM: Struct = shape(
    "PodAffinityTerm",
    &[
        one("labelSelector", &LABEL_SELECTOR),
        of("namespaces", STRINGS),
        text("topologyKey"),
        one("namespaceSelector", &LABEL_SELECTOR),
        of("matchLabelKeys", STRINGS),
        of("mismatchLabelKeys", STRINGS),
    ],
);

static WEIGHTED_TERM: Struct =
    shape("WeightedPodAffinityTerm", &[int32("weight"), one("podAffinityTerm", &POD_TERM)]);

pub static TOLERATION: Struct = shape(
    "Toleration",
    &[
        text("key"),
        named("operator", "v1.TolerationOperator"),
        text("value"),
        named("effect", "v1.TaintEffect"),
        int64("tolerationSeconds"),
    ],
);

pub static TOPOLOGY_SPREAD: Struct = shape(
    "TopologySpreadConstraint",
    &[
        int32("maxSkew"),
        text("topologyKey"),
        named("whenUnsatisfiable", "v1.UnsatisfiableConstraintAction"),
        one("labelSelector", &LABEL_SELECTOR),
        int32("minDomains"),
        named("nodeAffinityPolicy", "v1.NodeInclusionPolicy"),
        named("nodeTaintsPolicy", "v1.NodeInclusionPolicy"),
        of("matchLabelKeys", STRINGS),
    ],
);
