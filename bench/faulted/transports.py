"""Races of servers that misbehave over https, h2 or h2c, in the middle of the race."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme

from bench.faulted.attempt import Outcome, attempt, record
from bench.faulted.chain import SERVER, last_run
from bench.faulted.matrix import Fault
from bench.faulted.modes import OTHER_CERTIFICATE, RACE_VERDICTS
from bench.faulted.moody_transports import ALWAYS
from bench.faulted.sandbox import CATALOG, Sandbox, sandbox
from deadheat import report
from deadheat.store import Store

PROTOCOL = CATALOG / "protocols" / "transports.toml"
HOST = "127.0.0.1"
START_S = 10.0
TRIES = 2  # on a busy machine, a race may be over before its server misbehaves
OF_SERVER = {"errors", "served"}  # gates that do not depend on the machine
Document = Mapping[str, Any]


class Transports:
    """Faults of the kinds `https`, `h2` and `h2c`, each in a race of its own."""

    def __init__(self, root: Path, faults: Sequence[Fault], seed: int) -> None:
        self._root, self._faults, self._seed = root, list(faults), seed

    def run(self, is_late: Callable[[], bool]) -> list[dict[str, Any]]:
        """The cases: each fault with what went wrong."""
        root = Path(tempfile.mkdtemp(prefix="transports-", dir=self._root))
        cases: list[dict[str, Any]] = []
        with sandbox(root, self._faults[0].kind) as place:
            for fault in self._faults:
                if is_late():
                    break
                rates: dict[int, float | None] = {}
                outcome = _disturb(place, fault, rates)
                outcome.failures += [f"left {file}" for file in place.unfinished()]
                case = record(fault, outcome) | {"seed": self._seed}
                cases.append(case | {"containment": "cgroup-v2", "trials": len(rates)})
        return cases


def _disturb(place: Sandbox, fault: Fault, rates: dict[int, float | None]) -> Outcome:
    """Race a server of this mode; on a busy machine, again if the race was over too early."""
    verdict = RACE_VERDICTS[fault.signal]
    outcome = Outcome()
    for _ in range(TRIES):
        mark = place.root / "misbehaves"
        for path in (mark, *place.home.glob("runs.sqlite*")):
            path.unlink(missing_ok=True)
        rates.clear()
        command = [sys.executable, "-c", SERVER, verdict.server_mode or fault.signal]
        command += [fault.target, str(mark), HOST, "{port}"]
        begins = ["run", "--protocol", str(PROTOCOL), "--transport", fault.target]
        begins += ["--streams", "3"] if fault.target != "https" else []
        server: AbstractContextManager[list[str]]
        with tempfile.TemporaryDirectory() as name:
            if verdict.server_mode == OTHER_CERTIFICATE:
                files = _certificates(Path(name), fault.signal)
                server = _running([*command, *files])
            else:
                secure = ("{cert}", "{key}") if fault.target != "h2c" else ()
                server = nullcontext(["--", *command, *secure])
            with server as own:
                trust = ["--cacert", f"{name}/ca.pem"] if own[0] == "--url" else []
                outcome = attempt(place, [*begins, *trust, *own], None, rates)
        outcome.inside = outcome.injected = mark.exists() or fault.signal in ALWAYS
        if outcome.inside or outcome.failures:
            break
    outcome.failures += wrong(fault, outcome, _document(place))
    return outcome


def wrong(fault: Fault, outcome: Outcome, document: Document | None) -> list[str]:
    """What the race says that it should not, or does not say."""
    verdict = RACE_VERDICTS[fault.signal]
    own = [c for c in document["contenders"] if c["role"] == "contender"] if document else []
    trials = [trial for c in own for level in c["levels"] for trial in level["trials"]]
    gates = {gate["code"] for trial in trials for gate in trial["gates_failed"]}
    errors = {name: n for trial in trials for name, n in trial["errors"].items()}
    reasons = [trial["reason"] for trial in trials] + [c["fault"] for c in own]
    said = f"{errors} {gates} {reasons}" if trials else f"{reasons} {outcome.stderr}"
    short = said[:900]
    if not outcome.inside:
        return [f"the race was over before the server did anything: {short}"]
    if verdict.words is None:
        if errors or gates & OF_SERVER or not trials or any(t["state"] != "ok" for t in trials):
            return [f"expected no error: {short}"]
        return []
    failures = []
    if re.search(verdict.words, said) is None:
        failures.append(f"expected {verdict.words}: {short}")
    if all(trial["valid"] for trial in trials) and not any(c["fault"] for c in own):
        failures.append(f"each trial is valid: {short}")
    elif verdict.is_lasting and trials and max(trials, key=lambda t: t["at_s"])["valid"]:
        failures.append(f"the last trial is valid: {short}")
    return failures


def _document(place: Sandbox) -> Document | None:
    """The report of the run; None if there is none."""
    if (run := last_run(place)) is None:
        return None
    with Store(place.store, read_only=True) as store:
        view = report.load_view(store, run.run_id, whole=True)
        document: Document = json.loads(report.write(view, "json"))
    return document


def _certificates(folder: Path, mode: str) -> list[str]:
    """A certificate and its key, twice: the second as the mode says. `ca.pem` is of the first."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    other = trustme.CA() if mode == "certificate of another issuer" else ca
    name = "a.test" if mode == "certificate for another name" else HOST
    expires = datetime.now(tz=UTC) - timedelta(days=1) if mode == "expired certificate" else None
    files = []
    for number, leaf in enumerate((ca.issue_cert(HOST), other.issue_cert(name, not_after=expires))):
        cert, key = folder / f"cert-{number}.pem", folder / f"key-{number}.pem"
        leaf.private_key_pem.write_to_path(key)
        for pem in leaf.cert_chain_pems:
            pem.write_to_path(cert, append=True)
        files += [str(cert), str(key)]
    return files


@contextmanager
def _running(command: Sequence[str]) -> Iterator[list[str]]:
    """A server of ours, with its URL as an option."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([word.replace("{port}", str(port)) for word in command])
    try:
        end_s = time.monotonic() + START_S
        while time.monotonic() < end_s:
            try:
                socket.create_connection((HOST, port)).close()
                break
            except OSError:
                time.sleep(0.02)
        yield ["--url", f"https://{HOST}:{port}/"]
    finally:
        process.kill()
        process.wait()
