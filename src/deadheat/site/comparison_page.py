"""The page of two servers: the verdict of the newest run as a card, and that of every run."""

from collections.abc import Sequence

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.serve.markup import Html, Number, link, table
from deadheat.site.entry import Meeting
from deadheat.site.shell import page, paragraph, preview_tags, run_file, server_link

ROOT = "../"


def comparison_page(meetings: Sequence[Meeting], card: str, image: str | None) -> str:
    """`meetings` with the newest first; `card` is its SVG, `image` the address of its PNG."""
    newest = meetings[0]
    names = sorted(newest.names)
    header = (
        "run",
        Number("connections"),
        "verdict",
        *(Number(f"{one_line(name, 30)}\nreq/s, p99 ms") for name in names),
        "machine",
    )
    parts = [
        paragraph(newest.detail, "lead"),
        Html(f'<div class="card">{card}</div>'),
        table("Every run with both, the newest first", header, [_row(m, names) for m in meetings]),
        paragraph(_links(names)),
    ]
    preview = preview_tags(newest.headline, newest.detail, image)
    return page(newest.headline, parts, root=ROOT, preview=preview)


def _row(meeting: Meeting, names: Sequence[str]) -> tuple[object, ...]:
    figures = {
        name: f"{numbers.rate(rate)}, {numbers.milliseconds(p99_us)}"
        for name, rate, p99_us in zip(
            meeting.names, meeting.rates_per_s, meeting.p99_us, strict=True
        )
    }
    run = meeting.run
    return (
        link(f"{ROOT}{run_file(run.run_id)}", numbers.moment(run.started_at)),
        Number(wording.load(meeting.level.workload, meeting.level.connections)),
        meeting.headline,
        *(Number(figures[name]) for name in names),
        run.machine,
    )


def _links(names: Sequence[str]) -> Html:
    return Html("All runs of " + " and of ".join(server_link(name, ROOT) for name in names) + ".")
