//! Who must have signed (`attestors`) → `attestors` of a policy, and the test that enough of them
//! have.
//!
//! In: sets of entries as written. Out: attestors with names, each once, and for each set an
//! expression about `image`. Several keys in one text are an attestor each. Semantics:
//! `docs/semantics/images.md`, "Images", and `docs/semantics/cel-policies.md`, "Images".

use ephor_ir::Origin;
use ephor_value::Value;
use ephor_value::wildcard::Wildcard;

use crate::constraints::cel::regex;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::shared::Fill;
use crate::model::names::numbered;
use crate::text::{Map, Node};

/// What is verified: signatures, or the statements of an attestation.
#[derive(Clone, Copy, Debug)]
pub enum Verified<'v> {
    /// Signatures of the image.
    Signatures,
    /// Those of an attestation, by its name.
    Attestation(&'v str),
}

/// The attestors of a policy.
pub struct Attestors<'a> {
    /// The entry of `verifyImages` with its defaults.
    pub entry: &'a Value,
    /// Where it is written.
    pub origin: &'a Origin,
    /// Fills in variables.
    pub fill: Fill<'a>,
    /// Names and what they are.
    pub found: Vec<(String, Node)>,
}

/// Where signatures are recorded when nothing else is set.
const REKOR: &str = "https://rekor.sigstore.dev";

impl Attestors<'_> {
    fn refuse(&self, construct: &str, nearest: &str) -> Refusal {
        Refusal::new(construct, self.origin.clone(), nearest)
    }

    /// Whether enough entries of a set have signed `image`.
    pub fn test(&mut self, set: &Value, verified: Verified<'_>) -> Result<String> {
        let entries = set.get("entries").and_then(Value::as_list).unwrap_or_default();
        let (mut names, mut nested) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry.get("attestor").filter(|v| !v.is_null()) {
                Some(inner) => nested.push(self.test(inner, verified)?),
                None => names.extend(self.entry(entry)?),
            }
        }
        let all = names.len() + nested.len();
        let wanted = set.get("count").and_then(Value::as_int).filter(|n| *n > 0);
        let wanted = wanted.unwrap_or(i64::try_from(all).unwrap_or(i64::MAX));
        let list: Vec<String> = names.iter().map(|name| format!("attestors.{name}")).collect();
        let call = match verified {
            Verified::Signatures => format!("verifyImageSignatures(image, [{}])", list.join(", ")),
            Verified::Attestation(name) => {
                format!("verifyAttestationSignatures(image, attestations.{name}, [{}])", list.join(", "))
            }
        };
        let own = (!names.is_empty()).then_some(call);
        let others = nested.iter().map(|test| format!("({test} ? 1 : 0)"));
        let terms: Vec<String> = own.into_iter().chain(others).collect();
        match (terms.as_slice(), wanted) {
            ([], _) => Err(self.refuse("a set of attestors without entries", "name who must have signed")),
            (terms, 1) => Ok(format!("{} > 0", terms.join(" + "))),
            (terms, n) => Ok(format!("{} >= {n}", terms.join(" + "))),
        }
    }

    /// Anyone whom the public service knows: the statements are signed, by whomever.
    pub fn anyone(&mut self) -> String {
        let identity = Node::map([("issuerRegExp", Node::text(".*")), ("subjectRegExp", Node::text(".*"))]);
        let mut keyless = Map::default();
        keyless.push("identities", Node::list([identity]));
        let ctlog = Node::map([("insecureIgnoreSCT", Node::Plain("true".into()))]);
        let cosign = Node::map([("keyless", keyless.into()), ("ctlog", ctlog)]);
        self.named("anyone", Node::map([("cosign", cosign)]))
    }

    /// The name under which an attestor stands.
    fn named(&mut self, wanted: &str, node: Node) -> String {
        if let Some((name, _)) = self.found.iter().find(|(_, known)| *known == node) {
            return name.clone();
        }
        let name = numbered(wanted, "", |name| self.found.iter().any(|(known, _)| known == name));
        self.found.push((name.clone(), node));
        name
    }

    /// The attestors of an entry: one, or one for each of its keys.
    fn entry(&mut self, entry: &Value) -> Result<Vec<String>> {
        let is_notary = self.entry.text_at(&["type"]) == "Notary";
        let part = |key: &str| entry.get(key).filter(|v| !v.is_null());
        if let Some(own) = part("keys") {
            let mut out = Vec::new();
            for key in self.keys(own)? {
                let node = self.cosign("key", key, own, entry)?;
                out.push(self.named("key", node));
            }
            return Ok(out);
        }
        if let Some(own) = part("certificates") {
            let (cert, chain) = (own.text_at(&["cert"]), own.text_at(&["certChain"]));
            if is_notary {
                let all: Vec<&str> = [cert, chain].into_iter().filter(|text| !text.is_empty()).collect();
                let certs = self.text(&all.join("\n"), "value")?;
                return Ok(vec![
                    self.named("notary", Node::map([("notary", Node::map([("certs", certs)]))])),
                ]);
            }
            let mut certificate = Map::default();
            for (key, text) in
                [("cert", cert), ("certChain", chain)].into_iter().filter(|(_, t)| !t.is_empty())
            {
                certificate.push(key, self.text(text, "value")?);
            }
            let node = self.cosign("certificate", certificate.into(), own, entry)?;
            return Ok(vec![self.named("certificate", node)]);
        }
        if let Some(own) = part("keyless") {
            let mut keyless = Map::default();
            keyless.push("identities", Node::list(self.identities(own)?));
            let roots = own.text_at(&["roots"]);
            if !roots.is_empty() {
                keyless.push("roots", Node::text(self.constant(roots)?));
            }
            keyless.push_some("additionalExtensions", part_of(own, "additionalExtensions").map(Node::of));
            let node = self.cosign("keyless", keyless.into(), own, entry)?;
            return Ok(vec![self.named("keyless", node)]);
        }
        Err(self.refuse("an attestor without keys, certificates or identities", "name who must have signed"))
    }

    /// The keys of an entry.
    fn keys(&self, own: &Value) -> Result<Vec<Node>> {
        let algorithm = own.text_at(&["signatureAlgorithm"]);
        let with = |key: &str, node: Node| {
            let mut map = Map::default();
            map.push(key, node);
            if !algorithm.is_empty() {
                map.push("hashAlgorithm", Node::text(algorithm));
            }
            Node::from(map)
        };
        let (public, kms) = (own.text_at(&["publicKeys"]).trim(), own.text_at(&["kms"]));
        if public.contains("{{") {
            return Ok(vec![with("expression", Node::Code((self.fill)(public)?))]);
        }
        const END: &str = "-----END PUBLIC KEY-----";
        if public.starts_with("-----BEGIN PUBLIC KEY-----") {
            let all = public.split_inclusive(END).filter(|text| text.contains(END));
            return Ok(all.map(|key| with("data", Node::text(format!("{}\n", key.trim())))).collect());
        }
        let secret = ["namespace", "name"].map(|key| own.text_at(&["secret", key]));
        let reference = match (public, secret, kms) {
            ("", [namespace, name], _) if !name.is_empty() => format!("k8s://{namespace}/{name}"),
            ("", _, "") => return Err(self.refuse("an attestor without a key", "name the key")),
            ("", _, kms) => kms.to_string(),
            (public, ..) => public.to_string(),
        };
        if reference.contains("{{") {
            return Err(self.refuse("a variable in the place of a key", "write the place"));
        }
        Ok(vec![with("kms", Node::text(reference))])
    }

    /// Who may have signed: the subject is one of two, where both a pattern and a regular
    /// expression are given.
    fn identities(&self, own: &Value) -> Result<Vec<Node>> {
        let mut issuer = Vec::new();
        issuer.extend(self.identity(own, "issuer")?);
        let regular = own.text_at(&["issuerRegExp"]);
        if !regular.is_empty() {
            issuer.push(("issuerRegExp".to_string(), Node::text(self.constant(regular)?)));
        }
        if let [(first, _), (second, _)] = issuer.as_slice()
            && first == second
        {
            return Err(self.refuse("a pattern and a regular expression of an issuer", "write one of them"));
        }
        let mut subjects: Vec<Option<(String, Node)>> = Vec::new();
        subjects.extend(self.identity(own, "subject")?.map(Some));
        let regular = own.text_at(&["subjectRegExp"]);
        if !regular.is_empty() {
            subjects.push(Some(("subjectRegExp".into(), Node::text(self.constant(regular)?))));
        }
        if subjects.is_empty() {
            subjects.push(Some(("subjectRegExp".into(), Node::text(".*"))));
        }
        if issuer.is_empty() {
            issuer.push(("issuerRegExp".into(), Node::text(".*")));
        }
        let one = |subject: Option<(String, Node)>| {
            let mut map = Map::default();
            for (key, node) in issuer.iter().cloned().chain(subject) {
                map.push(&key, node);
            }
            Node::from(map)
        };
        Ok(subjects.into_iter().map(one).collect())
    }

    /// A name of an identity; a wildcard pattern becomes a regular expression.
    fn identity(&self, own: &Value, key: &str) -> Result<Option<(String, Node)>> {
        let written = own.text_at(&[key]);
        if written.is_empty() {
            return Ok(None);
        }
        if written.contains("{{") {
            return match key {
                "subject" => Ok(Some(("subjectExpression".into(), Node::Code((self.fill)(written)?)))),
                _ => Err(self.refuse("a variable in an issuer", "write the issuer")),
            };
        }
        let wildcard = Wildcard::new(written);
        Ok(Some(match wildcard.is_wild() {
            true => (format!("{key}RegExp"), Node::text(regex(written))),
            false => (key.into(), Node::text(written)),
        }))
    }

    fn constant<'t>(&self, text: &'t str) -> Result<&'t str> {
        match text.contains("{{") {
            true => Err(self.refuse("a variable in an attestor", "write its value")),
            false => Ok(text),
        }
    }

    /// A text, or an expression that gives it.
    fn text(&self, written: &str, key: &str) -> Result<Node> {
        Ok(match written.contains("{{") {
            true => Node::map([("expression", Node::Code((self.fill)(written)?))]),
            false => Node::map([(key, Node::text(written))]),
        })
    }

    /// An attestor with where signatures are and are recorded.
    fn cosign(&self, kind: &str, node: Node, own: &Value, entry: &Value) -> Result<Node> {
        let mut cosign = Map::default();
        cosign.push(kind, node);
        let first = |key: &str| {
            part_of(entry, key).or_else(|| part_of(self.entry, key)).filter(|v| v.as_str() != Some(""))
        };
        if let Some(repository) = first("repository").and_then(Value::as_str) {
            cosign.push("source", Node::map([("repository", Node::text(self.constant(repository)?))]));
        }
        cosign.push_some("annotations", first("annotations").map(Node::of));
        let mut log = Map::default();
        let rekor = part_of(own, "rekor");
        let url = rekor.map(|v| v.text_at(&["url"])).filter(|url| !url.is_empty()).unwrap_or(REKOR);
        let ctlog = part_of(own, "ctlog");
        let texts = [
            ("url", url),
            ("rekorPubKey", rekor.map(|v| v.text_at(&["pubkey"])).unwrap_or_default()),
            ("ctLogPubKey", ctlog.map(|v| v.text_at(&["pubkey"])).unwrap_or_default()),
            ("tsaCertChain", ctlog.map(|v| v.text_at(&["tsaCertChain"])).unwrap_or_default()),
        ];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            log.push(key, Node::text(self.constant(text)?));
        }
        for (of, from, to) in
            [(rekor, "ignoreTlog", "insecureIgnoreTlog"), (ctlog, "ignoreSCT", "insecureIgnoreSCT")]
        {
            if of.and_then(|v| v.get(from)).and_then(Value::as_bool) == Some(true) {
                log.push(to, Node::Plain("true".into()));
            }
        }
        cosign.push("ctlog", log.into());
        Ok(Node::map([("cosign", cosign.into())]))
    }
}

fn part_of<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|v| !v.is_null())
}
