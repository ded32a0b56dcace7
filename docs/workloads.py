"""Writes docs/workloads.md: the parts below, and every workload on the wire."""

from pathlib import Path

from deadheat.workload import load_workload, workload_names
from deadheat.workload.model import wire

HERE = Path(__file__).parent
HEAD = """# Workloads: which requests are sent

A workload is one file in `workloads/`: its requests, the right answer to each, and rules for the
servers that answer it. (`docs/workloads.py` writes this page.)

```
deadheat workloads                     # all of them
deadheat workloads route               # one: the section of this page
deadheat run go-net-http node-http --workload route
deadheat run go-net-http node-http --workload hello,route,wait
deadheat run --workload route -- ./my-server --port {port}
deadheat run --workload mine.toml --url http://127.0.0.1:8080/
```

"""
GUIDE = """
Every server answers `hello`, the default. The key `workloads` of a manifest names the others that a
server answers. The two controls always get `hello`, so they show the same thing at every level.

| a server | what happens |
| --- | --- |
| does not name a workload of the run | it is left out of that workload, with a message |
| answers a workload wrong | the same |
| answers `GET /` wrong | it is left out of the run |

A race verifies each server with its workloads before it measures. `deadheat verify` tries each
workload of a manifest, also with requests that a load does not send.

## Several in one run

`--workload hello,route,wait` measures each server on all three, in the same blocks. A *level* is
then a workload and a number of connections.

- **Order.** A block measures one level after the other, in random order.
- **Time.** Each instance is warmed up with each of its workloads, because one that is warm on
  `hello` is cold on the others. So starts take longer, and a race needs a larger `--budget`.
  `deadheat plan` estimates it.
- **End.** The race ends when the order is settled at every level. A server whose place is open at
  one level runs on at all of its levels.
- **Latency.** `--latency` measures each workload.
- **One workload only**: `deadheat capacity`, and protocols that measure servers alone.

Before the usual tables of each workload, the report has:

- **profile**: the rate of each server in % of the best on each workload, with the interval of its
  ranking. As a picture: `deadheat report --format svg --picture profile`.
- **how well hello predicts each workload**: Kendall's tau-b of the two orders, over the servers
  that answer both. Its 95 % interval is for servers drawn like these (Fisher's z; Fieller,
  Hartley and Pearson 1957); fewer than five servers have none. The number of pairs that both
  workloads separate, in opposite order, shows how much of the disagreement is certain.
- **what moves most**: the servers whose places differ most, first those whose places do not
  overlap, with the CPU time per request on top of that on `hello`. On `wait`, a place also
  depends on how many requests a server lets wait at the same time; no CPU time shows that.

If `hello` is not among the workloads, the first one takes its place. `deadheat report --workload
route` shows one workload, in every format. CSV and JSON name the workload of each row and level.
`deadheat compare` compares two runs on the workloads that both have. Rates of different workloads
are never compared.

[A stored race](results/workloads.md) of eight servers on six workloads is an example
(`deadheat report --from docs/results/workloads.deadheat`).

## From recorded requests

```
deadheat workloads import recorded.har
deadheat workloads import --curl 'curl http://127.0.0.1:8080/items?page=2' -o items.toml
```

The developer tools of a browser save a HAR file. The workload has each request once, to the address
that most of them go to.

- **Removed**: cookies, `Authorization`, a user and password in the URL, and every header, query
  parameter and body field whose name or value looks secret (such as `access_token`, `X-Api-Key`
  or a JSON web token). The output names what was removed, and counts the requests that were left
  out, for example for a token in the path. Read the file before you share it: no rule finds every
  secret.
- **Not kept**: headers that the engine sends itself, and those with which browsers identify
  themselves.
- **Checked**: status and media type of each answer. Bodies of answers are not stored, because
  they may hold secrets too.

## Your own

```toml
name = "mine"                       # same as the file name
about = "One line."
draws = 1000                        # requests drawn from each template before the load (default 1)
seed = 1                            # of the values

[variables]                         # each value is drawn anew for each request
id = { min = 1, max = 100000 }      # a whole number
kind = { one_of = ["a", "b"] }      # a text
data = { letters = 1024 }           # random letters

[[requests]]                        # several take turns
method = "GET"                      # default: GET, or POST with a body
path = "/items/{id}?kind={kind}"
headers = { Accept = "application/json" }
expect = { status = 200, media_type = "application/json", body = '{"id":{id}}' }

[[requests]]
path = "/upload"
body = "{data}"
expect = { body = "{body.length} {body.crc32}" }

[[requests]]
path = "/echo"
headers = { Content-Type = "application/json" }
body = '{"id": {id}}'
expect = { json = '{"id": {id}, "seen": true}' } # in any spelling; html = '...' likewise

[[checks]]                          # sent by verification only
about = "an unknown item"
path = "/items/none?kind=a"
expect = { status = 404 }
```

An error names the file and the line.

- **Braces.** `{body.length}` and `{body.crc32}` are of the request's own body. A brace that does
  not begin `{name}` is text, so JSON needs no escapes.
- **Missing parts of `expect`.** The status is 200 by default. Verification does not check the
  other missing parts. The load engine compares media type and body with those of the first
  answer, and accepts any body if the request has variables.
- **`json`** replaces `body`, and compares values: the order of keys, white space, escapes and the
  spelling of numbers are free.
- **`html`** replaces `body`. `<`, `>` and `&` in a text are escaped by name or number; other
  characters are escaped or not; white space between two tags is free; all else is exact.
- **One spelling per server.** The engine asks for each `json` or `html` answer once before the
  load and checks it by these rules. During the load, each answer must repeat that one byte for
  byte. A server that spells the same answer in two ways fails.
- **Memory.** `deadheat verify` sends a check with `repeat = N` and `growth_mib_max = M` N times.
  Meanwhile the memory of the server may grow by M MiB.

### With a database

A workload with a database gives each server `DATABASE_URL` in its environment:

```toml
[database]
engine = "postgresql"
seed = "CREATE TABLE item (id integer PRIMARY KEY, name text)" # SQL, run once
```

deadheat starts PostgreSQL when it first needs it, from the package `postgresql`, with a cluster
that it removes at the end. It runs on the server host, on the CPUs of the server. Each trial stores
its CPU time as `database_cpu_us_per_request`, and none of it counts as the server's. Markdown, CSV,
JSON and `deadheat report -v` show it beside the server's, and it counts in what limited a rate. If
the database dies, the trials in progress fail, and the next one starts it again. A run has at most
one workload with a database.

### How requests are sent

The engine draws and writes all requests before the load and sends them in rotation, each connection
from another place ([engine.md](engine.md#workloads)). A body is compared with the one that its own
request expects: another is `body_mismatch`.
"""


def main() -> None:
    root = HERE.parent
    workloads = [load_workload(root, name) for name in workload_names(root)]
    rows = [f"| [{each.name}](#{each.name}) | {each.about} |" for each in workloads]
    table = "\n".join(["| workload | content |", "| --- | --- |", *rows, ""])
    sections = [wire(workload) for workload in workloads]
    text = "\n".join([HEAD + table + GUIDE, *sections])
    (HERE / "workloads.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
