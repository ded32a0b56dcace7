"""`deadheat calibrate`: how far this machine's answers can be trusted."""

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from deadheat import report
from deadheat.campaign.calibrate import Calibration, calibrate, conclude, contender_names
from deadheat.catalog import find_root
from deadheat.cli.options import catalog_option, json_option, store_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import local_world
from deadheat.errors import DeadheatError
from deadheat.host.machine import host_key
from deadheat.protocol import load_protocol
from deadheat.report.findings.analysis import rates_of
from deadheat.report.model.runs import find_run
from deadheat.stats.false_alarm import FEWEST_PAIRS
from deadheat.store import Store


@click.command("calibrate")
@click.option(
    "--copies", type=click.IntRange(3), default=15, show_default=True, help="Of the one server."
)
@click.option("--races", type=click.IntRange(1), default=2, show_default=True, help="Each a run.")
@click.option("--seed", type=int, help="Of the random order; stored with the runs.")
@click.option("--from", "runs", multiple=True, metavar="RUN", help="Read stored races again.")
@catalog_option
@store_option
@json_option
def command(
    copies: int,
    races: int,
    seed: int | None,
    runs: tuple[str, ...],
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Race copies of one server, and copies slowed by a known amount.

    Every difference found between copies is false; which slowdown is found shows how small a
    difference this machine can see. The result is stored, and later reports on it quote it.

    \b
    Example:  deadheat calibrate --json
    """
    with Store(store_path) as store:
        if runs:
            result, fingerprint = _read_again(store, runs)
        else:
            protocol = load_protocol(find_root(catalog), "calibrate")
            first = seed if seed is not None else random.randrange(2**31)
            with local_world("engine", 1) as world, progress_view() as listen:
                result = calibrate(world, store, protocol, copies, races, first, listen)
                fingerprint = world.server_host.fingerprint()
        store.add_calibration(host_key(fingerprint), fingerprint, result.to_json())
    click.echo(json.dumps(result.to_json(), indent=2) if as_json else "\n".join(_lines(result)))
    sys.exit(0 if result.passed else 1)


def _read_again(store: Store, runs: tuple[str, ...]) -> tuple[Calibration, Mapping[str, Any]]:
    """The conclusion of stored races, by the statistics as they are now."""
    views = [report.load_view(store, find_run(store, run)) for run in runs]
    copies = sum(one.name.startswith("copy-") for one in views[0].contenders)
    names = contender_names(copies)
    for view in views:
        if view.state != "complete" or {one.name for one in view.contenders} != {*names}:
            raise DeadheatError(
                f"--from: run {view.run_id} is no finished race of {copies} copies",
                "name runs of one `deadheat calibrate`",
            )
    rates = {view.run_id: rates_of(view, names, view.levels[-1]) for view in views}
    elapsed_s = sum(view.last_trial_at_s or 0.0 for view in views)
    server = next(host for host in views[0].hosts if host.role == "server")
    return conclude(rates, copies, elapsed_s), server.fingerprint


def _lines(result: Calibration) -> list[str]:
    verdict = "as it should be" if result.passed else "TOO MANY"
    if result.null_pairs < FEWEST_PAIRS:
        verdict = f"{FEWEST_PAIRS} pairs are needed to tell"
    lines = [
        f"false differences   {result.false_differences} of {result.null_pairs} pairs of copies, "
        f"{result.false_difference_rate:.1%} (nominal {result.nominal:.0%}, chance explains up to "
        f"{result.allowed:.1%}): {verdict}",
        f"smallest difference {result.minimum_detectable_effect:.1%} is found four times in five "
        "by one such race, for one pair",
    ]
    lines += [
        f"slower by {one.injected:.0%}        measured {one.measured:.1%}, found in {one.found} "
        f"of {one.races} races"
        for one in result.slowdowns
    ]
    return [*lines, f"took                {result.elapsed_s / 60:.1f} min"]
