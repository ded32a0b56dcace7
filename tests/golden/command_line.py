"""Calls deadheat as its entry point does, in this process, and keeps what it prints."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from deadheat.cli import main
from tests.golden.scrub import scrubbed
from tests.servers.contenders import CATALOG

UNSET = ("DEADHEAT_CATALOG", "FORCE_COLOR", "NO_COLOR")  # of whoever runs the tests


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`folder` is empty and the current one; the store in `home` holds `runs`, ids by kind."""

    folder: Path
    home: Path
    runs: Mapping[str, str]

    @property
    def store(self) -> Path:
        return self.home / "runs.sqlite"

    def stdout(self, *arguments: str, columns: int = 120) -> str:
        """What a command prints that succeeds and says nothing else."""
        out, err, code = self.call(arguments, columns)
        assert (code, err) == (0, ""), err
        return self.scrubbed(out)

    def scrubbed(self, text: str, observed: bool = False) -> str:
        """`observed`: the text quotes figures of this machine."""
        return scrubbed(text, {self.folder: "<folder>", self.home: "<home>"}, observed)

    def call(
        self,
        arguments: Sequence[str],
        columns: int = 120,
        shipped: bool = False,
        bare: bool = False,
    ) -> tuple[str, str, int]:
        """Standard output, standard error and the exit code.

        `shipped`: on the catalog of the repository, not that of the tests; `bare`: on a machine
        with nothing installed.
        """
        environment = {name: value for name, value in os.environ.items() if name not in UNSET}
        environment |= {
            "DEADHEAT_HOME": str(self.home),
            "COLUMNS": str(columns),
            "PATH": "" if bare else f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
        }
        environment |= {} if shipped else {"DEADHEAT_CATALOG": str(CATALOG)}
        code = 0
        # With a buffer below, as the real ones: some formats are written as bytes.
        written = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(buffer, "utf-8", write_through=True) for buffer in written)
        with (
            mock.patch.dict(os.environ, environment, clear=True),
            mock.patch.object(sys, "argv", ["deadheat", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(self.folder),
        ):
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        return written[0].getvalue().decode(), written[1].getvalue().decode(), code


Output = Callable[[CommandLine], str]


def session(
    arguments: Sequence[str],
    line: CommandLine,
    *,
    shipped: bool = False,
    bare: bool = False,
    observed: bool = False,
) -> str:
    """What a user sees of a command: its words, both streams, the exit code. JSON stays JSON.

    Words in braces are the ids of runs.
    """
    words = [word if word == "{port}" else word.format(**line.runs) for word in arguments]
    out, err, code = line.call(words, shipped=shipped, bare=bare)
    if "--json" in words:
        return line.scrubbed(out, observed)
    parts = [f"$ deadheat {' '.join(words)}\n", out]
    parts += [f"--- standard error\n{err}"] if err else []
    parts += [f"--- exit code {code}\n"] if code else []
    return line.scrubbed("".join(parts), observed)
