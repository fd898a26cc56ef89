//! The overloads of CEL's functions: which there are, and which library declares them.
//!
//! In: the library texts, one overload a line; a line `# TEXT` is the title, `## TEXT` what the
//! function on the lines below does. Out: the overloads of a [`Library`], which an environment
//! declares, and of a name, which are the registry's column of types. Every text is read once.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::types::{self, Type};
use ephor_value::Str;

/// An overload of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Overload {
    /// The parameters, the receiver first.
    pub params: Vec<Type>,
    /// The result.
    pub result: Type,
    /// Whether it is called on a receiver.
    pub member: bool,
    /// Names of type parameters in it.
    pub type_params: Vec<Str>,
}

impl Overload {
    /// An overload with these parameters and result.
    pub fn new(params: Vec<Type>, result: Type, member: bool) -> Overload {
        let mut type_params = Vec::new();
        for t in params.iter().chain([&result]) {
            collect_params(t, &mut type_params);
        }
        Overload { params, result, member, type_params }
    }
}

fn collect_params(t: &Type, into: &mut Vec<Str>) {
    match t {
        Type::Param(name) if !into.contains(name) => into.push(name.clone()),
        t => t.parameters().into_iter().for_each(|p| collect_params(p, into)),
    }
}

/// A function of a library, as the page of functions shows it.
#[derive(Clone, Debug)]
pub struct Documented {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one phrase.
    pub note: &'static str,
    /// Its overloads there.
    pub overloads: Vec<Overload>,
}

/// Functions by name.
pub type Functions = HashMap<&'static str, Vec<Overload>>;

/// Overloads that environments have together.
pub struct Library {
    text: &'static str,
    read: OnceLock<Vec<(&'static str, Overload)>>,
}

impl Library {
    /// The library of a text with an overload on each line: `name(params) result`, or
    /// `Receiver.name(params) result`; a name with a dot is written with `:` before the parenthesis
    /// (`sets.contains:(list<T>, list<T>) bool`).
    const fn new(text: &'static str) -> Library {
        Library { text, read: OnceLock::new() }
    }

    /// Its overloads with the names of their functions.
    pub fn overloads(&self) -> &[(&'static str, Overload)] {
        self.read.get_or_init(|| self.text.lines().filter_map(overload).collect())
    }

    /// What it is about, in one phrase.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().and_then(|line| line.strip_prefix("# "));
        first.and_then(|line| line.split(". ").next()).unwrap_or_default().trim_end_matches('.')
    }

    /// Its functions with what they do, in the order of the text.
    pub fn functions(&self) -> Vec<Documented> {
        let mut all: Vec<Documented> = Vec::new();
        let mut note = "";
        for line in self.text.lines() {
            if let Some(text) = line.strip_prefix("## ") {
                note = text;
            }
            let Some((name, overload)) = overload(line) else { continue };
            match all.last_mut().filter(|last| last.name == name && last.note == note) {
                Some(last) => last.overloads.push(overload),
                None => all.push(Documented { name, note, overloads: vec![overload] }),
            }
        }
        all
    }

    /// Adds its overloads.
    pub fn declare(&self, into: &mut Functions) {
        for (name, overload) in self.overloads() {
            into.entry(name).or_default().push(overload.clone());
        }
    }
}

macro_rules! libraries {
    ($($(#[$about:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$about])* pub static $name: Library = Library::new($text);)*

        /// All libraries.
        pub static LIBRARIES: &[&Library] = &[$(&$name),*];
    };
}

libraries! {
    /// Operators.
    OPERATORS = include_str!("library/operators.txt");
    /// The language's own functions.
    STANDARD = include_str!("library/standard.txt");
    /// Extensions of the language that Kubernetes has.
    EXTENSIONS = include_str!("library/extensions.txt");
    /// Optional values.
    OPTIONAL = include_str!("library/optional.txt");
    /// Kubernetes' own functions.
    KUBERNETES = include_str!("library/kubernetes.txt");
    /// Addresses and networks.
    NETWORK = include_str!("library/network.txt");
    /// Questions to the authorizer.
    AUTHORIZER = include_str!("library/authorizer.txt");
    /// What mutations have besides.
    MUTATION = "# Kubernetes: mutations.\n\
                ## the text as a part of a JSON pointer: `~0` for `~`, `~1` for `/`\n\
                jsonpatch.escapeKey:(string) string";
    /// What lists have from Kubernetes 1.37 on.
    LISTS_1_37 = "# Kubernetes 1.37: lists.\n\
                  ## whether an item of a list equals a value; of something else, whether it is equal\n\
                  dyn.includes(dyn) bool";
    /// What networks have from Kubernetes 1.38 on.
    NETWORK_1_38 = "# Kubernetes 1.38: networks.\n\
                    ## whether the network is written with its first address\n\
                    net.CIDR.isMask() bool";
    /// Extensions of the language that no environment has.
    GENERAL = include_str!("library/general.txt");
    /// The extensions for numbers and encodings.
    MATH = include_str!("library/math.txt");
    /// The extension for regular expressions.
    REGEX = include_str!("library/regex.txt");
    /// What Kyverno's policies and the environments of check requests have.
    SHARED = include_str!("library/kyverno_shared.txt");
    /// Kyverno's own functions.
    KYVERNO = include_str!("library/kyverno.txt");
    /// Kyverno: names of service accounts.
    USER = include_str!("library/kyverno_user.txt");
    /// Kyverno: objects of the policy's own namespace.
    NAMESPACED = include_str!("library/kyverno_namespaced.txt");
    /// Kyverno: objects of the cluster.
    CLUSTER = include_str!("library/kyverno_cluster.txt");
    /// Kyverno: images and their signatures.
    IMAGES = include_str!("library/kyverno_images.txt");
    /// `orValue` of Kyverno, which takes values that are not optional.
    UNTYPED_OR_VALUE = "# Kyverno: optional values.\n\
                        ## the value of an optional, else the second; a value that is no optional is returned unchanged\n\
                        orValue(dyn, dyn) dyn";
    /// Objects to be generated.
    GENERATOR = "# Kyverno: generated objects.\n\
                 ## generates objects in a namespace\n\
                 generator.Context.apply(string, list<map<string, any>>) bool\n\
                 ## as `apply`\n\
                 generator.Context.Apply(string, list<map<string, any>>) bool";
    /// Objects to be generated in the policy's own namespace.
    GENERATOR_NAMESPACED = "# Kyverno: objects generated in the policy's own namespace.\n\
                            ## generates objects in the policy's namespace\n\
                            generator.Context.apply(list<map<string, any>>) bool\n\
                            ## as `apply`\n\
                            generator.Context.Apply(list<map<string, any>>) bool";
    /// Check requests.
    PROXY = include_str!("library/proxy.txt");
    /// Check requests over HTTP.
    PROXY_HTTP = include_str!("library/proxy_http.txt");
    /// Check requests of Envoy.
    PROXY_ENVOY = include_str!("library/proxy_envoy.txt");
}

/// The overloads that libraries declare under a name.
pub fn of(name: &str) -> &'static [Overload] {
    static ALL: OnceLock<Functions> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut all = Functions::new();
        LIBRARIES.iter().for_each(|library| library.declare(&mut all));
        all
    });
    all.get(name).map(Vec::as_slice).unwrap_or_default()
}

fn overload(line: &'static str) -> Option<(&'static str, Overload)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (head, rest) = line.split_once('(')?;
    let (params, result) = rest.rsplit_once(')')?;
    let (name, receiver) = match head.strip_suffix(':') {
        Some(name) => (name, None),
        None => match receiver_end(head) {
            Some(at) => (head.get(at + 1..).unwrap_or_default(), head.get(..at)),
            None => (head, None),
        },
    };
    let mut all: Vec<Type> = receiver.into_iter().map(types::parse).collect();
    all.extend(types::split(params).into_iter().map(types::parse));
    Some((name, Overload::new(all, types::parse(result), receiver.is_some())))
}

/// The dot between receiver and name: the last one outside of brackets.
fn receiver_end(head: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut found = None;
    for (i, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => found = Some(i),
            _ => {}
        }
    }
    found
}
