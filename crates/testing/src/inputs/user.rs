//! User information files: the user of the requests.

use ephor_engine::request::UserParts;
use ephor_value::Value;

use super::Refused;
use super::strict::{self, API_VERSION, Field, KIND, METADATA, Object, Shape, field};

const fn part(name: &'static str, shape: Shape) -> Field {
    field(name, shape).part_of("RequestInfo")
}

/// A user information file.
pub const FILE: Object = Object {
    name: "UserInfo",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", METADATA),
        part("roles", Shape::List(&Shape::Text)),
        part("clusterRoles", Shape::List(&Shape::Text)),
        part("userInfo", Shape::Object(&ACCOUNT)),
        part("synchronize", Shape::Flag),
    ],
};

const ACCOUNT: Object = Object {
    // That of Kubernetes, unlike the file.
    name: "UserInfo",
    fields: &[
        field("username", Shape::Text),
        field("uid", Shape::Text),
        field("groups", Shape::List(&Shape::Text)),
        field("extra", Shape::Lists("v1.ExtraValue", &Shape::Text)),
    ],
};

/// Reads a user information file; the flag reports that its kind or version is missing, as in the
/// deprecated schema.
///
/// # Errors
/// Kyverno's text.
pub fn read(path: &str) -> Result<(UserParts, bool), Refused> {
    let text = super::read(path).map_err(|cause| {
        format!("failed to load request info (unable to read yaml (unable to read yaml ({cause})))")
    })?;
    parse(path, &text)
}

/// Reads the text of such a file, which errors call by this name.
///
/// # Errors
/// Kyverno's text.
pub fn parse(name: &str, text: &str) -> Result<(UserParts, bool), Refused> {
    let doc = strict::parse(name, text, &FILE).map_err(|(cause, hint)| Refused {
        notice: None,
        text: format!("failed to load request info (failed to decode yaml ({cause}))"),
        hint,
    })?;
    let strings = |key: &str| -> Vec<String> {
        let items = doc.get(key).and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(|s| s.as_str().map(String::from)).collect()
    };
    let user = UserParts {
        info: doc.get("userInfo").cloned().unwrap_or_default(),
        roles: strings("roles"),
        cluster_roles: strings("clusterRoles"),
    };
    let deprecated = doc.text_at(&["apiVersion"]).is_empty() || doc.text_at(&["kind"]).is_empty();
    Ok((user, deprecated))
}

/// What Kyverno prints of a file of the deprecated schema.
pub fn deprecated(path: &str) -> String {
    format!("\nWARNING: user infos file ({path}) uses a deprecated schema that will be removed in 1.15\n")
}
