//! The tests of whole runs once more, on io_uring (where the kernel refuses it, on epoll again).
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
