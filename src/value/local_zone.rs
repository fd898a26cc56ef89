//! The time zone of the machine: `TZ`, or what the system is set to.
//!
//! In: a moment, or the abbreviation of a zone. Out: seconds east of UTC. Semantics: Go's `time.Local`, in
//! which `time_now` shows the time and which lends its abbreviations to times that are read.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Seconds east of UTC at a moment, in seconds since 1970.
pub(super) fn offset_at(secs: i64) -> i32 {
    match Timestamp::from_second(secs) {
        Ok(moment) => TimeZone::system().to_offset(moment).seconds(),
        Err(_) => 0,
    }
}

/// The offset that an abbreviation such as `CEST` has here; `clock` is the time that goes with it, in
/// seconds as if it were UTC. `None` when the zone does not use it around then.
pub(super) fn offset_of(name: &str, clock: i64) -> Option<i32> {
    let zone = TimeZone::system();
    let around = Timestamp::from_second(clock).ok()?;
    let named = |moment: Timestamp| {
        let info = zone.to_offset_info(moment);
        (info.abbreviation() == name).then(|| info.offset().seconds())
    };
    let changes = zone.preceding(around).take(2).chain(zone.following(around).take(2));
    let known: Vec<i32> =
        std::iter::once(around).chain(changes.map(|t| t.timestamp())).filter_map(named).collect();
    // Best is an offset that the abbreviation has at that very time.
    let holds = |offset: &&i32| {
        let moment = clock.checked_sub(i64::from(**offset)).and_then(|s| Timestamp::from_second(s).ok());
        moment.and_then(named) == Some(**offset)
    };
    known.iter().find(holds).or(known.first()).copied()
}
