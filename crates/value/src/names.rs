//! Names, label keys and label values of Kubernetes objects: what is well-formed, and the texts
//! that say what is not. Semantics: the API conventions of Kubernetes.

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                    validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                         or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                         regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                     'my_value',  or '12345', regex used for validation is \
                     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const OLD_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// What is wrong with an object name.
pub fn subdomain_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 bytes".to_owned());
    }
    if !name.split('.').all(is_lower_label) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// What is wrong with a label or annotation key.
pub fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a qualified name {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(subdomain_problems(prefix).into_iter().map(|p| format!("prefix part {p}")));
            }
            name
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_word(name) {
        problems.push(format!("name part {NAME}"));
    }
    problems
}

/// What is wrong with a label value.
pub fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_word(value) {
        problems.push(VALUE.to_owned());
    }
    problems
}

fn is_word(text: &str) -> bool {
    let ends = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric());
    ends && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Whether a text is a label in lower case, without limit of its length.
pub fn is_lower_label(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// What is wrong with a key, in the words of the API server's own version.
pub fn key_problems_of_server(key: &str) -> Vec<String> {
    let problems = key_problems(key);
    problems.into_iter().map(|p| p.replacen("a qualified name must", "a valid label key must", 1)).collect()
}

/// What is wrong with a name of RFC 1035.
pub fn old_label_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters".into());
    }
    if !(is_lower_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())) {
        problems.push(OLD_LABEL.into());
    }
    problems
}

/// The words that CEL keeps for later.
pub const RESERVED_WORDS: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is a word of CEL, or one that it keeps for later, and so no identifier.
pub fn is_word_of_expressions(name: &str) -> bool {
    matches!(name, "true" | "false" | "null" | "in") || RESERVED_WORDS.contains(&name)
}
