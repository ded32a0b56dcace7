//! Why a command failed, and the exit code of each reason.

use std::io;
use std::process::ExitStatus;

use crate::preflight_problem::PreflightProblem;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line is wrong, or asks for what this machine does not allow.
    #[error("{0}")]
    Usage(String),
    #[error("preflight of {url}: {problem}")]
    Preflight { url: String, problem: PreflightProblem },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    /// Another process of the run sent something unexpected, or nothing.
    #[error("{0}")]
    Process(String),
    /// Another process of the run failed, and said why.
    #[error("a process of the run ended with {0}")]
    Child(ExitStatus),
    #[error("a client thread ended early")]
    Thread,
    #[error("{scheduled} requests scheduled, {classed} classed: this is a bug")]
    Miscount { scheduled: u64, classed: u64 },
}

impl Error {
    /// The exit code, as listed in the help.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Preflight { .. } => 3,
            Self::Child(status) => status.code().and_then(|code| code.try_into().ok()).unwrap_or(1),
            Self::System { .. } | Self::Process(_) | Self::Thread | Self::Miscount { .. } => 1,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A failed system call and its error number.
    pub(crate) fn of_errno(what: &'static str, errno: i32) -> Self {
        Self::System { what, source: io::Error::from_raw_os_error(errno) }
    }

    /// For `map_err`: names what failed.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    /// Names the option in a usage error.
    pub(crate) fn of_option(self, name: &str) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(format!("{name}: {message}")),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn exit_code_follows_the_kind_of_error() {
        let problem = PreflightProblem::Timeout;
        for (error, code) in [
            (Error::usage("-c"), 2),
            (Error::Preflight { url: "http://a/".to_owned(), problem }, 3),
            (Error::of_errno("poll", libc::EINVAL), 1),
            (Error::Process("it ended".to_owned()), 1),
            (Error::Child(ExitStatus::from_raw(3 << 8)), 3),
            (Error::Child(ExitStatus::from_raw(libc::SIGKILL)), 1),
            (Error::Thread, 1),
            (Error::Miscount { scheduled: 2, classed: 1 }, 1),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
        }
    }
}
