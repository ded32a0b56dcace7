//! Which driver moves the bytes.

use serde::{Deserialize, Serialize};

use crate::config::{Config, Pace};
use crate::driver::epoll::Epoll;
use crate::driver::route::Route;
use crate::driver::uring::Uring;
use crate::driver::{Driver, probe};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    Epoll,
    IoUring,
}

/// Connections of a thread from which on io_uring costs less than epoll (bench/engine.py).
const IO_URING_CONNECTIONS: usize = 8;

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }

    /// What was asked for, or else io_uring where it pays and the kernel allows it.
    pub fn choose(config: &Config) -> Result<Self, String> {
        match config.backend {
            Some(Self::Epoll) => Ok(Self::Epoll),
            Some(Self::IoUring) => match probe::io_uring() {
                Ok(()) => Ok(Self::IoUring),
                Err(error) => Err(format!(
                    "--backend io_uring: not allowed here, or a kernel before 6.1 ({error}); \
                     leave --backend out"
                )),
            },
            None if pays(config) && probe::io_uring().is_ok() => Ok(Self::IoUring),
            None => Ok(Self::Epoll),
        }
    }

    /// A driver for `slots` connections with responses of some `response_bytes`.
    pub fn driver(
        self,
        route: Route,
        slots: usize,
        response_bytes: usize,
    ) -> Result<Box<dyn Driver>, String> {
        match self {
            Self::Epoll => Ok(Box::new(Epoll::new(route, slots)?)),
            Self::IoUring => match Uring::new(route, slots, response_bytes) {
                Ok(uring) => Ok(Box::new(uring)),
                Err(error) => Err(format!("io_uring: {error}; use --backend epoll")),
            },
        }
    }
}

/// io_uring saves where many requests share a call: kept connections in a closed loop.
fn pays(config: &Config) -> bool {
    let kept = !config.close && config.requests_per_connection.is_none();
    kept && config.pace == Pace::Closed
        && config.connections / config.threads >= IO_URING_CONNECTIONS
}
