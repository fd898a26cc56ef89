//! Changes of files that mend what is reported about them.
//!
//! In: a change with lines and columns of its file. Out: itself in JSON, in SARIF and in the lines
//! that shards write (`lines`, `findings`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::formats::sarif::message_text;
use crate::formats::uri::Uris;

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FileFix {
    /// What it does.
    pub title: String,
    /// Whether it is what was meant as far as the file shows.
    #[serde(rename = "safe")]
    pub is_safe: bool,
    /// What is replaced, and by what.
    pub edits: Vec<FileEdit>,
}

/// A part of a file that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEdit {
    /// Line of the first character, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// Line of what stands behind the last character.
    pub end_line: usize,
    /// Its column.
    pub end_column: usize,
    /// What stands there then.
    pub text: String,
}

impl FileFix {
    /// The change as a fix of SARIF.
    pub(crate) fn sarif(&self, uris: &Uris<'_>, file: &str) -> Value {
        let replacements = self.edits.iter().map(|edit| {
            json!({
                "deletedRegion": {
                    "startLine": edit.line,
                    "startColumn": edit.column,
                    "endLine": edit.end_line,
                    "endColumn": edit.end_column,
                },
                "insertedContent": {"text": edit.text},
            })
        });
        json!({
            "description": {"text": message_text(&self.title)},
            "artifactChanges": [{
                "artifactLocation": uris.artifact(file),
                "replacements": replacements.collect::<Vec<Value>>(),
            }],
        })
    }
}
