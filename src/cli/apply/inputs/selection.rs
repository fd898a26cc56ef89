//! Which objects policies are applied on, of all that were read.
//!
//! In: a shard, and kinds. Out: whether an object is one of them. What is left out may still be
//! looked up by rules.

use ephor_matching::kinds::KindSelector;
use ephor_testing::inputs::identity::is_in_shard;
use ephor_value::Value;
use ephor_value::shard::Shard;

/// See the module page.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Selection {
    /// The part of the objects.
    pub shard: Shard,
    /// Their kinds; none = all.
    pub kinds: Vec<KindSelector>,
}

impl Selection {
    /// Whether an object with this position among all is one of them.
    pub fn has(&self, object: &Value, at: u64) -> bool {
        self.has_kind(object) && is_in_shard(self.shard, object, at)
    }

    /// Whether it has all objects.
    pub fn is_whole(&self) -> bool {
        self.shard.is_whole() && self.kinds.is_empty()
    }

    fn has_kind(&self, object: &Value) -> bool {
        let api_version = object.text_at(&["apiVersion"]);
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let kind = object.text_at(&["kind"]);
        self.kinds.is_empty() || self.kinds.iter().any(|selector| selector.matches(group, version, kind, ""))
    }
}
