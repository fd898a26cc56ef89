//! The progress bar of long runs.

use std::io::IsTerminal;

use crate::cli::console::is_quiet;

/// A bar on standard error for the bytes of inputs, with a message, rate and time left; without the
/// time where their number is not known. None when standard error is no terminal.
pub(super) fn bytes(size: Option<u64>) -> Option<indicatif::ProgressBar> {
    const OF: &str = "{bar:30} {bytes}/{total_bytes}, {msg}, {bytes_per_sec}, {eta} left";
    const OPEN: &str = "{spinner} {bytes}, {msg}, {bytes_per_sec}";
    if !std::io::stderr().is_terminal() || is_quiet() {
        return None;
    }
    let bar = indicatif::ProgressBar::with_draw_target(size, indicatif::ProgressDrawTarget::stderr());
    if let Ok(form) = indicatif::ProgressStyle::with_template(if size.is_some() { OF } else { OPEN }) {
        bar.set_style(form);
    }
    Some(bar)
}

/// A bar on standard error for a number of things, with a message and the time left; none when
/// standard error is no terminal.
pub(super) fn bar(count: usize, what: &str) -> Option<indicatif::ProgressBar> {
    if !std::io::stderr().is_terminal() || is_quiet() {
        return None;
    }
    let bar = indicatif::ProgressBar::new(count as u64);
    bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    let form = format!("{{bar:30}} {{pos}}/{{len}} {what}, {{msg}}, {{eta}} left");
    if let Ok(form) = indicatif::ProgressStyle::with_template(&form) {
        bar.set_style(form);
    }
    Some(bar)
}
