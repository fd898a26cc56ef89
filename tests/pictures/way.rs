//! The way of policies and requests through the crates.

use super::svg::{arrow, picture, rect, text};

/// Steps: what, which crate, and what comes out.
const POLICIES: [(&str, &str, &str); 4] = [
    ("read", "document", "text, with places"),
    ("check", "api", "schema, autogen"),
    ("lower", "lower", "every language"),
    ("rule IR", "ir", "one form of rules"),
];
const REQUESTS: [(&str, &str, &str); 4] = [
    ("request", "admission", "webhook or manifest"),
    ("match", "matching", "one index of filters"),
    ("evaluate", "engine", "one evaluator"),
    ("report", "report", "answer, text, SARIF"),
];
const STEP: f64 = 176.0;

/// The crates that the picture names.
pub fn crates() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().chain(&REQUESTS).map(|step| step.1)
}

fn row(y: f64, title: &str, steps: &[(&str, &str, &str)]) -> String {
    let mut shapes = text(24.0, y - 12.0, "strong", title);
    for (i, (what, name, out)) in steps.iter().enumerate() {
        let x = 24.0 + STEP * i as f64;
        shapes.push_str(&rect(x, y, 150.0, 66.0, "box"));
        shapes.push_str(&text(x + 12.0, y + 22.0, "strong", what));
        shapes.push_str(&text(x + 12.0, y + 40.0, "small", &format!("crates/{name}")));
        shapes.push_str(&text(x + 12.0, y + 56.0, "small quiet", out));
        if i + 1 < steps.len() {
            shapes.push_str(&arrow(x + 150.0, y + 33.0, STEP - 150.0));
        }
    }
    shapes
}

/// The picture.
pub fn draw() -> String {
    let mut shapes = row(46.0, "Policies: once", &POLICIES);
    shapes.push_str(&row(160.0, "Requests: each", &REQUESTS));
    // From the IR to matching and evaluation.
    shapes.push_str(
        "<path class=\"arrow\" d=\"M627 112v20H450v22\"/><path class=\"head\" d=\"M450 160l-4 -8h8z\"/>\n",
    );
    shapes.push_str(
        "<path class=\"arrow\" d=\"M450 132H275v22\"/><path class=\"head\" d=\"M275 160l-4 -8h8z\"/>\n",
    );
    picture(
        730,
        250,
        "Policies are lowered into one rule IR, which one index and one evaluator run on requests",
        &shapes,
    )
}
