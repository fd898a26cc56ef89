//! Warnings: the `Warning` headers for a client.
//!
//! A text is sent once; empty ones and those with control characters are lost. When they get too
//! long together, all are cut.

/// All texts together may have this many characters.
const TOTAL: usize = 4096;
/// Texts are cut to this many characters then.
const CUT: usize = 256;

/// Collects warnings.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    /// As they came.
    seen: Vec<String>,
    /// As they are sent.
    texts: Vec<String>,
    written: usize,
    cut: bool,
}

impl Warnings {
    /// Adds a text.
    pub fn add(&mut self, text: String) {
        if text.is_empty() || text.chars().any(char::is_control) || self.seen.contains(&text) {
            return;
        }
        self.seen.push(text.clone());
        let size = text.chars().count();
        if !self.cut && self.written + size > TOTAL {
            self.cut = true;
            // All are written again, together with the one that was too much.
            self.texts.push(text);
            for text in &mut self.texts {
                *text = text.chars().take(CUT).collect();
            }
            self.written = self.texts.iter().map(|t| t.chars().count()).sum();
            return;
        }
        let text: String = if self.cut { text.chars().take(CUT).collect() } else { text };
        let size = text.chars().count();
        if self.written + size <= TOTAL {
            self.written += size;
            self.texts.push(text);
        }
    }

    /// What is sent.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sent_once_and_texts_that_fit_no_header_are_lost() {
        let mut warnings = Warnings::default();
        ["a", "", "b\nc", "a", "ä"].into_iter().for_each(|t| warnings.add(t.into()));
        assert_eq!(warnings.into_texts(), ["a", "ä"]);
    }

    #[test]
    fn texts_that_become_equal_by_cutting_are_all_sent() {
        let mut warnings = Warnings::default();
        (0..4).for_each(|i| warnings.add(format!("{}{i}", "x".repeat(2000))));
        assert_eq!(warnings.into_texts(), vec!["x".repeat(CUT); 4]);
    }

    #[test]
    fn the_text_that_is_too_much_is_sent() {
        let mut warnings = Warnings::default();
        (0..1030).for_each(|i| warnings.add(format!("{i:04}")));
        assert_eq!(warnings.into_texts().len(), TOTAL / 4 + 1);
    }

    #[test]
    fn blanks_are_texts_and_control_characters_beyond_ascii_are_none() {
        let mut warnings = Warnings::default();
        [" ", "  ", "a\u{85}", "a\u{9f}", "a\u{7f}", "\u{200b}", "a\u{2028}"]
            .into_iter()
            .for_each(|t| warnings.add(t.into()));
        assert_eq!(warnings.into_texts(), [" ", "  ", "\u{200b}", "a\u{2028}"]);
    }

    #[test]
    fn too_many_characters_cut_all_texts() {
        let mut warnings = Warnings::default();
        (0..30).for_each(|i| warnings.add(format!("{i:02}{}", "x".repeat(1000))));
        let sent = warnings.into_texts();
        assert_eq!(sent.len(), TOTAL / CUT);
        assert!(sent.iter().all(|t| t.chars().count() == CUT));
    }
}
