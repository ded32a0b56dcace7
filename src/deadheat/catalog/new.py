"""Creates the folder of a new server from an existing one."""

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from deadheat.catalog.layers import layered
from deadheat.catalog.server import Server, copy_folder
from deadheat.errors import DeadheatError, UsageFault

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LINE = re.compile(r'^name = ".*"$', re.MULTILINE)
FACTS = ("notes", "verified")  # keys that are about one server only
GO = """package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "Hello, World!")
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
"""
NODE = """import cluster from "node:cluster";
import http from "node:http";

const [host, port, workers] = process.argv.slice(2);
const answer = (request, response) => {
  if (request.method !== "GET" || request.url !== "/") return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 13 });
  response.end("Hello, World!");
};

if (cluster.isPrimary && workers > 1) for (let n = 0; n < workers; n++) cluster.fork();
else http.createServer(answer).listen({ host, port, backlog: 4096 });
"""
PYTHON = """BODY = b"Hello, World!"
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"13")]


async def app(scope, receive, send):
    is_hello = (scope["method"], scope["path"]) == ("GET", "/")
    start = {"status": 200, "headers": HEADERS} if is_hello else {"status": 404}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": BODY if is_hello else b""})
"""
HELLO = {  # the server that is copied, the files that are written instead, and those left out
    "go": ("go-net-http", {"main.go": GO, "go.mod": "module hello\n\ngo 1.25.0\n"}, {"go.sum"}),
    "node": ("node-http", {"server.mjs": NODE}, set[str]()),
    "python": ("python-uvicorn", {"app.py": PYTHON}, {"page.html"}),
}
TABLES = ("[settings.", "[transports.", "[[published]]")  # likewise


def root_for_new(catalog_root: Path, named: str | None) -> Path:
    """The catalog that a new server belongs to: the current folder if no other is the user's.

    A catalog is the user's if it is `named`, by DEADHEAT_CATALOG too, or is the current folder or
    one of its parents. The one that deadheat is installed with is not.
    """
    here = Path.cwd()
    if named is not None or "DEADHEAT_CATALOG" in os.environ:
        return catalog_root
    return catalog_root if here.is_relative_to(catalog_root) else here


def copy_server(source: Server, name: str, root: Path, hello: str | None = None) -> Path:
    """Copy `source` to `servers/NAME` of the catalog in `root`; returns that folder.

    The manifest gets the new name, and loses what is about the original only: notes, settings,
    transports and published rows. A recipe that deadheat does not ship is copied, too. With
    `hello`, a key of `HELLO`, the application is the smallest one, which answers hello alone.
    Raises `DeadheatError` if the name is invalid or taken, or the folder cannot be written.
    """
    if not NAME.fullmatch(name):
        raise UsageFault(
            f"{name!r} is not a valid server name", "use lower-case letters, digits and hyphens"
        )
    folder = root / "servers" / name
    if folder.exists():
        raise DeadheatError(f"{folder} already exists", "choose another name")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for recipe in (source.folder.parents[1] / "recipes").glob("*.toml"):
            if not layered(root, f"recipes/{recipe.name}").exists():
                (root / "recipes").mkdir(exist_ok=True)
                shutil.copy(recipe, root / "recipes")
        copy_folder(source.folder, folder)
        manifest = folder / "server.toml"
        text = without_facts(manifest.read_text("utf-8"), FACTS + (("workloads",) if hello else ()))
        _, files, left_out = HELLO[hello] if hello else ("", dict[str, str](), set[str]())
        for file in left_out:
            (folder / file).unlink()
        for file, content in files.items():
            (folder / file).write_text(content, encoding="utf-8")
        renamed = NAME_LINE.sub(f'name = "{name}"', text, count=1)
        manifest.write_text(renamed, encoding="utf-8")
    except OSError as error:
        raise DeadheatError(
            f"{folder} cannot be written: {error.strerror}",
            "go to a folder of yours, or name one with servers/ in it: --catalog DIR",
        ) from error
    return folder


def without_facts(manifest: str, facts: tuple[str, ...] = FACTS) -> str:
    """The text of the manifest without what is about one server only."""
    top, *tables = re.split(r"(?m)^(?=\[)", manifest)
    entries = (entry for entry in _entries(top) if not entry.startswith(facts))
    kept = (table for table in tables if not table.startswith(TABLES))
    return "".join([*entries, *kept]).rstrip() + "\n"


def _entries(top: str) -> Iterator[str]:
    """The keys before the first table, each with its value, which may have several lines."""
    entry = ""
    for line in top.splitlines(keepends=True):
        entry += line
        try:
            tomllib.loads(entry)
        except tomllib.TOMLDecodeError:
            continue
        yield entry
        entry = ""
    yield entry
