//! The engine of the page as a WebAssembly module: `answer` of `ephor-page` for JavaScript, and
//! nothing else.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn log(text: &str);
}

/// Panics end a module without a word; the console then has their text.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| log(&panic.to_string())));
}

/// Answers a question, JSON with JSON.
#[wasm_bindgen]
pub fn answer(question: &str) -> String {
    ephor_page::answer(question)
}
