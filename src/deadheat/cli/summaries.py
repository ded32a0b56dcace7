"""The first sentence of each command's help, for the list of commands.

The commands themselves would take half a second to import. `tests/cli/test_help.py` compares.
"""

SUMMARIES = {
    "run": "Race servers until their order is settled, and rank them.",
    "plan": "Print what a run would do, and how long it takes.",
    "regress": "Race two revisions of a server: is the new one slower?",
    "capacity": "Find the highest rate at which a latency objective holds.",
    "cluster": "Race servers on many pairs of hosts, and rank them.",
    "report": "Show a stored run.",
    "compare": "Compare two stored runs, or two contenders of one run.",
    "audit": "Compare a stored replay with the published figures.",
    "serve": "Show the stored runs as web pages, also a run in progress.",
    "site": "Write a gallery of runs as pages that need no server.",
    "export": "Write a run to a bundle: one file with all its data.",
    "import": "Add the runs of a bundle to the store.",
    "list": "List the servers: built, ready, or what is missing.",
    "build": "Build servers from their lock files, several in parallel.",
    "verify": "Start servers, check their responses, and stop them.",
    "new": "Create the folder of a new server from an existing one.",
    "containerfile": "Print a Containerfile that builds and starts a server.",
    "outdated": "List dependencies of servers that have a newer version.",
    "protocols": "List the protocols, each with what it measures.",
    "workloads": "List the workloads, or show the requests of some.",
    "doctor": "Check this machine for what disturbs measurements.",
    "calibrate": "Race copies of a server to test this machine's answers.",
    "clean": "Delete logs, builds and old runs.",
    "completions": "Print the script that completes commands in a shell.",
}
