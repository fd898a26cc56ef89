//! Builds a [`Value`] from the nodes of a YAML document, in the order in which they are read.
//!
//! In: scalars, starts and ends of collections, aliases. Out: the value as JSON would hold it, or
//! why it cannot. Keys of any scalar type become text. A merge key (`<<`) adds the
//! entries of its map where it stands, so of two equal keys the later wins, explicit or merged.
//! Numbers are what a JSON text of the document would give: a float without fraction that fits 64
//! bits is an integer (`1e3` is `1000`).
//!
//! Nothing here recurses, and an alias shares its anchor's value, so neither deep nor repeated
//! structure costs stack or memory. Documents that expand too much are refused all the same, by the
//! reference's rule, which counts what a copy would have cost.

use std::collections::{HashMap, HashSet};

use super::intern::Interner;
use super::scalar::{Scalar, decode_binary};
use super::yaml_error::{DuplicateKey, NoJsonKey, YamlError};
use super::{Duplicates, MAX_DEPTH};
use ephor_value::quote::quote;
use ephor_value::{Map, Str, Value, number, print};

/// See the module page.
pub(super) struct Builder<'s> {
    stack: Vec<Frame>,
    root: Value,
    anchors: HashMap<String, Anchor>,
    anchors_seen: usize,
    duplicates: Duplicates,
    strings: &'s mut Interner,
    /// Nodes decoded, aliases counted as what they stand for.
    nodes: u64,
    /// Those of them that came from aliases.
    alias_nodes: u64,
    /// The first error that ends decoding.
    fatal: Option<YamlError>,
    /// Duplicate keys.
    duplicate_keys: Vec<DuplicateKey>,
    /// The first key that JSON cannot hold.
    bad_key: Option<YamlError>,
    non_finite: bool,
}

struct Frame {
    kind: Kind,
    anchor: Option<(String, usize)>,
    nodes_before: u64,
    /// Levels of collections below this one.
    height: usize,
    /// The key whose value comes next, if JSON cannot hold it.
    bad_key: Option<NoJsonKey>,
}

enum Kind {
    Seq(Vec<Value>),
    Map { entries: Vec<(Str, Value)>, key: Option<Key>, typed_keys: Option<HashSet<(bool, Str)>> },
}

enum Key {
    /// A key and whether it was text before it became a JSON key.
    Named(Str, bool),
    Merge,
}

struct Anchor {
    id: usize,
    /// `None` while the anchored node is still open.
    value: Option<Value>,
    nodes: u64,
    height: usize,
}

/// Whether the next node is a value or the key of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Value,
}

impl<'s> Builder<'s> {
    pub(super) fn new(duplicates: Duplicates, strings: &'s mut Interner) -> Self {
        Builder {
            stack: Vec::with_capacity(16),
            root: Value::Null,
            anchors: HashMap::new(),
            anchors_seen: 0,
            duplicates,
            strings,
            nodes: 0,
            alias_nodes: 0,
            fatal: None,
            duplicate_keys: Vec::new(),
            bad_key: None,
            non_finite: false,
        }
    }

    /// Where the next node goes.
    pub(super) fn place(&self) -> Place {
        match self.stack.last().map(|f| &f.kind) {
            Some(Kind::Map { key: None, .. }) => Place::Key,
            _ => Place::Value,
        }
    }

    /// A merge key (`<<`) instead of an ordinary one.
    pub(super) fn merge_key(&mut self) {
        self.count(1, 0);
        self.set_key(Key::Merge);
    }

    /// A scalar.
    pub(super) fn scalar(&mut self, text: &str, kind: Scalar, anchor: Option<&str>, line: u32) {
        self.count(1, 0);
        if self.place() == Place::Key && anchor.is_none() {
            let key = self.scalar_key(text, kind);
            self.set_key(key);
            return;
        }
        let value = self.scalar_value(text, kind);
        if let Some(name) = anchor {
            let id = self.next_anchor();
            self.anchors
                .insert(name.to_string(), Anchor { id, value: Some(value.clone()), nodes: 1, height: 0 });
        }
        self.put(value, 0, line, false);
    }

    /// A sequence begins.
    ///
    /// # Errors
    /// The document is nested too deeply.
    pub(super) fn start_seq(&mut self, anchor: Option<&str>) -> Result<(), YamlError> {
        self.start(Kind::Seq(Vec::new()), anchor)
    }

    /// A mapping begins.
    ///
    /// # Errors
    /// The document is nested too deeply.
    pub(super) fn start_map(&mut self, anchor: Option<&str>) -> Result<(), YamlError> {
        let typed_keys = (self.duplicates == Duplicates::Error).then(HashSet::new);
        self.start(Kind::Map { entries: Vec::with_capacity(4), key: None, typed_keys }, anchor)
    }

    fn start(&mut self, kind: Kind, anchor: Option<&str>) -> Result<(), YamlError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(YamlError::TooDeep);
        }
        let nodes_before = self.nodes;
        self.count(1, 0);
        let anchor = anchor.map(|name| {
            let id = self.next_anchor();
            self.anchors.insert(name.to_string(), Anchor { id, value: None, nodes: 0, height: 0 });
            (name.to_string(), id)
        });
        self.stack.push(Frame { kind, anchor, nodes_before, height: 0, bad_key: None });
        Ok(())
    }

    /// The innermost collection ends; `line` is the line where it began.
    pub(super) fn end(&mut self, line: u32) {
        let Some(frame) = self.stack.pop() else { return };
        let value = match frame.kind {
            Kind::Seq(items) => Value::list(items),
            Kind::Map { entries, .. } => Value::Map(unique(entries)),
        };
        let height = frame.height + 1;
        if let Some((name, id)) = frame.anchor
            && let Some(anchor) = self.anchors.get_mut(&name).filter(|a| a.id == id)
        {
            anchor.value = Some(value.clone());
            anchor.nodes = self.nodes - frame.nodes_before;
            anchor.height = height;
        }
        self.put(value, height, line, false);
    }

    /// A node that repeats an anchored one.
    ///
    /// # Errors
    /// The anchor is unknown, or the expanded document would be nested too deeply.
    pub(super) fn alias(&mut self, name: &str, line: u32) -> Result<(), YamlError> {
        let Some(anchor) = self.anchors.get(name) else {
            return Err(YamlError::UnknownAnchor(name.into()));
        };
        let (nodes, height) = (anchor.nodes, anchor.height);
        let value = anchor.value.clone();
        self.count(1, 0);
        self.count(nodes, nodes);
        if self.stack.len() + height > MAX_DEPTH {
            return Err(YamlError::TooDeep);
        }
        let value = value.unwrap_or_else(|| {
            self.fatal(|| YamlError::AnchorInItself(name.into()));
            Value::Null
        });
        self.put(value, height, line, true);
        Ok(())
    }

    /// The document's value.
    ///
    /// # Errors
    /// Whatever was wrong with the document, the gravest kind first.
    pub(super) fn finish(self) -> Result<Value, YamlError> {
        if let Some(error) = self.fatal {
            return Err(error);
        }
        if !self.duplicate_keys.is_empty() {
            return Err(YamlError::DuplicateKeys(self.duplicate_keys.into()));
        }
        if let Some(error) = self.bad_key {
            return Err(error);
        }
        if self.non_finite
            && let Some(f) = print::first_non_finite(&self.root)
        {
            return Err(YamlError::NonFinite(number::float_v(f).into()));
        }
        Ok(self.root)
    }

    /// Notes an error that a scalar's tag caused; the document is read to its end all the same,
    /// because a syntax error further down is reported first.
    pub(super) fn refuse(&mut self, error: YamlError) {
        self.fatal(|| error);
    }

    fn next_anchor(&mut self) -> usize {
        self.anchors_seen += 1;
        self.anchors_seen
    }

    fn fatal(&mut self, error: impl FnOnce() -> YamlError) {
        self.fatal.get_or_insert_with(error);
    }

    /// Counts decoded nodes and refuses what Kyverno takes for an attack.
    fn count(&mut self, nodes: u64, from_alias: u64) {
        self.nodes = self.nodes.saturating_add(nodes);
        self.alias_nodes = self.alias_nodes.saturating_add(from_alias);
        if self.alias_nodes > 100 && self.nodes > 1000 {
            let ratio = self.alias_nodes as f64 / self.nodes as f64;
            if ratio > allowed_alias_ratio(self.nodes) {
                self.fatal(|| YamlError::Aliasing);
            }
        }
    }

    fn set_key(&mut self, new: Key) {
        if let Some(Frame { kind: Kind::Map { key, .. }, .. }) = self.stack.last_mut() {
            *key = Some(new);
        }
    }

    fn put(&mut self, value: Value, height: usize, line: u32, aliased: bool) {
        let Some(frame) = self.stack.last_mut() else {
            self.root = value;
            return;
        };
        frame.height = frame.height.max(height);
        if let (Kind::Map { key: Some(_), .. }, Some(key)) = (&frame.kind, frame.bad_key.take()) {
            let shown = if value.is_null() { "<nil>".to_string() } else { go_syntax(&value) };
            self.bad_key.get_or_insert_with(|| YamlError::NoJsonKey { key, value: shown.into() });
        }
        match &mut frame.kind {
            Kind::Seq(items) => items.push(value),
            Kind::Map { entries, key, typed_keys } => match key.take() {
                None => {
                    let key = self.value_key(&value);
                    self.set_key(key);
                }
                Some(Key::Named(name, is_text)) => {
                    if let Some(keys) = typed_keys
                        && !keys.insert((is_text, name.clone()))
                    {
                        self.duplicate_keys.push(DuplicateKey { line: line + 1, name, is_text });
                        return;
                    }
                    entries.push((name, value));
                }
                // What is refused already must not keep growing.
                Some(Key::Merge) if self.fatal.is_some() => {}
                Some(Key::Merge) => {
                    // An alias may stand for one map, not for a list of maps.
                    let refused = aliased && value.as_list().is_some();
                    match merge(entries, typed_keys.as_mut(), &value).filter(|_| !refused) {
                        Some(repeated) => {
                            self.duplicate_keys.extend(repeated.into_iter().map(|name| DuplicateKey {
                                line: line + 1,
                                name,
                                is_text: true,
                            }))
                        }
                        None => self.fatal(|| YamlError::Merge),
                    }
                }
            },
        }
    }

    fn scalar_value(&mut self, text: &str, kind: Scalar) -> Value {
        match kind {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Int(i) => Value::Int(i),
            Scalar::UInt(u) => Value::UInt(u),
            Scalar::Float(f) => {
                self.non_finite |= !f.is_finite();
                json_number(f)
            }
            Scalar::Text => Value::Str(self.strings.get(text)),
            Scalar::Binary => match decode_binary(text) {
                Some(s) => Value::from(s),
                None => {
                    self.fatal(|| YamlError::Binary);
                    Value::Null
                }
            },
        }
    }

    fn scalar_key(&mut self, text: &str, kind: Scalar) -> Key {
        match kind {
            Scalar::Text => Key::Named(self.strings.get(text), true),
            Scalar::Float(f) => Key::Named(float_key(f).into(), false),
            _ => {
                let value = self.scalar_value(text, kind);
                self.value_key(&value)
            }
        }
    }

    /// The key that a value becomes. What JSON cannot hold is reported and becomes some key.
    fn value_key(&mut self, value: &Value) -> Key {
        match value {
            Value::Str(s) => Key::Named(s.clone(), true),
            Value::Bool(b) => Key::Named(if *b { "true" } else { "false" }.into(), false),
            Value::Int(i) => Key::Named(i.to_string().into(), false),
            Value::Float(f) => Key::Named(float_key(*f).into(), false),
            Value::UInt(u) => {
                self.bad_key(NoJsonKey::UInt(*u));
                Key::Named(u.to_string().into(), false)
            }
            Value::Null => {
                self.bad_key(NoJsonKey::Null);
                Key::Named("".into(), false)
            }
            _ => {
                self.fatal(|| YamlError::MapKey(go_syntax(value).into()));
                Key::Named("".into(), false)
            }
        }
    }

    fn bad_key(&mut self, key: NoJsonKey) {
        if let Some(frame) = self.stack.last_mut() {
            frame.bad_key = Some(key);
        }
    }
}

/// Adds the entries of a map, or of the maps of a list with the first taking precedence. `keys` are
/// those seen so far where a second one is an error; the result names the repeated ones, or is
/// `None` when the value cannot be merged.
fn merge(
    entries: &mut Vec<(Str, Value)>,
    mut keys: Option<&mut HashSet<(bool, Str)>>,
    value: &Value,
) -> Option<Vec<Str>> {
    let mut repeated = Vec::new();
    let mut add = |m: &Map| {
        for (k, v) in m.iter() {
            if keys.as_mut().is_some_and(|keys| !keys.insert((true, k.clone()))) {
                repeated.push(k.clone());
            } else {
                entries.push((k.clone(), v.clone()));
            }
        }
    };
    match value {
        Value::Map(m) => add(m),
        Value::List(l) => {
            for item in l.iter().rev() {
                add(item.as_map()?);
            }
        }
        _ => return None,
    }
    Some(repeated)
}

/// An object of the entries; of equal keys the last value wins, in the place of the first.
pub(super) fn unique(entries: Vec<(Str, Value)>) -> Map {
    let repeated = if entries.len() <= 16 {
        entries.iter().enumerate().any(|(i, (k, _))| entries.iter().take(i).any(|(other, _)| other == k))
    } else {
        let mut seen = HashSet::with_capacity(entries.len());
        !entries.iter().all(|(k, _)| seen.insert(&**k))
    };
    if repeated { entries.into_iter().collect() } else { Map::from_unique(entries) }
}

/// The share of decoded nodes that may come from aliases: 99 % in small documents, 10 % in large.
fn allowed_alias_ratio(nodes: u64) -> f64 {
    const LOW: u64 = 400_000;
    const HIGH: u64 = 4_000_000;
    match nodes {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((nodes - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

/// The number that JSON text of this double reads back as.
fn json_number(f: f64) -> Value {
    Value::Float(f).with_whole_numbers()
}

/// A float key is printed with single precision, and only this way, by Kyverno.
fn float_key(f: f64) -> String {
    let single = f as f32;
    if single.is_nan() {
        return ".nan".to_string();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_string();
    }
    // The shortest digits of the single, read back as a double, print the same.
    number::float_v(format!("{single:e}").parse().unwrap_or(f))
}

/// A key as Kyverno's error text shows it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_string(),
        Value::Str(s) => quote(s),
        Value::UInt(u) => format!("{u:#x}"),
        Value::List(l) => {
            format!("[]interface {{}}{{{}}}", l.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Map(m) => {
            let entries: Vec<_> =
                m.sorted().into_iter().map(|(k, v)| format!("{}:{}", quote(k), go_syntax(v))).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
        other => print::display(other),
    }
}
