//! What a Lease of `coordination.k8s.io/v1` holds.
//!
//! In: a Lease as the cluster has it; which replica holds it from now on. Out: whether another
//! replica may take it, and the Lease to write. A Lease that is not renewed expires by the clock of
//! the replica that reads it, so clocks need not agree.

use std::time::{Duration, Instant};

use ephor_cluster::Failure;
use ephor_value::Value;

/// What a Lease held when a replica last saw it change, and when that was.
#[derive(Clone, Debug)]
pub(crate) struct ObservedLease {
    spec: Value,
    at: Instant,
}

impl ObservedLease {
    /// Takes note of a Lease as it is now.
    pub(crate) fn note(seen: &mut Option<ObservedLease>, lease: &Value, now: Instant) {
        let spec = lease.get("spec").cloned().unwrap_or_default();
        if seen.as_ref().is_none_or(|seen| seen.spec != spec) {
            *seen = Some(ObservedLease { spec, at: now });
        }
    }

    /// The replica that holds it: `None` = none does, or it was not renewed for its whole time;
    /// `lasts` is that time when the Lease does not say it.
    pub(crate) fn holder(&self, lasts: Duration, now: Instant) -> Option<&str> {
        let seconds = self.spec.get("leaseDurationSeconds").and_then(Value::as_int).unwrap_or_default();
        let lasts = u64::try_from(seconds).ok().filter(|s| *s > 0).map_or(lasts, Duration::from_secs);
        let holder = self.spec.text_at(&["holderIdentity"]);
        (!holder.is_empty() && now.duration_since(self.at) <= lasts).then_some(holder)
    }
}

/// A Lease without content.
pub(crate) fn reference(namespace: &str, name: &str) -> Value {
    Value::map([
        ("apiVersion", "coordination.k8s.io/v1".into()),
        ("kind", "Lease".into()),
        ("metadata", Value::map([("namespace", namespace.into()), ("name", name.into())])),
    ])
}

/// The Lease, held and just renewed by a replica.
pub(crate) fn held(lease: &Value, identity: &str, lasts: Duration) -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let is_same = lease.text_at(&["spec", "holderIdentity"]) == identity;
    let is_new = lease.get("spec").is_none();
    let transitions = lease.at(&["spec", "leaseTransitions"]).and_then(Value::as_int).unwrap_or_default();
    let acquired = lease.text_at(&["spec", "acquireTime"]);
    let spec = Value::map([
        ("holderIdentity", identity.into()),
        ("leaseDurationSeconds", Value::Int(i64::try_from(lasts.as_secs()).unwrap_or(12))),
        ("acquireTime", if is_same && !acquired.is_empty() { acquired } else { &*now }.into()),
        ("renewTime", (&*now).into()),
        ("leaseTransitions", Value::Int(if is_same || is_new { transitions } else { transitions + 1 })),
    ]);
    lease.with("spec", spec)
}

/// The Lease, held by no replica.
pub(crate) fn given_back(lease: &Value) -> Value {
    let mut spec = lease.get("spec").and_then(Value::as_map).cloned().unwrap_or_default();
    spec.insert("holderIdentity", "".into());
    spec.insert("leaseDurationSeconds", Value::Int(1));
    lease.with("spec", Value::Map(spec))
}

/// Whether a write was done: a conflict says that another replica was faster.
pub(crate) fn is_written(written: Result<Value, Failure>) -> Result<bool, Failure> {
    match written {
        Ok(_) => Ok(true),
        Err(e) if e.is_conflict() => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_expires_when_its_content_did_not_change_for_its_whole_time() {
        let (start, lasts) = (Instant::now(), Duration::from_secs(12));
        let lease = held(&reference("n", "l"), "a", lasts);
        let mut seen = None;
        ObservedLease::note(&mut seen, &lease, start);
        ObservedLease::note(&mut seen, &lease, start + Duration::from_secs(9));
        let holder = |seen: &Option<ObservedLease>, after: u64| {
            let seen = seen.as_ref().unwrap();
            seen.holder(Duration::ZERO, start + Duration::from_secs(after)).map(String::from)
        };
        assert_eq!((holder(&seen, 12), holder(&seen, 13)), (Some("a".into()), None));
        ObservedLease::note(&mut seen, &held(&lease, "b", lasts), start + Duration::from_secs(20));
        assert_eq!(holder(&seen, 30), Some("b".into()));
        ObservedLease::note(&mut seen, &given_back(&lease), start + Duration::from_secs(30));
        assert_eq!(holder(&seen, 30), None);
    }

    #[test]
    fn a_lease_counts_how_often_its_holder_changes() {
        let lasts = Duration::from_secs(12);
        let transitions = |lease: &Value| lease.at(&["spec", "leaseTransitions"]).and_then(Value::as_int);
        let first = held(&reference("n", "l"), "a", lasts);
        let again = held(&first, "a", lasts);
        assert_eq!((transitions(&first), transitions(&again)), (Some(0), Some(0)));
        let next = held(&given_back(&again), "a", lasts);
        assert_eq!(transitions(&next), Some(1));
        assert_eq!(again.at(&["spec", "acquireTime"]), first.at(&["spec", "acquireTime"]));
    }
}
