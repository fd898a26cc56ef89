//! The progress bar of long runs.

use std::io::IsTerminal;

/// A bar on standard error for a number of things, with a message and the time left; none when
/// standard error is no terminal.
pub(super) fn bar(count: usize, what: &str) -> Option<indicatif::ProgressBar> {
    if !std::io::stderr().is_terminal() {
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
