"""Protocols of the races and replays in tests."""

from typing import Any

from deadheat.protocol import AloneProtocol, SliceProtocol

# A race ends as soon as its order is settled: the limits of precision are too loose to matter.
SETTLE = {"kind": "settle", "invocations": 2, "resolution": 0.9, "half_width": 9, "budget_s": 60}


def sliced(**values: Any) -> SliceProtocol:
    """Slices of 100 ms, four rounds a block, without a warm-up."""
    return SliceProtocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "kind": "slices",
            "connections": [10],
            "duration_s": 0.1,
            "slices": {"rounds": 4},
            "warmup": {"kind": "none"},
            "stopping": SETTLE,
            **values,
        }
    )


def fixed(**values: Any) -> SliceProtocol:
    """Three blocks of one slice at two levels, without controls or a warm-up."""
    known: dict[str, Any] = {
        "connections": [10, 100],
        "controls": False,
        "slices": {"rounds": 1, "control_every": 1},
        "stopping": {"kind": "fixed", "repetitions": 3},
    }
    return sliced(**(known | values))


def alone(**values: Any) -> AloneProtocol:
    """Two repetitions at two levels, one server after the other."""
    return AloneProtocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "kind": "alone",
            "connections": [10, 100],
            "duration_s": 0.5,
            "order": "listed",
            "controls": False,
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 2},
            **values,
        }
    )
