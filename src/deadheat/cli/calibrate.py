"""`deadheat calibrate`: measures how small a difference this machine can detect."""

import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

from deadheat import report
from deadheat.campaign.calibrate import (
    FEWEST_PAIRS,
    Calibration,
    calibrate,
    conclude,
    contender_names,
)
from deadheat.catalog import find_root
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import (
    DURATION,
    catalog_option,
    integer,
    json_option,
    seed_option,
    store_option,
)
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import host_options, native_only, server_limit_options
from deadheat.errors import DeadheatError
from deadheat.host import Limits
from deadheat.host.doctor import host_key
from deadheat.host.fingerprint import Fingerprint
from deadheat.measure.hosts import Hosts, world_on
from deadheat.numbers import count, duration, percent
from deadheat.output import echo, echo_json, print_error
from deadheat.protocol import SliceProtocol, amend, load_as
from deadheat.report.findings.analysis import fits_of
from deadheat.report.model.runs import find_run
from deadheat.store import Store

WIDTH, TOPIC_WIDTH = 80, 20
FROM = "Analyze this stored race instead of measuring; repeat it for several."


@listed("calibrate")
@flag(
    "--copies",
    section=Topic.SERVERS,
    type=integer(3),
    default=8,
    show_default=True,
    help="Number of equal copies.",
)
@flag(
    "--budget",
    "budget_s",
    section=Topic.MEASUREMENT,
    type=DURATION,
    help="Time of each race; a longer one finds smaller slowdowns.  [default: 1m]",
)
@flag(
    "--races",
    section=Topic.MEASUREMENT,
    type=integer(),
    default=8,
    show_default=True,
    help="Number of races; each is a run.",
)
@seed_option
@flag("--from", "runs", section=Topic.STORED_RUNS, multiple=True, metavar="RUN", help=FROM)
@server_limit_options
@native_only(
    "expected none, because calibrate races copies of the null server, which always runs natively",
    "omit it",
)
@host_options
@catalog_option
@store_option
@json_option
def command(
    copies: int,
    races: int,
    budget_s: float | None,
    seed: int,
    runs: tuple[str, ...],
    limits: Limits,
    hosts: Hosts,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Equal copies cannot differ: a difference found between them is false. Other copies are slowed
    by a known share: those that are found show how small a difference this machine can detect. The
    result is stored, and later reports from this machine quote it. One measured over a link is
    quoted in reports of runs over a link.

    \b
    Examples:
      deadheat calibrate
      deadheat calibrate --races 20 --budget 2m
      deadheat calibrate --from 20261120-1435 --from 20261120-1502
    """
    with Store(store_path) as store:
        if runs:
            result, fingerprint = _analyze_stored(store, runs)
        else:
            protocol = load_as(find_root(catalog), "calibrate", SliceProtocol)
            protocol = amend(protocol, {}, {"budget_s": budget_s})
            with world_on(hosts, "engine", 1, limits=limits) as world, progress_view() as listen:
                result = calibrate(world, store, protocol, copies, races, seed, listen)
                fingerprint = world.server_host.fingerprint()
        store.add_calibration(host_key(fingerprint), fingerprint, asdict(result))
    if as_json:
        echo_json(asdict(result))
    else:
        for line in lines(result):
            echo(
                textwrap.fill(
                    line, WIDTH, subsequent_indent=" " * TOPIC_WIDTH, break_on_hyphens=False
                )
            )
    sys.exit(_exit_code(result))


def _analyze_stored(store: Store, runs: tuple[str, ...]) -> tuple[Calibration, Fingerprint]:
    """The conclusion of stored races, and the fingerprint of their machine."""
    views = [report.load_view(store, find_run(store, run)) for run in runs]
    copies = sum(contender.name.startswith("copy-") for contender in views[0].contenders)
    names = contender_names(copies)
    for view in views:
        raced = {contender.name for contender in view.contenders}
        if view.state != "complete" or raced != {*names}:
            raise DeadheatError(
                f"--from: run {view.run_id} is not a complete race of {copies} copies",
                "choose runs of one `deadheat calibrate`",
            )
    fits = {view.run_id: fits_of(view, names, view.levels[-1]) for view in views}
    elapsed_s = sum(view.last_trial_at_s or 0.0 for view in views)
    server = next(host for host in views[0].hosts if host.role == "server")
    return conclude(fits, copies, elapsed_s), server.fingerprint


def _exit_code(result: Calibration) -> ExitCode:
    """Says on standard error why the method did not pass."""
    if result.null_pairs < FEWEST_PAIRS:
        print_error(
            f"undecided: {result.null_pairs} pairs of copies, at least {FEWEST_PAIRS} are needed",
            "use more --copies or more --races",
        )
        return ExitCode.NO_ANSWER
    if result.passed:
        return ExitCode.OK
    print_error(
        "failed: more false differences than chance explains",
        "`deadheat doctor` checks this machine for what disturbs measurements",
    )
    return ExitCode.FAILED


def lines(result: Calibration) -> list[str]:
    """The result in sentences, one a line."""
    verdict = "passed" if result.passed else "too many"
    if result.null_pairs < FEWEST_PAIRS:
        verdict = f"undecided, at least {FEWEST_PAIRS} pairs are needed"
    lines = [
        f"false differences   {result.false_differences} of {result.null_pairs} pairs of copies, "
        f"{percent(result.false_difference_rate)} (nominal {percent(result.nominal, 0)}, chance "
        f"alone explains up to {percent(result.allowed)}): {verdict}",
        f"all pairs together  two copies separated in {result.false_races} of "
        f"{count(len(result.runs), 'race')} (nominal 5 %)",
        f"detectable          a difference of {percent(result.minimum_detectable_effect)}, with "
        "80 % power for one pair in one such race",
    ]
    lines += [
        f"{f'slower by {percent(slowdown.injected, 0)}':{TOPIC_WIDTH}}"
        f"measured {percent(slowdown.measured)}, "
        f"found in {slowdown.found} of {slowdown.races} races"
        for slowdown in result.slowdowns
    ]
    return [*lines, f"took                {duration(result.elapsed_s)}"]
