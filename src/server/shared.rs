//! What all connections of one server share.

use crate::config::Config;
use crate::http::head::HeadLimits;
use crate::net::drain::Drain;
use crate::rt;
use crate::server::built_app::BuiltApp;
use crate::server::counters::{self, ServerCounters, WorkerCounters};
use std::net::SocketAddr;
use std::sync::Arc;

/// One running server: the application, its bounds, and what is counted. Nothing in it is locked per request.
pub(crate) struct Shared {
    pub(crate) app: BuiltApp,
    pub(crate) config: Config,
    pub(crate) head_limits: HeadLimits,
    /// Where it listens, with the real port.
    pub(crate) address: SocketAddr,
    pub(crate) drain: Arc<Drain>,
    counters: Box<[WorkerCounters]>,
}

impl Shared {
    /// To be called when the runtime has been started.
    pub(crate) fn new(app: BuiltApp, config: Config, address: SocketAddr) -> Arc<Shared> {
        let workers = rt::workers();
        Arc::new(Shared {
            app,
            head_limits: HeadLimits {
                max_bytes: config.max_head,
                max_line: config.max_request_line,
                max_fields: config.max_headers,
            },
            config,
            address,
            drain: Drain::new(workers),
            counters: (0..workers).map(|_| WorkerCounters::default()).collect(),
        })
    }

    /// The counters of the calling worker.
    ///
    /// # Panics
    /// On a host thread.
    pub(crate) fn here(&self) -> &WorkerCounters {
        let worker = rt::worker().expect("connections run on workers");
        &self.counters[worker]
    }

    /// The counters of all workers.
    pub(crate) fn counters(&self) -> ServerCounters {
        counters::total(&self.counters, self.drain.connections())
    }
}
