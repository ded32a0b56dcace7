"""Writes trials to a store until it is killed; prints the id of each once it is committed.

Usage: writer.py STORE [FILE_BYTES_MAX]. The limit on file sizes stands for a full disk.
"""

import resource
import sys
from pathlib import Path

from deadheat.errors import StoreError
from deadheat.store import Store
from tests.store.made import begin, trial

if len(sys.argv) > 2:
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with Store(Path(sys.argv[1])) as store:
    run_id, contender_id = begin(store)
    try:
        for block in range(100_000):
            print(store.add_trial(trial(run_id, contender_id, block)), flush=True)
    except StoreError as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
        sys.exit(1)
