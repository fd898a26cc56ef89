//! Any bytes as an AdmissionReview, for the policies of this repository: answering must end,
//! without a panic.
#![no_main]
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::route::{Phase, Route};
use ephor_admission::admit::{Deadline, Gate};
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
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
    let mut loaded = argument_for(&all, Reader::Server(ephor_value::release::Release::default()));
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
