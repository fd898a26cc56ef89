//! What calls cost. Semantics: `docs/expressions/cel.md`, "Cost".

use std::net::IpAddr;

use crate::CelLevel;
use crate::row::Known;
use ephor_value::{Fault, Object, Value};

/// What a charge depends on.
pub struct Charge<'a> {
    /// The arguments; `None` for one that is a fault.
    pub args: &'a [Option<&'a Value>],
    /// The result; `None` for a fault.
    pub result: Option<&'a Value>,
    /// What the checker knows.
    pub known: Known,
    /// Whose charges apply.
    pub level: CelLevel,
}

impl Charge<'_> {
    /// The size of an argument: characters, bytes, items, bytes of an address or of a network's
    /// prefix; 1 for everything else.
    fn size(&self, at: usize) -> u64 {
        size_of(self.argument(at))
    }

    /// The argument at a position, unless it is a fault.
    fn argument(&self, at: usize) -> Option<&Value> {
        self.args.get(at).copied().flatten()
    }

    fn text_traversal(&self, at: usize) -> u64 {
        tenths(self.size(at))
    }
}

fn size_of(v: Option<&Value>) -> u64 {
    let count = match v {
        Some(Value::Str(s)) => s.chars().count(),
        Some(Value::Bytes(b)) => b.len(),
        Some(Value::List(l)) => l.len(),
        Some(Value::Map(m)) => m.len(),
        Some(Value::Object(o)) => match &**o {
            Object::Keyed(entries) => entries.len(),
            Object::Ip(IpAddr::V4(_)) => 4,
            Object::Ip(IpAddr::V6(_)) => 16,
            Object::Cidr(_, bits) => usize::from(*bits).div_ceil(8),
            _ => 1,
        },
        _ => 1,
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A tenth, rounded up, as doubles have it: of 71 it is 8.
fn tenths(n: u64) -> u64 {
    (n as f64 * 0.1).ceil() as u64
}

/// As [`tenths`] of twice as much.
fn fifths(n: u64) -> u64 {
    (n as f64 * 0.2).ceil() as u64
}

/// A call that does not read all of its arguments.
pub fn one(_: &Charge<'_>) -> u64 {
    1
}

/// What the expression does not say.
pub fn nothing(_: &Charge<'_>) -> u64 {
    0
}

/// Walks the first argument once.
pub fn walk(c: &Charge<'_>) -> u64 {
    c.text_traversal(0)
}

/// Walks the first argument, and makes a result of its size.
pub fn walk_twice(c: &Charge<'_>) -> u64 {
    fifths(c.size(0))
}

/// Makes a text.
pub fn join(c: &Charge<'_>) -> u64 {
    fifths(size_of(c.result))
}

/// Looks for a regular expression in a text.
pub fn regex(c: &Charge<'_>) -> u64 {
    tenths(c.size(0).saturating_add(1)).saturating_mul(c.size(1).div_ceil(4))
}

/// [`regex`] when it is called on a receiver.
pub fn matches(c: &Charge<'_>) -> u64 {
    if c.known.one_form && (c.known.member || c.level.rules().counts_global_matches) { regex(c) } else { 1 }
}

/// Compares an address with a network; a text is parsed first.
pub fn contains_ip(c: &Charge<'_>) -> u64 {
    let parsed = if c.known.walked { c.text_traversal(1) } else { 0 };
    c.size(0).div_ceil(5) + parsed
}

/// As [`contains_ip`], and compares the prefixes.
pub fn contains_cidr(c: &Charge<'_>) -> u64 {
    contains_ip(c) + 1 + c.text_traversal(0)
}

/// Walks the texts of one form.
pub fn walk_if_known(c: &Charge<'_>) -> u64 {
    if c.known.one_form && matches!(c.args.first(), Some(Some(Value::Str(_)) | None)) {
        c.text_traversal(0)
    } else {
        1
    }
}

/// Compares a text with the beginning or the end of another one.
pub fn affix(c: &Charge<'_>) -> u64 {
    let at = usize::from(c.level.rules().counts_affixes);
    if c.known.one_form { c.text_traversal(at) } else { 1 }
}

/// [`walk`] of bytes that are known to be bytes.
pub fn bytes_to_text(c: &Charge<'_>) -> u64 {
    let bytes = matches!(c.args.first(), Some(Some(Value::Bytes(_))));
    if c.known.one_form && bytes { c.text_traversal(0) } else { 1 }
}

/// Walks a text for another one.
pub fn contains(c: &Charge<'_>) -> u64 {
    if c.known.one_form { c.text_traversal(0).saturating_mul(c.text_traversal(1)) } else { 1 }
}

/// Compares values; only the sizes of addresses and networks do not count.
pub fn equality(c: &Charge<'_>) -> u64 {
    match c.argument(0) {
        Some(Value::Object(o)) if matches!(**o, Object::Ip(_) | Object::Cidr(..)) => 1,
        _ => inequality(c),
    }
}

/// Compares values with `!=`.
pub fn inequality(c: &Charge<'_>) -> u64 {
    tenths(c.size(0).min(c.size(1)))
}

fn is_text(v: Option<&Value>) -> bool {
    matches!(v, Some(Value::Str(_) | Value::Bytes(_)))
}

fn some_text(c: &Charge<'_>) -> bool {
    c.known.one_form && c.args.iter().any(|a| is_text(*a))
}

/// Orders values.
pub fn ordering(c: &Charge<'_>) -> u64 {
    if some_text(c) { equality(c) } else { 1 }
}

/// Adds values.
pub fn addition(c: &Charge<'_>) -> u64 {
    if some_text(c) { tenths(c.size(0).saturating_add(c.size(1))) } else { 1 }
}

/// Looks for a value in a list or map.
pub fn membership(c: &Charge<'_>) -> u64 {
    if c.known.walked { c.size(1) } else { 1 }
}

/// Walks a list, truncating what a text costs.
pub fn traversal(c: &Charge<'_>) -> u64 {
    fn of(v: Option<&Value>) -> u64 {
        match v {
            Some(Value::List(l)) => l.iter().map(|v| of(Some(v))).fold(0, u64::saturating_add),
            Some(Value::Str(s)) => u64::try_from(s.len()).unwrap_or(u64::MAX) / 10,
            Some(Value::Bytes(_)) => size_of(v) / 10,
            Some(Value::Map(m)) => {
                let one =
                    |k: &str, v: &Value| of(Some(v)).saturating_add(u64::try_from(k.len()).unwrap_or(0) / 10);
                m.iter().map(|(k, v)| one(k, v)).fold(0, u64::saturating_add)
            }
            Some(Value::Object(o)) => match &**o {
                Object::Keyed(entries) => {
                    entries.iter().flat_map(|(k, v)| [of(Some(k)), of(Some(v))]).fold(0, u64::saturating_add)
                }
                _ => 1,
            },
            _ => 1,
        }
    }
    of(c.argument(0))
}

const LIST: u64 = 10;

/// The fault of a call whose charge cannot be computed, in Kubernetes' words.
fn aborted(found: Option<&Value>, wanted: &str) -> Option<Fault> {
    let found = found.map_or("*types.Err", super::go_type);
    Some(Fault::Abort(format!("internal error: interface conversion: {found} is not {wanted}").into()))
}

/// A list is needed that is known to be one.
pub fn aborts_sort(c: &Charge<'_>) -> Option<Fault> {
    if c.level.rules().counts_faulty_lists {
        return None;
    }
    let fails = c.known.one_form && c.argument(0).is_none();
    if fails { aborted(None, "traits.Lister: missing method Add") } else { None }
}

/// The keys are needed.
pub fn aborts_sort_by(c: &Charge<'_>) -> Option<Fault> {
    if c.level.rules().counts_faulty_lists {
        return None;
    }
    let fails = c.known.one_form && c.argument(1).is_none();
    if fails { aborted(c.argument(0), "traits.Lister: missing method Add") } else { None }
}

/// A list is needed.
pub fn aborts_distinct(c: &Charge<'_>) -> Option<Fault> {
    if c.level.rules().counts_faulty_lists && c.argument(0).is_none() {
        return None;
    }
    match c.argument(0) {
        Some(Value::List(_)) => None,
        other => aborted(other, "traits.Lister: missing method Contains"),
    }
}

/// A depth is needed where one is given.
pub fn aborts_flatten(c: &Charge<'_>) -> Option<Fault> {
    if c.level.rules().counts_faulty_lists {
        return None;
    }
    match c.argument(1) {
        _ if c.args.len() < 2 => None,
        Some(Value::Int(_)) => None,
        other => aborted(other, "types.Int"),
    }
}

/// Makes a list.
pub fn list_literal(c: &Charge<'_>) -> u64 {
    let failed = c.result.is_none() && c.level.rules().failed_calls_are_free;
    LIST + 1 + if failed { 0 } else { size_of(c.result) }
}

/// Takes lists apart.
pub fn flatten(c: &Charge<'_>) -> u64 {
    match c.args.get(1) {
        Some(Some(Value::Int(n))) if *n < 0 && c.level.rules().failed_calls_are_free => LIST + 1,
        Some(Some(Value::Int(n))) if *n < 0 && c.level.rules().counts_negative_depths => LIST + 1 + c.size(0),
        // The reference computes with doubles; a negative one wraps, one that is too low is the
        // least integer.
        Some(Some(Value::Int(n))) if *n < 0 => {
            let walked = c.size(0) as f64 * *n as f64;
            (LIST + 1).wrapping_add((walked as i64).cast_unsigned())
        }
        Some(Some(Value::Int(n))) => {
            const TOO_LARGE: f64 = 18_446_744_073_709_551_616.0;
            let walked = c.size(0) as f64 * *n as f64;
            LIST + 1 + if walked < TOO_LARGE { walked as u64 } else { 1 << 63 }
        }
        _ => LIST + 1 + c.size(0),
    }
}

/// Compares the items of a list with each other.
pub fn distinct(c: &Charge<'_>) -> u64 {
    pairwise(c, 0)
}

/// Compares the items of the list at a position with each other.
fn pairwise(c: &Charge<'_>, compared: usize) -> u64 {
    let pairs = c.size(0).saturating_mul(c.size(0));
    let of_texts = match c.args.get(compared) {
        Some(Some(Value::List(l))) => is_text(l.iter().next()),
        _ => false,
    };
    let texts = if of_texts { pairs / 10 } else { 0 };
    LIST + 1 + pairs.saturating_mul(2).saturating_add(texts)
}

/// As [`distinct`] for a list of a known type.
pub fn sort(c: &Charge<'_>) -> u64 {
    if c.known.one_form { distinct(c) } else { 1 }
}

/// As [`sort`], comparing the keys.
pub fn sort_by(c: &Charge<'_>) -> u64 {
    if c.known.one_form { pairwise(c, 1) } else { 1 }
}

/// Compares the items of two lists.
pub fn sets(c: &Charge<'_>) -> u64 {
    1 + c.size(0).saturating_mul(c.size(1))
}

/// As [`sets`], both ways.
pub fn sets_twice(c: &Charge<'_>) -> u64 {
    1 + c.size(0).saturating_mul(c.size(1)).saturating_mul(2)
}

/// Calls the authorizer.
pub fn check(_: &Charge<'_>) -> u64 {
    350_000
}

/// Parses a selector.
pub fn selector(c: &Charge<'_>) -> u64 {
    LIST + c.text_traversal(1) + c.size(1).div_ceil(2).saturating_mul(50)
}

/// Parses an address; the method of a network costs 1.
pub fn parse_or_access(c: &Charge<'_>) -> u64 {
    if c.known.member { 1 } else { walk(c) }
}
