"""The agent: starts and owns the processes of one machine until its standard input ends.

It is a package for Linux and CPython 3.8 or later that needs only the standard library. It starts
from this folder, or from a zip archive of it that another machine sends (see `ssh.py`). It reads
and writes one JSON object per line:

    {"id": 1, "do": "start", "spec": {...}, "log_path": "..."}
    {"id": 1, "ok": "1"}    or    {"id": 1, "error": {"message": "...", "hint": "..."}}

The first line it writes is `{"id": 0, "ok": {"containment": "..."}}`, or an error if it cannot
work here. Each request has its own thread, so a long `run` does not delay `usage`. When standard
input ends, for example because the other side died, the agent kills every tree that it started.
If the agent itself is killed, its keeper does that: a second process of this package, in its own
session, that waits for the end of the agent.

A process tree is contained in one of three ways. The agent uses the first that works:

* `cgroup-v2`: its own cgroup (also in the controller-less `unified` mount of a hybrid machine);
* `pid-namespace`: a PID namespace with our init, which dies with the agent;
* `subreaper`: our init adopts every orphan of the tree and kills them all when it ends.

An init notices the end of the agent itself. A cgroup has no init, so it needs the keeper.
"""
