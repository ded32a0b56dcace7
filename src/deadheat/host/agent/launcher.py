"""The process that becomes a command, or its init."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
from pathlib import Path
from typing import Any, NoReturn

from .program import ARCHIVE_FDS, TAG, Fault, Json


def become(spec: Json, report: int) -> NoReturn:
    """Replace this process by the command; write an error to `report`."""
    try:
        prepare(spec)
        os.write(report, b'{"ready": true}\n')
        environment = dict(os.environ, **spec["env"])
        if spec["tag"]:
            environment[TAG] = spec["tag"]
        os.execvpe(spec["command"][0], spec["command"], environment)
    except Fault as fault:
        refusal = fault
    except OSError as error:
        refusal = exec_fault(spec, error)
    os.write(report, json.dumps({"error": refusal.as_json()}).encode() + b"\n")
    os._exit(127)


def prepare(spec: Json) -> None:
    try:
        os.chdir(spec["cwd"] or ".")
    except OSError as error:
        raise Fault(f"cannot start in {spec['cwd']}: {error.strerror}") from error
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if spec["cpus"] is not None:
        pin(spec["cpus"])
    # Python ignores SIGPIPE, a background job of a shell SIGINT. The command gets the defaults.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):  # some belong to the C library
            signal.signal(number, signal.SIG_DFL)
    if spec["stdin_fd"] is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    else:
        os.dup2(spec["stdin_fd"], 0)
        os.close(spec["stdin_fd"])
    if spec["cgroup"]:  # last, so that the time of this interpreter is not counted
        Path(spec["cgroup"], "cgroup.procs").write_text("0")


def pin(cpus: list[int]) -> None:
    allowed = os.sched_getaffinity(0)
    if not cpus or not set(cpus) <= allowed:
        raise Fault(
            f"cannot pin to CPUs {numbers(cpus)}: this host allows {numbers(allowed)}",
            f"choose among CPUs {numbers(allowed)}",
        )
    os.sched_setaffinity(0, cpus)


def numbers(values: Any) -> str:
    return ",".join(map(str, sorted(values))) or "none"


def exec_fault(spec: Json, error: OSError) -> Fault:
    import shutil  # only here: a start that goes well does not need it

    program = spec["command"][0]
    path = dict(os.environ, **spec["env"]).get("PATH", os.defpath)
    full_path = shutil.which(program, path=path)
    if error.errno == errno.ENOENT and not full_path:
        return Fault(f"no such program: {program}", "install it, or put its folder on PATH")
    if error.errno == errno.ENOENT:
        return Fault(
            f"cannot start {full_path}: its interpreter or loader does not exist",
            f"check its first line, or run `file {full_path}`",
        )
    return Fault(
        f"cannot start {full_path or program}: {error.strerror}",
        "check that it is an executable file",
    )


def main(arguments: list[str]) -> NoReturn:
    report = int(arguments[1])
    for descriptor in (report, *ARCHIVE_FDS):
        os.set_inheritable(descriptor, False)
    control = os.fdopen(os.dup(0), "rb")  # an init keeps it open
    spec = json.loads(control.readline())
    if spec["cgroup"]:
        become(spec, report)
    from .init import init_main  # only here: a start in a cgroup does not need it

    init_main(spec, control, report)
