//! Any texts as the answers of a registry: referrers, manifests and blobs of an image whose
//! signatures, attestations and configuration are wanted. Parts of the input are separated by lines
//! `---`; a repeated request gets the last one.
#![no_main]
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ephor_document::{json, yaml_value};
use ephor_external::facts;
use ephor_signatures::bundle;
use ephor_signatures::cosign::Subject;
use ephor_signatures::notary::{Artifact, Store};
use ephor_signatures::trust::{self, Trust};
use ephor_sources::registry::{Failure, Manifest, Registry, Repository, fuzzing};
use ephor_value::Value;
use libfuzzer_sys::fuzz_target;

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Answers with one part after the other.
struct Answers<'a> {
    parts: Vec<&'a str>,
    at: AtomicUsize,
}

impl Answers<'_> {
    fn next(&self) -> &str {
        let at = self.at.fetch_add(1, Ordering::Relaxed).min(self.parts.len().saturating_sub(1));
        self.parts.get(at).copied().unwrap_or_default()
    }
}

impl Registry for Answers<'_> {
    fn manifest(&self, _: &Repository, by: &str) -> Result<Manifest, Failure> {
        let text = self.next();
        let (media_type, text) =
            text.split_once('\n').filter(|(kind, _)| kind.starts_with("application/")).unwrap_or(("", text));
        Ok(Manifest { digest: by.into(), media_type: media_type.into(), bytes: text.into() })
    }

    fn blob(&self, _: &Repository, _: &str, most: u64) -> Result<Vec<u8>, Failure> {
        Ok(self.next().bytes().take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
    }

    fn referrers(&self, _: &Repository, _: &str) -> Result<Vec<Value>, Failure> {
        Ok(json::parse(self.next()).ok().and_then(|v| Some(v.as_list()?.to_vec())).unwrap_or_default())
    }
}

static TRUSTED: LazyLock<Vec<Trust>> = LazyLock::new(|| {
    let key = concat!(
        "-----BEGIN PUBLIC KEY-----\n",
        include_str!("../keys/log.b64"),
        "-----END PUBLIC KEY-----\n"
    );
    let (key, chain) = (Value::from(key), Value::from(include_str!("../keys/chain.pem")));
    let roots = Value::from(include_str!("../keys/root.pem"));
    [
        "{cosign: {key: {data: KEY}, ctlog: {insecureIgnoreTlog: true}}}",
        "{cosign: {key: {data: KEY}, ctlog: {rekorPubKey: KEY, tsaCertChain: CHAIN}, annotations: {a: b}}}",
        "{cosign: {keyless: {identities: [{issuerRegExp: '.*', subject: a}], roots: ROOTS}, ctlog: {rekorPubKey: KEY, ctLogPubKey: KEY}}}",
        "{cosign: {keyless: {identities: [{subjectRegExp: '^a'}], roots: ROOTS}, ctlog: {insecureIgnoreTlog: true, insecureIgnoreSCT: true}}}",
    ]
    .iter()
    .map(|text| {
        let text = text
            .replace("KEY", &ephor_value::print::json(&key))
            .replace("CHAIN", &ephor_value::print::json(&chain))
            .replace("ROOTS", &ephor_value::print::json(&roots));
        trust::read(&yaml_value(&text).expect("a document")).expect("an attestor")
    })
    .collect()
});

static STORE: LazyLock<Store> = LazyLock::new(|| {
    let store = Store::read(include_str!("../keys/root.pem")).expect("certificates");
    store.with_tsa(include_str!("../keys/root.pem")).expect("roots")
});

fuzz_target!(|text: &str| {
    fuzzing::answers(text);
    let at = Repository { registry: "registry.example".into(), path: "a/b".into() };
    let parts: Vec<&str> = text.split("\n---\n").collect();
    let answers = || Answers { parts: parts.clone(), at: AtomicUsize::new(0) };
    for trust in TRUSTED.iter() {
        let _ = trust.signatures(&Subject { registry: &answers(), at: &at, digest: DIGEST });
        let _ = trust.statements(&Subject { registry: &answers(), at: &at, digest: DIGEST }, "a");
    }
    let _ = bundle::fetch(&Subject { registry: &answers(), at: &at, digest: DIGEST });
    let manifest = Manifest { digest: DIGEST.into(), media_type: String::new(), bytes: text.into() };
    let registry = answers();
    let _ = STORE.verify(&Artifact { registry: &registry, at: &at, manifest: &manifest });
    let _ = facts::for_rules(&answers(), "registry.example/a/b:c");
    let _ = facts::for_expressions(&answers(), "registry.example/a/b:c");
});
