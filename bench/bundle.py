"""A stored run as a bundle for docs/results, without paths of this machine.

    python -m bench.bundle RUN -o docs/results/make-run.deadheat [--store FILE] [--host NAME ...]

Paths of deadheat's home, this checkout, its Python and the home folder are cut from all texts, such
as commands and logs, and so are the names of hosts, such as those of registries in logs of builds.
It prints the hosts that URLs in the texts name, for a look.
"""

import argparse
import re
import sqlite3
import sys
import sysconfig
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from deadheat.home import home
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from deadheat.store.bundle import export_run

ROOT = Path(__file__).parents[1]
HOST = re.compile(r"https?://([^/\s\"']+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", help="its id, or the last part of it")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--store", type=Path, default=home() / "runs.sqlite")
    parser.add_argument("--host", nargs="*", default=[], help="names to replace by `registry`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "run.sqlite"
        with Store(options.store, read_only=True) as store, Store(plain) as single:
            run_id = find_run(store, options.run)
            single.take(store, run_id)
            single.settle()
        with closing(sqlite3.connect(plain)) as connection:
            cut(connection)
            replace_hosts(connection, options.host)
            connection.commit()
            print("hosts in its texts:", ", ".join(sorted(hosts(connection))) or "none")
        with Store(plain) as single:
            export_run(single, run_id, options.output)


def replace_hosts(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    for table, column in texts(connection):
        for name in names:
            replacing = f"UPDATE {table} SET {column} = replace({column}, ?, 'registry')"
            connection.execute(f"{replacing} WHERE instr({column}, ?)", (name, name))


def cut(connection: sqlite3.Connection) -> None:
    """Cut the paths from every text. Exits if a text still names one of their folders."""
    folders = [str(home()), sysconfig.get_path("scripts"), str(ROOT), str(Path.home())]
    for table, column in texts(connection):
        for folder in folders:
            cutting = f"UPDATE {table} SET {column} = replace({column}, ?, '')"
            connection.execute(cutting, (f"{folder}/",))
        for (text,) in connection.execute(f"SELECT {column} FROM {table}"):
            left = [folder for folder in folders if isinstance(text, str) and folder in text]
            if left:
                sys.exit(f"{column} of {table} still names {left[0]}: {text[:200]}")
    stacks = "SELECT rowid, rows FROM series WHERE name = 'stacks'"
    for row, packed in connection.execute(stacks).fetchall():
        text = zlib.decompress(packed).decode()
        for folder in folders:
            text = text.replace(f"{folder}/", "")
        kept = (zlib.compress(text.encode()), row)
        connection.execute("UPDATE series SET rows = ? WHERE rowid = ?", kept)


def texts(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Every column of text, with its table."""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            if kind == "TEXT":
                yield table, column


def hosts(connection: sqlite3.Connection) -> set[str]:
    return {
        host
        for table, column in texts(connection)
        for (text,) in connection.execute(f"SELECT {column} FROM {table}")
        for host in HOST.findall(text or "")
        if not host.startswith("127.0.0.1")
    }


if __name__ == "__main__":
    main()
