//! The engine of the page as a WebAssembly module: `answer` of `ephor-page` for JavaScript, and
//! nothing else.

use wasm_bindgen::prelude::wasm_bindgen;

/// Answers a question, JSON with JSON.
#[wasm_bindgen]
pub fn answer(question: &str) -> String {
    ephor_page::answer(question)
}
