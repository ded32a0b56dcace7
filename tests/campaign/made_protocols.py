"""Protocols of the races in tests."""

from typing import Any

from deadheat.protocol import Protocol

# A race ends as soon as its order is settled: the limits of precision are too loose to matter.
SETTLE = {"kind": "settle", "invocations": 2, "resolution": 0.9, "half_width": 9, "budget_s": 60}


def sliced(**values: Any) -> Protocol:
    """Slices of 100 ms, four rounds a block, without a warm-up."""
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10],
            "duration_s": 0.1,
            "slices": {"rounds": 4},
            "warmup": {"kind": "none"},
            "stopping": SETTLE,
            **values,
        }
    )


def fixed(**values: Any) -> Protocol:
    """Three repetitions at two levels, without controls or a warm-up."""
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10, 100],
            "duration_s": 0.5,
            "controls": False,
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 3},
            **values,
        }
    )
