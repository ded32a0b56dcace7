"""No decision depends on which processor adds the numbers up."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.made import made_run

ROOT = Path(__file__).parents[2]
NEEDS = {  # core types of OpenBLAS that add in other orders, and the instructions that each takes
    "Prescott": {"pni"},
    "Haswell": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"},
}


def instructions() -> set[str]:
    """Those of this processor, as Linux names them."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def processors() -> dict[str, dict[str, str]]:
    """The environment that makes numpy and OpenBLAS round as on each processor."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    wide = [name for name in extensions if "AVX512" in name or name == "X86_V4"]
    made = {}
    for core, needed in NEEDS.items():
        if needed <= instructions():
            disabled = [] if core == "SkylakeX" else wide if "avx2" in needed else extensions
            numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)} if disabled else {}
            made[core] = {"OPENBLAS_CORETYPE": core, **numpy}
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a scaling curve, a dead heat, and a contender without noise."""
    path = tmp_path_factory.mktemp("processors") / "runs.sqlite"
    run = made_run(path, cpus=4)
    for workers in (1, 2, 4):
        run.contender(f"s{workers}", server="s", workers=workers)
    run.race({"s1": 1000, "s2": 5000 / 3, "s4": 2500, "twin": 2500, "slow": 300})
    run.end()
    run.store.close()
    return path


def fingerprint(store: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """That of a fresh process with `environment`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.stats.fingerprint", str(store)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def near(first: float, second: float) -> bool:
    both_nan = math.isnan(first) and math.isnan(second)
    return both_nan or math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def test_every_processor_comes_to_the_same_decisions_and_figures(store: Path) -> None:
    made = {"": {}, **processors()}
    with ThreadPoolExecutor() as pool:  # each of them starts a process
        here, *others = pool.map(lambda environment: fingerprint(store, environment), made.values())
    seen = [here["figures"]]
    for processor, there in zip([*made][1:], others, strict=True):
        seen.append(there["figures"])
        for case, decisions in here["decisions"].items():
            assert there["decisions"][case] == decisions, (processor, case)
        for case, figures in here["figures"].items():
            pairs = zip(figures, there["figures"][case], strict=True)
            apart = [pair for pair in pairs if not near(*pair)]
            assert not apart, (processor, case)
        assert there["report"] == here["report"], processor
    if all(str(figures) == str(seen[0]) for figures in seen):
        pytest.skip("this machine's numpy rounds alike for every processor that it can stand for")
