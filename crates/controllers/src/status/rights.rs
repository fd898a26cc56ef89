//! Whether an account may read what a policy is about, so that background scans can report on it.
//!
//! In: the resources of a policy. Out: whether the account may get, list and watch all of them, in
//! Kyverno's words. Answers are cached for a short time, so that a hundred policies on Pods cost
//! three requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ephor_api::read::{items, texts};
use ephor_cluster::access::Right;
use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

const VERBS: [&str; 3] = ["get", "list", "watch"];
/// How long an answer counts.
const LASTS: Duration = Duration::from_secs(10);

/// A question: verb, group, version, resource.
type Question = [String; 4];
/// An answer, or why there is none, and when it was given.
type Answer = (Instant, Result<bool, Failure>);

/// What an account may do.
pub struct Rights {
    cluster: Arc<Cluster>,
    known: Mutex<HashMap<Question, Answer>>,
}

impl Rights {
    /// Of the account that a client has.
    pub fn of(cluster: Arc<Cluster>) -> Rights {
        Rights { cluster, known: Mutex::default() }
    }

    /// Whether everything that a policy is about may be read, and what its status says.
    pub(super) fn of_policy(&self, spec: &Value) -> (bool, String) {
        let mut missing = Vec::new();
        for rule in items(spec.at(&["matchConstraints", "resourceRules"])) {
            let list = |key: &'static str| texts(rule, &[key]).collect::<Vec<_>>();
            for group in list("apiGroups") {
                for version in list("apiVersions") {
                    for resource in list("resources") {
                        for verb in VERBS {
                            let question = [verb, group, version, resource].map(String::from);
                            let why = match self.may(question) {
                                Ok(true) => continue,
                                Ok(false) => String::new(),
                                Err(failure) => failure.text,
                            };
                            missing.push(format!("{verb} {group}/{version}, Resource={resource}: {why}"));
                        }
                    }
                }
            }
        }
        match missing.is_empty() {
            true => (true, "Policy is ready for reporting.".into()),
            false => {
                let missing = missing.join("; ");
                (false, format!("Policy is not ready for reporting, missing permissions: {missing}."))
            }
        }
    }

    /// Whether the account may do something; an error is why that is not known.
    fn may(&self, question: Question) -> Result<bool, Failure> {
        let known = |all: &HashMap<Question, Answer>| {
            all.get(&question).filter(|(at, _)| at.elapsed() < LASTS).map(|(_, answer)| answer.clone())
        };
        if let Some(answer) = known(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return answer;
        }
        let [verb, group, version, resource] = &question;
        let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
        let right = Right { verb, group, version, resource, subresource: part, ..Right::default() };
        let answer = self.cluster.may(&right);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(question, (Instant::now(), answer.clone()));
        answer
    }
}
