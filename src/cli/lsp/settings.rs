//! What the client sets: `initializationOptions`, and the section `ephor` of its settings.

use std::path::Path;

use ephor_editor::Settings;
use ephor_value::file_path::normal;
use ephor_value::release::Release;
use serde_json::Value;

/// The name of the section.
pub(super) const SECTION: &str = "ephor";

/// Settings of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerSettings {
    /// What the editor crate knows of.
    pub(super) editor: Settings,
    /// Files and folders outside of the workspace that are read: definitions of custom resources,
    /// and folders of policies.
    pub(super) further: Vec<String>,
    /// What is wrong with them, for the user.
    pub(super) mistakes: Vec<String>,
}

/// Reads settings; `roots` are the folders of the workspace, against which paths are resolved.
pub(super) fn read(given: &Value, roots: &[String], flags: &ServerSettings) -> ServerSettings {
    let given = given.get(SECTION).unwrap_or(given);
    let mut out = ServerSettings { mistakes: Vec::new(), ..flags.clone() };
    let Some(given) = given.as_object() else { return out };
    for (key, value) in given {
        let mistake = match (key.as_str(), value) {
            (_, Value::Null) => None,
            ("kubernetes", Value::String(version)) => match Release::choose(version) {
                Ok(choice) => {
                    out.editor.kubernetes = choice.release;
                    None
                }
                Err(error) => Some(error.to_string()),
            },
            ("policies", Value::Array(_)) => {
                out.editor.policies = paths(value, roots);
                None
            }
            ("definitions", Value::Array(_)) => {
                out.further = paths(value, roots);
                None
            }
            ("checkManifests", Value::Bool(on)) => {
                out.editor.checks_manifests = *on;
                None
            }
            ("notes", Value::Bool(on)) => {
                out.editor.shows_notes = *on;
                None
            }
            ("kubernetes" | "policies" | "definitions" | "checkManifests" | "notes", _) => {
                Some(format!("`{value}` has another type than this setting"))
            }
            // Clients have settings of their own in the section.
            _ => None,
        };
        out.mistakes.extend(mistake.map(|text| format!("setting {SECTION}.{key}: {text}")));
    }
    out.further.extend(out.editor.policies.clone());
    out.further.sort();
    out.further.dedup();
    out
}

fn paths(list: &Value, roots: &[String]) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    let of_root = |text: &str| {
        let roots = roots.iter().map(|root| Path::new(root).join(text));
        let absolute = Path::new(text).is_absolute().then(|| Path::new(text).to_path_buf());
        absolute.into_iter().chain(roots).map(|path| normal(&path)).collect::<Vec<_>>()
    };
    let mut out: Vec<String> =
        texts.flat_map(of_root).map(|path| path.to_string_lossy().into_owned()).collect();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_workspace_and_mistakes_are_named() {
        let given = serde_json::json!({"ephor": {
            "kubernetes": "1.37", "policies": ["p", "/q/../r"], "notes": false, "checkManifests": "x", "path": 1
        }});
        let read = read(&given, &["/w".into()], &ServerSettings::default());
        assert_eq!(read.editor.kubernetes, Release::V1_37);
        assert_eq!(read.editor.policies, ["/w/p", "/r"]);
        assert!(!read.editor.shows_notes && read.editor.checks_manifests);
        assert_eq!(
            read.mistakes,
            ["setting ephor.checkManifests: `\"x\"` has another type than this setting"]
        );
    }
}
