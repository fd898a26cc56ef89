//! Requests to servers of the tests' own.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::*;

/// What a server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

/// Answers requests on one connection: with what `answer` gives for the path, a status line with
/// headers and a body.
fn talk(
    stream: &mut (impl Read + Write),
    seen: &Seen,
    answer: &dyn Fn(&str) -> (String, String),
) -> Option<()> {
    loop {
        let mut head = String::new();
        let mut length = 0;
        let mut lines = BufReader::with_capacity(1, &mut *stream);
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        lines.read_exact(&mut body).ok()?;
        head.push_str(&String::from_utf8_lossy(&body));
        let path = head.split(' ').nth(1).unwrap().to_owned();
        seen.requests.lock().unwrap().push(head);
        let (status, body) = answer(&path);
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok()?;
        stream.flush().ok()?;
    }
}

/// A server on the loopback interface; encrypted where there is a configuration.
fn serve(
    tls: Option<Arc<rustls::ServerConfig>>,
    answer: impl Fn(&str) -> (String, String) + Send + Sync + 'static,
) -> (u16, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let (shared, answer) = (seen.clone(), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, tls, answer) = (shared.clone(), tls.clone(), answer.clone());
            std::thread::spawn(move || {
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let mut stream = stream;
                match tls {
                    None => talk(&mut stream, &seen, &*answer),
                    Some(tls) => {
                        let connection = rustls::ServerConnection::new(tls).ok()?;
                        talk(&mut rustls::StreamOwned::new(connection, stream), &seen, &*answer)
                    }
                }
            });
        }
    });
    (port, seen)
}

fn plain(answer: impl Fn(&str) -> (String, String) + Send + Sync + 'static) -> (u16, Arc<Seen>) {
    serve(None, answer)
}

fn hello(_: &str) -> (String, String) {
    ("200 OK".into(), "\"hello\"".into())
}

fn with_guard(blocked: &[&str], allowed: &[&str]) -> HttpClient {
    HttpClient::new(Settings { guard: Guard::of(blocked, allowed).unwrap(), ..Settings::default() })
}

fn guarded(url: &str) -> Request<'static> {
    Request { caller: Caller::Policy, ..Request::get(url, Duration::from_secs(10)) }
}

fn text_of(sent: Result<HttpResponse, RequestError>) -> Result<String, String> {
    let answer = sent.map_err(|failed| failed.to_string())?;
    Ok(String::from_utf8(answer.bytes(1000).map_err(|e| e.to_string())?).unwrap())
}

#[test]
fn requests_to_one_host_share_a_connection() {
    let (port, seen) = plain(hello);
    let client = with_guard(&[], &[]);
    for _ in 0..5 {
        assert_eq!(
            text_of(client.send(guarded(&format!("http://127.0.0.1:{port}/")))).as_deref(),
            Ok("\"hello\"")
        );
    }
    assert_eq!(seen.connections.load(Ordering::SeqCst), 1);
    assert_eq!(seen.requests.lock().unwrap().len(), 5);
}

#[test]
fn a_connection_that_operators_opened_is_not_used_for_what_policies_may_not_call() {
    let (port, seen) = plain(hello);
    let url = format!("http://127.0.0.1:{port}/");
    let client = HttpClient::new(Settings::default());
    assert!(text_of(client.send(Request::get(&url, Duration::from_secs(10)))).is_ok());
    let refused = text_of(client.send(guarded(&url))).unwrap_err();
    assert!(refused.ends_with("IP 127.0.0.1 falls in blocked range 127.0.0.0/8"), "{refused}");
    assert_eq!(seen.requests.lock().unwrap().len(), 1);
}

#[test]
fn all_forms_of_the_machine_itself_are_refused_before_anything_is_sent() {
    let (port, seen) = plain(hello);
    let client = HttpClient::new(Settings::default());
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "[::]",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "127.1",
        "169.254.169.254",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ] {
        let sent = client.send(guarded(&format!("http://{host}:{port}/")));
        assert!(matches!(sent, Err(RequestError { failure: Failure::Refused(_), .. })), "{host}");
    }
    assert_eq!(seen.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn every_redirect_is_checked_again() {
    let (inner, seen) = plain(hello);
    let (port, _) = plain(move |path| match path {
        "/blocked" => (format!("302 Found\r\nLocation: http://127.0.0.2:{inner}/"), String::new()),
        "/name" => {
            ("307 Temporary Redirect\r\nLocation: http://metadata.google.internal/x".into(), String::new())
        }
        "/elsewhere" => (format!("302 Found\r\nLocation: http://localhost:{inner}/"), String::new()),
        "/file" => ("302 Found\r\nLocation: file:///etc/passwd".into(), String::new()),
        _ => hello(path),
    });
    let at = |path: &str| guarded(&format!("http://127.0.0.1:{port}{path}"));
    let client = with_guard(&["127.0.0.2", "metadata.google.internal"], &[]);
    assert_eq!(
        text_of(client.send(at("/blocked"))),
        Err(format!(
            "Get \"http://127.0.0.2:{inner}/\": connection to 127.0.0.2:{inner} blocked: IP 127.0.0.2 falls in blocked range 127.0.0.2/32"
        ))
    );
    assert_eq!(
        text_of(client.send(at("/name"))),
        Err("Get \"http://metadata.google.internal/x\": URL \"http://metadata.google.internal/x\" is blocked: hostname \"metadata.google.internal\" is on the blocklist".into())
    );
    assert_eq!(
        text_of(client.send(at("/file"))),
        Err("Get \"file:///etc/passwd\": unsupported protocol scheme \"file\"".into())
    );
    let client = with_guard(&[], &[&format!("http://127.0.0.1:{port}/")]);
    assert_eq!(
        text_of(client.send(at("/elsewhere"))),
        Err(format!(
            "Get \"http://localhost:{inner}/\": URL \"http://localhost:{inner}/\" is not permitted: no matching allowlist entry"
        ))
    );
    assert_eq!(seen.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_host() {
    let (other, seen) = plain(hello);
    let (port, _) =
        plain(move |_| (format!("302 Found\r\nLocation: http://127.0.0.1:{other}/"), String::new()));
    let request =
        guarded(&format!("http://127.0.0.1:{port}/")).header("Authorization", "secret").header("X-Own", "x");
    assert!(text_of(with_guard(&[], &[]).send(request)).is_ok());
    let requests = seen.requests.lock().unwrap();
    assert!(!requests[0].contains("secret") && requests[0].contains("x-own: x"), "{}", requests[0]);
}

#[test]
fn a_post_is_repeated_only_where_the_answer_requires_it() {
    let (port, seen) = plain(|path| match path {
        "/303" => ("303 See Other\r\nLocation: /there".into(), String::new()),
        "/307" => ("307 Temporary Redirect\r\nLocation: /there".into(), String::new()),
        path => hello(path),
    });
    let client = with_guard(&[], &[]);
    for path in ["/303", "/307"] {
        let url = format!("http://127.0.0.1:{port}{path}");
        let request = Request { method: "POST", body: Some(b"body!".to_vec()), ..guarded(&url) };
        assert!(text_of(client.send(request)).is_ok());
    }
    let requests = seen.requests.lock().unwrap();
    let there: Vec<&String> = requests.iter().filter(|r| r.contains(" /there ")).collect();
    assert!(there[0].starts_with("GET ") && !there[0].contains("body!"), "{}", there[0]);
    assert!(there[1].starts_with("POST ") && there[1].ends_with("body!"), "{}", there[1]);
}

#[test]
fn an_answer_that_is_too_large_or_too_slow_is_refused() {
    let (port, _) = plain(|path| match path {
        "/large" => ("200 OK".into(), "x".repeat(1001)),
        _ => {
            // For ever: nothing wakes this thread.
            std::thread::park();
            hello("")
        }
    });
    let client = with_guard(&[], &[]);
    let large = client.send(guarded(&format!("http://127.0.0.1:{port}/large"))).unwrap();
    assert_eq!(large.bytes(1000), Err(Unread::TooLarge));
    let request =
        Request { timeout: Duration::from_millis(20), ..guarded(&format!("http://127.0.0.1:{port}/slow")) };
    assert!(text_of(client.send(request)).unwrap_err().contains("Client.Timeout exceeded"));
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn server(&self) -> Arc<rustls::ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = rustls_pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

#[test]
fn every_certificate_of_a_bundle_is_trusted_and_no_other() {
    let (own, other) = (Authority::new("own"), Authority::new("other"));
    let (port, seen) = serve(Some(own.server()), hello);
    let client = with_guard(&[], &[]);
    let fetch = |ca_bundle: &str| {
        text_of(client.send(Request { ca_bundle, ..guarded(&format!("https://127.0.0.1:{port}/")) }))
    };
    let unknown = Err(format!(
        "Get \"https://127.0.0.1:{port}/\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
    ));
    assert_eq!(fetch(&format!("{}{}", other.pem(), own.pem())).as_deref(), Ok("\"hello\""));
    assert_eq!(fetch(&own.pem()).as_deref(), Ok("\"hello\""));
    assert_eq!(fetch(&other.pem()), unknown);
    assert_eq!(fetch(""), unknown);
    let shortened = own.pem().replace("END", "end");
    for junk in ["junk", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &shortened] {
        assert_eq!(fetch(junk), Err("failed to parse PEM CA bundle".into()), "{junk}");
    }
    assert_eq!(seen.requests.lock().unwrap().len(), 2);
}

#[test]
fn certificates_that_operators_add_are_trusted_where_a_request_brings_none() {
    let own = Authority::new("own");
    let (port, seen) = serve(Some(own.server()), hello);
    let roots = roots::of_bundle(own.pem().as_bytes()).unwrap();
    let client = HttpClient::new(Settings { roots, ..Settings::default() });
    for _ in 0..3 {
        let request = Request::get(&format!("https://127.0.0.1:{port}/"), Duration::from_secs(10));
        assert_eq!(text_of(client.send(request)).as_deref(), Ok("\"hello\""));
    }
    assert_eq!(seen.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn behind_a_proxy_the_destination_is_checked_and_so_is_the_proxy() {
    let (port, seen) = plain(hello);
    let proxy = format!("127.0.0.1:{port}");
    let behind = |blocked: &[&str]| {
        let proxies = proxy::Proxies::of(&format!("http://{proxy}"), "", "");
        HttpClient { proxies, ..with_guard(blocked, &[]) }
    };
    let says = |client: &HttpClient, url: &str| text_of(client.send(guarded(url))).unwrap_err();
    assert_eq!(
        says(&behind(&guard::BLOCKED), "http://192.0.2.1/"),
        format!(
            "Get \"http://192.0.2.1/\": proxyconnect tcp: connection to {proxy} blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
        )
    );
    let client = behind(&["192.0.2.0/24"]);
    assert_eq!(
        says(&client, "http://192.0.2.1/"),
        "Get \"http://192.0.2.1/\": connection to 192.0.2.1:80 blocked: IP 192.0.2.1 falls in blocked range 192.0.2.0/24"
    );
    let unchecked = says(&client, "http://2130706433/");
    assert!(
        unchecked.starts_with(&format!(
            "Get \"http://2130706433/\": connection to 2130706433 via proxy {proxy} blocked: the destination cannot be resolved in-pod"
        )),
        "{unchecked}"
    );
    assert_eq!(seen.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn registries_do_not_lead_to_metadata_services_nor_out_of_tls() {
    let own = Authority::new("own");
    let (inner, seen) = plain(hello);
    let (port, _) = serve(Some(own.server()), move |path| match path {
        "/plain" => (format!("307 Temporary Redirect\r\nLocation: http://127.0.0.1:{inner}/"), String::new()),
        "/metadata" => {
            ("307 Temporary Redirect\r\nLocation: https://169.254.169.254/x".into(), String::new())
        }
        path => hello(path),
    });
    let roots = roots::of_bundle(own.pem().as_bytes()).unwrap();
    let client = HttpClient::new(Settings { roots, ..Settings::default() });
    let says = |path: &str| {
        let url = format!("https://127.0.0.1:{port}{path}");
        let request = Request::get(&url, Duration::from_secs(10));
        text_of(client.send(Request { caller: Caller::Registry, ..request }))
    };
    assert_eq!(says("/"), Ok("\"hello\"".into()));
    assert!(says("/plain").unwrap_err().ends_with("leaves TLS"));
    assert!(says("/metadata").unwrap_err().contains("IP 169.254.169.254 falls in blocked range"));
    assert_eq!(seen.connections.load(Ordering::SeqCst), 0);
}
