"""Runs deadheat's command line and reports the moments of its run: `hook.py FD SETTINGS WORD...`

FD gets one JSON line when a moment begins or ends, and one for each trial that the store has
acknowledged. SETTINGS is JSON: `containment` chooses how process trees are held, `deadline_s`
shortens the deadlines after which the agent counts as hung, `descriptors` limits them, and with
`terminal`, standard input is the terminal that controls the command.
"""

import fcntl
import json
import os
import resource
import sys
import termios
from collections.abc import Callable, Sequence
from typing import Any

from deadheat.build.builder import Builder
from deadheat.campaign import block, revision
from deadheat.cli import main
from deadheat.host import agent_host, local
from deadheat.measure import starter
from deadheat.store import Store, TrialRecord

descriptor, settings = int(sys.argv[1]), json.loads(sys.argv[2])


def report(**line: Any) -> None:
    os.write(descriptor, json.dumps(line).encode() + b"\n")


def watch(owner: Any, name: str, moment: str) -> None:
    """Report when the function is called and when it returns."""
    function: Callable[..., Any] = getattr(owner, name)

    def watched(*values: Any, **options: Any) -> Any:
        report(begin=moment)
        try:
            return function(*values, **options)
        finally:
            report(end=moment)

    setattr(owner, name, watched)


def acknowledge(store: Store, records: Sequence[TrialRecord]) -> list[int]:
    trial_ids = add_trials(store, records)
    for trial_id, record in zip(trial_ids, records, strict=True):
        report(trial=trial_id, rate_per_s=record.rate_per_s)
    return trial_ids


def contained(host: local.LocalHost, _: str | None = None, *values: Any, **options: Any) -> None:
    open_host(host, settings["containment"], *values, **options)


watch(Builder, "_make", "build")
watch(revision.Revisions, "_built_here", "build")
watch(starter.Starter, "start", "start")
watch(starter, "warm", "warm-up")
watch(block, "measure_slice", "slice")
watch(Store, "add_trials", "store")
watch(starter, "stop", "stop")
add_trials, open_host = Store.add_trials, local.LocalHost.__init__
Store.add_trials = acknowledge  # type: ignore[method-assign,assignment]
local.LocalHost.__init__ = contained  # type: ignore[method-assign,assignment]
for constant in ("SILENT_S", "AGENT_END_DEADLINE_S"):
    setattr(agent_host, constant, min(getattr(agent_host, constant), settings["deadline_s"]))
if settings["descriptors"]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (settings["descriptors"],) * 2)
if settings["terminal"]:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv = ["deadheat", *sys.argv[3:]]
main()
