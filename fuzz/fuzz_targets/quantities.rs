//! Any text as a quantity, duration, version, range, time and number, and their laws.
#![no_main]
use ephor_value::quantity::Quantity;
use ephor_value::{duration, number, range, semver};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (a, b) = text.split_once(' ').unwrap_or((text, "1Gi"));
    let _ = (duration::parse(a), number::parse_float(a), number::parse_int(a), range::Range::parse(a));
    let _ = semver::Version::parse(a);
    if let Ok(ns) = duration::parse(a) {
        assert_eq!(duration::parse(&duration::format(ns)), Ok(ns), "a printed duration reads back");
    }
    if let (Some(a), Some(b)) = (Quantity::parse(a), Quantity::parse(b)) {
        assert_eq!(a.cmp(&b), b.cmp(&a).reverse(), "order is antisymmetric");
        let _ = (a.add(&b), a.sub(&b), a.mul(&b), a.div(&b), a.to_string());
    }
});
