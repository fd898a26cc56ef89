//! Evaluating many resources: in parallel, with results in input order.
//!
//! In: an engine and resources. Out: for each resource in turn whatever the caller makes of its
//! results. The work is done in blocks, so that the memory in use does not grow with the input.

use std::ops::Range;

use crate::policy_set::{Engine, Outcome};
use ephor_engine::Request;
use ephor_value::parallel;

/// How many resources are in work at a time.
const BLOCK: usize = 256;

/// How many resources a thread takes at a time: few enough to stay in its cache.
const TOGETHER: usize = 16;

/// Evaluates `count` resources. `request` makes the request of a position, `render` turns its
/// results into what `sink` gets, in the order of the positions; both run on any thread, `sink` on
/// the caller's.
pub fn scan<T: Send, E: Clone + Send + Sync>(
    engine: &Engine,
    count: usize,
    request: impl Fn(usize) -> Result<Request, E> + Sync,
    extra: impl Fn(usize, &Request, Outcome) -> Outcome + Sync,
    render: impl Fn(usize, &Outcome) -> T + Sync,
    mut sink: impl FnMut(usize, Result<T, E>),
) {
    let together = |range: Range<usize>| -> Vec<Result<T, E>> {
        let requests: Vec<Result<Request, E>> = range.clone().map(&request).collect();
        let made: Vec<&Request> = requests.iter().flatten().collect();
        let mut outcomes = engine.evaluate_all(&made).into_iter();
        let one = |(i, request): (usize, &Result<Request, E>)| {
            let request = request.as_ref().map_err(Clone::clone)?;
            let outcome = extra(i, request, outcomes.next().unwrap_or_default());
            Ok(render(i, &outcome))
        };
        range.zip(&requests).map(one).collect()
    };
    if count <= TOGETHER {
        for (i, result) in together(0..count).into_iter().enumerate() {
            sink(i, result);
        }
        return;
    }
    let mut start = 0;
    while start < count {
        let end = (start + BLOCK).min(count);
        let parts: Vec<Range<usize>> =
            (start..end).step_by(TOGETHER).map(|at| at..(at + TOGETHER).min(end)).collect();
        let block: Vec<Vec<Result<T, E>>> = parallel::map(&parts, |range| together(range.clone()));
        for (i, result) in (start..end).zip(block.into_iter().flatten()) {
            sink(i, result);
        }
        start = end;
    }
}
