"""A made run with everything that a page can show, and markup in every text."""

from pathlib import Path
from typing import Any

from tests.report.made import SETTLE, MadeRun, failed, histogram, made_run

MARKUP = '<img src=x onerror="window.taken=1">'
SCRIPT = "'\"><script>window.taken=2</script>"
REVERSED = "\u202egnp.exe"
LONG = "long-" + "x" * 10_000
LEVELS = (10, 100)
PUBLISHED = {"protocol": "kzmake-2018", "row": "Golang, gin", "setting": "default", "differs": []}


def hostile_run(path: Path) -> MadeRun:
    """Two levels; a server at three numbers of workers; offered rates; markup wherever text is."""
    run = made_run(path, protocol={**SETTLE, "connections": list(LEVELS), "about": SCRIPT}, cpus=4)
    names = {MARKUP: 9000.0, SCRIPT: 7000.0, REVERSED: 5000.0, LONG: 3000.0}
    for name in names:
        run.contender(name, version=MARKUP, label=None, build_id=_build(run), manifest=_manifest())
    workers = {f"scaled:w{count}": 1000.0 * count**0.8 for count in (1, 2, 4)}
    for count, name in zip((1, 2, 4), workers, strict=True):
        run.contender(name, server="scaled", workers=count, manifest={"language": "Rust"})
    run.race({**names, **workers}, levels=LEVELS, blocks=3)
    for name in names:
        run.start(name, 4, behavior={"server_header": SCRIPT, "framing": MARKUP}, log_tail=SCRIPT)
        _trials(run, name)
    run.contender("absent", fault=f"absent: {MARKUP}")
    run.end("complete", MARKUP)
    return run


def many_servers_run(path: Path, invocations: int = 1, blocks: int = 2) -> MadeRun:
    """60 servers in 12 languages at 3 levels."""
    levels = (10, 100, 1000)
    run = made_run(path, protocol={**SETTLE, "connections": list(levels)})
    rates = {f"server-{i:02}": 200_000 * 0.95**i for i in range(60)}
    for i, name in enumerate(rates):
        run.contender(name, manifest={"language": f"Language {i % 12}", "kind": "server"})
    run.race(rates, levels=levels, invocations=invocations, blocks=blocks)
    run.end()
    return run


def _trials(run: MadeRun, name: str) -> None:
    """One that failed, with output; and one at an offered rate."""
    text = f"{SCRIPT}\u2028\u2029{MARKUP}</script>"
    run.trial(
        name,
        4000.0,
        invocation=4,
        gates=failed(),
        errors={MARKUP: 3},
        stdout=text,
        stderr=text,
        command=["deadheat-load", MARKUP],
        series={"load": [{"at_s": 0.1 * i, "ok": 400 + i} for i in range(1, 6)], "machine": []},
    )
    offered = {"kind": "latency", "offered_rate_per_s": 2000.0, "invocation": 4}
    run.trial(name, 2000.0, histograms={"response_us": histogram(20_000, 3000)}, **offered)


def _manifest() -> dict[str, Any]:
    return {
        "language": MARKUP,
        "framework": SCRIPT,
        "kind": REVERSED,
        "homepage": "javascript:window.taken=3",
        "notes": [MARKUP, SCRIPT],
        "published": [PUBLISHED],
    }


def _build(run: MadeRun) -> int:
    return run.store.add_build(
        server="hostile",
        key="0123456789ab",
        built_at="2026-11-20T12:00:00+00:00",
        elapsed_s=2.5,
        toolchains={MARKUP: SCRIPT},
        files={SCRIPT: "0" * 64},
        log=f"{MARKUP}\n{SCRIPT}",
    )


def decided_run(path: Path) -> MadeRun:
    """24 servers: three pairs are open, the first two among them; two are not ranked.

    All others are far apart.
    """
    run = made_run(path)
    rates = {f"server-{i:02}": 200_000 * 0.9**i for i in range(22)}
    for slower, faster in ((1, 0), (6, 5), (13, 12)):
        rates[f"server-{slower:02}"] = 0.999 * rates[f"server-{faster:02}"]
    run.race(rates, noise=0.04)
    for name in ("absent-a", "absent-b"):
        run.race({name: 1000.0}, invocations=1, blocks=1, gates_of={name: failed()})
    run.end("complete", "budget spent")
    return run
