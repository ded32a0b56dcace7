"""The results of a run, as `deadheat run` prints and writes them, and its exit code."""

import sys
from pathlib import Path

from deadheat import report
from deadheat.audit.page import write
from deadheat.audit.replay import load_replay
from deadheat.cli.exit_codes import ExitCode, explain
from deadheat.cli.replay import decay_of
from deadheat.cli.workbench import make_room
from deadheat.console import fit
from deadheat.output import echo, echo_rendered
from deadheat.report.model.view import RunView
from deadheat.store import Store, home
from deadheat.store.run_argument import run_argument


def print_decay(store_path: Path, run_id: str, root: Path) -> None:
    """Print decay and recovery of a run, with the published series that the catalog has."""
    with Store(store_path, read_only=True) as store:
        page = decay_of(store, load_replay(store, run_id), root)
    echo(fit(write(page, "text"), sys.stdout.encoding))


def print_results(
    store_path: Path, run_id: str, output: Path | None, as_json: bool, verbose: bool
) -> RunView:
    """Print the result of the run and write it to a file; returns the run."""
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id, whole=as_json)
    markdown = output or home() / "reports" / f"{run_id}.md"
    make_room(markdown.parent)
    markdown.write_text(report.write(view, "md"), encoding="utf-8")
    source = run_argument(run_id, store_path)
    format_ = "json" if as_json else "terminal"
    echo_rendered(report.write(view, format_, source, verbose=verbose) + "\n")
    if not as_json:
        echo(f"as Markdown:  {markdown}")
        echo(f"stored in:    {store_path}  (run {run_id})")
    return view


def exit_code_of(view: RunView) -> ExitCode:
    """The exit code of a run that ended; says on standard error why it has no answer."""
    if view.state == "interrupted":
        return ExitCode.INTERRUPTED
    contenders = [contender for each in view.by_workload for contender in each.contenders]
    if any(trial.valid for contender in contenders for trial in contender.trials):
        return ExitCode.OK
    explain(
        "no trial was valid, so there is no result",
        "see the cautions above; `deadheat doctor` checks this machine",
    )
    return ExitCode.NO_ANSWER
