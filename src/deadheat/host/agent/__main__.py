"""Starts one of the programs of this package: the agent, a launcher or a keeper.

It runs as a folder or inside an archive, with `python3 -I -S PATH ARGUMENTS`, so it first makes
itself a package. It imports only what the program needs: a launcher starts often.
"""

import importlib
import os
import sys

PROGRAMS = {"--launch": "launcher", "--keep": "keeper"}


def main() -> int:
    folder = os.path.dirname(__file__)  # noqa: PTH120 (no pathlib: it would slow down a launcher)
    sys.path[0] = os.path.dirname(folder)  # noqa: PTH120
    sys.path.append(sys.path.pop(0))  # behind the standard library
    program = PROGRAMS.get(sys.argv[1] if len(sys.argv) > 1 else "", "command")
    module = importlib.import_module(f"{os.path.basename(folder)}.{program}")  # noqa: PTH119
    return int(module.main(sys.argv[1:]))


if __name__ == "__main__":
    os._exit(main())
