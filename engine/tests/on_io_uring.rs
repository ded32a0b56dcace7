//! The tests of whole runs on io_uring, or again on epoll if the kernel refuses io_uring.
#![allow(clippy::duplicate_mod, reason = "each file brings the helpers that it uses")]

#[path = "closing.rs"]
mod closing;
#[path = "faults.rs"]
mod faults;
#[path = "runs.rs"]
mod runs;
#[path = "slices.rs"]
mod slices;
#[path = "well_behaved.rs"]
mod well_behaved;
#[path = "workloads.rs"]
mod workloads;
