//! Chooses and creates the driver of a run.

use super::epoll::Epoll;
use super::route::Route;
use super::uring::Uring;
use super::{Driver, probe};
use crate::backend::Backend;
use crate::config::{Config, Pace};
use crate::error::{Error, Result};

/// Minimum of connections per thread for which io_uring is cheaper than epoll (bench/engine.py).
const IO_URING_CONNECTIONS: usize = 8;

/// The backend of the options, or io_uring if it is cheaper and the kernel allows it.
pub(crate) fn choose(config: &Config) -> Result<Backend> {
    match config.backend {
        Some(Backend::Epoll) => Ok(Backend::Epoll),
        Some(Backend::IoUring) => match probe::io_uring() {
            Ok(()) => Ok(Backend::IoUring),
            Err(error) => Err(Error::usage(format!(
                "--backend io_uring: not allowed here, or a kernel before 6.1 ({error}); \
                 remove --backend"
            ))),
        },
        None if pays(config) && probe::io_uring().is_ok() => Ok(Backend::IoUring),
        None => Ok(Backend::Epoll),
    }
}

/// Creates a driver for `slots` connections with responses of about `response_bytes`.
pub(crate) fn build(
    backend: Backend,
    route: Route,
    slots: usize,
    response_bytes: usize,
) -> Result<Box<dyn Driver>> {
    match backend {
        Backend::Epoll => Ok(Box::new(Epoll::new(route, slots)?)),
        Backend::IoUring => match Uring::new(route, slots, response_bytes) {
            Ok(uring) => Ok(Box::new(uring)),
            Err(source) => Err(Error::System { what: "io_uring", source }),
        },
    }
}

/// True if many requests can share a call: on kept connections in a closed loop.
fn pays(config: &Config) -> bool {
    let kept = !config.close && config.requests_per_connection.is_none();
    kept && config.pace == Pace::Closed
        && config.connections / config.threads >= IO_URING_CONNECTIONS
}
