"""The page as a file; tests/browser/ tests it in a browser."""

import base64
import gzip
import json
import random
import re
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.report import write
from deadheat.report.formats import page
from tests.report.made import MadeRun, failed

TEMPLATE = '<title>{title}</title><pre>{plain}</pre><i id="document">{document}</i><b>{title}</b>'
BYTES_MAX = 1_500_000


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small page in place of the built one."""
    path = tmp_path / "page.html"
    path.write_text(TEMPLATE, encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", path)
    return path


def html_of(run: MadeRun) -> str:
    return write(run.view(whole=True), "html")


def test_the_page_holds_the_json_document(run: MadeRun, template: Path) -> None:
    run.race({"alpha": 9000, "beta": 3000}, blocks=3)
    view = run.view(whole=True)
    match = re.search('id="document">(.*?)<', write(view, "html"))
    assert match is not None
    document = json.loads(gzip.decompress(base64.b64decode(match[1])))
    assert document == json.loads(write(view, "json"))


def test_shows_the_terminal_report_without_scripts(run: MadeRun, template: Path) -> None:
    run.race({"<i>{document}alpha": 9000, "beta": 3000}, blocks=3)
    html = html_of(run)
    assert "<title>settle " in html
    assert "&lt;i&gt;{document}alpha" in html
    assert "<i>" not in html
    assert html.endswith("<b>{title}</b>"), "the page's text after the document is unchanged"


def test_the_same_run_gives_the_same_bytes(run: MadeRun, template: Path) -> None:
    run.race({"alpha": 9000, "beta": 3000}, blocks=3)
    assert html_of(run) == html_of(run)


def test_a_missing_page_gives_the_build_command(run: MadeRun, template: Path) -> None:
    template.unlink()
    with pytest.raises(DeadheatError, match="not built") as raised:
        html_of(run)
    assert "make page" in (raised.value.hint or "")


def test_a_page_of_sixty_servers_is_small(run: MadeRun) -> None:
    """Three levels, series of random figures, raw output, and a failed check in every third."""
    if not page.PAGE.is_file():
        pytest.skip("the page is not built: make page")
    made = random.Random(60)
    names = [f"server-{i:02}" for i in range(60)]
    for name in names:
        run.contender(name)
        for invocation in (1, 2, 3):
            run.start(name, invocation, log_tail="".join(made.choices("abcdef \n", k=500)))
        stdout = "".join(made.choices("abcdefghijkl{},: ", k=4_000))  # a page shows one of a server
        for trial in range(18):
            rate = made.uniform(5_000, 90_000)
            load = [{"at_s": i / 10, "ok": made.randrange(900, 9000)} for i in range(1, 31)]
            run.trial(
                name,
                rate,
                block=trial // 3 + 1,
                invocation=trial // 6 + 1,
                connections=(10, 100, 1000)[trial % 3],
                gates=failed() if trial % 3 == 0 else (),
                stdout=stdout,
                series={"load": load, "machine": []},
            )
    assert len(html_of(run).encode()) < BYTES_MAX
