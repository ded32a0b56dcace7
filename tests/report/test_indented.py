"""Indented JSON."""

import json

import pytest

from deadheat.report.formats.indented import indented


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5e-07,
        1e16,
        'caf\N{LATIN SMALL LETTER E WITH ACUTE} "\\ \n, [: {',
        [],
        {},
        [[]],
        {"a": {}},
        [1, 2.5, "x, y: z"],
        {"a": 1, "b, c": None},
        {"a": [1, [2, {"b": [], "c": {"d": "e"}}]], "f": {"g": [None, False]}},
    ],
)
def test_writes_what_the_standard_library_writes(value: object) -> None:
    assert indented(value) == json.dumps(value, indent=2)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": [{"b": float("-inf")}]}])
def test_rejects_a_number_that_is_not_finite(value: object) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        indented(value)
