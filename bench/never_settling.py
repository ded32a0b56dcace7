"""A race that spends its whole budget: which servers, and by which protocol."""

import json
import re
import subprocess
from collections import defaultdict
from itertools import chain, zip_longest
from pathlib import Path

from bench.served import DEADHEAT
from deadheat.catalog import find_root

CONFIDENCE = 0.999999999  # no interval of a real race is that sure of a close pair
MARGIN = 0.0001  # and none is narrow enough to call it a dead heat


def never_settling(folder: Path, name: str) -> Path:
    """The protocol of that name with limits that a race does not reach; a file in `folder`.

    Raises `ValueError` for a protocol that does not settle by itself.
    """
    root = find_root(None)
    text = (root / "protocols" / f"{name}.toml").read_text()
    if 'kind = "settle"' not in text:
        raise ValueError(f"--protocol {name}: expected one that races until the order is settled")
    text = re.sub(r"(?m)^(margin|confidence) = .*\n", "", text)
    limits = f"[stopping]\nconfidence = {CONFIDENCE}\nmargin = {MARGIN}"
    path = folder / f"{name}.toml"
    path.write_text(text.replace("[stopping]", limits, 1))
    return path


def catalog_servers(count: int) -> list[str]:
    """Servers that are ready here, one of each language in turn; the built ones first."""
    listed = subprocess.run([*DEADHEAT, "list", "--json"], stdout=subprocess.PIPE, check=True)
    rows = [row for row in json.loads(listed.stdout)["servers"] if row["ready"]]
    by_language: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: not row["built"]):
        by_language[row["language"]].append(row["name"])
    turns = chain.from_iterable(zip_longest(*by_language.values()))
    return [name for name in turns if name is not None][:count]
