//! The tests of whole runs on io_uring, or again on epoll if the kernel refuses io_uring.

mod common;

#[path = "cases/closing.rs"]
mod closing;
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
