//! Types of meta/v1.

use super::*;

pub static OBJECT_META: Struct = shape(
    "ObjectMeta",
    &[
        text("name"),
        text("generateName"),
        text("namespace"),
        text("selfLink"),
        named("uid", "types.UID"),
        text("resourceVersion"),
        int64("generation"),
        of("creationTimestamp", Time),
        of("deletionTimestamp", Time),
        int64("deletionGracePeriodSeconds"),
        of("labels", STRING_MAP),
        of("annotations", STRING_MAP),
        of("ownerReferences", List(&Kind::Struct(&OWNER_REFERENCE))),
        of("finalizers", STRINGS),
        of("managedFields", List(&Kind::Struct(&MANAGED_FIELDS))),
    ],
);

static OWNER_REFERENCE: Struct = shape(
    "OwnerReference",
    &[
        text("apiVersion"),
        text("kind"),
        text("name"),
        named("uid", "types.UID"),
        flag("controller"),
        flag("blockOwnerDeletion"),
    ],
);

static MANAGED_FIELDS: Struct = shape(
    "ManagedFieldsEntry",
    &[
        text("manager"),
        named("operation", "v1.ManagedFieldsOperationType"),
        text("apiVersion"),
        of("time", Time),
        text("fieldsType"),
        of("fieldsV1", Kind::Any),
        text("subresource"),
    ],
);

pub static LABEL_SELECTOR: Struct = shape(
    "LabelSelector",
    &[of("matchLabels", STRING_MAP), of("matchExpressions", List(&Kind::Struct(&REQUIREMENT)))],
);

static REQUIREMENT: Struct = shape(
    "LabelSelectorRequirement",
    &[text("key"), named("operator", "v1.LabelSelectorOperator"), of("values", STRINGS)],
);
