"""The web application: pages for all runs, one run with its live events, and one server."""

import gzip
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.model.runs import find_run, list_runs, state_text
from deadheat.serve import live
from deadheat.serve.access import LOOPBACK, HeadersMiddleware, TokenMiddleware
from deadheat.serve.document import PACKING
from deadheat.serve.markup import Html, NumberCell, asset, link, message, page, policy, table, text
from deadheat.serve.servers import shown_server, timeline_page
from deadheat.store import Store
from deadheat.store.listing import RunSummary, contender_names

HEADER = ("run", "started", "state", "protocol", "contenders", NumberCell("trials"))
NAMES_MAX = 6


def listing_page(store: Store, wanted: str) -> str:
    """The served page: runs whose id, protocol, state, date or names have all words of `wanted`."""
    names = contender_names(store)
    runs = [
        run
        for run in list_runs(store)
        if not run.is_empty and _matches(run, names.get(run.run_id, []), wanted)
    ]
    rows = [
        (
            link(f"/runs/{run.run_id}", run.run_id),
            numbers.moment(run.started_at),
            state_text(run),
            one_line(run.protocol, 40),
            _links(names.get(run.run_id, [])),
            NumberCell(f"{run.trials:,}"),
        )
        for run in runs
    ]
    count = numbers.count(len(runs), "run")
    return page(
        "Runs",
        _search(wanted),
        table(f"{count} that match" if wanted else f"{count}, the newest first", HEADER, rows),
    )


def _matches(run: RunSummary, names: Sequence[str], wanted: str) -> bool:
    words = " ".join([run.run_id, run.protocol, run.state, numbers.moment(run.started_at), *names])
    return all(word in words.lower() for word in wanted.lower().split())


def _links(names: Sequence[str]) -> Html:
    links = [link(f"/servers/{quote(name)}", one_line(name, 40)) for name in names[:NAMES_MAX]]
    more = [text(f"and {len(names) - NAMES_MAX} more")] if len(names) > NAMES_MAX else []
    return Html(", ".join([*links, *more]))


def _search(wanted: str) -> Html:
    return Html(
        '<form role="search"><label for="q">Search runs, servers, protocols</label> '
        f'<input id="q" name="q" type="search" value="{text(wanted)}"> '
        "<button>Search</button></form>"
    )


ASSETS = {"live.js": "text/javascript", "site.css": "text/css"}

Made = TypeVar("Made")


def make_app(
    store_path: Path, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None
) -> Starlette:
    """The application over one store. It responds only to requests for the names in `hosts`.

    `*` allows any name. If there is a token, requests need it.
    """
    site = _Site(store_path)
    return Starlette(
        routes=[
            Route("/", site.index),
            Route("/runs", site.runs),
            Route("/runs/{run}", site.run),
            Route("/runs/{run}/document", site.document),
            Route("/runs/{run}/events", site.events),
            Route("/servers/{name:path}", site.server),
            Route("/assets/{name}", _asset),
        ],
        middleware=[
            Middleware(HeadersMiddleware),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(TokenMiddleware, token=token),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=PACKING),
        ],
        exception_handlers={DeadheatError: _error_page},
    )


class _Site:
    """The pages. Each request opens and closes the store, so that no writer has to wait."""

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._documents = live.Documents()
        self._boards = live.Boards(store_path)

    async def index(self, request: Request) -> Response:
        """The board; a list of the runs while one is in progress, or if none has a rate."""
        if "q" not in request.query_params:
            page = await self._read(self._boards.index)
            if page is not None:
                return _page(page)
        return await self.runs(request)

    async def runs(self, request: Request) -> Response:
        query = request.query_params.get("q", "")
        return _page(await self._read(partial(listing_page, wanted=query)))

    async def run(self, request: Request) -> Response:
        return _page(await self._of_run(request, live.page))

    async def document(self, request: Request) -> Response:
        compressed = await self._of_run(request, self._documents.of)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(gzip.decompress(compressed), media_type="application/json")
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(compressed, media_type="application/json", headers=headers)

    async def events(self, request: Request) -> Response:
        run_id = await self._of_run(request, lambda _, run_id: run_id)
        events = live.events(self._store_path, run_id, self._documents)
        return StreamingResponse(events, media_type="text/event-stream")

    async def server(self, request: Request) -> Response:
        name = await self._read(partial(shown_server, name=request.path_params["name"]))
        return _page(await self._read(partial(timeline_page, name=name)))

    async def _of_run(self, request: Request, make: Callable[[Store, str], Made]) -> Made:
        prefix = request.path_params["run"].removesuffix(".html")  # as the board links to it
        return await self._read(lambda store: make(store, find_run(store, prefix, option="")))

    async def _read(self, make: Callable[[Store], Made]) -> Made:
        def make_from_store() -> Made:
            with Store(self._store_path, read_only=True) as store:
                return make(store)

        return await run_in_threadpool(make_from_store)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return PlainTextResponse("no such file\n", 404)
    return Response(asset(name), media_type=ASSETS[name])


def _error_page(_: Request, error: Exception) -> Response:
    hint = error.hint if isinstance(error, DeadheatError) else None
    return _page(message(str(error), hint), 404)


def _page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, {"Content-Security-Policy": policy(html)})
