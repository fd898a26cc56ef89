//! Comprehensions of strict expressions (`all`, `exists`, `map`, `filter` and the like).
//!
//! In: a comprehension and its environment. Out: its value; cost is added in each iteration. A body
//! is evaluated once for all items that have none of the keys that it reads
//! ([`ephor_ir::item_keys`]). Semantics: `docs/expressions/cel.md`, "What is supported" and "Cost".

use std::borrow::Cow;

use ephor_functions::{cel, limits};
use ephor_ir::Expr;
use ephor_ir::expr::{Comprehension, ComprehensionKind};
use ephor_value::{Fault, Object, Str, Value, budget};

use super::cells::Cached;
use super::entries::Entries;
use super::eval::{Env, Evaluated, NULL, constant, value as eval};
use super::strict::{LIST_COST, OVERLOAD, key_text, overload, rules};

/// The state of a comprehension.
struct LoopState<'l> {
    l: &'l Comprehension,
    /// `all`, `exists`: the verdict so far.
    truth: bool,
    count: u64,
    items: Vec<Value>,
    entries: Entries,
    /// The fault that stands for the whole, unless a later item decides.
    fault: Option<Fault>,
    /// The keys of items that the comprehension reads, when it reads nothing else of them.
    keys: Option<&'l [Str]>,
    /// Whether the current item has none of these keys.
    is_bare: bool,
    /// What the filter and the body give for such items.
    bare: BareResults,
}

#[derive(Default)]
struct BareResults {
    keep: Cached<Option<bool>>,
    truth: Cached<Option<bool>>,
    body: Cached<Value>,
}

impl LoopState<'_> {
    fn lacks_keys(&self, item: &Value) -> bool {
        match (self.keys, item) {
            (Some(keys), Value::Map(m)) => !keys.iter().any(|key| m.contains_key(key)),
            _ => false,
        }
    }

    /// Whether the body is true of the items.
    fn holds(&self, first: &Value, second: &Value, env: &Env<'_, '_>) -> Result<Option<bool>, Fault> {
        self.truth(&self.l.body, &self.bare.truth, first, second, env)
    }

    fn truth(
        &self,
        body: &Expr,
        cached: &Cached<Option<bool>>,
        first: &Value,
        second: &Value,
        env: &Env<'_, '_>,
    ) -> Result<Option<bool>, Fault> {
        let truth = || env.bound_truth(self.l.two.then_some(first), second, body);
        if self.is_bare { cached.copied(env, truth) } else { truth() }
    }

    /// The value of the body for the items.
    fn body(&self, first: &Value, second: &Value, env: &Env<'_, '_>) -> Result<Value, Fault> {
        let Comprehension { body, two, .. } = self.l;
        let make = || if *two { env.bind_two(first, second, body) } else { env.bind_short(second, body) };
        if self.is_bare { self.bare.body.copied(env, make) } else { make() }
    }
}

#[inline(never)]
pub(super) fn evaluate<'a>(l: &'a Comprehension, env: &Env<'_, 'a>) -> Evaluated<'a> {
    let range = eval(&l.range, env)?;
    let mut state = LoopState {
        l,
        truth: l.kind == ComprehensionKind::All,
        count: 0,
        items: Vec::new(),
        entries: Entries::default(),
        fault: None,
        keys: l.item_keys.of(l).filter(|_| env.fuses()),
        is_bare: false,
        bare: BareResults::default(),
    };
    match &*range {
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                let at = Value::Int(i64::try_from(i).unwrap_or(i64::MAX));
                if !round(&mut state, &at, item, env)? {
                    break;
                }
            }
        }
        Value::Map(m) => {
            for (k, v) in m.iter() {
                let key = Value::Str(k.clone());
                if !round(&mut state, &key, if l.two { v } else { &key }, env)? {
                    break;
                }
            }
        }
        Value::Object(o) if matches!(**o, Object::Keyed(_)) => {
            let Object::Keyed(entries) = &**o else { return Ok(Cow::Borrowed(&NULL)) };
            for (k, v) in entries {
                if !round(&mut state, k, if l.two { v } else { k }, env)? {
                    break;
                }
            }
        }
        other => {
            let kind = cel::go_type(other);
            return Err(Fault::new(if l.two {
                format!("unsupported comprehension range type: {kind}")
            } else {
                format!("got '{kind}', expected iterable type")
            }));
        }
    }
    limits::list(state.items.len() + state.entries.len())?;
    let compares =
        l.kind == ComprehensionKind::One && (state.fault.is_none() || rules(env).compares_once_failed);
    env.charge(if compares { 2 } else { 1 })?;
    if let Some(fault) = state.fault {
        return Err(fault);
    }
    Ok(match l.kind {
        ComprehensionKind::All | ComprehensionKind::Exists => constant(state.truth),
        ComprehensionKind::One => constant(state.count == 1),
        ComprehensionKind::List => Cow::Owned(Value::list(state.items)),
        ComprehensionKind::Map | ComprehensionKind::Entries => Cow::Owned(state.entries.into_value()),
    })
}

/// One iteration; false when the result is decided.
fn round(state: &mut LoopState<'_>, first: &Value, second: &Value, env: &Env<'_, '_>) -> Result<bool, Fault> {
    budget::step()?;
    let l = state.l;
    state.is_bare = state.lacks_keys(second);
    match state.l.kind {
        ComprehensionKind::All | ComprehensionKind::Exists => {
            let all = state.l.kind == ComprehensionKind::All;
            env.charge(if all { 2 } else { 3 })?;
            if state.fault.is_none() && state.truth != all {
                return Ok(false);
            }
            env.charge(1)?;
            match state.holds(first, second, env) {
                Ok(Some(b)) if b != all => (state.truth, state.fault) = (b, None),
                Ok(Some(_)) => {}
                Ok(None) => keep_first(state, overload()),
                Err(fault) if fault.ends() => return Err(fault),
                Err(fault) => keep_first(state, fault),
            }
        }
        ComprehensionKind::One => match state.holds(first, second, env) {
            Ok(Some(true)) => {
                env.charge(if state.fault.is_some() && !rules(env).counts_once_failed { 1 } else { 2 })?;
                state.count += 1;
            }
            Ok(Some(false)) => {}
            Ok(None) => state.fault = Some(overload()),
            Err(fault) if fault.ends() => return Err(fault),
            Err(fault) => state.fault = Some(fault),
        },
        ComprehensionKind::List | ComprehensionKind::Map | ComprehensionKind::Entries => {
            if let Some(keep) = &l.keep {
                match state.truth(keep, &state.bare.keep, first, second, env) {
                    Ok(Some(true)) => {}
                    Ok(Some(false)) => return Ok(true),
                    Ok(None) => {
                        state.fault = Some(overload());
                        return Ok(true);
                    }
                    Err(fault) if fault.ends() => return Err(fault),
                    Err(fault) => {
                        state.fault = Some(fault);
                        return Ok(true);
                    }
                }
            }
            let alone = match state.l.kind {
                ComprehensionKind::List | ComprehensionKind::Entries => rules(env).reads_failed_lists,
                _ => true,
            };
            if state.fault.is_some() && alone {
                // The accumulator alone is read: it fails.
                env.charge(1)?;
                return Ok(true);
            }
            env.charge(1 + u64::from(state.l.kind == ComprehensionKind::Map))?;
            let made = state.body(first, second, env);
            if let Err(fault) = &made
                && fault.ends()
            {
                return Err(fault.clone());
            }
            if made.is_ok() || !rules(env).failed_calls_are_free {
                env.charge(1 + if l.wraps { LIST_COST } else { 0 })?;
            }
            match made {
                Ok(v) => collect(state, first, v),
                Err(fault) => keep_first(state, fault),
            }
        }
    }
    Ok(true)
}

fn keep_first(state: &mut LoopState<'_>, fault: Fault) {
    if state.fault.is_none() {
        state.fault = Some(fault);
    }
}

fn collect(state: &mut LoopState<'_>, key: &Value, v: Value) {
    match state.l.kind {
        ComprehensionKind::Map => insert(state, key.clone(), v),
        ComprehensionKind::Entries => match v {
            Value::Map(m) => {
                for (k, v) in m.iter() {
                    insert(state, Value::Str(k.clone()), v.clone());
                }
            }
            Value::Object(o) if matches!(*o, Object::Keyed(_)) => {
                if let Object::Keyed(entries) = &*o {
                    for (k, v) in entries {
                        insert(state, k.clone(), v.clone());
                    }
                }
            }
            other => {
                let kind = other.cel_type();
                keep_first(state, Fault::new(format!("{OVERLOAD}: cel.@mapInsert(map, {kind})")));
            }
        },
        _ => state.items.push(v),
    }
}

fn insert(state: &mut LoopState<'_>, key: Value, v: Value) {
    let name = key.clone();
    if !state.entries.insert(key, v) {
        keep_first(state, Fault::new(format!("insert failed: key {} already exists", key_text(&name))));
    }
}
