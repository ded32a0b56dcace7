"""Durations as a reader says them."""


def spell_duration(duration_s: float) -> str:
    """`300 ms`, `45 s`, `3 min 20 s`, `2 h 5 min`: three digits, then whole parts."""
    if duration_s < 1:
        return f"{duration_s * 1000:.0f} ms"
    if duration_s < 59.5:
        return f"{duration_s:.3g} s"
    minutes, rest_s = divmod(round(duration_s), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s" if rest_s else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"
