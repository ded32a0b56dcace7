//! The tests of whole runs on epoll, and those that choose a driver or need none.

mod common;

#[path = "cases/backends.rs"]
mod backends;
#[path = "cases/closing.rs"]
mod closing;
#[path = "cases/command_line.rs"]
mod command_line;
#[path = "cases/faults.rs"]
mod faults;
#[path = "cases/http2.rs"]
mod http2;
#[path = "cases/runs.rs"]
mod runs;
#[path = "cases/slice_connections.rs"]
mod slice_connections;
#[path = "cases/slice_lines.rs"]
mod slice_lines;
#[path = "cases/slices.rs"]
mod slices;
#[path = "cases/tls.rs"]
mod tls;
#[path = "cases/together.rs"]
mod together;
#[path = "cases/well_behaved.rs"]
mod well_behaved;
#[path = "cases/workloads.rs"]
mod workloads;
