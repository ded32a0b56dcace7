"""Runs command lines with outputs that are closed, full or broken: `every_output.py < TASKS`.

Each task gets a process of its own, forked from this one, which has imported the command: several
hundred starts of Python would take minutes. Prints the tasks as JSON, with their exit codes and the
folders that have what was written.
"""

import atexit
import importlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deadheat.cli import MODULES, main

SIDE_BY_SIDE = 3
CLOSED, FULL, BROKEN = "closed", "full", "broken"


def _redirect(number: int, name: str, state: str, kept: Path) -> None:
    """What a shell and the start of the interpreter do."""
    if state == CLOSED:
        os.close(number)
        setattr(sys, name, None)
        setattr(sys, f"__{name}__", None)
        return
    if state == BROKEN:
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open("/dev/full" if state == FULL else kept, os.O_WRONLY | os.O_CREAT)
    os.dup2(writer, number)
    os.close(writer)


def _become(task: dict[str, Any], folder: Path) -> None:
    """Let this process be the command of the task."""
    os.chdir(folder)
    os.environ["DEADHEAT_HOME"] = str(folder / "home")
    sys.argv = ["deadheat", *task["words"]]
    if task["ends_after_s"]:  # of a command that does not end by itself
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, task["ends_after_s"])
        atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # it would kill an ending Python
    for number, name in ((1, "stdout"), (2, "stderr")):
        _redirect(number, name, task[name], folder / name)


def _folders(root: Path, template: Path, tasks: list[dict[str, Any]]) -> Iterator[Path]:
    for number, _ in enumerate(tasks):
        folder = root / str(number)
        shutil.copytree(template, folder)
        yield folder


def _run(tasks: list[dict[str, Any]], root: Path, template: Path) -> bool:
    """False in the process that is to be a command."""
    pending = list(zip(tasks, _folders(root, template, tasks), strict=True))
    running: dict[int, dict[str, Any]] = {}
    while pending or running:
        if pending and len(running) < SIDE_BY_SIDE:
            task, folder = pending.pop()
            task["folder"] = str(folder)
            if (pid := os.fork()) == 0:
                _become(task, folder)
                return False
            running[pid] = task
            continue
        pid, status = os.wait()
        running.pop(pid)["code"] = os.waitstatus_to_exitcode(status)
    return True


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    for name in {task["words"][0] for task in asked["tasks"]}:
        importlib.import_module(f"deadheat.cli.{MODULES.get(name, name)}")
    if _run(asked["tasks"], Path(asked["root"]), Path(asked["template"])):
        print(json.dumps(asked["tasks"]))
    else:
        main()
