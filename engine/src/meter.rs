//! CPU usage of a thread in the measured window.

use crate::session::Window;
use crate::usage::ThreadUsage;

/// Reads the thread's usage at both ends of the measured window.
pub(crate) struct Meter {
    usage: [Option<ThreadUsage>; 2],
    next_ns: u64,
    /// Time in which the thread only polled for the next request.
    pub polled_ns: u64,
}

impl Meter {
    pub(crate) fn new(window: Window) -> Self {
        Self { usage: [None, None], next_ns: window.measure_ns, polled_ns: 0 }
    }

    #[inline]
    pub(crate) fn pass(&mut self, now_ns: u64, window: Window) {
        if now_ns < self.next_ns.min(window.end_ns) {
            return;
        }
        self.next_ns = match self.usage {
            [None, _] => {
                self.usage[0] = Some(ThreadUsage::read(self.polled_ns));
                window.end_ns
            }
            [_, None] => {
                self.usage[1] = Some(ThreadUsage::read(self.polled_ns));
                u64::MAX
            }
            _ => u64::MAX,
        };
    }

    /// At the start and the end of the window and at the end of the drain. If a discarded load
    /// followed the window, its end stands for that of the drain.
    pub(crate) fn finish(self, discarded_load_followed: bool) -> [ThreadUsage; 3] {
        let last = ThreadUsage::read(self.polled_ns);
        let first = self.usage[0].unwrap_or(last);
        let end = self.usage[1].unwrap_or(last);
        [first, end, if discarded_load_followed { end } else { last }]
    }
}
