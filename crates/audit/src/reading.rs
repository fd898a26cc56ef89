//! Requests in the order of a log.
//!
//! In: lines. Out: the requests that admission decides on, with their objects, and counts of what
//! the log does not hold. The last objects of names are stored within a limit of memory.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _};
use std::sync::Arc;

use ephor_document::json;
use ephor_report::replayed::{LeftOut, Missing};
use ephor_value::{Value, print};
use serde_json::value::RawValue;

use super::connect;
use super::event::{Event, Line, LineError, ObjectRef, OwnDecision, line};
use super::last_objects::{LastObjects, ObjectKey};
use super::request::AuditedRequest;

/// The longest line: API servers cut events off long before.
pub const MAX_LINE: u64 = 64 << 20;
/// How much text of last objects is stored.
const STORED: usize = 64 << 20;
/// The annotation of events from which the objects were cut.
const TRUNCATED: &str = "audit.k8s.io/truncated";

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The bytes break off.
    #[error("{file}:{line}: the log breaks off: {cause}")]
    Bytes {
        /// The file.
        file: Box<str>,
        /// The line, from 1.
        line: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A line that is too long.
    #[error("{file}:{line}: the line has more than {MAX_LINE} bytes")]
    TooLong {
        /// The file.
        file: Box<str>,
        /// The line, from 1.
        line: u64,
    },
    /// Not one line is of a log.
    #[error("{file}:{line}: this is no line of an audit log: {cause}")]
    NoLog {
        /// The file.
        file: Box<str>,
        /// The line, from 1.
        line: u64,
        /// Why.
        #[source]
        cause: LineError,
    },
}

/// Reads logs, one after the other.
#[derive(Debug)]
pub struct LogReader {
    last: LastObjects,
    left_out: LeftOut,
}

impl Default for LogReader {
    fn default() -> LogReader {
        LogReader { last: LastObjects::new(STORED), left_out: LeftOut::default() }
    }
}

/// A log that is being read.
pub struct OpenLog<'l> {
    file: Box<str>,
    bytes: Box<dyn BufRead + Send + 'l>,
    line: u64,
    was_log: bool,
    buffer: Vec<u8>,
}

impl<'l> OpenLog<'l> {
    /// A log with a name.
    pub fn new(file: &str, bytes: impl BufRead + Send + 'l) -> OpenLog<'l> {
        OpenLog { file: file.into(), bytes: Box::new(bytes), line: 0, was_log: false, buffer: Vec::new() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file
    }
}

impl LogReader {
    /// What was left out so far.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The next requests of a log, at most this many lines of it; `None` at its end. A line that is
    /// none of a log is counted, unless it is the first one.
    ///
    /// # Errors
    /// The log breaks off, or is no log.
    pub fn next(
        &mut self,
        log: &mut OpenLog<'_>,
        lines: usize,
    ) -> Result<Option<Vec<AuditedRequest>>, LogError> {
        let mut requests = Vec::new();
        for read in 0..lines {
            log.buffer.clear();
            log.line += 1;
            let length = log.bytes.by_ref().take(MAX_LINE).read_until(b'\n', &mut log.buffer);
            let length =
                length.map_err(|cause| LogError::Bytes { file: log.file.clone(), line: log.line, cause })?;
            if length == 0 {
                return Ok(if read == 0 { None } else { Some(requests) });
            }
            let is_whole = log.buffer.last() == Some(&b'\n');
            if !is_whole && length as u64 == MAX_LINE {
                return Err(LogError::TooLong { file: log.file.clone(), line: log.line });
            }
            let text = String::from_utf8_lossy(&log.buffer);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            self.left_out.events += 1;
            match line(text) {
                Ok(line) => {
                    log.was_log = true;
                    requests.extend(match line {
                        Line::Event(event) => self.of_event(log.line, &event),
                        Line::Decision(decision) => {
                            self.of_decision(log.line, *decision).into_iter().collect()
                        }
                    });
                }
                Err(cause) if !log.was_log => {
                    return Err(LogError::NoLog { file: log.file.clone(), line: log.line, cause });
                }
                Err(cause) => {
                    let missing = if is_whole { Missing::Unreadable } else { Missing::CutOff };
                    self.left_out.note(missing, || format!("{}:{}: {cause}", log.file, log.line));
                }
            }
        }
        Ok(Some(requests))
    }

    /// The requests of an event: of a deletion of a collection, one for each object.
    fn of_event(&mut self, line: u64, event: &Event<'_>) -> Vec<AuditedRequest> {
        if !matches!(&*event.stage, "ResponseComplete" | "Panic") {
            self.left_out.other_stages += 1;
            return Vec::new();
        }
        let mut object = event.object_ref.clone().unwrap_or_default();
        // Reviews have the name of a namespace as its namespace.
        if object.resource == "namespaces" && object.api_group.is_empty() && object.namespace.is_empty() {
            object.namespace = object.name.clone();
        }
        if event.verb == "deletecollection" {
            return self.of_collection(line, event, &object);
        }
        self.of_request(line, event, object).into_iter().collect()
    }

    /// The deletions of the objects of a collection, which are in the answer.
    fn of_collection(&mut self, line: u64, event: &Event<'_>, object: &ObjectRef<'_>) -> Vec<AuditedRequest> {
        let code = event.response_status.unwrap_or_default().code;
        let list = event.response_object.filter(|_| code < 400).and_then(|raw| json::parse(raw.get()).ok());
        let list = list.unwrap_or_default();
        let (kind, api_version) = (list.text_at(&["kind"]), list.text_at(&["apiVersion"]));
        let (Some(kind), Some(items)) =
            (kind.strip_suffix("List"), list.get("items").and_then(Value::as_list))
        else {
            self.left_out.note(Missing::Collection, || about(event, object));
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in items.iter().filter_map(Value::as_map) {
            let mut item = item.clone();
            item.insert("apiVersion", api_version.into());
            item.insert("kind", kind.into());
            let item = Value::Map(item);
            let name = item.text_at(&["metadata", "name"]);
            let place = ObjectRef { name: Cow::Borrowed(name), ..object.clone() };
            self.store(&key_of(&place), "", "DELETE", None, is_dry_run(&event.request_uri));
            let text = print::json(&item);
            all.push(AuditedRequest {
                before: Some(text.into()),
                ..request(line, event, &place, "DELETE", true)
            });
        }
        all
    }

    /// The request of an event about one object.
    fn of_request(&mut self, line: u64, event: &Event<'_>, object: ObjectRef<'_>) -> Option<AuditedRequest> {
        let options = connect::options(&object.resource, &object.subresource, &event.request_uri);
        let code = event.response_status.unwrap_or_default().code;
        let operation = match &*event.verb {
            _ if options.is_some() => "CONNECT",
            "create" => "CREATE",
            // What did not exist before was created.
            "update" | "patch" if code == 201 => "CREATE",
            "update" | "patch" => "UPDATE",
            "delete" => "DELETE",
            _ => {
                self.left_out.reads += 1;
                return None;
            }
        };
        if object.resource.is_empty() {
            self.left_out.reads += 1;
            return None;
        }
        let was_admitted = code < 400;
        let key = key_of(&object);
        let is_delete = operation == "DELETE";
        // A patch is no object, nor are the options of a deletion.
        let sends_object = event.verb != "patch" && !is_delete;
        let sent = event.request_object.filter(|_| sends_object).and_then(object_text);
        let stored = event.response_object.filter(|_| was_admitted).and_then(object_text);
        let before = self.last.get(&key);
        self.store(&key, &object.subresource, operation, stored.as_ref(), is_dry_run(&event.request_uri));
        let missing = match operation {
            "DELETE" => stored.is_none() && before.is_none(),
            "CONNECT" => false,
            _ => sent.is_none() && stored.is_none(),
        };
        if missing {
            let truncated = event.annotations.as_ref().is_some_and(|all| all.contains_key(TRUNCATED));
            let why = match () {
                () if truncated => Missing::Truncated,
                () if !matches!(&*event.level, "Request" | "RequestResponse") => Missing::Level,
                () if is_delete => Missing::Deleted,
                () if event.verb == "patch" => Missing::Patch,
                () => Missing::Object,
            };
            self.left_out.note(why, || about(event, &object));
            return None;
        }
        if operation == "UPDATE" && before.is_none() {
            self.left_out.without_before += 1;
        }
        Some(AuditedRequest {
            sent,
            stored,
            before,
            options,
            ..request(line, event, &object, operation, was_admitted)
        })
    }

    /// The request of a decision of `ephor serve`.
    fn of_decision(&mut self, line: u64, decision: OwnDecision<'_>) -> Option<AuditedRequest> {
        // A request is decided on by several webhooks; the last ones are those that validate.
        if decision.stage != "answer" || !decision.path.starts_with("/validate") {
            self.left_out.other_stages += 1;
            return None;
        }
        let operation = match &*decision.operation {
            "CREATE" => "CREATE",
            "UPDATE" => "UPDATE",
            "DELETE" => "DELETE",
            "CONNECT" => "CONNECT",
            _ => {
                self.left_out.reads += 1;
                return None;
            }
        };
        let texts = [&decision.group, &decision.resource, &decision.namespace, &decision.name];
        let key: ObjectKey = texts.map(|text| Box::from(&**text)).into();
        let stored = decision.object.and_then(object_text);
        let before = self.last.get(&key);
        let admitted = decision.allowed.unwrap_or(true);
        let granted = stored.as_ref().filter(|_| admitted);
        self.store(&key, &decision.sub_resource, operation, granted, decision.dry_run);
        let is_missing = match operation {
            "DELETE" => before.is_none(),
            _ => stored.is_none(),
        };
        if is_missing {
            let why = if operation == "DELETE" { Missing::Deleted } else { Missing::OwnObject };
            self.left_out.note(why, || format!("{operation} {}/{}", decision.resource, decision.name));
            return None;
        }
        if operation == "UPDATE" && before.is_none() {
            self.left_out.without_before += 1;
        }
        let user_info = serde_json::json!({ "username": decision.user }).to_string();
        Some(AuditedRequest {
            line,
            id: (&*decision.uid).into(),
            time: (&*decision.time).into(),
            user: (&*decision.user).into(),
            user_info: user_info.into(),
            operation,
            resource: [&decision.group, &decision.version, &decision.resource].map(|text| (&**text).into()),
            kind: Some((&*decision.kind).into()),
            subresource: (&*decision.sub_resource).into(),
            namespace: (&*decision.namespace).into(),
            name: (&*decision.name).into(),
            sent: None,
            stored,
            before,
            options: None,
            dry_run: decision.dry_run,
            was_admitted: admitted,
        })
    }

    /// Stores what an object is now.
    fn store(
        &mut self,
        key: &ObjectKey,
        subresource: &str,
        operation: &str,
        stored: Option<&Arc<str>>,
        dry_run: bool,
    ) {
        let is_object = matches!(subresource, "" | "status" | "ephemeralcontainers" | "resize" | "finalize");
        if dry_run || !is_object || operation == "CONNECT" || key.3.is_empty() {
            return;
        }
        match (operation, stored) {
            ("DELETE", _) => self.last.remove(key),
            (_, Some(stored)) => self.last.put(key.clone(), stored.clone()),
            (_, None) => {}
        }
    }
}

/// A request of an event, without its objects.
fn request(
    line: u64,
    event: &Event<'_>,
    object: &ObjectRef<'_>,
    operation: &'static str,
    was_admitted: bool,
) -> AuditedRequest {
    let user = event.impersonated_user.or(event.user).map_or("{}", RawValue::get);
    AuditedRequest {
        line,
        id: (&*event.audit_id).into(),
        time: (&*event.request_received_timestamp).into(),
        user: user_name(user).into(),
        user_info: user.into(),
        operation,
        resource: [&object.api_group, &object.api_version, &object.resource].map(|text| (&**text).into()),
        kind: None,
        subresource: (&*object.subresource).into(),
        namespace: (&*object.namespace).into(),
        name: (&*object.name).into(),
        sent: None,
        stored: None,
        before: None,
        options: None,
        dry_run: is_dry_run(&event.request_uri),
        was_admitted,
    }
}

fn key_of(object: &ObjectRef<'_>) -> ObjectKey {
    [&object.api_group, &object.resource, &object.namespace, &object.name]
        .map(|text| Box::from(&**text))
        .into()
}

fn about(event: &Event<'_>, object: &ObjectRef<'_>) -> String {
    let slash = if object.subresource.is_empty() { "" } else { "/" };
    let name = if object.name.is_empty() { "" } else { " " };
    format!("{} {}{slash}{}{name}{}", event.verb, object.resource, object.subresource, object.name)
}

/// The text of an object; `None` for what is none, such as `null` and the status of a request.
fn object_text(raw: &RawValue) -> Option<Arc<str>> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head<'a> {
        #[serde(borrow, default)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        api_version: Cow<'a, str>,
    }
    let text = raw.get();
    let head: Head<'_> = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
    let is_status = head.kind == "Status" && head.api_version == "v1";
    (!is_status).then(|| text.into())
}

fn user_name(user: &str) -> String {
    #[derive(serde::Deserialize)]
    struct User<'a> {
        #[serde(borrow, default)]
        username: Cow<'a, str>,
    }
    serde_json::from_str::<User<'_>>(user).map(|user| user.username.into_owned()).unwrap_or_default()
}

fn is_dry_run(address: &str) -> bool {
    address.split_once('?').is_some_and(|(_, query)| query.split('&').any(|part| part == "dryRun=All"))
}
