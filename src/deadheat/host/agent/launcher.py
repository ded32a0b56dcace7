"""The process that becomes a command, or its init."""

from __future__ import annotations

import json
import os
from typing import NoReturn

from .become import become
from .program import ARCHIVE_FDS


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
