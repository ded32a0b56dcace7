"""The results of `verify -o`: a file that a later call continues."""

import json
from dataclasses import dataclass
from pathlib import Path

from deadheat.catalog import Selection
from deadheat.errors import DeadheatError
from deadheat.measure.inspection import Inspection


@dataclass(frozen=True, slots=True)
class KeptInspections:
    """The inspections in the file of --output, by name; `path` is None without one."""

    path: Path | None
    rows: dict[str, Inspection]

    @classmethod
    def read(cls, path: Path | None) -> "KeptInspections":
        """Raises `DeadheatError` for another kind of file, which must not be overwritten."""
        if path is None or not path.exists():
            return cls(path, {})
        try:
            rows = [Inspection.from_json(row) for row in json.loads(path.read_text("utf-8"))]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeadheatError(
                f"--output {path}: not a file of `deadheat verify -o`: {error!r}",
                "choose another file, or remove this one",
            ) from error
        return cls(path, {row.name: row for row in rows})

    @property
    def all(self) -> list[Inspection]:
        return [self.rows[name] for name in sorted(self.rows)]

    def of(
        self, selection: Selection, build_key: str | None, levels: tuple[int, ...]
    ) -> Inspection | None:
        """The kept inspection of this build, source and load, if the server worked; else None."""
        row = self.rows.get(selection.name)
        if row is None or row.fault is not None:
            return None
        if (row.build_key, row.source_key) != (build_key, selection.source_key):
            return None
        return row if set(map(str, levels)) <= set(row.served) else None

    def add(self, inspection: Inspection) -> None:
        self.rows[inspection.name] = inspection
        if self.path is not None:
            text = json.dumps([row.to_json() for row in self.all], indent=1) + "\n"
            unfinished = self.path.with_suffix(".part")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(self.path)
