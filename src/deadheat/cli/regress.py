"""`deadheat regress`: is this change slower?"""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import click

from deadheat import report
from deadheat.campaign.campaign import Plan, conduct
from deadheat.campaign.revision import (
    Revision,
    build_revision,
    contender_of,
    repository_of,
    resolve,
)
from deadheat.cli.options import FILE, catalog_option, json_option, protocol_options, store_option
from deadheat.cli.own import own_options, require_own
from deadheat.cli.progress_view import progress_view
from deadheat.cli.run import INTERRUPTED, WithCommand
from deadheat.cli.stored import require_another
from deadheat.cli.workbench import builder_on, local_world, make_room, tell_others
from deadheat.errors import DeadheatError
from deadheat.measure.contender import Contender
from deadheat.protocol import Protocol
from deadheat.report.findings.analysis import analyze
from deadheat.report.formats.regression import (
    EXIT_CODES,
    comment,
    junit,
    regressions,
    sentence,
    worst,
)
from deadheat.store import Store, home


@click.command("regress", cls=WithCommand)
@click.option("--base", required=True, metavar="REV", help="The revision to compare with.")
@click.option("--head", default="HEAD", show_default=True, metavar="REV", help="The change.")
@click.option("--build", metavar="COMMAND", help="A shell command that builds a revision.")
@own_options
@protocol_options
@click.option("--seed", type=int, help="Of the random order; stored with the run.")
@click.option(
    "--comment",
    "comment_path",
    type=FILE,
    help="Write a comment for the pull request, as Markdown.",
)
@click.option(
    "--junit",
    "junit_path",
    type=FILE,
    help="Write JUnit XML.",
)
@catalog_option
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    base: str,
    head: str,
    build: str | None,
    path: str | None,
    any_body: bool,
    protocol: Protocol,
    seed: int | None,
    comment_path: Path | None,
    junit_path: Path | None,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Race two revisions of a server against each other: PASS, FAIL or INCONCLUSIVE.

    Each is checked out into a folder of its own, built once by --build, and started there by the
    command behind `--`. PASS (exit code 0): slower by more than --margin is ruled out. FAIL (3):
    slower beyond doubt. INCONCLUSIVE (4): neither; a longer --budget tells more.

    \b
    Example:
      deadheat regress --base main --head my-change --build 'make' -- ./server --port {port}
    """
    own: list[str] = ctx.meta["own"]
    _require_command(own)
    require_own(own, (), path, any_body)
    for written in filter(None, (comment_path, junit_path)):
        require_another(written, store_path)
    make_room(
        store_path.absolute().parent,
        *(p.absolute().parent for p in (comment_path, junit_path) if p),
    )
    with Store(store_path) as store, local_world(protocol.generator, protocol.threads) as world:
        tell_others(store)
        host = world.server_host
        repository = repository_of(host, Path.cwd())
        revisions = [resolve(host, repository, *one) for one in (("base", base), ("head", head))]
        _require_change(*revisions)
        with progress_view() as listen:
            contenders: list[Contender] = []
            for revision in revisions:
                into = home() / "revisions"
                folder = build_revision(host, repository, revision, build, into, listen)
                contender = contender_of(revision, folder, own)
                contenders.append(replace(contender, path=path or "/", body_varies=any_body))
            plan = Plan(
                protocol=protocol,
                selections=[],
                labels={},
                extra=contenders,
                seed=seed if seed is not None else random.randrange(2**31),
                command=["deadheat", *sys.argv[1:]],
            )
            run_id = conduct(plan, world, store, builder_on(host), listen)
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id)
    found = regressions(view, analyze(view), *(revision.name for revision in revisions))
    if comment_path:
        comment_path.write_text(comment(view, found), encoding="utf-8")
    if junit_path:
        junit_path.write_text(junit(view, found), encoding="utf-8")
    if as_json:
        told = {"run": run_id, "outcome": worst(found).name, "levels": [o.to_json() for o in found]}
        click.echo(json.dumps(told, indent=2))
    else:
        click.echo("\n".join(sentence(one) for one in found))
        click.echo(f"all of it:  deadheat report {run_id}")
    sys.exit(INTERRUPTED if view.state == "interrupted" else EXIT_CODES[worst(found)])


def _require_command(own: list[str]) -> None:
    if not any("{port}" in part for part in own):
        raise DeadheatError(
            "no command that starts the server, with {port} where its port goes",
            "deadheat regress --base main -- ./my-server --port {port}",
        )


def _require_change(base: Revision, head: Revision) -> None:
    if base.commit == head.commit:
        raise DeadheatError(
            f"--base {base.asked} and --head {head.asked} are one commit: nothing changed",
            "commit the change, or race it uncommitted: --head $(git stash create)",
        )
