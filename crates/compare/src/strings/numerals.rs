//! Numbers as texts: what stands for all texts that rules take for numbers, quantities or
//! durations.
//!
//! In: what is tested at a field ([`Predicates`]). Out: texts. The constants cut the numbers into
//! *slots*: below the first, at it, between it and the second, and so on; durations count in
//! seconds, as the operators of conditions count them. Rules see of a text whether it is an
//! integer, another number, a quantity or a duration, in which slot it is, and in which of the
//! languages that they test; so there is a text for each combination of these. Which combinations
//! of languages and kinds of numbers exist is known from the product of their automata
//! (`strings::witnesses`); whether one has texts of each slot is seen by trying: where none is
//! found, not all is known.

use std::collections::{BTreeMap, BTreeSet};

use ephor_functions::registry::Operation;
use ephor_value::quantity::Quantity;
use ephor_value::{Str, duration};

use crate::model::limits::{MAX_NUMBER, MAX_NUMBERS_OF_UNIT, MAX_NUMERALS};
use crate::predicates::summary::Predicates;
use crate::strings::languages::Languages;
use crate::strings::numeral_forms::{Form, Numbers};
use crate::strings::witnesses::{NumberKey, WitnessCache, truths};

const ONE: i128 = 1_000_000_000;

/// What a text is: an integer, a number, a quantity, a duration; a quantity without digits, which
/// is zero.
type Kind = [bool; 5];

const INTEGER: &str = "^[-+]?[0-9]+$";
const NUMBER: &str = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$";
const QUANTITY: &str = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$";
/// Of quantities: the notations in which an API server shows them.
const SHOWN: &str = "^-?(0|[1-9][0-9]*)([numkMGTPE]|[KMGTPE]i|e-?[0-9]+)?$";
const BARE: &str = r"^[-+.numkMGTPEKi]{1,4}$";
const DURATION: &str = r"^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// Quantities without a unit, in thousandths, which are durations too, and in another unit.
const WHOLE: Kind = [true, true, true, false, false];
const IN_THOUSANDTHS: Kind = [false, false, true, true, false];
const WITH_UNIT: Kind = [false, false, true, false, false];

/// Units of quantities, and of durations, in billionths. One of both is minutes, or thousandths.
const UNITS: [(&str, i128); 14] = [
    ("Gi", ONE << 30),
    ("Mi", ONE << 20),
    ("Ki", ONE << 10),
    ("Ti", ONE << 40),
    ("Pi", ONE << 50),
    ("Ei", ONE << 60),
    ("G", ONE * 1_000_000_000),
    ("M", ONE * 1_000_000),
    ("k", ONE * 1_000),
    ("T", ONE * 1_000_000_000_000),
    ("P", ONE * 1_000_000_000_000_000),
    ("E", ONE * 1_000_000_000_000_000_000),
    ("u", 1_000),
    ("n", 1),
];
const TIMES: [(&str, i128); 5] = [("h", ONE * 3600), ("s", ONE), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Constants in order.
struct Cuts(Vec<i128>);

impl Cuts {
    fn new(all: impl Iterator<Item = i128>) -> Cuts {
        let all: BTreeSet<i128> = all.filter(|value| value.abs() < MAX_NUMBER).collect();
        Cuts(all.into_iter().collect())
    }

    fn slot(&self, value: i128) -> usize {
        match self.0.binary_search(&value) {
            Ok(at) => 2 * at + 1,
            Err(at) => 2 * at,
        }
    }

    fn slots(&self) -> std::ops::Range<usize> {
        0..2 * self.0.len() + 1
    }

    /// Multiples of a unit in a slot, a few of those near its ends.
    fn multiples(&self, slot: usize, unit: i128) -> Vec<i128> {
        let at = |at: usize| self.0.get(at).copied();
        if slot % 2 == 1 {
            return at(slot / 2).filter(|value| value % unit == 0).into_iter().collect();
        }
        let (low, high) = ((slot / 2).checked_sub(1).and_then(at), at(slot / 2));
        let above = |low: i128| (low.div_euclid(unit) + 1) * unit;
        let below = |high: i128| (high - 1).div_euclid(unit) * unit;
        let some: Vec<i128> = match (low, high) {
            (None, None) => [1, 2, 10, 0].map(|n| n * unit).into(),
            (None, Some(high)) => (0..MAX_NUMBERS_OF_UNIT).map(|n| below(high) - n * unit).collect(),
            (Some(low), None) => {
                let next = (0..MAX_NUMBERS_OF_UNIT).map(|n| above(low) + n * unit);
                // And longer ones.
                let powers = (0..MAX_NUMBERS_OF_UNIT).map(|n| 10_i128.pow(n as u32) * unit);
                next.chain(powers).collect()
            }
            (Some(low), Some(high)) => (0..MAX_NUMBERS_OF_UNIT)
                .flat_map(|n| [above(low) + n * unit, below(high) - n * unit])
                .collect(),
        };
        let is_inside =
            |value: &i128| low.is_none_or(|low| *value > low) && high.is_none_or(|high| *value < high);
        let mut found: Vec<i128> = Vec::new();
        for value in some.into_iter().filter(is_inside) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }
}

/// A number of billionths in digits.
fn written(value: i128) -> String {
    let (whole, rest) = (value / ONE, (value % ONE).abs());
    let sign = if value < 0 && whole == 0 { "-" } else { "" };
    match rest {
        0 => format!("{whole}"),
        rest => format!("{sign}{whole}.{}", format!("{rest:09}").trim_end_matches('0')),
    }
}

/// Whether a text is written as a duration.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = number.trim_start_matches(|c: char| !(c.is_ascii_digit() || c == '.'));
        let name = number.strip_suffix(unit).unwrap_or_default();
        if number.len() == rest.len() || !matches!(name, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h")
        {
            return false;
        }
        (rest, parts) = (unit, parts + 1);
    }
    parts > 0
}

/// What numbers are cut by, for each way to read them.
struct Readings {
    cuts: Cuts,
    /// Of numbers with the unit that is minutes or thousandths.
    both: Cuts,
    form: Form,
    /// Whether of quantities those are apart that are durations (`500m`), and those without a unit.
    is_apart: bool,
    /// Whether longer durations than 64 bits have room for are left out: they are errors in one
    /// language, and texts in the other one.
    has_durations: bool,
}

impl Readings {
    fn new(predicates: &Predicates, form: Form, is_apart: bool) -> Readings {
        let ints = predicates.ints.iter().map(|n| i128::from(*n) * ONE);
        // Of a number the whole seconds are compared with a duration.
        let around = |time: i128| {
            let whole = time.div_euclid(ONE) * ONE;
            [Some(time), Some(whole), Some(whole + ONE), (time <= 0).then_some(whole - ONE)]
        };
        let with_unit = predicates.amounts.iter().filter(|text| text.ends_with(|c: char| c.is_alphabetic()));
        let times = with_unit.filter_map(|text| duration::parse_ok(text).map(i128::from));
        let seconds = times.flat_map(around);
        let amounts = predicates.amounts.iter().map(|text| Quantity::parse(text).and_then(|q| q.nanos()));
        let amounts = amounts.chain(seconds);
        // Larger integers are errors.
        let is_int = form == Form::Text && predicates.functions.contains(&Operation::ToInt);
        let largest = is_int.then_some(i128::from(i64::MAX) * ONE);
        let cuts = Cuts::new(ints.chain(amounts.flatten()).chain(largest));
        let both = cuts.0.iter().flat_map(|cut| [Some(cut * 1000), (cut % 60 == 0).then(|| cut / 60)]);
        let both = Cuts::new(both.flatten());
        Readings {
            cuts,
            both,
            form,
            is_apart,
            has_durations: predicates.functions.contains(&Operation::Duration),
        }
    }

    /// What a text is, and in which slot of its kind.
    fn of(&self, text: &str) -> Option<(Kind, usize)> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let quantity = Quantity::parse(text).and_then(|q| q.nanos());
        match self.form {
            Form::Quantity if self.is_apart => quantity.map(drop)?,
            Form::Quantity => return Some(([false, false, true, false, false], self.cuts.slot(quantity?))),
            Form::Integer => {
                let number: i64 = text.parse().ok()?;
                let is_own = number.to_string() == text;
                return is_own
                    .then(|| (([true, true, true, false, false]), self.cuts.slot(i128::from(number) * ONE)));
            }
            Form::Text => {}
        }
        let is_number = quantity.is_some() && text.parse::<f64>().is_ok();
        let time = duration::parse_ok(text).map(i128::from);
        if self.has_durations && time.is_none() && is_duration(text) {
            return None;
        }
        let slot = match (quantity, time) {
            (None, None) => return None,
            (None, Some(time)) => self.cuts.slot(time),
            (Some(quantity), Some(_)) if !is_integer => self.both.slot(quantity.checked_mul(1000)?),
            (Some(quantity), _) => self.cuts.slot(quantity),
        };
        let is_bare = quantity.is_some() && !text.contains(|c: char| c.is_ascii_digit());
        Some(([is_integer, is_number, quantity.is_some(), time.is_some(), is_bare], slot))
    }

    /// The slots of a kind of numbers that have any.
    fn slots(&self, kind: Kind) -> Vec<usize> {
        match kind {
            [_, _, _, _, true] | [true, _, _, true, _] => vec![self.cuts.slot(0)],
            [true, ..] => {
                self.cuts.slots().filter(|slot| !self.cuts.multiples(*slot, ONE).is_empty()).collect()
            }
            [_, _, true, true, _] => {
                self.both.slots().filter(|slot| !self.both.multiples(*slot, 1).is_empty()).collect()
            }
            _ => self.cuts.slots().filter(|slot| !self.cuts.multiples(*slot, 1).is_empty()).collect(),
        }
    }

    /// Texts of all kinds and slots.
    fn all(&self, amounts: &[Str]) -> Vec<String> {
        let mut all: Vec<String> = amounts.iter().map(|text| text.to_string()).collect();
        // Nothing, which is a duration in one notation only.
        all.extend(["0", "00"].map(String::from));
        for slot in self.cuts.slots() {
            all.extend(self.cuts.multiples(slot, ONE).into_iter().map(written));
            if self.form == Form::Integer {
                continue;
            }
            for unit in [ONE / 2, ONE / 10, ONE / 1000, 1] {
                all.extend(self.cuts.multiples(slot, unit).into_iter().map(|value| match value % ONE {
                    0 => format!("{}.0", written(value)),
                    _ => written(value),
                }));
            }
            let times = TIMES.iter().filter(|_| self.form == Form::Text);
            for (name, unit) in UNITS.iter().chain(times) {
                let some = self.cuts.multiples(slot, *unit);
                all.extend(some.into_iter().map(|value| format!("{}{name}", value / unit)));
            }
            if self.form == Form::Quantity {
                let some = self.cuts.multiples(slot, ONE / 1000);
                all.extend(some.into_iter().map(|value| format!("{}m", value * 1000 / ONE)));
            }
            if self.is_apart {
                for (exponent, unit) in [(3, ONE * 1000), (-3, ONE / 1000), (-6, 1000), (-9, 1)] {
                    let some = self.cuts.multiples(slot, unit);
                    all.extend(some.into_iter().map(|value| format!("{}e{exponent}", value / unit)));
                }
            }
        }
        if self.form == Form::Text || self.is_apart {
            for slot in self.both.slots() {
                let some = [ONE, ONE / 10, 1].into_iter().flat_map(|unit| self.both.multiples(slot, unit));
                all.extend(some.map(|value| format!("{}m", written(value))));
            }
        }
        all
    }
}

/// The texts for what is tested at a field.
pub(crate) fn numbers(predicates: &Predicates, words: &WitnessCache, form: Form) -> Numbers {
    let called = |operation| predicates.functions.contains(&operation);
    let measures = predicates.measures;
    let mut kinds: Vec<&'static str> = match form {
        Form::Text => {
            let quantity = called(Operation::ToQuantity) || called(Operation::IsQuantity);
            let all = [
                (called(Operation::ToInt) || measures, INTEGER),
                (called(Operation::ToDouble) || called(Operation::ToNumber) || measures, NUMBER),
                (quantity || measures, QUANTITY),
                (called(Operation::Duration) || measures, DURATION),
            ];
            let has_cuts = !predicates.ints.is_empty() || !predicates.amounts.is_empty();
            all.into_iter().filter(|(is, _)| *is && has_cuts).map(|(_, kind)| kind).collect()
        }
        // Operators take `500m` for minutes next to a number, or next to `1h`.
        Form::Quantity if measures && has_times(predicates) => vec![INTEGER, NUMBER, QUANTITY, DURATION],
        Form::Quantity => vec![QUANTITY],
        Form::Integer => vec![INTEGER],
    };
    let languages = wild(predicates);
    let is_wild = languages != Languages::default();
    // Integers at and around those that are tested are known without.
    let is_plain = form == Form::Integer && !is_wild && predicates.amounts.is_empty();
    if kinds.is_empty() || is_plain {
        return Numbers { is_all: true, ..Numbers::default() };
    }
    // What changes the cuts is a part of the key.
    let changing = [(Operation::Duration, "duration"), (Operation::ToInt, "int")].into_iter();
    let changing = changing.filter(|(operation, _)| form == Form::Text && called(*operation));
    kinds.extend(changing.map(|(_, name)| name));
    let key = (form, predicates.ints.clone(), predicates.amounts.clone(), kinds, languages);
    words.numbers(&key, || found(predicates, words, &key))
}

/// Whether some constant may be a number, or is an amount that is none but a duration.
fn has_times(predicates: &Predicates) -> bool {
    let is_time = |text: &str| text.parse::<f64>().is_ok() || Quantity::parse(text).is_none();
    !predicates.ints.is_empty() || predicates.amounts.iter().any(|text| is_time(text))
}

fn found(
    predicates: &Predicates,
    words: &WitnessCache,
    (form, _, _, kinds, languages): &NumberKey,
) -> Numbers {
    let form = *form;
    let is_apart = form == Form::Quantity && kinds.contains(&DURATION);
    let partial = |pool: Vec<Str>| Numbers {
        is_all: false,
        is_apart,
        texts: pool.into_iter().take(MAX_NUMBERS_OF_UNIT as usize).collect(),
    };
    let mut found = Numbers { is_all: true, is_apart, ..Numbers::default() };
    let is_wild = *languages != Languages::default();
    let readings = Readings::new(predicates, form, is_apart);
    // Which of them are read in ways that differ.
    let is_read = |kind: &Kind| -> Vec<bool> {
        let names = [INTEGER, NUMBER, QUANTITY, DURATION, QUANTITY];
        names.iter().zip(kind).map(|(name, is)| *is && kinds.contains(name)).collect()
    };
    let mut pool: Vec<Str> = Vec::new();
    let mut known: BTreeSet<Str> = BTreeSet::new();
    for text in readings.all(&predicates.amounts()).into_iter().map(Str::from) {
        if known.insert(text.clone()) {
            pool.push(text);
        }
    }
    found.is_all = pool.len() <= MAX_NUMERALS;
    pool.truncate(MAX_NUMERALS);
    let mut add = |text: &Str| {
        if !found.texts.contains(text) {
            found.texts.push(text.clone());
        }
    };
    // Each combination of languages and kinds that exists, with a text.
    type Class = (Kind, Vec<bool>);
    let mut classes: BTreeMap<Class, Str> = BTreeMap::new();
    // Those of them that an API server shows.
    let mut shown: BTreeSet<Class> = BTreeSet::new();
    if is_wild {
        let with_kinds = Languages {
            regexes: languages
                .regexes
                .iter()
                .cloned()
                .chain([INTEGER, NUMBER, QUANTITY, DURATION, BARE].map(String::from))
                .chain(readings.is_apart.then(|| SHOWN.into()))
                .collect(),
            ..languages.clone()
        };
        let some = words.of(with_kinds, 1);
        let truth = some.as_ref().and_then(|some| truths(languages, some));
        let of_shown = Languages { regexes: [SHOWN.into()].into(), ..Languages::default() };
        let is_shown = some.as_ref().and_then(|some| truths(&of_shown, some));
        let (Some(some), Some(truth), Some(is_shown)) = (some, truth, is_shown) else {
            return partial(pool);
        };
        pool.extend(some.iter().filter(|text| !known.contains(*text)).cloned());
        for ((text, truth), is_shown) in some.iter().zip(truth).zip(is_shown) {
            if let Some((kind, _)) = readings.of(text) {
                if is_shown.contains(&true) {
                    shown.insert((kind, truth.clone()));
                }
                classes.entry((kind, truth)).or_insert_with(|| text.clone());
            }
        }
    }
    let Some(truth) = truths(languages, &pool) else {
        return partial(pool);
    };
    let mut members: BTreeMap<(Kind, usize, Vec<bool>), &Str> = BTreeMap::new();
    // Those that an API server shows as they are written.
    let mut canonical = members.clone();
    for (text, truth) in pool.iter().zip(truth) {
        if let Some((kind, slot)) = readings.of(text) {
            let is_canonical = || Quantity::parse(text).is_some_and(|q| q.to_string() == **text);
            if form == Form::Quantity && is_canonical() {
                canonical.entry((kind, slot, truth.clone())).or_insert(text);
            }
            members.entry((kind, slot, truth)).or_insert(text);
        }
    }
    let mut is_all = true;
    if readings.is_apart {
        // Others are in files only.
        classes.retain(|class, _| shown.contains(class));
        for kind in [WHOLE, IN_THOUSANDTHS, WITH_UNIT] {
            // No duration has this many minutes.
            let is_long = |slot: usize| {
                let low = (slot / 2).checked_sub(1).and_then(|at| readings.both.0.get(at));
                kind == IN_THOUSANDTHS && low.is_some_and(|low| *low >= i128::from(i64::MAX / 60))
            };
            let slots = readings.slots(kind).into_iter();
            let mut between = slots.filter(|slot| slot % 2 == 0 && !is_long(*slot));
            let has = |slot: usize| canonical.keys().any(|(own, at, _)| *own == kind && *at == slot);
            is_all &= between.all(has);
        }
    }
    if form == Form::Quantity && is_wild {
        // A value between others is shown in more ways than are tried.
        for (kind, truth) in classes.keys() {
            let between = readings.slots(*kind).into_iter().filter(|slot| slot % 2 == 0);
            is_all &= between.into_iter().all(|slot| canonical.contains_key(&(*kind, slot, truth.clone())));
        }
    }
    for (kind, _) in classes.keys() {
        for slot in readings.slots(*kind) {
            let of_kind = classes.keys().filter(|(other, _)| other == kind);
            let missing = of_kind.filter(|(_, truth)| !members.contains_key(&(*kind, slot, truth.clone())));
            // Of integers there may be no others in the slot.
            let is_only = form == Form::Integer && slot % 2 == 1;
            is_all &= is_only || missing.count() == 0;
        }
    }
    // Kinds that rules read alike are one.
    let mut seen: BTreeSet<(Vec<bool>, usize, Vec<bool>)> = BTreeSet::new();
    let others = members.iter().filter(|_| !is_apart);
    for ((kind, slot, truth), text) in canonical.iter().filter(|_| is_wild || is_apart).chain(others) {
        let read = is_read(kind);
        let is_new = seen.insert((read.clone(), *slot, truth.clone()));
        let is_written_apart = form == Form::Quantity && is_wild && !is_apart;
        if read.iter().any(|is| *is) && (is_new || is_written_apart) {
            add(text);
        }
    }
    classes.values().filter(|_| !is_apart).for_each(&mut add);
    found.is_all &= is_all;
    found
}

/// The languages that distinguish numbers in other ways than by their value: those of more than one
/// text and not of all.
fn wild(predicates: &Predicates) -> Languages {
    let all = predicates.languages();
    let is_wild = |glob: &&String| glob.contains(['*', '?']) && !matches!(&***glob, "*" | "?*");
    let globs = all.globs.iter().filter(is_wild).cloned().collect();
    Languages { globs, texts: BTreeSet::new(), ..all }
}
