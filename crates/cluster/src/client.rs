//! The cluster: a client of the Kubernetes API.
//!
//! In: a kubeconfig file or the account of a pod. Out: objects as [`Value`]s. Calls block the
//! caller; they run on a runtime of the client's own, so any thread may call. Discovery runs once,
//! until [`Cluster::renew_kinds`] is called; lists come in pages. Semantics:
//! `docs/reference/cluster.md`.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use http::Request;
use kube::api::ApiResource;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use ephor_document::json;
use ephor_kubernetes::groups::PolicyNames;
use ephor_kubernetes::{Kinds, Resource};
use ephor_recording::Recording;
use ephor_sources::http::client;
use ephor_value::release::{Release, ReleaseChoice};
use ephor_value::{Map, Value, print};

use crate::failure::{Failure, chain};
use crate::recorded;

/// What is escaped in a segment of a path and in a value of a query: all but unreserved characters.
pub(crate) const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// How many objects a page of a list has.
const PAGE: usize = 500;
/// How long a request may take.
const LONGEST: Duration = Duration::from_secs(30);

/// Which cluster.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// A kubeconfig file; empty = `KUBECONFIG`, the one of the home folder, or the account of the
    /// pod.
    pub kubeconfig: String,
    /// A context of it; empty = the current one.
    pub context: String,
    /// The names under which the cluster stores policies. Callers know them under Kyverno's in any
    /// case.
    pub names: PolicyNames,
}

/// A part of a list.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The objects.
    pub items: Vec<Value>,
    /// Where the next part begins; `None` = this is the last one.
    pub next: Option<String>,
}

impl ListPage {
    fn of(list: &Value, resource: &Resource) -> ListPage {
        let api_version = api_version(resource);
        let items = list.get("items").and_then(Value::as_list).unwrap_or_default();
        let next = list.text_at(&["metadata", "continue"]);
        ListPage {
            items: items.iter().map(|item| named(item, &api_version, &resource.kind)).collect(),
            next: Some(next.to_string()).filter(|token| !token.is_empty()),
        }
    }
}

/// A part of a list.
#[derive(Clone, Debug)]
pub enum Page {
    /// More objects.
    Next(Vec<Value>),
    /// The list begins anew: what was given before comes again, as it is now.
    Anew,
}

/// See the module page.
pub struct Cluster {
    /// `None` once it is about to go.
    runtime: Option<tokio::runtime::Runtime>,
    pub(crate) client: Client,
    pub(crate) names: PolicyNames,
    served: Arc<Mutex<Option<Arc<Kinds>>>>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Requests in flight are not awaited: the last owner may be a thread that must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cluster")
    }
}

/// Connects to a cluster, without a request yet. With a recording (`sources::http::Settings`) its
/// answers are recorded, or those of the recording are replayed and nothing is connected to.
///
/// # Errors
/// There is no configuration, or it cannot be used.
pub fn connect(choice: &Choice) -> Result<Cluster, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("cluster")
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let recording = client().settings().recording.as_ref();
    let client = runtime.block_on(async {
        if let Some(Recording::Replays(player)) = recording {
            return Ok(recorded::replaying(player.clone()));
        }
        let options = KubeConfigOptions {
            context: Some(choice.context.clone()).filter(|c| !c.is_empty()),
            ..Default::default()
        };
        let mut config = if choice.kubeconfig.is_empty() && choice.context.is_empty() {
            Config::infer().await.map_err(|e| Failure::other(chain(&e)))?
        } else if choice.kubeconfig.is_empty() {
            Config::from_kubeconfig(&options).await.map_err(|e| Failure::other(chain(&e)))?
        } else {
            let file = Kubeconfig::read_from(&choice.kubeconfig).map_err(|e| Failure::other(chain(&e)))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|e| Failure::other(chain(&e)))?
        };
        config.connect_timeout = Some(Duration::from_secs(10));
        let client = Client::try_from(config).map_err(Failure::from)?;
        Ok::<_, Failure>(match recording {
            Some(Recording::Records(recorder)) => recorded::recording(client, recorder.clone()),
            _ => client,
        })
    })?;
    Ok(Cluster { runtime: Some(runtime), client, names: choice.names, served: Arc::default() })
}

impl Cluster {
    /// Runs work on the client's own runtime and waits for its result, on any thread.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let ended = || Failure::other("the client of the cluster has ended");
        let (sender, receiver) = mpsc::sync_channel(1);
        self.spawn(async move {
            let _ = sender.send(work.await);
        })?;
        receiver.recv().map_err(|_| ended())
    }

    /// Begins work on the client's own runtime.
    pub(crate) fn spawn(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<tokio::task::JoinHandle<()>, Failure> {
        let ended = || Failure::other("the client of the cluster has ended");
        Ok(self.runtime.as_ref().ok_or_else(ended)?.spawn(work))
    }

    /// Sends a request; the answer is JSON, or null when there is no body.
    ///
    /// # Errors
    /// The API's refusal, or why there is no answer.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let is_own = self.names == PolicyNames::Own;
        let renamed = is_own.then(|| PolicyNames::Own.of_path(path)).flatten();
        let body =
            body.map(
                |body| {
                    if is_own { print::json(&PolicyNames::Own.of_object(body)) } else { print::json(body) }
                },
            );
        let text = body.unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(renamed.as_deref().unwrap_or(path))
            .header("Content-Type", content_type)
            .header("Accept", "application/json")
            .body(text.into_bytes())
            .map_err(Failure::other)?;
        let client = self.client.clone();
        let answer =
            self.wait(async move { tokio::time::timeout(LONGEST, client.request_text(request)).await })?;
        let text = match answer {
            Err(_) => return Err(Failure::other("request did not complete within 30s")),
            Ok(answer) => answer?,
        };
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        // What is no JSON, such as `ok`, is text.
        let answer = json::parse(&text).unwrap_or_else(|_| text.into());
        Ok(if is_own { PolicyNames::Kyverno.of_object(&answer) } else { answer })
    }

    /// The name of the user of this client.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn user_name(&self) -> Result<String, Failure> {
        const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let review = Value::map([
            ("apiVersion", "authentication.k8s.io/v1".into()),
            ("kind", "SelfSubjectReview".into()),
        ]);
        let review = self.request("POST", REVIEWS, "application/json", Some(&review))?;
        Ok(review.text_at(&["status", "userInfo", "username"]).to_string())
    }

    /// The release of the API server, or the nearest one of which facts are recorded.
    ///
    /// # Errors
    /// See [`Cluster::request`]; the server's version cannot be read.
    pub fn release(&self) -> Result<ReleaseChoice, Failure> {
        let version = self.get("/version")?;
        Release::choose(version.text_at(&["gitVersion"])).map_err(Failure::other)
    }

    /// Gets what is at a path.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.request("GET", path, "application/json", None)
    }

    /// The client with what another one of the same cluster knows of its kinds, and learns of them
    /// from now on.
    #[must_use]
    pub fn sharing_kinds(mut self, other: &Cluster) -> Cluster {
        self.served = other.served.clone();
        self
    }

    /// The kinds that the cluster serves.
    ///
    /// # Errors
    /// Discovery fails. Groups that do not answer are skipped.
    pub fn kinds(&self) -> Result<Arc<Kinds>, Failure> {
        if let Some(kinds) = &*self.served.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(kinds.clone());
        }
        let kinds = Arc::new(Kinds::of(crate::discovery::resources(self.names, |path| self.get(path))?));
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(kinds.clone());
        Ok(kinds)
    }

    /// Discovers the kinds that the cluster serves again; on an error the known ones stay.
    ///
    /// # Errors
    /// As [`Cluster::kinds`].
    pub fn renew_kinds(&self) -> Result<(), Failure> {
        let kinds = Arc::new(Kinds::of(crate::discovery::resources(self.names, |path| self.get(path))?));
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(kinds);
        Ok(())
    }

    /// The objects of a resource, in one namespace or (empty) everywhere, page by page.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn list(&self, resource: &Resource, namespace: &str) -> Result<Vec<Value>, Failure> {
        self.select(resource, namespace, "")
    }

    /// As [`Cluster::list`], of the objects whose labels fit a selector as `kubectl -l` takes it;
    /// empty = all.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn select(&self, resource: &Resource, namespace: &str, labels: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        self.pages(resource, namespace, labels, &mut |page| match page {
            Page::Next(more) => items.extend(more),
            Page::Anew => items.clear(),
        })?;
        Ok(items)
    }

    /// As [`Cluster::select`], page by page.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn pages(
        &self,
        resource: &Resource,
        namespace: &str,
        labels: &str,
        take: &mut dyn FnMut(Page),
    ) -> Result<(), Failure> {
        let selector = match labels {
            "" => String::new(),
            labels => format!("labelSelector={}&", utf8_percent_encode(labels, SEGMENT)),
        };
        let mut more = String::new();
        loop {
            let page = match self.page_of(resource, namespace, &selector, &more) {
                // The token has become too old: from the beginning, without pages.
                Err(e) if e.code == 410 && !more.is_empty() => {
                    take(Page::Anew);
                    let path = path_of(resource, namespace, "");
                    let page = match selector.trim_end_matches('&') {
                        "" => self.get(&path)?,
                        selector => self.get(&format!("{path}?{selector}"))?,
                    };
                    ListPage::of(&page, resource)
                }
                page => page?,
            };
            take(Page::Next(page.items));
            match page.next {
                Some(token) => more = token,
                None => return Ok(()),
            }
        }
    }

    /// A page of the objects of a resource, in one namespace or (empty) everywhere; `token` is
    /// where the page before ended, empty at the beginning. Where that page is too old, the rest
    /// of the list is as it is now: no object comes twice, and those that came are not seen to
    /// change.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn page(&self, resource: &Resource, namespace: &str, token: &str) -> Result<ListPage, Failure> {
        match self.page_of(resource, namespace, "", token) {
            Err(Failure { code: 410, resume: Some(token), .. }) => {
                self.page_of(resource, namespace, "", &token)
            }
            page => page,
        }
    }

    fn page_of(
        &self,
        resource: &Resource,
        namespace: &str,
        selector: &str,
        token: &str,
    ) -> Result<ListPage, Failure> {
        let path = path_of(resource, namespace, "");
        let token = match token {
            "" => String::new(),
            token => format!("&continue={}", utf8_percent_encode(token, SEGMENT)),
        };
        Ok(ListPage::of(&self.get(&format!("{path}?{selector}limit={PAGE}{token}"))?, resource))
    }

    /// An object by name.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 404 when it does not exist.
    pub fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Value, Failure> {
        self.get(&path_of(resource, namespace, name))
    }

    /// The object with the kind and name of another one, as it is now; `None` = there is none.
    ///
    /// # Errors
    /// The kind is not served, or see [`Cluster::request`].
    pub fn current(&self, object: &Value) -> Result<Option<Value>, Failure> {
        match self.get(&self.path_to(object)?) {
            Ok(found) => Ok(Some(found)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Creates an object, or replaces it if its version is still that of `current`.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 409 when another client created or changed it in between.
    pub fn write(&self, object: &Value, current: Option<&Value>, manager: &str) -> Result<Value, Failure> {
        let path = self.path_to(object)?;
        let Some(current) = current else {
            let (all, _) = path.rsplit_once('/').unwrap_or((&path, ""));
            let path = format!("{all}?fieldManager={manager}");
            return self.request("POST", &path, "application/json", Some(object));
        };
        let mut object = object.as_map().cloned().unwrap_or_default();
        let mut metadata = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
        metadata.insert("resourceVersion", current.text_at(&["metadata", "resourceVersion"]).into());
        object.insert("metadata", Value::Map(metadata));
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.request("PATCH", &path, "application/apply-patch+yaml", Some(&Value::Map(object)))
    }

    /// Creates an object; the answer is the object as it is stored. An object without a name needs
    /// `generateName`.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 409 when it exists.
    pub fn create(&self, object: &Value, manager: &str) -> Result<Value, Failure> {
        let path = self.path_of_all(object)?;
        self.request("POST", &format!("{path}?fieldManager={manager}"), "application/json", Some(object))
    }

    /// Replaces an object; one with a `resourceVersion` only if it has not changed since.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 404 when it does not exist, 409 when it has changed.
    pub fn replace(&self, object: &Value, manager: &str) -> Result<Value, Failure> {
        let path = format!("{}?fieldManager={manager}", self.path_to(object)?);
        self.request("PUT", &path, "application/json", Some(object))
    }

    /// Replaces a subresource of an object, such as `status`.
    ///
    /// # Errors
    /// As [`Cluster::replace`].
    pub fn replace_part(&self, object: &Value, part: &str, manager: &str) -> Result<Value, Failure> {
        let path = format!("{}/{part}?fieldManager={manager}", self.path_to(object)?);
        self.request("PUT", &path, "application/json", Some(object))
    }

    /// Changes some fields of an object (a JSON merge patch, RFC 7386).
    ///
    /// # Errors
    /// As [`Cluster::replace`].
    pub fn merge(&self, object: &Value, patch: &Value, manager: &str) -> Result<Value, Failure> {
        let path = format!("{}?fieldManager={manager}", self.path_to(object)?);
        self.request("PATCH", &path, "application/merge-patch+json", Some(patch))
    }

    /// Deletes an object whatever its version; the policy of propagation is the API server's
    /// default, or as given. An object that was created anew under the same name stays.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 404 when it does not exist.
    pub fn remove(&self, object: &Value, propagation: Option<&str>) -> Result<(), Failure> {
        let mut options = Map::new();
        options.insert("apiVersion", "v1".into());
        options.insert("kind", "DeleteOptions".into());
        let uid = object.text_at(&["metadata", "uid"]);
        if !uid.is_empty() {
            options.insert("preconditions", Value::map([("uid", uid.into())]));
        }
        if let Some(propagation) = propagation {
            options.insert("propagationPolicy", propagation.into());
        }
        self.request("DELETE", &self.path_to(object)?, "application/json", Some(&Value::Map(options)))
            .map(drop)
    }

    /// Deletes an object, if it is still the one that was read.
    ///
    /// # Errors
    /// See [`Cluster::request`]; 409 when it is another one by now.
    pub fn delete(&self, object: &Value) -> Result<(), Failure> {
        let precondition =
            |key: &str| (ephor_value::Str::from(key), object.text_at(&["metadata", key]).into());
        let preconditions =
            Value::Map([precondition("uid"), precondition("resourceVersion")].into_iter().collect());
        let mut options = Map::new();
        options.insert("apiVersion", "v1".into());
        options.insert("kind", "DeleteOptions".into());
        options.insert("preconditions", preconditions);
        let path = self.path_to(object)?;
        self.request("DELETE", &path, "application/json", Some(&Value::Map(options))).map(drop)
    }

    /// The path of an object.
    fn path_to(&self, object: &Value) -> Result<String, Failure> {
        self.path_at(object, object.text_at(&["metadata", "name"]))
    }

    /// The path of the objects of the kind and namespace of an object.
    fn path_of_all(&self, object: &Value) -> Result<String, Failure> {
        self.path_at(object, "")
    }

    fn path_at(&self, object: &Value, name: &str) -> Result<String, Failure> {
        let api_version = object.text_at(&["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = object.text_at(&["kind"]);
        let kinds = self.kinds()?;
        let resource =
            kinds.kind(group, version, kind).ok_or_else(|| Failure::no_match(api_version, kind))?;
        let namespace = object.text_at(&["metadata", "namespace"]);
        Ok(path_of(resource, namespace, name))
    }
}

/// The version of a resource as objects write it.
pub fn api_version(resource: &Resource) -> String {
    match &*resource.group {
        "" => resource.version.to_string(),
        group => format!("{group}/{}", resource.version),
    }
}

/// A resource as watches name it.
pub(crate) fn api_resource(resource: &Resource) -> ApiResource {
    ApiResource {
        group: resource.group.to_string(),
        version: resource.version.to_string(),
        api_version: api_version(resource),
        kind: resource.kind.to_string(),
        plural: resource.plural.to_string(),
    }
}

/// The same as the API server knows it.
pub(crate) fn stored(resource: &ApiResource, names: PolicyNames) -> ApiResource {
    let mut resource = resource.clone();
    if let Some(group) = names.of_group(&resource.group) {
        resource.group = group.into();
        resource.api_version = format!("{group}/{}", resource.version);
    }
    resource
}

/// The path of objects or of one.
pub fn path_of(resource: &Resource, namespace: &str, name: &str) -> String {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let mut path = format!("{root}/{}", api_version(resource));
    if resource.namespaced && !namespace.is_empty() {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    path.push_str(&format!("/{}", resource.plural));
    if !name.is_empty() {
        path.push_str(&format!("/{name}"));
    }
    path
}

/// An item of a list with the kind and version that lists leave out.
pub(crate) fn named(item: &Value, api_version: &str, kind: &str) -> Value {
    let mut m = Map::new();
    m.insert("apiVersion", api_version.into());
    m.insert("kind", kind.into());
    for (k, v) in item.as_map().into_iter().flat_map(Map::iter) {
        m.insert(k.clone(), v.clone());
    }
    Value::Map(m)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn paths_name_group_namespace_and_object() {
        let kinds = Kinds::built_in();
        let of = |group: &str, plural: &str, namespace: &str, name: &str| {
            path_of(kinds.resource(group, "v1", plural).unwrap(), namespace, name)
        };
        assert_eq!(of("", "pods", "shop", "a"), "/api/v1/namespaces/shop/pods/a");
        assert_eq!(of("apps", "deployments", "", ""), "/apis/apps/v1/deployments");
        assert_eq!(of("", "nodes", "shop", "n"), "/api/v1/nodes/n");
    }

    #[test]
    fn a_missing_configuration_is_reported_with_its_path() {
        let choice = Choice { kubeconfig: "/nowhere/config".into(), ..Choice::default() };
        let failure = connect(&choice).unwrap_err();
        assert!(failure.text.contains("/nowhere/config"), "{failure}");
    }
}
