//! The parts of a request that results depend on, as bytes: equal bytes, equal parts.

use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads};
use ephor_engine::Request;
use ephor_kubernetes::Kinds;
use ephor_matching::Target;
use ephor_value::{Map, Str, Value};

/// Results of requests of which more than this is read are not cached. What is read is hashed for
/// every request; results that are not cached are evaluated again.
const MAX_READ: usize = 1 << 20;

/// Results about deeper objects are not cached. They are evaluated again.
const MAX_DEPTH: usize = 256;

/// What is evaluated: how its parts become bytes.
pub trait Subject {
    /// The kind of its object.
    fn kind(&self) -> &Str;

    /// The kinds of the cluster.
    fn kinds(&self) -> Option<&Arc<Kinds>>;

    /// What all results can depend on.
    fn circumstances(&self, out: &mut Bytes);

    /// What some results can depend on.
    fn reads(&self, reads: &Reads, out: &mut Bytes);
}

/// The bytes of parts.
#[derive(Default)]
pub struct Bytes {
    out: Vec<u8>,
    /// Something has no bytes.
    lost: bool,
}

/// Fields of a request as it was sent that are added on their own, or not at all.
const APART: [&str; 5] = ["object", "oldObject", "name", "uid", "userInfo"];

impl Bytes {
    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.out.clear();
        self.lost = false;
    }

    /// A digest of other bytes.
    pub fn digest(&mut self, digest: u128) {
        self.out.extend_from_slice(&digest.to_le_bytes());
    }

    /// All bytes; `None` = something has no bytes, or there are too many.
    pub fn bytes(&self) -> Option<&[u8]> {
        (!self.lost && self.out.len() <= MAX_READ).then_some(&*self.out)
    }

    /// A number; most are small.
    pub fn number(&mut self, n: u64) {
        match u8::try_from(n) {
            Ok(n) if n < u8::MAX => self.out.push(n),
            _ => {
                self.out.push(u8::MAX);
                self.out.extend_from_slice(&n.to_le_bytes());
            }
        }
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A request as it was sent, without what is added on its own.
    pub fn sent(&mut self, sent: Option<&Map>) {
        let sent = sent.into_iter().flat_map(Map::iter).filter(|(k, _)| !APART.contains(&&***k));
        self.number(sent.clone().count() as u64);
        for (key, value) in sent {
            self.text(key);
            self.value(value, 0);
        }
    }

    /// What a tree selects of a value.
    pub fn tree(&mut self, tree: &ReadTree, value: &Value, depth: usize) {
        if tree.whole {
            return self.value(value, depth);
        }
        match value {
            Value::Map(m) => {
                self.out.extend([b'm', u8::from(m.is_empty())]);
                if tree.names {
                    self.number(m.len() as u64);
                    m.keys().for_each(|key| self.text(key));
                }
                for (key, below) in &tree.keys {
                    match m.get(key) {
                        None => self.out.push(b'-'),
                        Some(value) => self.tree(below, value, depth + 1),
                    }
                }
                if let Some(below) = &tree.items {
                    self.number(m.len() as u64);
                    for (key, value) in m.iter() {
                        self.text(key);
                        self.tree(below, value, depth + 1);
                    }
                }
            }
            Value::List(_) if tree.names => self.value(value, depth),
            Value::List(items) => {
                self.out.push(b'l');
                self.number(items.len() as u64);
                for below in [&tree.items, &tree.nested].into_iter().flatten() {
                    items.iter().for_each(|item| self.tree(below, item, depth + 1));
                }
            }
            scalar => self.value(scalar, depth),
        }
    }

    fn map(&mut self, m: &Map, depth: usize) {
        self.out.push(b'M');
        self.number(m.len() as u64);
        for (key, value) in m.iter() {
            self.text(key);
            self.value(value, depth);
        }
    }

    /// All of a value.
    pub fn value(&mut self, value: &Value, depth: usize) {
        if self.out.len() > MAX_READ || depth > MAX_DEPTH {
            self.lost = true;
            return;
        }
        match value {
            Value::Null => self.out.push(b'n'),
            Value::Bool(b) => self.out.extend([b'b', u8::from(*b)]),
            Value::Int(i) => {
                self.out.push(b'i');
                self.out.extend_from_slice(&i.to_le_bytes());
            }
            Value::UInt(u) => {
                self.out.push(b'u');
                self.out.extend_from_slice(&u.to_le_bytes());
            }
            Value::Float(f) => {
                self.out.push(b'f');
                self.out.extend_from_slice(&f.to_le_bytes());
            }
            Value::Str(s) => {
                self.out.push(b's');
                self.text(s);
            }
            Value::List(items) => {
                self.out.push(b'L');
                self.number(items.len() as u64);
                items.iter().for_each(|item| self.value(item, depth + 1));
            }
            Value::Map(m) => self.map(m, depth + 1),
            // No document holds these.
            Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::Object(_) => self.lost = true,
        }
    }
}

impl Subject for Request {
    fn kind(&self) -> &Str {
        &self.target.kind
    }

    fn kinds(&self) -> Option<&Arc<Kinds>> {
        self.target.kinds.as_ref()
    }

    fn circumstances(&self, out: &mut Bytes) {
        let t = &self.target;
        for text in [&t.group, &t.version, &t.kind, &t.subresource, &t.namespace, &t.operation] {
            out.text(text);
        }
        if &*t.kind == "Namespace" {
            out.text(&t.name);
        }
        let known = [t.exists, t.namespace_known, t.user.is_some(), t.old_labels.is_some()];
        let how = [self.details, self.unchanged, self.doubles, self.later_root.is_some()];
        out.out.extend(known.map(u8::from));
        out.out.extend(how.map(u8::from));
        out.map(&t.namespace_labels, 0);
        out.text(self.object_or_old().text_at(&["metadata", "namespace"]));
        out.sent(self.sent.as_ref());
    }

    fn reads(&self, reads: &Reads, out: &mut Bytes) {
        let Target { name, user, .. } = &self.target;
        if reads.name {
            out.text(name);
            let sent = self.sent.as_ref().and_then(|sent| sent.get("name"));
            out.value(sent.unwrap_or(&Value::Null), 0);
            for key in ["name", "generateName"] {
                out.text(self.object_or_old().text_at(&["metadata", key]));
            }
        }
        if let Some(user) = user.as_deref().filter(|_| reads.user) {
            out.text(&user.name);
            for list in [&user.groups, &user.roles, &user.cluster_roles] {
                out.number(list.len() as u64);
                list.iter().for_each(|text| out.text(text));
            }
            let sent = self.sent.as_ref().and_then(|sent| sent.get("userInfo"));
            out.value(sent.unwrap_or(&Value::Null), 0);
        }
        for (tree, value) in [
            (&reads.object, &self.object),
            (&reads.old, &self.old_object),
            (&reads.shown, self.object_or_old()),
            (&reads.namespace, &self.namespace),
        ] {
            // An object that nothing is read of is there or not all the same.
            out.tree(tree, value, 0);
        }
    }
}
