//! Answers of lookups, one of each class.
//!
//! In: what is read of the answers of an object, each under the words of its request
//! (`inputs::lookup`). Out: the answers: none, for a request that fails; null, for an object that
//! does not exist; the objects and lists of its kind, as an API server shows them; what registries
//! say of images.

use std::collections::{BTreeSet, HashMap};

use ephor_analysis::reads::{ReadTree, Step};
use ephor_kubernetes::Kinds;
use ephor_kubernetes::admitted::{admitted, smallest};
use ephor_kubernetes::convert::api_version;
use ephor_kubernetes::schema::{Leaf, ListKind, Type, Whole};
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Map, Str, Value};

use crate::admitted::view::{refuses_wildcards, with_answers};
use crate::inputs::context_entries::INPUTS;
use crate::inputs::derived::{DerivedValues, computed};
use crate::objects::choice::{ABSENT, Choice, plain};
use crate::objects::domain::Domain;

impl Domain<'_> {
    /// Objects with an answer for each request.
    pub(crate) fn answers(&mut self, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let mut all = vec![Choice { value: Some(Value::Map(Map::new())), items: 0 }];
        if tree.whole || tree.names || tree.items.is_some() {
            self.not_all("all data from outside is read");
        }
        // Their types are those that rules expect, where nothing is known of them: a proof is
        // relative to them.
        let is_assumed = self.is_assumed;
        self.path.push(INPUTS.into());
        self.at.push(Step::Key(INPUTS.into()));
        for (key, below) in &tree.keys {
            self.path.push(key.clone());
            self.at.push(Step::Key(key.clone()));
            let choices = self.answer(key, below, depth + 1);
            self.at.pop();
            self.path.pop();
            all = self.product(all, key, &choices, &[]);
        }
        self.at.pop();
        self.path.pop();
        self.is_assumed = is_assumed;
        all
    }

    /// Items with an answer for each request, as far as it is read: that of one language is read
    /// where a name is none.
    pub(crate) fn with_answers(&mut self, items: Vec<Choice>, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let key = Str::from(INPUTS);
        let fields: BTreeSet<Option<&str>> = tree.keys.iter().map(|(key, _)| field_of(key)).collect();
        let mut fields = fields.into_iter();
        let (Some(Some(field)), None) = (fields.next(), fields.next()) else {
            let answers = self.answers(tree, depth);
            return self.product(items, &key, &answers, &[]);
        };
        let is_named = |choice: &Choice| {
            let name = choice.value.as_ref().and_then(|item| item.get(field)).and_then(Value::as_str);
            name.is_some_and(|name| !name.is_empty())
        };
        let (named, others): (Vec<Choice>, Vec<Choice>) = items.into_iter().partition(is_named);
        let mut all = Vec::new();
        for (items, own) in [(named, false), (others, true)] {
            let mut read = tree.clone();
            read.keys.retain(|(key, _)| is_own(&key.split('|').collect::<Vec<_>>()) == own);
            let answers = self.answers(&read, depth);
            all.extend(self.product(items, &key, &answers, &[]));
        }
        all
    }

    fn answer(&mut self, key: &Str, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let words: Vec<&str> = key.split('|').collect();
        if let Some(DerivedValues::OneOf(values, optional)) = computed(key) {
            return optional.then_some(ABSENT).into_iter().chain(values.into_iter().map(plain)).collect();
        }
        let mut all = vec![ABSENT];
        match *words {
            [_] => all.extend(self.untyped(key, tree, depth)),
            ["get", group, version, kind, ..] if !is_own(&words) => {
                all.push(plain(Value::Null));
                let kind = [group, version, kind].map(Str::from);
                all.extend(self.objects_of(Some(&kind), tree, true, depth));
            }
            ["list", group, version, kind, ..] if !is_own(&words) => {
                let kind = [group, version, kind].map(Str::from);
                all.extend(self.listed_objects(kind, tree, depth));
            }
            ["image", ..] => all.extend(self.images(tree, depth)),
            _ => all.extend(self.as_json(|own| own.untyped(key, tree, depth))),
        }
        all
    }

    fn as_json<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.is_json, true);
        let built = build(self);
        self.is_json = outside;
        built
    }

    /// Lists of objects of a kind.
    fn listed_objects(&mut self, kind: [Str; 3], tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let other = tree.keys.iter().any(|(key, _)| **key != *"items");
        if other || tree.whole || tree.names || tree.items.is_some() {
            self.not_all("more than the items of a list of objects is read");
        }
        let Some(items) = tree.get("items") else {
            let empty = Value::map([("items", Value::list(Vec::new()))]);
            return vec![plain(empty)];
        };
        let items_key = Str::from("items");
        self.path.push(items_key.clone());
        self.at.push(Step::Key(items_key.clone()));
        self.items_of = Some(kind);
        let lists = self.lists(&items_key, items, None, false, depth + 1);
        self.items_of = None;
        self.at.pop();
        self.path.pop();
        let of = |choice: Choice| {
            let value = Value::map([("items", choice.value.unwrap_or_default())]);
            Choice { value: Some(value), ..choice }
        };
        lists.into_iter().map(of).collect()
    }

    /// Objects of a kind, as an API server shows them. `alone`: they are no items of a list, so
    /// they have their kind.
    pub(crate) fn objects_of(
        &mut self,
        kind: Option<&[Str; 3]>,
        tree: &ReadTree,
        alone: bool,
        depth: usize,
    ) -> Vec<Choice> {
        let empty = Value::Map(Map::new());
        let Some((kind, def)) = kind.and_then(|kind| Some((kind, self.types.of_object(kind).cloned()?)))
        else {
            let key = self.path.last().cloned().unwrap_or_default();
            return self.as_json(|own| own.untyped(&key, tree, depth));
        };
        let mut below = tree.clone();
        below.keys.retain(|(key, _)| !matches!(&**key, "apiVersion" | "kind"));
        let reads_kind = below.keys.len() != tree.keys.len();
        if tree.whole || tree.names || tree.items.is_some() || (reads_kind && !alone) {
            self.not_all("all of an object from outside is read");
        }
        let [group, version, name] = kind;
        let known = Kinds::built_in().kind(group, version, name);
        let mut metadata = Map::new();
        metadata.insert("name", Value::from("a"));
        if known.is_none_or(|known| known.namespaced) {
            metadata.insert("namespace", Value::from("default"));
        }
        let least = smallest(kind).unwrap_or(empty).with("metadata", Value::Map(metadata));
        let outside = std::mem::replace(&mut self.kind, kind.clone());
        let found = self.fields(&below, Some(&def), Some(&least), depth.max(1));
        self.kind = outside;
        let api_version = api_version(kind);
        // Names of the core group are labels or domains; there are no namespaces of other names.
        let is_core = group.is_empty();
        let is_named = |object: &Value| {
            ["name", "namespace"].iter().all(|key| {
                let name = object.at(&["metadata", key]).and_then(Value::as_str);
                let has_form = *key == "namespace" || is_core;
                !name.is_some_and(|name| name.is_empty() || (has_form && has_wildcard(name)))
            })
        };
        let of = |choice: Choice| {
            let object = choice.value.as_ref()?;
            let object =
                object.with("apiVersion", Value::from(&*api_version)).with("kind", Value::Str(name.clone()));
            is_named(&object).then_some(())?;
            let shown = match with_answers(&object, |own| admitted(kind, own)) {
                Some(Ok(shown)) => shown,
                // An API server refuses all that have a text with wildcards there, so there is
                // none.
                Some(Err(refusal)) if refuses_wildcards(kind, &object, &refusal, &admitted) => return None,
                _ => object,
            };
            let shown = match (alone, shown) {
                (false, Value::Map(map)) => {
                    let rest = map.iter().filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind"));
                    Value::Map(rest.map(|(key, value)| (key.clone(), value.clone())).collect())
                }
                (_, shown) => shown,
            };
            Some(Choice { value: Some(shown), ..choice })
        };
        // An API server shows some alike.
        let mut all: Vec<Choice> = Vec::new();
        let mut known = Fewest::default();
        for choice in found.into_iter().filter_map(of) {
            if known.is_new(&choice) {
                all.push(choice);
            }
        }
        all
    }

    /// What registries say of images, as far as all languages see the same of it.
    fn images(&mut self, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        if tree.whole || tree.names || tree.items.is_some() {
            self.not_all("all that a registry says of an image is read");
        }
        let mut all = vec![Choice { value: Some(Value::Map(Map::new())), items: 0 }];
        for (part, below) in &tree.keys {
            let is_apart = part.ends_with(" of entries");
            let is_known = match &**part {
                "config" => are_keys_of(below, &CONFIG),
                "manifest" => are_keys_of(below, &MANIFEST),
                "image" | "registry" | "repository" => true,
                _ => is_apart,
            };
            if !is_known {
                self.not_all("what languages see of an image in different ways");
            }
            self.path.push(part.clone());
            self.at.push(Step::Key(part.clone()));
            let choices = match &**part {
                "config" | "manifest" => {
                    let parts = self.as_json(|own| own.fields(below, None, None, depth + 1));
                    // They have no fields of their own that are null.
                    let is_set = |one: &Choice| {
                        let fields = one.value.as_ref().and_then(Value::as_map);
                        fields.is_some_and(|fields| fields.iter().all(|(_, value)| !value.is_null()))
                    };
                    parts.into_iter().filter(is_set).collect()
                }
                "manifestList of entries" => self.as_json(|own| own.untyped(part, below, depth + 1)),
                // Nothing but whether these are there is read, and they are.
                _ if *below == ReadTree::default() => vec![plain(Value::from("a"))],
                _ if is_known => {
                    let text = Type::Leaf(Leaf::String);
                    self.of(part, below, Some(&text), true, None, depth + 1)
                }
                _ => self.as_json(|own| own.untyped(part, below, depth + 1)),
            };
            self.at.pop();
            self.path.pop();
            all = self.product(all, part, &choices, &[]);
        }
        all
    }
}

/// Values that are known, each with the fewest items that it was found with: so found it stands for
/// the same with more.
#[derive(Default)]
struct Fewest(HashMap<Option<Value>, usize>);

impl Fewest {
    fn is_new(&mut self, choice: &Choice) -> bool {
        let fewest = self.0.entry(choice.value.clone()).or_insert(usize::MAX);
        let is_new = choice.items < *fewest;
        *fewest = choice.items.min(*fewest);
        is_new
    }
}

/// The field of an item that the words of a request name, where they name no field of the object
/// besides.
fn field_of(words: &str) -> Option<&str> {
    let mut fields = words.split('|').filter_map(|word| word.strip_prefix("item."));
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    (!words.split('|').any(|word| word.starts_with("object."))).then_some(field)
}

/// Whether the words are those of one language.
fn is_own(words: &[&str]) -> bool {
    matches!(words.last(), Some(&"expressions" | &"entries"))
}

/// The type of a field of what a registry says of an image, by the way to it; it may also be null.
pub(crate) fn of_image(path: &[Str]) -> Option<Type> {
    let start = path.iter().rposition(|key| key.starts_with("image|"))?;
    let way: Vec<&str> = path.get(start + 1..)?.iter().map(|key| &**key).collect();
    let text = Type::Leaf(Leaf::String);
    if matches!(way.last().and_then(|key| computed(key)), Some(DerivedValues::Number)) {
        return Some(Type::Leaf(Leaf::Double));
    }
    Some(match *way {
        ["image" | "registry" | "repository"] => text,
        ["config", "architecture" | "author" | "os" | "variant"] => text,
        ["config", "config", "Cmd" | "Entrypoint" | "Env" | "OnBuild" | "Shell"] => {
            Type::List(ListKind::Atomic, Box::new(text))
        }
        ["config", "config", "ExposedPorts" | "Volumes"] => {
            // Sets of names.
            let nothing = Type::Map(Box::new(Type::Leaf(Leaf::Any)), Whole::Merged);
            Type::Map(Box::new(nothing), Whole::Merged)
        }
        ["config", "config", "Labels"] | ["manifest", "annotations"] => {
            Type::Map(Box::new(text), Whole::Merged)
        }
        ["config", "config", "User" | "WorkingDir" | "StopSignal"] | ["manifest", "mediaType"] => text,
        _ => return None,
    })
}

/// What languages see alike of the configuration of an image, and of its manifest.
const CONFIG: [&str; 10] = [
    "architecture",
    "author",
    "container",
    "docker_version",
    "os",
    "rootfs",
    "config",
    "os.version",
    "variant",
    "os.features",
];
const MANIFEST: [&str; 6] = ["schemaVersion", "mediaType", "config", "layers", "annotations", "subject"];

fn are_keys_of(tree: &ReadTree, known: &[&str]) -> bool {
    !tree.whole
        && !tree.names
        && tree.items.is_none()
        && tree.keys.iter().all(|(key, _)| known.contains(&&**key) || computed(key).is_some())
}
