//! What is wrong with policies, with their places; and why something has no result.

use std::fmt;

use ephor_policies::load;

/// Something that keeps a policy, a binding or an exception from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, or the name that was given for the text.
    pub file: String,
    /// The line, from 1; 0 = the whole file.
    pub line: usize,
    /// The column, from 1, where it is known.
    pub column: Option<usize>,
    /// The policy that it is about, as far as its name is known.
    pub policy: Option<String>,
    /// What is wrong, in the words of Kyverno 1.19.1 or kube-apiserver 1.36.3 where they have some.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        match &self.policy {
            Some(policy) => write!(f, ": policy `{policy}`: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

impl From<&load::Problem> for Problem {
    fn from(p: &load::Problem) -> Problem {
        let policy = p.policy.as_ref().map(|(_, name)| name.clone()).filter(|name| !name.is_empty());
        let (line, column) = (p.line, p.column);
        Problem { file: p.source.to_string(), line, column, policy, message: p.text.clone() }
    }
}

/// All problems of a text, a file or a folder: nothing of it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub(crate) Vec<Problem>);

impl Problems {
    /// The problems, in the order of files and lines.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Policies that cannot be used.
    #[error(transparent)]
    Policies(#[from] Problems),
    /// A text that is no object.
    #[error("{place}: {message}")]
    Object {
        /// `FILE:LINE`, or the name that was given for the text.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// A request of which the data for rules cannot be built.
    #[error("the request cannot be evaluated: {0}")]
    Request(String),
    /// A text that is no AdmissionReview, or one for an unknown path.
    #[error("HTTP status {status}: {message}")]
    Review {
        /// The HTTP status to answer with.
        status: u16,
        /// What is wrong with it.
        message: String,
    },
    /// Two sets of policies that cannot be compared.
    #[error("{0}")]
    Comparison(String),
    /// An expression that does not compile, or has no value.
    #[error("{message}{}", .help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
    Expression {
        /// What is wrong with it, in the words of Kyverno 1.19.1 or cel-go.
        message: String,
        /// The byte of the expression where it went wrong, where it is known.
        offset: Option<usize>,
        /// What to write instead.
        help: Option<String>,
    },
}
