//! The parts of a request that results can depend on.
//!
//! [`Reads`] is what rules read, [`ReadTree`] what they read of one value, [`Step`] a step into a
//! value.

use ephor_value::{Str, footprint};

/// Results of these rules have dependencies that static analysis cannot see: they are not
/// cacheable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untracked;

/// Whether all of something was read.
pub(crate) type Done = Result<(), Untracked>;

/// A step from a value into it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The value under a key.
    Key(Str),
    /// The items of a list, or the keys and values of an object.
    Items,
    /// The items of a list; an object has none.
    Nested,
}

/// What is read of a value: always its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadTree {
    /// All of it is read.
    pub whole: bool,
    /// The keys that are read of what is read as a whole.
    pub named: Vec<Str>,
    /// All of it is compared with the value at another place, for equality, and nothing else is
    /// read of it.
    pub compared: bool,
    /// The keys are read; all of what is no object.
    pub names: bool,
    /// What is read under keys of an object.
    pub keys: Vec<(Str, ReadTree)>,
    /// What is read of the items of a list, or of the values of an object, whose keys are read
    /// then.
    pub items: Option<Box<ReadTree>>,
    /// What is read of the items of a list.
    pub nested: Option<Box<ReadTree>>,
}

impl ReadTree {
    /// What is read of items, of those of nested lists too.
    pub fn of_items(&self) -> ReadTree {
        let mut below = self.items.as_deref().cloned().unwrap_or_default();
        if let Some(nested) = &self.nested {
            below.merge(nested);
        }
        below
    }

    /// All of a value.
    pub fn all() -> ReadTree {
        ReadTree { whole: true, ..ReadTree::default() }
    }

    /// Adds the value at the end of some steps.
    pub fn add(&mut self, steps: &[Step], whole: bool) {
        match self.at(steps) {
            Some(tree) if whole => tree.merge(&ReadTree::all()),
            Some(_) => {}
            None => self.read_of_whole(steps, whole),
        }
    }

    /// Something is read of a value of which all is compared: its shape, all of it, or what is
    /// below.
    fn read_of_whole(&mut self, steps: &[Step], whole: bool) {
        if self.whole {
            self.compared &= steps.is_empty() && !whole;
            if let Some(Step::Key(key)) = steps.first() {
                self.name_key(key);
            }
            return;
        }
        match steps.split_first() {
            None => {}
            Some((Step::Items, rest)) => {
                self.items.iter_mut().for_each(|tree| tree.read_of_whole(rest, whole))
            }
            Some((Step::Nested, rest)) => {
                self.nested.iter_mut().for_each(|tree| tree.read_of_whole(rest, whole))
            }
            Some((Step::Key(key), rest)) => self.under(key).read_of_whole(rest, whole),
        }
    }

    /// Adds the value at the end of some steps, which is compared with another one.
    pub fn add_compared(&mut self, steps: &[Step]) {
        match self.at(steps) {
            Some(tree) => tree.merge(&ReadTree { compared: true, ..ReadTree::all() }),
            // It may be compared again.
            None => self.read_of_whole(steps, false),
        }
    }

    /// Adds the names of the fields of the object at the end of some steps.
    pub fn add_names(&mut self, steps: &[Step]) {
        match self.at(steps) {
            Some(tree) => tree.names = true,
            None => self.read_of_whole(steps, true),
        }
    }

    /// Whether nothing but the shape is read.
    fn is_shape(&self) -> bool {
        *self == ReadTree::default() || (self.whole && self.compared)
    }

    /// Adds what another tree reads.
    pub fn merge(&mut self, other: &ReadTree) {
        if self.whole || other.whole {
            let compared = self.is_shape() && other.is_shape();
            let mut found = ReadTree { compared, ..ReadTree::all() };
            for key in [&*self, other]
                .into_iter()
                .flat_map(|tree| tree.named.iter().chain(tree.keys.iter().map(|(key, _)| key)))
            {
                found.name_key(key);
            }
            *self = found;
            return;
        }
        self.names |= other.names;
        for (key, below) in &other.keys {
            self.under(key).merge(below);
        }
        if let Some(other) = &other.items {
            self.items.get_or_insert_default().merge(other);
        }
        if let Some(other) = &other.nested {
            self.nested.get_or_insert_default().merge(other);
        }
    }

    fn name_key(&mut self, key: &Str) {
        if !self.named.contains(key) {
            self.named.push(key.clone());
        }
    }

    fn under(&mut self, key: &Str) -> &mut ReadTree {
        let at = self.keys.iter().position(|(k, _)| k == key).unwrap_or_else(|| {
            self.keys.push((key.clone(), ReadTree::default()));
            self.keys.len() - 1
        });
        &mut self.keys[at].1
    }

    /// The tree at the end of some steps; `None` = all of something on the way is read.
    fn at(&mut self, steps: &[Step]) -> Option<&mut ReadTree> {
        if self.whole {
            return None;
        }
        match steps.split_first() {
            None => Some(self),
            Some((Step::Items, rest)) => self.items.get_or_insert_default().at(rest),
            Some((Step::Nested, rest)) => self.nested.get_or_insert_default().at(rest),
            Some((Step::Key(key), rest)) => self.under(key).at(rest),
        }
    }

    /// Takes the spare room from all lists.
    fn fit(&mut self) {
        footprint::fit(&mut self.named);
        footprint::fit(&mut self.keys);
        let below = self.keys.iter_mut().map(|(_, tree)| tree);
        below.chain(self.items.as_deref_mut()).chain(self.nested.as_deref_mut()).for_each(ReadTree::fit);
    }

    /// The bytes on the heap that it leads to; of texts, those that nothing else holds.
    fn footprint(&self) -> usize {
        let boxes = [&self.items, &self.nested].into_iter().flatten().map(AsRef::as_ref);
        let boxed: usize = boxes.map(|tree: &ReadTree| size_of::<ReadTree>() + tree.footprint()).sum();
        let below: usize = self.keys.iter().map(|(_, tree)| tree.footprint()).sum();
        let texts = self.named.iter().chain(self.keys.iter().map(|(key, _)| key));
        let texts: usize = texts.map(footprint::of_own).sum();
        footprint::of_vec(&self.named) + footprint::of_vec(&self.keys) + texts + below + boxed
    }

    /// What is read under a key; `None` = nothing.
    pub fn get(&self, key: &str) -> Option<&ReadTree> {
        self.keys.iter().find(|(k, _)| **k == *key).map(|(_, below)| below)
    }
}

/// What expressions read of who makes a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserReads {
    /// The name, or parts of it.
    pub name: bool,
    /// The groups.
    pub groups: bool,
    /// The roles.
    pub roles: bool,
    /// The cluster roles.
    pub cluster_roles: bool,
}

impl UserReads {
    /// All that a request says in `userInfo`.
    pub const INFO: UserReads = UserReads { name: true, groups: true, roles: false, cluster_roles: false };

    /// Adds what another expression reads.
    pub fn merge(&mut self, other: UserReads) {
        self.name |= other.name;
        self.groups |= other.groups;
        self.roles |= other.roles;
        self.cluster_roles |= other.cluster_roles;
    }
}

/// What is read of a request. These always count as read and are not listed: the operation, the
/// kind and resource with what the request says of them, the namespace with its labels, the
/// options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Of the new object, which is null in deletions.
    pub object: ReadTree,
    /// Of the former object.
    pub old: ReadTree,
    /// Of the object that rules match: the new one or else the former one.
    pub shown: ReadTree,
    /// Of the namespace as an object.
    pub namespace: ReadTree,
    /// The name of the object, as the request gives it.
    pub name: bool,
    /// Who makes the request.
    pub user: bool,
    /// The same, by an expression: its constants may be names of users, groups and roles.
    pub by_expression: UserReads,
    /// Whether of the user more than the name and the groups is read, or whether the request is a
    /// dry run and how it is sent.
    pub more_of_request: bool,
    /// External data, the clock or chance may be read, which is noted when it happens
    /// (`functions::untracked`).
    pub external: bool,
}

impl Reads {
    /// Adds what another one reads.
    pub fn merge(&mut self, other: &Reads) {
        self.object.merge(&other.object);
        self.old.merge(&other.old);
        self.shown.merge(&other.shown);
        self.namespace.merge(&other.namespace);
        self.name |= other.name;
        self.user |= other.user;
        self.by_expression.merge(other.by_expression);
        self.more_of_request |= other.more_of_request;
        self.external |= other.external;
    }

    /// Takes the spare room from all lists, for readers that retain it.
    pub fn fit(&mut self) {
        let trees = [&mut self.object, &mut self.old, &mut self.shown, &mut self.namespace];
        trees.into_iter().for_each(ReadTree::fit);
    }

    /// The bytes on the heap that it leads to, besides its own; of texts, those that nothing else
    /// holds.
    pub fn footprint(&self) -> usize {
        [&self.object, &self.old, &self.shown, &self.namespace].into_iter().map(ReadTree::footprint).sum()
    }

    /// Whether something is read that differs from object to object: its name, what a server writes
    /// into its metadata, or all of it.
    pub fn distinguishes_objects(&self) -> bool {
        const OWN: [&str; 7] = [
            "name",
            "generateName",
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
            "generation",
        ];
        let apart = |tree: &ReadTree| {
            tree.whole
                || tree.items.is_some()
                || tree.names
                || tree.get("status").is_some()
                || tree.get("metadata").is_some_and(|m| {
                    m.whole || m.names || m.items.is_some() || OWN.iter().any(|key| m.get(key).is_some())
                })
        };
        self.name || self.user || apart(&self.object) || apart(&self.old) || apart(&self.shown)
    }
}

/// The label that an API server gives each namespace: its name.
pub const NAME_OF_NAMESPACE: &str = "kubernetes.io/metadata.name";

/// Names that the data has before any binding.
pub const GIVEN: [&str; 7] = [
    "request",
    "images",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
    "target",
];
