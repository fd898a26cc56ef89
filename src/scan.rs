//! Evaluating many resources: in parallel, with results in input order.
//!
//! In: an engine and resources. Out: for each resource in turn whatever the caller makes of its
//! results. The work is done in blocks, so that the memory in use does not grow with the input.

use rayon::prelude::*;

use crate::engine::Request;
use crate::policy_set::{Engine, Outcome};

/// How many resources are in work at a time.
const BLOCK: usize = 256;

/// Evaluates `count` resources. `request` makes the request of a position, `render` turns its
/// results into what `sink` gets, in the order of the positions; both run on any thread, `sink` on
/// the caller's.
pub fn scan<T: Send>(
    engine: &Engine,
    count: usize,
    request: impl Fn(usize) -> Result<Request, String> + Sync,
    extra: impl Fn(usize, &Request, Outcome) -> Outcome + Sync,
    render: impl Fn(usize, &Outcome) -> T + Sync,
    mut sink: impl FnMut(usize, Result<T, String>),
) {
    let one = |i: usize| {
        let request = request(i)?;
        let outcome = extra(i, &request, engine.evaluate(&request));
        Ok(render(i, &outcome))
    };
    if count == 1 {
        sink(0, one(0));
        return;
    }
    let mut start = 0;
    while start < count {
        let end = (start + BLOCK).min(count);
        let block: Vec<Result<T, String>> = (start..end).into_par_iter().map(one).collect();
        for (i, result) in (start..end).zip(block) {
            sink(i, result);
        }
        start = end;
    }
}
