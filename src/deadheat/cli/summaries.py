"""The first sentence of each command's help, for the list of commands.

The commands themselves would take half a second to import. `tests/cli/test_help.py` compares.
"""

SUMMARIES = {
    "run": "Race servers until their order is settled, and rank them.",
    "list": "List the servers: built, ready to build, or what is missing and how to install it.",
    "build": "Build servers from their lock files, several in parallel.",
    "verify": "Build and start servers, check their responses, and stop them.",
    "containerfile": "Print a Containerfile that builds and starts a server, for podman or docker.",
    "new": "Create the folder of a new server as a copy of an existing one, for you to change.",
    "outdated": "List the pins of servers that are behind, with the newest version.",
    "report": "Show a stored run.",
    "serve": "Show the stored runs as web pages, also a run in progress.",
    "site": "Write a gallery of runs: an index, a page per run, per server and per pair of "
    "servers.",
    "export": "Write a run to a bundle: one file from which anyone can regenerate every figure.",
    "import": "Add the runs of a bundle to the store.",
    "compare": "Compare two stored runs, or with --in two contenders of one run.",
    "regress": "Race two git revisions of a server: PASS, FAIL or INCONCLUSIVE.",
    "audit": "Compare a stored replay with the published figures: ranks then and now, and the "
    "defects.",
    "plan": "Print what a run would do and how long it takes, without starting anything.",
    "protocols": "List the protocols, each with what it measures.",
    "workloads": "List the workloads, or show the requests and answers of some.",
    "clean": "Delete logs, builds and old runs.",
    "doctor": "Check this machine for what disturbs measurements, and print commands that fix it.",
    "calibrate": "Race copies of one server against each other and against slowed copies.",
    "capacity": "Search for the highest offered rate (open loop, Poisson) that holds a latency "
    "objective.",
    "cluster": "Race servers on many pairs of hosts, and rank them across all pairs.",
    "completions": "Print a script that completes commands, options and servers in a shell.",
}
