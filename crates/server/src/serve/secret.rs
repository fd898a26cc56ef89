//! The certificate in a Secret of the cluster, while the server runs.
//!
//! In: the Secret, watched and read from time to time. Out: the pair that new connections use, and
//! word to the controllers when webhook configurations are to trust other authorities. What is in
//! the Secret, and who writes it: `controllers::certificates`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use ephor_controllers::certificates::{ServerSecret, Wanted};
use ephor_controllers::manager::Controllers;

use super::Error;
use super::live::Link;
use super::tls::Certificates;

/// How often the Secret is read even if no change of it is reported.
const AT_LEAST: Duration = Duration::from_secs(30);

/// The Secret as settings name it.
pub fn of(link: Option<&Link>, wanted: &Wanted) -> Result<ServerSecret, Error> {
    let cluster = link.ok_or(Error::NoCluster)?.cluster.clone();
    Ok(ServerSecret::new(cluster, wanted.clone(), Arc::new(SystemTime::now)))
}

/// Reads or creates the Secret. One that cannot be used is reported, and the server waits for
/// another one.
pub async fn open(link: Option<&Link>, wanted: &Wanted) -> Result<Arc<Certificates>, Error> {
    let secret = Arc::new(of(link, wanted)?);
    let begun = move || {
        secret.read()?;
        if let Some(problem) = secret.problem() {
            tracing::error!(problem, "the certificate");
        }
        Ok(Arc::new(Certificates::of_secret(secret)))
    };
    tokio::task::spawn_blocking(begun).await?
}

/// Follows the Secret.
pub fn watch(
    certificates: Arc<Certificates>,
    secret: Arc<ServerSecret>,
    controllers: Option<Arc<Controllers>>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let changed = Arc::new(Notify::new());
        let mut follower = None;
        let mut known = secret.problem();
        loop {
            if follower.is_none() {
                let (of, changed) = (secret.clone(), changed.clone());
                let begun = tokio::task::spawn_blocking(move || of.follow(move || changed.notify_one()));
                follower = match begun.await {
                    Ok(Ok(begun)) => Some(begun),
                    Ok(Err(error)) => {
                        tracing::debug!(error = %error, "the Secret is not watched, but read from time to time");
                        None
                    }
                    Err(_) => None,
                };
            }
            let _ = tokio::time::timeout(AT_LEAST, changed.notified()).await;
            let (of, own) = (secret.clone(), certificates.clone());
            let done = tokio::task::spawn_blocking(move || {
                let has_changed = of.read().unwrap_or(false);
                (has_changed, own.reload())
            });
            let Ok((has_changed, reloaded)) = done.await else { continue };
            let now = secret.problem();
            if now != known {
                match &now {
                    Some(problem) => tracing::error!(problem, "the certificate; the former one stays in use"),
                    None => tracing::info!("the certificate is as it should be again"),
                }
            }
            match reloaded {
                Ok(true) => tracing::info!("other certificates are in use"),
                Ok(false) => {}
                Err(e) => {
                    tracing::error!(error = %e, "the certificates cannot be used; the former ones stay");
                }
            }
            if (has_changed || now != known)
                && let Some(controllers) = &controllers
            {
                controllers.renew();
            }
            known = now;
        }
    })
}
