//! Connections: accepting them, encrypting them, ending them.
//!
//! A client that does not finish its handshake or its headers in time is cut off, and there is a
//! limit to connections. When the server ends, what is under way is answered before connections
//! close.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::tls::Certificates;

use super::Error;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);
/// The largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// How many concurrent requests a client may have on one connection.
const STREAMS: u32 = 250;

/// What connections are served with.
#[derive(Clone)]
pub struct Service {
    /// What answers.
    pub router: Router,
    /// The certificates; `None` = connections are not encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// How many connections there may be.
    pub connections: usize,
    /// How long connections are waited for at the end.
    pub grace: Duration,
}

/// Every address of both families.
const ALL: &str = "[::]:";

/// Binds an address; `[::]` are those of IPv4 alone where the system has no IPv6.
///
/// # Errors
/// It is none, or is in use.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), Error> {
    let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        return Err(Error::NoPort(address.to_owned()));
    }
    let at_address = |source| Error::Address { address: address.to_owned(), source };
    let listener = match (TcpListener::bind(address).await, address.strip_prefix(ALL)) {
        (Err(error), Some(port)) if has_no_ipv6(&error) => TcpListener::bind(format!("0.0.0.0:{port}")).await,
        (bound, _) => bound,
    };
    let listener = listener.map_err(at_address)?;
    let local = listener.local_addr().map_err(at_address)?;
    Ok((listener, local))
}

/// Whether an address is refused because its family is not there, or is switched off.
fn has_no_ipv6(error: &std::io::Error) -> bool {
    // Linux: EAFNOSUPPORT is 97; the standard library has no kind for it.
    error.raw_os_error() == Some(97) || error.kind() == std::io::ErrorKind::AddrNotAvailable
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(LARGEST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(LARGEST_HEAD).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

async fn ended(ends: &mut watch::Receiver<bool>) {
    let _ = ends.wait_for(|ends| *ends).await;
}

/// Serves connections until `ends` is true.
///
/// # Errors
/// The certificates cannot be used.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    mut ends: watch::Receiver<bool>,
) -> Result<(), Error> {
    let acceptor =
        service.certificates.as_ref().map(Certificates::config).transpose()?.map(TlsAcceptor::from);
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(service.connections));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(e) => {
                    // No file descriptors are left, most likely; others have to end first.
                    tracing::warn!(error = %e, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = ended(&mut ends) => break,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            // Closed at once, so that the client can go elsewhere.
            drop(stream);
            continue;
        };
        let _ = stream.set_nodelay(true);
        let watcher = graceful.watcher();
        let (router, acceptor) = (service.router.clone(), acceptor.clone());
        tokio::spawn(async move {
            let served = connection(stream, acceptor, router, watcher).await;
            if let Err(e) = served {
                tracing::debug!(error = %e, "a connection ended");
            }
            drop(slot);
        });
    }
    drop(listener);
    if tokio::time::timeout(service.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    Ok(())
}

async fn connection(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), Error> {
    let service = TowerToHyperService::new(router);
    let builder = builder();
    match acceptor {
        None => {
            let served = builder.serve_connection(TokioIo::new(stream), service).into_owned();
            watcher.watch(served).await.map_err(Error::Connection)
        }
        Some(acceptor) => {
            let accepted = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
            let stream = accepted.map_err(|_| Error::Connection("no handshake in time".into()))??;
            let served = builder.serve_connection(TokioIo::new(stream), service).into_owned();
            watcher.watch(served).await.map_err(Error::Connection)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_addresses_are_those_of_ipv4_too() {
        let (_listener, address) = bind("[::]:0").await.expect("a port");
        TcpStream::connect(("127.0.0.1", address.port())).await.expect("a connection");
        // Where the system has IPv6, its loopback leads there, too.
        if address.is_ipv6() {
            TcpStream::connect(("::1", address.port())).await.expect("a connection");
        }
    }

    #[tokio::test]
    async fn an_address_without_a_port_is_an_error() {
        assert!(matches!(bind("[::]").await, Err(Error::NoPort(_))));
        assert!(matches!(bind("[::]:port").await, Err(Error::NoPort(_))));
    }

    #[test]
    fn only_a_missing_family_leads_to_the_other_one() {
        assert!(has_no_ipv6(&std::io::Error::from_raw_os_error(97)));
        assert!(!has_no_ipv6(&std::io::ErrorKind::AddrInUse.into()));
    }
}
