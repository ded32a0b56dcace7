"""`PackedRows`: one series of one trial, decoded when it is first read."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from deadheat.inflate import inflate, parse
from deadheat.store.error import StoreError


class PackedRows(Sequence[Any]):
    """The rows, and `packed`, which is the column as it is stored.

    Raises `StoreError` that starts with `place` when rows are read that cannot be decoded.
    """

    def __init__(self, packed: bytes, place: str) -> None:
        self.packed = packed
        self._place = place

    @cached_property
    def _rows(self) -> list[Any]:
        try:
            rows: list[Any] = parse(inflate(self.packed))
        except ValueError as error:
            raise StoreError(
                f"{self._place} cannot be read: {error}",
                "the store or bundle is damaged, or was not written by deadheat",
            ) from error
        return rows

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)
