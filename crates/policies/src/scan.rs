//! Evaluating many resources: in parallel, with results in input order.
//!
//! In: an engine and a block of resources. Out: for each resource in turn whatever the caller makes
//! of its results. The caller reads blocks one after the other, so that the memory in use does not
//! grow with the input.

use crate::policy_set::{Engine, Outcome};
use ephor_engine::Request;
use ephor_value::parallel;

/// How many resources a thread takes at a time: few enough to stay in its cache.
const TOGETHER: usize = 16;

/// Evaluates a block of resources. `request` makes the request of one, `render` turns its results
/// into what is returned, in the order of the resources; both run on any thread.
pub fn block<I: Sync, T: Send, E: Clone + Send + Sync>(
    engine: &Engine,
    items: &[I],
    request: impl Fn(&I) -> Result<Request, E> + Sync,
    extra: impl Fn(&I, &Request, Outcome) -> Outcome + Sync,
    render: impl Fn(&I, &Outcome) -> T + Sync,
) -> Vec<Result<T, E>> {
    let together = |items: &[I]| -> Vec<Result<T, E>> {
        let requests: Vec<Result<Request, E>> = items.iter().map(&request).collect();
        let made: Vec<&Request> = requests.iter().flatten().collect();
        let mut outcomes = engine.evaluate_all(&made).into_iter();
        let one = |(item, request): (&I, &Result<Request, E>)| {
            let request = request.as_ref().map_err(Clone::clone)?;
            let outcome = extra(item, request, outcomes.next().unwrap_or_default());
            Ok(render(item, &outcome))
        };
        items.iter().zip(&requests).map(one).collect()
    };
    if items.len() <= TOGETHER {
        return together(items);
    }
    let parts: Vec<&[I]> = items.chunks(TOGETHER).collect();
    parallel::map(&parts, |part| together(part)).into_iter().flatten().collect()
}
