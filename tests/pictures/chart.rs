//! Figures as bars on a logarithmic scale: ours and Kyverno's, a pair for each run.

use super::svg::{picture, rect, text};

#[derive(serde::Deserialize)]
struct Figures {
    run: Vec<Run>,
}

#[derive(serde::Deserialize)]
struct Run {
    name: String,
    ephor: f64,
    kyverno: f64,
}

const LEFT: f64 = 24.0;
const WIDTH: f64 = 520.0;
/// The ends of the scale, in powers of ten of a millisecond.
const DECADES: f64 = 5.7;

fn bar(milliseconds: f64) -> f64 {
    (milliseconds.log10().max(0.0) / DECADES * WIDTH * 10.0).round() / 10.0
}

fn time(milliseconds: f64) -> String {
    match milliseconds {
        m if m < 10.0 => format!("{m} ms"),
        m if m < 1000.0 => format!("{m:.0} ms"),
        m => format!("{:.1} s", m / 1000.0),
    }
}

/// The chart of the figures of a file.
pub fn draw(source: &str) -> String {
    let figures: Figures = toml::from_str(source).unwrap();
    let mut shapes = text(LEFT, 30.0, "strong", "Time of a run, ephor and Kyverno 1.19.1 (logarithmic)");
    let mut y = 58.0;
    for run in &figures.run {
        shapes.push_str(&text(LEFT, y, "", &run.name));
        let factor = format!("{:.0} times", run.kyverno / run.ephor);
        for (i, (class, name, value)) in
            [("ours", "ephor", run.ephor), ("theirs", "Kyverno", run.kyverno)].into_iter().enumerate()
        {
            let top = y + 8.0 + 20.0 * i as f64;
            shapes.push_str(&rect(LEFT, top, bar(value), 14.0, class));
            let note = if i == 0 {
                format!("{name} {}, {factor} faster", time(value))
            } else {
                format!("{name} {}", time(value))
            };
            shapes.push_str(&text(LEFT + bar(value) + 8.0, top + 11.5, "small quiet", &note));
        }
        y += 70.0;
    }
    picture(720, y as usize - 10, "Time of runs of ephor and Kyverno", &shapes)
}
