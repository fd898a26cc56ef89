//! The thread of health and metrics, which nothing else uses: no evaluation and no review can keep
//! it from answering.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::{Error, listener};

/// See the module page.
pub struct Thread(Option<Runtime>);

impl Thread {
    /// Begins.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start() -> Result<Thread, Error> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).max_blocking_threads(1).thread_name("operation").enable_all();
        Ok(Thread(Some(runtime.build()?)))
    }

    /// Binds an address.
    ///
    /// # Errors
    /// It is none, or is in use.
    pub async fn bind(&self, address: &str) -> Result<(TcpListener, SocketAddr), Error> {
        let address = address.to_string();
        self.serve(async move { listener::bind(&address).await }).await?
    }

    /// Runs something on the thread.
    pub fn serve<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        match &self.0 {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
