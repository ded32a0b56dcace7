//! Several processes for one run, if one cannot have enough file descriptors.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::engine;
use crate::error::{Error, Result};
use crate::message::{Message, Outcome};
use crate::output::{say, to_json};
use crate::plan::Plan;
use crate::series::Row;
use crate::shard::{self, Shard};
use crate::{descriptors, signals};

/// Descriptors for other uses than connections.
const SPARE_DESCRIPTORS: usize = 32;
/// A thread has an epoll instance and its timer, or a ring.
const THREAD_DESCRIPTORS: usize = 2;
const PROCESS: &str = "a process of the run";
const SIGNAL_POLL: Duration = Duration::from_millis(50);

/// One line that a child process writes to its standard output.
#[derive(Serialize, Deserialize)]
enum Line {
    Connected,
    Row { thread: usize, tick: i64, row: Box<Row> },
    End { thread: usize, outcome: Box<Result<Outcome, String>> },
}

/// The number of connections that one process with all threads can have.
pub(crate) fn room(config: &Config) -> usize {
    room_beside(config.threads)
}

/// The number of connections that a process with so many threads can have.
fn room_beside(threads: usize) -> usize {
    let limit = usize::try_from(descriptors::raise_limit()).unwrap_or(usize::MAX);
    limit.saturating_sub(SPARE_DESCRIPTORS + THREAD_DESCRIPTORS * threads).max(1)
}

/// Spreads the threads of a run over as few processes as the descriptor limit allows.
pub(crate) fn shards(config: &Config) -> Vec<Shard> {
    shard::split(config.connections, config.threads, room_beside)
}

/// Runs the shard of this child process; the parent sends the start time and reads the lines.
pub(crate) fn run_as_child(config: &Config, plan: &Plan) -> Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as usize, 0usize, 0usize, 0usize) };
    let agree = || {
        print_line(&Line::Connected);
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).map_err(Error::system("stdin"))?;
        answer
            .trim()
            .parse()
            .map_err(|_| Error::Process(format!("expected a start time, not {answer:?}")))
    };
    engine::run(config, plan, agree, |message| {
        print_line(&match message {
            Message::Row { thread, tick, row } => Line::Row { thread, tick, row },
            Message::Reached => return, // of slices, which have one process
            Message::End { thread, outcome } => {
                let outcome = outcome.map_err(|error| error.to_string());
                Line::End { thread, outcome: Box::new(outcome) }
            }
        });
    })
}

fn print_line(line: &Line) {
    // The parent reads until its child ends, so it sees that a line is missing.
    let _ = say(&to_json(line));
}

/// Runs one process per shard; `agree` returns the start time, when all are connected.
pub(crate) fn run(
    shards: &[Shard],
    agree: impl FnOnce() -> u64,
    mut each: impl FnMut(Message),
) -> Result<()> {
    let (sender, receiver) = channel();
    let mut children = Children::default();
    for shard in shards {
        children.start(shard, sender.clone())?;
    }
    drop(sender);
    let mut agree = Some(agree);
    let mut waiting = shards.len();
    let mut threads: usize = shards.iter().map(|shard| shard.count).sum();
    while threads > 0 {
        match children.next(&receiver)? {
            Line::Connected => {
                waiting -= 1;
                if waiting == 0
                    && let Some(agree) = agree.take()
                {
                    children.say(&format!("{}\n", agree()))?;
                }
            }
            Line::Row { thread, tick, row } => each(Message::Row { thread, tick, row }),
            Line::End { thread, outcome } => {
                threads -= 1;
                let outcome = Box::new(outcome.map_err(Error::Process));
                each(Message::End { thread, outcome });
            }
        }
    }
    children.wait()
}

/// The processes of a run; those still running are killed on drop.
#[derive(Default)]
struct Children {
    running: Vec<(Child, ChildStdin)>,
    signals_passed_on: u32,
}

impl Children {
    /// Starts this program again, with the same arguments, for one shard.
    fn start(&mut self, shard: &Shard, lines: Sender<String>) -> Result<()> {
        let program = std::env::current_exe().map_err(Error::system(PROCESS))?;
        let mut child = Command::new(program)
            .arg(format!("--shard={}/{}/{}", shard.first, shard.count, shard.total))
            .args(std::env::args_os().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Signals from a terminal then reach the child only through this process.
            .process_group(0)
            .spawn()
            .map_err(Error::system(PROCESS))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Process("a process of the run has no pipes".to_owned()));
        };
        self.running.push((child, input));
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// The next line of any child; forwards signals while it waits.
    fn next(&mut self, lines: &Receiver<String>) -> Result<Line> {
        loop {
            let received = signals::received();
            while self.signals_passed_on < received {
                self.signals_passed_on += 1;
                for (child, _) in &self.running {
                    // SAFETY: the child has not been waited for, so its id is its own.
                    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
                }
            }
            match lines.recv_timeout(SIGNAL_POLL) {
                Ok(line) => {
                    return serde_json::from_str(&line).map_err(|error| {
                        Error::Process(format!("a process of the run wrote {line:?}: {error}"))
                    });
                }
                Err(RecvTimeoutError::Timeout) => self.forget_ended()?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.wait()?;
                    return Err(Error::Process("a process of the run ended early".to_owned()));
                }
            }
        }
    }

    /// Forgets the children that have ended; an error if one failed, as the others would wait for it.
    fn forget_ended(&mut self) -> Result<()> {
        let mut at = 0;
        while let Some((child, _)) = self.running.get_mut(at) {
            match child.try_wait().map_err(Error::system(PROCESS))? {
                None => at += 1,
                Some(status) => {
                    self.running.swap_remove(at);
                    check(status)?;
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<()> {
        for (_, input) in &mut self.running {
            input.write_all(text.as_bytes()).map_err(Error::system(PROCESS))?;
        }
        Ok(())
    }

    /// Waits until all have ended; an error if one failed.
    fn wait(&mut self) -> Result<()> {
        for (mut child, input) in self.running.drain(..) {
            drop(input);
            check(child.wait().map_err(Error::system(PROCESS))?)?;
        }
        Ok(())
    }
}

fn check(status: ExitStatus) -> Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(Error::Child(status)),
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (child, _) in &mut self.running {
            // The run has failed already, so a second error is not reported.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
