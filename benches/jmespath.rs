//! Expressions of policies on a Pod of 20 kB, compiled once, compared with the `jmespath` crate's
//! own interpreter in the same run.
//!
//! For each expression: nanoseconds of a search here, of the crate's `Expression::search`, which
//! brings the document into its own form each time, and of its bare `interpret` on a document that
//! has that form already; and how many times faster than both `ephor` is. The results are compared
//! first, so that all do the same work. Exit code 1 when a search here is not [`REQUIRED`] times
//! faster than a search there.

#![allow(clippy::expect_used)]

mod common;

use std::hint::black_box;

use ephor_functions::Context;
use ephor_search::{Expression, json, read};

use common::{best, pod};

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

/// How many times faster each search has to be.
const REQUIRED: f64 = 5.0;

const EXPRESSIONS: &[&str] = &[
    "metadata.name",
    "metadata.labels.\"app.kubernetes.io/name\" == 'shop'",
    "spec.containers[0].image",
    "spec.containers[*].image",
    "spec.containers[].ports[].containerPort",
    "spec.containers[?name == 'app-7'].image | [0]",
    "spec.containers[?securityContext.privileged == `true`].name",
    "spec.containers[?resources.limits.memory == null || resources.limits.cpu == null].name",
    "length(spec.containers[?starts_with(image, 'registry.example.com/')])",
    "spec.containers[*].{name: name, image: image, memory: resources.limits.memory}",
    "spec.hostNetwork || spec.hostPID || spec.hostIPC",
    "spec.containers[].env[?name == 'SECRET'][].value",
    "contains(keys(metadata.annotations), 'checksum/config')",
    "spec.volumes[?hostPath != null] | length(@) > `0`",
    "sort(spec.containers[*].name) | [-1]",
    "max_by(spec.containers, &ports[0].containerPort).name",
];

fn main() {
    let text = pod();
    let document = read(&text).expect("a Pod");
    let theirs = jmespath::Variable::from_json(&json(&document).expect("JSON")).expect("a Pod");
    let theirs = jmespath::Rcvar::new(theirs);
    let mut runtime = jmespath::Runtime::new();
    runtime.register_builtin_functions();
    let context = Context::default();
    println!("a Pod of {} bytes as JSON", json(&document).expect("JSON").len());
    println!("{:>9} {:>12} {:>12} {:>9} {:>9}", "ephor", "search", "interpret", "", "");
    let mut slow = 0;
    for text in EXPRESSIONS {
        let ours = Expression::compile(text).expect(text);
        let compiled = jmespath::compile(text).expect(text);
        let ast = jmespath::parse(text).expect(text);
        let interpret = || jmespath::interpret(&theirs, &ast, &mut jmespath::Context::new(text, &runtime));
        let found = ours.find(&document, &context).expect(text).into_owned();
        let same = interpret().expect(text).to_string();
        assert!(read(&same).is_ok_and(|same| same.json_eq(&found)), "{text}: {same}");
        let ours = best(|| black_box(ours.find(black_box(&document), &context)).is_ok());
        let search = best(|| black_box(compiled.search(black_box(&theirs))).is_ok());
        let interpret = best(|| black_box(interpret()).is_ok());
        let (faster, bare) = (search / ours, interpret / ours);
        slow += usize::from(faster < REQUIRED);
        println!("{ours:>6.0} ns {search:>9.0} ns {interpret:>9.0} ns {faster:>8.1}× {bare:>8.1}×  {text}");
    }
    if slow > 0 {
        println!("{slow} of {} expressions are not {REQUIRED} times faster", EXPRESSIONS.len());
        std::process::exit(1);
    }
}
