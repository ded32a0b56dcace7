"""The first sentence of each command's help, for the list of commands.

The commands themselves would take half a second to import. `tests/cli/test_help.py` compares.
"""

SUMMARIES = {
    "run": "Race servers until their order is settled, and rank them.",
    "list": "List the servers: built, ready, or what is missing.",
    "build": "Build servers from their lock files, several in parallel.",
    "verify": "Start servers, check their responses, and stop them.",
    "containerfile": "Print a Containerfile that builds and starts a server.",
    "new": "Create the folder of a new server from an existing one.",
    "outdated": "List the pins of servers that are behind.",
    "report": "Show a stored run.",
    "serve": "Show the stored runs as web pages, also a run in progress.",
    "site": "Write a gallery of runs as pages that need no server.",
    "export": "Write a run to a bundle: one file with all its data.",
    "import": "Add the runs of a bundle to the store.",
    "compare": "Compare two stored runs, or two contenders of one run.",
    "regress": "Race two revisions of a server: is the new one slower?",
    "audit": "Compare a stored replay with the published figures.",
    "plan": "Print what a run would do, and how long it takes.",
    "protocols": "List the protocols, each with what it measures.",
    "workloads": "List the workloads, or show the requests of some.",
    "clean": "Delete logs, builds and old runs.",
    "doctor": "Check this machine for what disturbs measurements.",
    "calibrate": "Race copies of a server to test this machine's answers.",
    "capacity": "Search for the highest rate that holds an objective.",
    "cluster": "Race servers on many pairs of hosts, and rank them.",
    "completions": "Print the script that completes commands in a shell.",
}
