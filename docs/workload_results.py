"""Writes docs/results/workloads.md, and its picture, from a stored run of several workloads.

    python docs/workload_results.py [BUNDLE]    writes both
    python docs/workload_results.py --print     prints the page, for docs/figures.py

The default is docs/results/workloads.deadheat.
"""

import sys
from pathlib import Path

from deadheat import numbers
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.cautions import cautions
from deadheat.report.findings.conclusion import answer, trust
from deadheat.report.findings.heading import command_line, heading, measured
from deadheat.report.findings.profile import Prediction, Profile, interval_text, mover_text, profile
from deadheat.report.formats.markdown import code, escape, table
from deadheat.report.formats.tables import Column, profile_columns, remarks, short_columns
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.report.picture import draw
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids

HERE = Path(__file__).parent
BUNDLE = HERE / "results" / "workloads.deadheat"
PICTURE = HERE / "pictures" / "workloads.svg"
CAUTIONS_MAX = 5  # of a workload; the bundle has all
HEAD = """# What hello world does not show

One race of {servers} on {workloads}, with every server in the same minutes of the same machine.
[workloads.md](../workloads.md) has each request and its right answer, and says how to read this
page. `docs/workload_results.py` writes it from [{bundle}]({bundle}):
`deadheat report --from docs/results/{bundle}` has all of it.
"""
READING = """Kendall's tau-b is 1 if {by} puts the servers into the same order as the workload, 0 if
it says nothing, and -1 if it reverses the order. Its interval is for servers drawn like these. The
inverted pairs are those that both workloads separate, in opposite order. The CPU time is that of a
request on top of one of {by}, the median of the servers.
"""


def page(view: RunView, bundle: str, picture: str) -> str:
    """The page in Markdown. Raises `ValueError` for a run of one workload."""
    overview = profile(view)
    if overview is None:
        raise ValueError(f"run {view.run_id}: expected several workloads")
    by = overview.predictions[0].by
    names = [f"`{level.workload}`" for level in overview.levels]
    parts = [
        HEAD.format(
            servers=numbers.count(len(overview.rows), "server"),
            workloads=numbers.listing(names),
            bundle=bundle,
        ),
        f"{escape(measured(view, analyze(view)))}.\n\n- {code(command_line(view))}",
        *(f"- {escape(line)}" for line in heading(view, analyze(view))[1:]),
        f"\n## How well `{by}` predicts the others\n",
        _table(_predictions(overview)),
        "\n" + READING.format(by=f"`{by}`"),
        "What moves most, with the CPU time of a request on top:\n",
        *(_moves(each) for each in overview.predictions),
        "\n## Profile\n\nThe rate in % of the best on each workload, with its interval.\n",
        f"![The rate of each server as a share of the best, on each workload]({picture})\n",
        _table(profile_columns(overview)),
        *(_workload(each) for each in view.by_workload),
    ]
    return "\n".join(parts) + "\n"


def _predictions(overview: Profile) -> list[Column]:
    """A row for each workload."""
    rows = [_prediction(each) for each in overview.predictions]
    headers = ("workload", "tau-b [95 %]", "servers", "inverted pairs", "CPU on top, µs")
    return [
        Column(header, tuple(row[place] for row in rows), right=place > 0)
        for place, header in enumerate(headers)
    ]


def _prediction(each: Prediction) -> tuple[str, ...]:
    more = numbers.NONE if each.cpu_us_more is None else f"{each.cpu_us_more:+,.1f}"
    if each.tau_b is None:
        return (each.workload, numbers.NONE, numbers.NONE, numbers.NONE, more)
    tau_b = f"{each.tau_b:.2f} {interval_text(each)}"
    return (each.workload, tau_b, f"{each.servers}", f"{len(each.inversions)}", more)


def _moves(each: Prediction) -> str:
    none = "no server changes its place" if each.servers else "not ranked, so nothing to compare"
    moved = "; ".join(map(mover_text, each.movers)) or none
    return f"- **{escape(each.workload)}**: {escape(moved)}"


def _workload(view: RunView) -> str:
    """One workload: the answer, its table, and what to know before believing it."""
    analysis = analyze(view)
    lines = [f"\n## {escape(view.workload)}\n", f"{escape(answer(view, analysis.main))}."]
    lines += [f"{escape(trust(view, analysis, analysis.main))}.\n"]
    lines.append(_table(short_columns(view, analysis)))
    if texts := "; ".join(remarks(view, analysis)):
        lines.append(f"\n{escape(texts[:1].upper() + texts[1:])}.")
    known = [caution.text for caution in cautions(view)]
    if known:
        lines += ["\nCautions:\n", *(f"- {escape(text)}" for text in known[:CAUTIONS_MAX])]
    if len(known) > CAUTIONS_MAX:
        lines.append(f"- {numbers.count(len(known) - CAUTIONS_MAX, 'more')}")
    return "\n".join(lines)


def _table(columns: list[Column]) -> str:
    return "\n".join(table(columns))


def main(*words: str) -> None:
    prints = words[:1] == ("--print",)
    bundle = Path(words[0]) if words and not prints else BUNDLE
    with open_bundle(bundle) as store:
        view = load_view(store, run_ids(store)[0])
    text = page(view, bundle.name, f"../pictures/{PICTURE.name}")
    if prints:
        print(text, end="")
        return
    PICTURE.write_text(draw(view, "profile"), encoding="utf-8")
    (HERE / "results" / "workloads.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
