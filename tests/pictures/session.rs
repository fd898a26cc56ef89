//! Pictures of terminal sessions: what commands print, with their colours.
//!
//! In: a command line, which runs in `docs/sample`. Out: a picture of the prompt and the output, in
//! colours for light and dark pages.

use std::path::Path;
use std::process::Command;

use anstyle_svg::{Term, WIN10_CONSOLE};
use unicode_width::UnicodeWidthStr;

/// Characters of a line; longer ones are wrapped.
const WIDTH: usize = 100;
/// Blanks before what is wrapped.
const INDENT: usize = 6;

/// Colours on light and on dark pages, by the classes of `anstyle-svg`; those of `svg::picture`
/// where it has one.
const COLOURS: [(&str, &str, &str); 12] = [
    ("fg", "#1f2328", "#f0f6fc"),
    ("bg", "#f6f8fa", "#151b23"),
    ("fg-red", "#cf222e", "#ff7b72"),
    ("fg-bright-red", "#cf222e", "#ff7b72"),
    ("fg-green", "#1a7f37", "#3fb950"),
    ("fg-bright-green", "#1a7f37", "#3fb950"),
    ("fg-yellow", "#9a6700", "#d29922"),
    ("fg-bright-yellow", "#9a6700", "#d29922"),
    ("fg-blue", "#0969da", "#4493f8"),
    ("fg-bright-blue", "#0969da", "#4493f8"),
    ("fg-cyan", "#1b7c83", "#39c5cf"),
    ("fg-bright-black", "#59636e", "#9198a1"),
];

/// What a command prints on a terminal with colours, standard error last.
fn printed(command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_ephor"));
    let words = command.split(' ').skip(1);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sample");
    let mut run = Command::new(program);
    run.args(words).current_dir(folder).env_remove("NO_COLOR").env("FORCE_COLOR", "1");
    // What a terminal selects.
    run.env("EPHOR_APPLY_OUTPUT_FORMAT", "text");
    let output = run.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(!text.is_empty(), "{command} prints nothing");
    text
}

/// The room that a text takes; escape sequences take none.
fn room(text: &str) -> usize {
    let (mut room, mut in_escape) = (0, false);
    for c in text.chars() {
        match c {
            '\u{1b}' => in_escape = true,
            'm' if in_escape => in_escape = false,
            c if !in_escape => room += c.to_string().width(),
            _ => {}
        }
    }
    room
}

/// A line in pieces that fit into the picture, cut between words.
fn wrapped(line: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if width > INDENT && width + room(word.trim_end()) > WIDTH {
            out.push_str(&format!("\n{:INDENT$}", ""));
            width = INDENT;
        }
        width += room(word);
        out.push_str(word);
    }
    out
}

/// The picture of a session.
pub fn draw(label: &str, command: &str) -> String {
    let mut text = format!("\u{1b}[90m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m");
    for line in printed(command).trim_end().lines() {
        text.push('\n');
        text.push_str(&wrapped(line));
    }
    let picture = Term::new().palette(WIN10_CONSOLE).min_width_px(WIDTH * 42 / 5).render_svg(&text);
    let of = |pick: fn(&(&str, &str, &str)) -> String| -> String {
        let is_used = |colour: &&(&str, &str, &str)| picture.contains(&format!("    .{} {{", colour.0));
        COLOURS.iter().filter(is_used).map(pick).collect()
    };
    let dark = of(|(class, _, dark)| format!("    .{class} {{ fill: {dark} }}\n"));
    let light = of(|(class, light, _)| format!("    .{class} {{ fill: {light} }}\n"));
    let style = format!("{light}    @media (prefers-color-scheme: dark) {{\n{dark}    }}\n  </style>");
    let picture = picture.replacen("  </style>", &style, 1).replace("opacity: 0.4", "opacity: 0.7");
    picture.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{label}\" "), 1)
}
