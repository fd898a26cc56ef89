//! What is requested.
//!
//! In: a request. Out: one line of text that is the same for the same request. Of headers it holds
//! the names, and the values of those that choose the form of an answer; of a body a digest. So
//! neither tokens nor passwords are in it.

use sha2::{Digest, Sha256};

/// The headers whose values are part of a question.
const FORMS: [&str; 2] = ["accept", "content-type"];
/// The headers that are no part of it: the client, and its credentials.
const ASIDE: [&str; 6] =
    ["authorization", "cookie", "host", "proxy-authorization", "user-agent", "content-length"];

/// See the module page.
#[derive(Clone, Debug, Default)]
pub struct Question<'q> {
    /// `GET` or another method; a word of our own for what is no HTTP.
    pub method: &'q str,
    /// The address.
    pub url: &'q str,
    /// Headers by name.
    pub headers: Vec<(&'q str, &'q str)>,
    /// What is sent.
    pub body: &'q [u8],
}

impl<'q> Question<'q> {
    /// A question without headers and body.
    pub fn new(method: &'q str, url: &'q str) -> Question<'q> {
        Question { method, url, ..Question::default() }
    }

    /// The question in one line.
    pub fn text(&self) -> String {
        let mut headers: Vec<String> =
            self.headers.iter().filter_map(|(name, value)| shown(name, value)).collect();
        headers.sort_unstable();
        headers.dedup();
        let mut text = format!("{} {}", self.method, without_password(self.url));
        if !headers.is_empty() {
            text.push_str(&format!(" [{}]", headers.join("; ")));
        }
        if !self.body.is_empty() {
            let digest = Sha256::digest(self.body);
            text.push_str(" sha256:");
            digest.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
        }
        text
    }
}

fn shown(name: &str, value: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    match &*name {
        name if ASIDE.contains(&name) => None,
        name if FORMS.contains(&name) => Some(format!("{name}: {value}")),
        name => Some(name.into()),
    }
}

/// An address without its password.
fn without_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@').map(|(user, host)| (user.split_once(':'), host)) {
        Some((Some((user, _)), host)) => format!("{scheme}{user}@{host}{path}"),
        _ => url.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_holds_no_token_and_no_password() {
        let question = Question {
            method: "POST",
            url: "https://user:secret@host:1/a?b",
            headers: vec![("Authorization", "Bearer secret"), ("X-Key", "secret"), ("Accept", "a/b")],
            body: b"secret",
        };
        let text = question.text();
        assert!(
            text.starts_with("POST https://user@host:1/a?b [accept: a/b; x-key] sha256:2bb80d53"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn the_wanted_form_and_the_body_make_another_question() {
        let with = |accept, body| {
            Question { headers: vec![("accept", accept)], body, ..Question::new("GET", "http://h") }.text()
        };
        assert_ne!(with("a", b""), with("b", b""));
        assert_ne!(with("a", b"x"), with("a", b"y"));
        assert_eq!(with("a", b"x"), with("a", b"x"));
    }
}
