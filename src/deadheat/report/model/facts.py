"""What hangs on the trials of one run: gates, errors, histograms, series."""

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deadheat.report.model.distribution import Distribution, of_histograms, of_summaries
from deadheat.report.model.series import Series, series
from deadheat.report.model.view import TrialView
from deadheat.store import Gate, Store

Row = Mapping[str, Any]

OF_TRIALS = """
    SELECT {columns} FROM {table} WHERE trial_id IN (SELECT id FROM trial WHERE run_id = ?)
"""


class Facts:
    """Reads each table once; rows are found by their trial's id."""

    def __init__(self, store: Store, run_id: str, whole: bool) -> None:
        self.store = store
        self.whole = whole

        def of_trials(table: str, columns: str, condition: str = "") -> dict[Any, list[Row]]:
            query = OF_TRIALS.format(table=table, columns=f"trial_id, {columns}") + condition
            return grouped(store.rows(query, run_id), "trial_id")

        self._gates = of_trials(
            "gate", "code, reading, threshold, unit, advice", " AND NOT passed ORDER BY code"
        )
        self._errors = of_trials("error", "class, requests", " ORDER BY class")
        names = "'service_us', 'response_us'" + (", 'first_byte_us'" if whole else "")
        self._histograms = of_trials("histogram", "name, hdr_v2_base64", f" AND name IN ({names})")
        self._series = of_trials("series", "name, rows") if whole else {}

    def trial(self, row: Row) -> TrialView:
        return TrialView(
            invocation=row["invocation"],
            block=row["block"],
            heat=row["heat"],
            state=row["state"],
            reason=row["reason"],
            rate_per_s=row["rate_per_s"],
            requests_ok=row["requests_ok"] or 0,
            server_cpu_us_per_request=row["server_cpu_us_per_request"],
            memory_peak_bytes=row["memory_peak_bytes"],
            errors={error["class"]: error["requests"] for error in self._errors[row["id"]]},
            gates_failed=tuple(
                Gate(
                    code=gate["code"],
                    passed=False,
                    reading=gate["reading"],
                    threshold=gate["threshold"],
                    unit=gate["unit"],
                    advice=gate["advice"],
                )
                for gate in self._gates[row["id"]]
            ),
            at_s=row["at_s"],
            command=tuple(json.loads(row["command"])),
            series=self._series_of(row),
        )

    def _series_of(self, row: Row) -> Series | None:
        stored = {one["name"]: one["rows"] for one in self._series.get(row["id"], ())}
        if not stored:
            return None
        rows = {name: json.loads(zlib.decompress(packed)) for name, packed in stored.items()}
        return series(rows.get("load", ()), rows.get("machine", ()))

    def distribution(self, rows: Sequence[Row], name: str) -> Distribution:
        """The merged histogram of that name; without one, what the generator printed."""
        texts = [
            histogram["hdr_v2_base64"]
            for row in rows
            for histogram in self._histograms[row["id"]]
            if histogram["name"] == name
        ]
        if texts or name != "service_us":
            return of_histograms(texts)
        summaries = [json.loads(row["service_us"]) for row in rows if row["service_us"]]
        return of_summaries(summaries, sum(row["requests_ok"] or 0 for row in rows))


def grouped(rows: Iterable[Row], key: str) -> defaultdict[Any, list[Row]]:
    groups: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups
