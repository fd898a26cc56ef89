//! The time zone of the machine: `TZ`, or what the system is set to.
//!
//! In: a moment, or the abbreviation of a zone. Out: seconds east of UTC. Semantics: Go's
//! `time.Local`, in which `time_now` shows the time and which lends its abbreviations to times that
//! are read.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Seconds east of UTC at a moment, in seconds since 1970.
pub(super) fn offset_at(secs: i64) -> i32 {
    match Timestamp::from_second(secs) {
        Ok(moment) => TimeZone::system().to_offset(moment).seconds(),
        Err(_) => 0,
    }
}

/// Changes of a zone's offset that are read: all that history has, and a century of rules.
const CHANGES: usize = 500;

/// The offset that an abbreviation such as `CEST` has here; `clock` is the time that goes with it,
/// in seconds as if it were UTC. Best is one that the abbreviation has at that very time, else the
/// first that it ever had; `None` when the zone never uses it.
pub(super) fn offset_of(name: &str, clock: i64) -> Option<i32> {
    let zone = TimeZone::system();
    let named = |moment: Timestamp| {
        let info = zone.to_offset_info(moment);
        (info.abbreviation() == name).then(|| info.offset().seconds())
    };
    let changes = zone.following(Timestamp::MIN).take(CHANGES).map(|change| change.timestamp());
    let known: Vec<i32> = std::iter::once(Timestamp::MIN).chain(changes).filter_map(named).collect();
    let holds = |offset: &&i32| {
        let moment = clock.checked_sub(i64::from(**offset)).and_then(|s| Timestamp::from_second(s).ok());
        moment.and_then(named) == Some(**offset)
    };
    known.iter().find(holds).or(known.first()).copied()
}
