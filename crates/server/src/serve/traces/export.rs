//! What sends spans: the OTLP exporter of OpenTelemetry on our HTTP client.
//!
//! In: ended spans. Out: batches, as protobuf or JSON, in requests to a collector; what is not
//! accepted is sent again as the protocol says (429, 502, 503 and 504, with `Retry-After`). A
//! thread of the SDK sends, so that no request waits; what it has no room for, and batches that
//! were not accepted in time, are dropped and counted. Settings are those of OpenTelemetry's
//! environment (`OTEL_*`).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_otlp::{
    OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT, Protocol, RetryPolicy,
    SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_QUEUE_SIZE_DEFAULT,
    OTEL_BSP_SCHEDULE_DELAY, Span, SpanData, SpanExporter as Exporter, SpanProcessor,
};
use prometheus::IntCounter;

use ephor_sources::http::{Request, client};

/// How long spans are gathered, unless the environment says.
const GATHERED: Duration = Duration::from_secs(1);
/// How often a batch is sent at most; the time that it may take ends earlier, as a rule. A larger
/// number changes nothing but for collectors that answer at once, which it would flood.
const MAX_RETRIES: usize = 16;
/// How much of a collector's answer is read.
const LARGEST_ANSWER: u64 = 64 * 1024;

/// An address that is none.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be sent: {0}")]
pub struct BuildError(#[from] opentelemetry_otlp::ExporterBuildError);

/// What the environment says about traces; what the SDK reads by itself is not here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `OTEL_SDK_DISABLED`, or `OTEL_TRACES_EXPORTER=none`.
    disabled: bool,
    /// Whether there is an address.
    has_endpoint: bool,
    /// The form of requests, unless it is the default.
    protocol: Option<String>,
    /// How long sending a batch may take, with all that is sent again.
    timeout: Option<Duration>,
    /// How many spans may wait.
    waiting: Option<usize>,
    /// Whether the time for which spans are gathered is set.
    has_delay: bool,
    /// PEM certificates of the collector's authority, from a file.
    authority: Option<String>,
}

impl Environment {
    /// Reads it.
    pub fn read() -> Environment {
        Environment::of(|name| std::env::var(name).ok())
    }

    /// Reads it from variables; empty ones count as unset.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Environment {
        let set = |name: &str| variable(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let first = |names: [&str; 2]| names.into_iter().find_map(set);
        let milliseconds = |text: String| text.parse().ok().map(Duration::from_millis);
        Environment {
            disabled: set("OTEL_SDK_DISABLED").is_some_and(|v| v.eq_ignore_ascii_case("true"))
                || set("OTEL_TRACES_EXPORTER").is_some_and(|v| v == "none"),
            has_endpoint: first([OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT]).is_some(),
            protocol: first([OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL]),
            timeout: first([OTEL_EXPORTER_OTLP_TRACES_TIMEOUT, OTEL_EXPORTER_OTLP_TIMEOUT])
                .and_then(milliseconds),
            waiting: set(OTEL_BSP_MAX_QUEUE_SIZE).and_then(|n| n.parse().ok()).filter(|n| *n > 0),
            has_delay: set(OTEL_BSP_SCHEDULE_DELAY).is_some(),
            authority: first(["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"]),
        }
    }

    /// The form of requests.
    fn protocol(&self) -> Protocol {
        match self.protocol.as_deref() {
            None | Some("http/protobuf") => Protocol::HttpBinary,
            Some("http/json") => Protocol::HttpJson,
            Some(other) => {
                tracing::warn!(
                    protocol = other,
                    "spans are sent as `http/protobuf`; OTEL_EXPORTER_OTLP_PROTOCOL can be `http/protobuf` or `http/json`"
                );
                Protocol::HttpBinary
            }
        }
    }
}

/// What takes spans; `None` = none are exported.
///
/// # Errors
/// The address is none.
pub fn processor(
    endpoint: Option<&str>,
    environment: &Environment,
    dropped: &IntCounter,
) -> Result<Option<Queue>, BuildError> {
    if environment.disabled || (endpoint.is_none() && !environment.has_endpoint) {
        return Ok(None);
    }
    let timeout = environment.timeout.unwrap_or(OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT);
    let authority = environment.authority.as_deref().map_or(String::new(), authority);
    let builder = SpanExporter::builder()
        .with_http()
        .with_http_client(Sender { timeout, authority })
        .with_protocol(environment.protocol())
        .with_retry_policy(RetryPolicy::recommended().with_max_retries(MAX_RETRIES));
    let builder = match endpoint {
        Some(endpoint) => builder.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/'))),
        None => builder,
    };
    let waiting = Arc::new(AtomicUsize::new(0));
    let exporter =
        CountedExporter { inner: builder.build()?, waiting: waiting.clone(), dropped: dropped.clone() };
    let most = environment.waiting.unwrap_or(OTEL_BSP_MAX_QUEUE_SIZE_DEFAULT);
    let mut settings = BatchConfigBuilder::default().with_max_queue_size(most);
    if !environment.has_delay {
        settings = settings.with_scheduled_delay(GATHERED);
    }
    let inner = BatchSpanProcessor::builder(exporter).with_batch_config(settings.build()).build();
    Ok(Some(Queue { inner, waiting, most, dropped: dropped.clone() }))
}

/// The certificates in a file; without them those of the system are trusted.
fn authority(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| {
        tracing::warn!(path, %error, "the certificates of the collector's authority cannot be read");
        String::new()
    })
}

/// Sends requests through the program's HTTP client, on the thread of the SDK.
struct Sender {
    timeout: Duration,
    authority: String,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Sender {
    fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let url = head.uri.to_string();
        let headers = head.headers.iter();
        let headers = headers.filter_map(|(k, v)| Some((k.to_string(), v.to_str().ok()?.to_string())));
        let sent = client().send(Request {
            method: "POST",
            headers: headers.collect(),
            body: Some(body.into()),
            ca_bundle: &self.authority,
            ..Request::get(&url, self.timeout)
        });
        let answer = sent.inspect_err(|error| tracing::debug!(%error, url, "no answer of the collector"))?;
        let (status, headers) = (answer.status, answer.headers.clone());
        // Read to its end, so that the connection can be used again.
        let body = answer.bytes(LARGEST_ANSWER)?;
        let mut response = http::Response::new(Bytes::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

impl HttpClient for Sender {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move { self.send(request) })
    }
}

/// Spans that wait, counted.
#[derive(Debug)]
pub struct Queue {
    inner: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    most: usize,
    dropped: IntCounter,
}

impl SpanProcessor for Queue {
    fn on_start(&self, span: &mut Span, cx: &Context) {
        self.inner.on_start(span, cx);
    }

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        // The SDK drops what it has no room for without a count that can be read.
        let (one_more, most) = (|n: usize| (n < self.most).then_some(n + 1), self.waiting.as_ref());
        match most.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more) {
            Ok(_) => self.inner.on_end(span),
            Err(_) => self.dropped.inc(),
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// An exporter whose lost spans are counted.
#[derive(Debug)]
struct CountedExporter {
    inner: SpanExporter,
    waiting: Arc<AtomicUsize>,
    dropped: IntCounter,
}

impl Exporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        self.waiting.fetch_sub(count, Ordering::AcqRel);
        let sent = self.inner.export(batch).await;
        if let Err(error) = &sent {
            self.dropped.inc_by(count as u64);
            tracing::warn!(%error, spans = count, "spans cannot be sent");
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(all: &[(&str, &str)]) -> Environment {
        Environment::of(|name| all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
    }

    #[test]
    fn a_variable_for_traces_takes_precedence_over_the_one_for_all_signals() {
        let of = environment(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
        ]);
        assert!(matches!(of.protocol(), Protocol::HttpJson));
        assert_eq!(of.timeout, Some(Duration::from_millis(250)));
    }

    #[test]
    fn an_empty_variable_is_an_unset_one() {
        let empty = environment(&[("OTEL_EXPORTER_OTLP_ENDPOINT", ""), ("OTEL_SDK_DISABLED", "")]);
        assert_eq!(empty, Environment::default());
    }

    #[test]
    fn no_spans_are_exported_without_an_address_or_when_the_environment_disables_them() {
        let dropped = IntCounter::new("dropped", "d").expect("a counter");
        let is_wanted = |endpoint, all: &[(&str, &str)]| {
            processor(endpoint, &environment(all), &dropped).expect("an address").is_some()
        };
        assert!(!is_wanted(None, &[]));
        assert!(is_wanted(Some("http://127.0.0.1:4318"), &[]));
        assert!(is_wanted(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")]));
        assert!(!is_wanted(Some("http://127.0.0.1:4318"), &[("OTEL_SDK_DISABLED", "True")]));
        assert!(!is_wanted(Some("http://127.0.0.1:4318"), &[("OTEL_TRACES_EXPORTER", "none")]));
    }

    #[test]
    fn an_address_that_is_none_is_an_error() {
        let dropped = IntCounter::new("dropped", "d").expect("a counter");
        assert!(processor(Some("http://[::1"), &Environment::default(), &dropped).is_err());
    }
}
