//! Metrics that are sent to an OpenTelemetry collector, besides being read at `/metrics`.
//!
//! In: the metrics as `/metrics` shows them, from time to time. Out: OTLP requests, as protobuf,
//! to the collector that the environment names (`OTEL_*`). Values are totals since the start, so
//! nothing is missing after a request that gets lost. Semantics:
//! `docs/reference/serve.md`, "Metrics for a collector".
//!
//! - `exposition`: metrics in the text form of Prometheus, read.
//! - `message`: these as a message of OTLP.

mod exposition;
mod message;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use opentelemetry_otlp::{OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS};
use percent_encoding::percent_decode_str;
use prost::Message;

use ephor_sources::http::{Request, client};

use super::traces::resource;

/// How often metrics are sent, unless the environment says.
const INTERVAL: Duration = Duration::from_secs(60);
/// How long a request may take, unless the environment says.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a collector's answer is read.
const LARGEST_ANSWER: u64 = 64 * 1024;

/// Where metrics go, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Destination {
    url: String,
    headers: Vec<(String, String)>,
    interval: Duration,
    timeout: Duration,
    /// PEM certificates of the collector's authority, from a file.
    authority: Option<String>,
}

impl Destination {
    /// That of the environment; `None` = metrics are not sent. An address for all signals alone
    /// does not suffice: most collectors read `/metrics`, and would have everything twice.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Destination> {
        let set = |name: &str| variable(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let first = |of_metrics: &str, of_all: &str| set(of_metrics).or_else(|| set(of_all));
        let own = set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        let exporter = set("OTEL_METRICS_EXPORTER");
        let is_disabled = set("OTEL_SDK_DISABLED").is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let is_wanted = exporter.as_deref() == Some("otlp") || (exporter.is_none() && own.is_some());
        if is_disabled || !is_wanted {
            return None;
        }
        // An address of metrics is taken as it is, one of all signals is what the path follows.
        let of_all = || {
            let all = set(OTEL_EXPORTER_OTLP_ENDPOINT).unwrap_or_else(|| "http://localhost:4318".into());
            format!("{}/v1/metrics", all.trim_end_matches('/'))
        };
        let protocol = first("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
        if let Some(other) = protocol.filter(|protocol| protocol != "http/protobuf") {
            tracing::warn!(
                protocol = other,
                "metrics are sent as `http/protobuf`, the only protocol for them"
            );
        }
        let milliseconds =
            |text: String| text.parse().ok().map(Duration::from_millis).filter(|t| !t.is_zero());
        Some(Destination {
            url: own.unwrap_or_else(of_all),
            headers: first("OTEL_EXPORTER_OTLP_METRICS_HEADERS", OTEL_EXPORTER_OTLP_HEADERS)
                .map_or_else(Vec::new, |text| headers(&text)),
            interval: set("OTEL_METRIC_EXPORT_INTERVAL").and_then(milliseconds).unwrap_or(INTERVAL),
            timeout: first("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
                .and_then(milliseconds)
                .unwrap_or(TIMEOUT),
            authority: first("OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"),
        })
    }

    fn send(&self, text: &str, since: SystemTime) {
        let families = exposition::families(text);
        let resource = resource::of_replica(|name| std::env::var(name).ok());
        let message = message::of(&families, &resource, since, SystemTime::now());
        let mut headers = vec![("Content-Type".to_string(), "application/x-protobuf".to_string())];
        headers.extend(self.headers.iter().cloned());
        let authority = self.authority.as_deref().map(std::fs::read_to_string).transpose();
        let authority = authority.unwrap_or_else(|error| {
            tracing::warn!(%error, "the certificates of the collector's authority cannot be read");
            None
        });
        let sent = client().send(Request {
            method: "POST",
            headers,
            body: Some(message.encode_to_vec()),
            ca_bundle: &authority.unwrap_or_default(),
            ..Request::get(&self.url, self.timeout)
        });
        match sent {
            Ok(answer) if answer.status.is_success() => {
                // Read to its end, so that the connection can be used again.
                let _ = answer.bytes(LARGEST_ANSWER);
            }
            Ok(answer) => tracing::warn!(
                status = answer.status.as_u16(),
                url = self.url,
                "the collector refuses metrics"
            ),
            Err(error) => tracing::warn!(%error, url = self.url, "metrics cannot be sent"),
        }
    }
}

/// `NAME=VALUE,…`, percent-encoded, as OpenTelemetry has headers in its environment.
fn headers(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).filter(|(name, _)| !name.is_empty()).collect()
}

/// The thread that sends metrics.
pub struct MetricsPusher {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl MetricsPusher {
    /// Begins to send what `text` returns, if the environment names a collector for metrics.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        text: impl Fn() -> Option<String> + Send + 'static,
    ) -> std::io::Result<Option<MetricsPusher>> {
        let Some(destination) = Destination::of(|name| std::env::var(name).ok()) else { return Ok(None) };
        MetricsPusher::start_to(destination, text).map(Some)
    }

    fn start_to(
        destination: Destination,
        text: impl Fn() -> Option<String> + Send + 'static,
    ) -> std::io::Result<MetricsPusher> {
        let (end, ends) = channel();
        let since = SystemTime::now();
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(move || {
            loop {
                let waited = ends.recv_timeout(destination.interval);
                let Some(text) = text() else { return };
                destination.send(&text, since);
                if !matches!(waited, Err(RecvTimeoutError::Timeout)) {
                    return;
                }
            }
        })?;
        Ok(MetricsPusher { end, thread })
    }

    /// Sends once more, and ends.
    pub fn end(self) {
        let _ = self.end.send(());
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;

    use super::*;

    fn of(all: &[(&str, &str)]) -> Option<Destination> {
        Destination::of(|name| all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
    }

    #[test]
    fn metrics_are_sent_only_when_the_environment_names_them() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")]), None);
        assert_eq!(
            of(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c"), ("OTEL_METRICS_EXPORTER", "none")]),
            None
        );
        assert_eq!(of(&[("OTEL_METRICS_EXPORTER", "otlp"), ("OTEL_SDK_DISABLED", "true")]), None);
        let own = of(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c/path")]).expect("a destination");
        assert_eq!(own.url, "http://c/path");
        let all = of(&[("OTEL_METRICS_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")]);
        let all = all.expect("a destination");
        assert_eq!(
            (all.url.as_str(), all.interval, all.timeout),
            ("http://c:4318/v1/metrics", INTERVAL, TIMEOUT)
        );
    }

    #[test]
    fn headers_intervals_and_times_are_those_of_the_environment() {
        let destination = of(&[
            ("OTEL_METRICS_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "other=1"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "authorization=Bearer%20x, tenant = a"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ])
        .expect("a destination");
        let wanted =
            [("authorization", "Bearer x"), ("tenant", "a")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(destination.headers, wanted);
        assert_eq!(
            (destination.interval, destination.timeout),
            (Duration::from_secs(5), Duration::from_millis(250))
        );
    }

    #[test]
    fn a_collector_gets_what_is_shown_at_the_end_of_the_server() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1/metrics", listener.local_addr().expect("an address"));
        let collector = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut received = Vec::new();
            let mut block = [0; 4096];
            loop {
                let count = stream.read(&mut block).expect("bytes");
                received.extend_from_slice(&block[..count]);
                let text = String::from_utf8_lossy(&received).to_ascii_lowercase();
                let Some(at) = text.find("\r\n\r\n") else { continue };
                let length =
                    text.split("content-length: ").nth(1).and_then(|t| t.split("\r\n").next()?.parse().ok());
                if received.len() >= at + 4 + length.unwrap_or(0usize) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("an answer");
                    let head = String::from_utf8_lossy(&received[..at]).into_owned();
                    return (head, received[at + 4..].to_vec());
                }
            }
        });
        let destination = Destination {
            url,
            headers: vec![("x-tenant".into(), "a".into())],
            interval: Duration::from_secs(3600),
            timeout: TIMEOUT,
            authority: None,
        };
        let text = "# HELP n_total N.\n# TYPE n_total counter\nn_total{a=\"b\"} 3\n";
        MetricsPusher::start_to(destination, move || Some(text.into())).expect("a thread").end();
        let (head, body) = collector.join().expect("a request");
        assert!(head.starts_with("POST /v1/metrics ") && head.contains("x-tenant: a"), "{head}");
        let request = ExportMetricsServiceRequest::decode(body.as_slice()).expect("a message");
        let metric = &request.resource_metrics[0].scope_metrics[0].metrics[0];
        assert_eq!((metric.name.as_str(), metric.description.as_str()), ("n_total", "N."));
        let Some(Data::Sum(sum)) = &metric.data else { panic!("{metric:?}") };
        assert!(sum.is_monotonic && sum.data_points.len() == 1, "{sum:?}");
    }
}
