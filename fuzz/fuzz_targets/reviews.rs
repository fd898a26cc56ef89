//! Any bytes as an AdmissionReview, for the policies of this repository: answering must end, without a panic.
#![no_main]
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use ephor::sources::objects::Objects;
use ephor::admit::gate::{Deadline, Gate};
use ephor::admit::incoming::decode;
use ephor::admit::route::{Phase, Route};
use ephor::load::{Reader, argument_for};
use ephor::sources::files::SourceText;
use libfuzzer_sys::fuzz_target;

fn texts(dir: &str, out: &mut Vec<SourceText>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.to_string_lossy().to_string();
        if path.is_dir() {
            texts(&name, out);
        } else if name.ends_with(".yaml") {
            out.extend(std::fs::read_to_string(&path).map(|text| SourceText { name, text }));
        }
    }
}

static GATE: LazyLock<Gate> = LazyLock::new(|| {
    let mut all = Vec::new();
    texts(concat!(env!("CARGO_MANIFEST_DIR"), "/../policies"), &mut all);
    let mut loaded = argument_for(&all, Reader::Server);
    loaded.bind(Vec::new());
    let data = Objects::new(Vec::new());
    Gate::new(loaded, Arc::new(data), &[])
});

fuzz_target!(|data: &[u8]| {
    let Ok(review) = decode("application/json", data) else { return };
    for phase in [Phase::Validate, Phase::Mutate] {
        let deadline = Deadline::at(Instant::now() + Duration::from_secs(2));
        let _ = GATE.answer(&Route::all(phase), &review, &deadline);
    }
});
