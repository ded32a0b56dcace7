"""`Workers`: whether the long-lived processes of an instance live through its loads."""

from deadheat.host import Host

Member = tuple[int, int]  # PID and start, which together are unique


class Workers:
    """Counts the worker processes of one instance that end during a load.

    A worker process was there before and after an earlier load that opened connections: the warm-up
    or a trial. A process per request or per connection never is, because it ends with these. So
    neither is a worker that lives shorter than one load; the errors that it leaves are counted.
    """

    def __init__(self, host: Host, process: str) -> None:
        self._host = host
        self._process = process
        self._workers: frozenset[Member] = frozenset()
        self._before: frozenset[Member] = frozenset()

    def begin(self) -> None:
        """Call it before a load."""
        self._before = self._host.members(self._process)

    def end(self, opened_connections: bool = True) -> int:
        """The number of worker processes that ended since `begin`.

        Without `opened_connections` the load kept those of an earlier one. Then a process per
        connection outlives it too, so its processes do not become workers.
        """
        after = self._host.members(self._process)
        gone = (self._workers & self._before) - after
        self._workers &= after
        if opened_connections:
            self._workers |= self._before & after
        return len(gone)
