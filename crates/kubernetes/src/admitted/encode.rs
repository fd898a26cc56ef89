//! Which empty values an object shows: those that Go's encoding leaves out are as if they had not
//! been written.

use foldhash::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::defaults::completed;
use crate::prune::inside;
use crate::schema::{Field, Leaf, Type, TypeDef, Types};
use ephor_value::{Map, Value};

const RETAINED: &str = include_str!("retained.txt");

/// Objects that nest deeper are not read.
const MAX_DEPTH: usize = 512;

/// Optional fields that are shown as null when they are not there.
const NULL: [(&str, &str); 15] = [
    ("core/v1.LimitRangeSpec", "limits"),
    ("apps/v1.DaemonSetSpec", "selector"),
    ("apps/v1.DeploymentSpec", "selector"),
    ("apps/v1.ReplicaSetSpec", "selector"),
    ("apps/v1.StatefulSetSpec", "selector"),
    ("autoscaling/v2.HorizontalPodAutoscalerStatus", "currentMetrics"),
    ("discovery/v1.EndpointSlice", "endpoints"),
    ("discovery/v1.EndpointSlice", "ports"),
    ("storage/v1.CSINodeSpec", "drivers"),
    ("storage/v1.CSINodeDriver", "topologyKeys"),
    ("rbac/v1.Role", "rules"),
    ("rbac/v1.ClusterRole", "rules"),
    ("core/v1.ProjectedVolumeSource", "sources"),
    ("core/v1.TypedLocalObjectReference", "apiGroup"),
    ("core/v1.TypedObjectReference", "apiGroup"),
];

/// Optional fields that are shown when they are zero, of kinds that the recorded table lacks.
const POINTERS: [(&str, &str); 15] = [
    ("discovery/v1.EndpointConditions", "ready"),
    ("discovery/v1.EndpointConditions", "serving"),
    ("discovery/v1.EndpointConditions", "terminating"),
    ("discovery/v1.EndpointPort", "name"),
    ("resource/v1.ResourceSliceSpec", "allNodes"),
    ("resource/v1.ResourceSliceSpec", "perDeviceNodeSelection"),
    ("storage/v1.CSIDriverSpec", "attachRequired"),
    ("storage/v1.CSIDriverSpec", "podInfoOnMount"),
    ("storage/v1.CSIDriverSpec", "requiresRepublish"),
    ("storage/v1.CSIDriverSpec", "seLinuxMount"),
    ("storage/v1.CSIDriverSpec", "storageCapacity"),
    ("flowcontrol/v1.ExemptPriorityLevelConfiguration", "lendablePercent"),
    ("flowcontrol/v1.ExemptPriorityLevelConfiguration", "nominalConcurrencyShares"),
    ("flowcontrol/v1.LimitedPriorityLevelConfiguration", "lendablePercent"),
    ("flowcontrol/v1.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"),
];

/// Times of events, which are shown as null when they are not there.
const OF_EVENTS: [(&str, &str); 6] = [
    ("core/v1.Event", "eventTime"),
    ("core/v1.Event", "firstTimestamp"),
    ("core/v1.Event", "lastTimestamp"),
    ("events/v1.Event", "eventTime"),
    ("events/v1.Event", "deprecatedFirstTimestamp"),
    ("events/v1.Event", "deprecatedLastTimestamp"),
];

/// Whether an API server shows an optional field as null when it is not there.
pub fn is_null_when_missing(of: &str, field: &str) -> bool {
    NULL.contains(&(of, field))
}

fn is_retained(def: &TypeDef, field: &str) -> bool {
    static TABLE: OnceLock<HashMap<&'static str, HashSet<&'static str>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let lines = RETAINED.lines().filter(|l| !l.starts_with('#'));
        lines
            .filter_map(|l| l.split_once(' '))
            .map(|(name, rest)| (name, rest.split(' ').collect()))
            .collect()
    });
    table.get(&*def.name).is_some_and(|fields| fields.contains(field))
}

/// The object without the values that are the same as none.
pub fn without_empty(object: &Value, def: &TypeDef, types: &Types) -> Value {
    match object {
        Value::Map(m) => Value::Map(fields(m, def, types, 0)),
        other => other.clone(),
    }
}

fn fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let mut out = Map::new();
    for (key, v) in m.iter() {
        let Some(field) = def.field(key) else { continue };
        let v = value(v, &field.ty, types, depth + 1);
        if !vanishes(&v, field, def) {
            out.insert(key.clone(), v);
        }
    }
    out
}

fn value(v: &Value, ty: &Type, types: &Types, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return v.clone();
    }
    inside(v, ty, types, &|m, def| fields(m, def, types, depth), &|v, ty| value(v, ty, types, depth + 1))
}

fn vanishes(v: &Value, field: &Field, def: &TypeDef) -> bool {
    if v.is_null() || (v.as_list().is_some_and(<[Value]>::is_empty) && !is_shown_as_null(def, field)) {
        return true;
    }
    if field.required || is_retained(def, &field.name) || POINTERS.contains(&(&*def.name, &*field.name)) {
        return false;
    }
    match (&field.ty, v) {
        (Type::Leaf(Leaf::Quantity | Leaf::Any), _) => false,
        (_, Value::Bool(b)) => !b,
        (_, Value::Int(i)) => *i == 0,
        (_, Value::Str(s)) => s.is_empty(),
        (Type::Map(..), Value::Map(m)) => m.is_empty(),
        _ => false,
    }
}

/// An object of a built-in kind as an API server has it after decoding: zero values are as if they
/// had not been written, before there are defaults and after.
pub fn as_stored(object: &Value, def: &TypeDef, types: &Types) -> Value {
    let complete = completed(&without_empty(object, def, types), def, types);
    shown(&without_empty(&complete, def, types), def, types)
}

/// Whether a field is shown as null when it is not there.
pub fn is_shown_as_null(def: &TypeDef, field: &Field) -> bool {
    let is_list = matches!(field.ty, Type::List(..)) && field.required;
    // Times of conditions and events are no pointers.
    let is_time = matches!(field.ty, Type::Leaf(Leaf::Time | Leaf::MicroTime))
        && (def.name.ends_with("Condition") || OF_EVENTS.contains(&(&*def.name, &*field.name)));
    is_list || is_time || is_null_when_missing(&def.name, &field.name)
}

/// The object with the lists that are shown as null when they are missing.
pub fn shown(object: &Value, def: &TypeDef, types: &Types) -> Value {
    match object {
        Value::Map(m) => Value::Map(shown_fields(m, def, types, 0)),
        other => other.clone(),
    }
}

fn shown_fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let mut out = Map::new();
    for (key, v) in m.iter() {
        let v = match def.field(key) {
            Some(field) if depth <= MAX_DEPTH => {
                let of = |m: &Map, def: &TypeDef| shown_fields(m, def, types, depth + 1);
                shown_value(v, &field.ty, types, &of)
            }
            _ => v.clone(),
        };
        out.insert(key.clone(), v);
    }
    for field in &def.fields {
        if is_shown_as_null(def, field) && !out.contains_key(&field.name) {
            out.insert(field.name.clone(), Value::Null);
        }
    }
    out
}

fn shown_value(v: &Value, ty: &Type, types: &Types, of: &dyn Fn(&Map, &TypeDef) -> Map) -> Value {
    inside(v, ty, types, of, &|v, ty| shown_value(v, ty, types, of))
}
