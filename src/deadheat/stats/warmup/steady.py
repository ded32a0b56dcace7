"""Is a fresh server warm yet? Decided in requests, and only when the data are clear."""

import math
from dataclasses import replace

from deadheat import numbers
from deadheat.stats.warmup.warm_rule import (
    ROUNDING_S,
    Earlier,
    Reading,
    Rule,
    Stretch,
    WarmVerdict,
    Windows,
)

_COMPILER_LOOK_S = 0.5
_KIND_TOLERANCE = 0.05


def read(windows: Windows, rule: Rule, earlier: Earlier | None = None) -> Reading:
    """Judge an instance by its windows so far. Pure, and cheap enough to call after each window."""
    judged = _judge(windows, rule, earlier)
    if judged.steady or judged.seconds < rule.budget_s - ROUNDING_S:
        return judged
    if (warm := _after_ample_work(windows, rule)) is not None:
        return warm
    reason = f"not steady within {rule.budget_s:g} s of load: {judged.reason}"
    return replace(judged, verdict=WarmVerdict.UNSTEADY, reason=reason)


def _judge(windows: Windows, rule: Rule, earlier: Earlier | None) -> Reading:
    done = windows.requests_in_all
    if done == 0:
        return _go_on(windows, "not one right answer")
    floor, strict_floor = rule.floors(earlier)
    waived = windows.seconds_in_all >= rule.budget_s / 2
    if done < floor and not waived:
        return _go_on(windows, f"{done:,.0f} of at least {floor:,.0f} requests served")
    busy = windows.compiler_busy_since(windows.last(_COMPILER_LOOK_S))
    if busy > rule.compiler_busy_max:
        reason = f"the compiler runs, or waits for a CPU, {numbers.percent(busy, 0)} of the time"
        return _go_on(windows, reason)
    if earlier is not None and done >= floor:
        reading = _as_earlier_instances(windows, rule, earlier)
        if reading is not None:
            return reading
    if done < strict_floor and not waived:
        reason = f"not at the rate of earlier instances: {done:,.0f} of {strict_floor:,.0f}"
        return _go_on(windows, reason)
    return _idle_compiler(windows, rule) or _no_drift(windows, rule)


def _as_earlier_instances(windows: Windows, rule: Rule, earlier: Earlier) -> Reading | None:
    """Steady, if it has served more than they needed, and nothing speaks against it since."""
    needed = earlier.requests_needed
    begin = windows.first_after(max(needed, windows.requests_in_all / 4))
    stretch = windows.stretch(begin, rule.confidence)
    if stretch.drifts(rule.clear_drift_max):
        return None
    if stretch.rate_low >= (1 - rule.shortfall_max) * earlier.rate_per_s:
        return _steady(windows, stretch, needed, "at the rate of earlier instances since")
    past_floor = windows.requests_in_all >= rule.floors(earlier)[1]
    if past_floor and not rule.tiered and not math.isnan(stretch.drift):
        return _steady(windows, stretch, needed, "past what earlier instances needed,")
    return None


def _idle_compiler(windows: Windows, rule: Rule) -> Reading | None:
    """Steady, if the compiler can be seen and was idle while the work grew."""
    if windows.compiler_busy_s is None or windows.seconds_in_all < rule.quiet_s:
        return None
    grown = windows.first_after(windows.requests_in_all / rule.quiet_growth)
    begin = min(grown, windows.last(rule.quiet_s))
    stretch = windows.stretch(begin, rule.confidence)
    busy = windows.compiler_busy_since(begin) > rule.compiler_busy_max
    if busy or stretch.rate == 0 or stretch.drifts(rule.quiet_drift_max):
        return None
    needed = windows.requests_before(begin)
    return _steady(windows, stretch, needed, "the compiler has been idle since")


def _no_drift(windows: Windows, rule: Rule) -> Reading:
    """Steady, if a drift over the last two doublings of the work is excluded."""
    begin = windows.first_after(windows.requests_in_all / 4)
    needed = windows.requests_before(begin)
    stretch = windows.stretch(begin, rule.confidence)
    if stretch.rate == 0:
        return _go_on(windows, f"no right answer since {needed:,.0f} requests")
    if len(windows) < rule.windows_min or math.isnan(stretch.drift):
        return _go_on(windows, f"{len(windows)} windows are too few")
    if stretch.is_level(rule.drift_max) and not stretch.drifts(rule.clear_drift_max):
        return _steady(windows, stretch, needed, "no drift since")
    reason = _drift_text(stretch, rule)
    return _go_on(windows, reason, stretch)


def _drift_text(stretch: Stretch, rule: Rule) -> str:
    """`its rate still fell by 66 % (limit 30 %)`, or what noise hides."""
    change, error = abs(stretch.drift), stretch.drift_error
    shown = stretch.drifts(rule.clear_drift_max)
    limit = numbers.percent(rule.clear_drift_max if shown else rule.drift_max, 0)
    if shown or change > max(error, rule.drift_max):
        how = "fell" if stretch.drift < 0 else "rose"
        of_what = " of its mean" if change > 1 else ""  # no rate falls by 149 %
        return f"its rate still {how} by {numbers.percent(change, 0)}{of_what} (limit {limit})"
    hidden = numbers.percent(change + error, 0)
    return f"its rate may still change by {hidden}, which noise hides (limit {limit})"


def _after_ample_work(windows: Windows, rule: Rule) -> Reading | None:
    """Steady with a caution, after much work, if noise hides whether the rate drifts."""
    ample = rule.ample * rule.first_floor_requests
    busy = windows.compiler_busy_since(windows.last(_COMPILER_LOOK_S))
    if not 0 < ample <= windows.requests_in_all or busy > rule.compiler_busy_max:
        return None
    begin = windows.first_after(windows.requests_in_all / 4)
    stretch = windows.stretch(begin, rule.confidence)
    if not 0 <= stretch.drift_error - abs(stretch.drift) < math.inf:
        return None
    reading = _steady(windows, stretch, windows.requests_before(begin), "no drift is shown since")
    hidden = abs(stretch.drift) + stretch.drift_error
    caution = (
        f"after {windows.seconds_in_all:.0f} s of warm-up, "
        f"its rate may still change by {numbers.percent(hidden, 0)}, which noise hides"
    )
    return replace(reading, caution=caution)


def _go_on(windows: Windows, reason: str, stretch: Stretch | None = None) -> Reading:
    reading = Reading(WarmVerdict.GO_ON, reason, windows.requests_in_all, windows.seconds_in_all)
    if stretch is None:
        return reading
    return replace(
        reading, rate_per_s=stretch.rate, drift=stretch.drift, drift_error=stretch.drift_error
    )


def _steady(windows: Windows, stretch: Stretch, needed: float, reason: str) -> Reading:
    kind = "flat"
    if stretch.change < 1 - _KIND_TOLERANCE:
        kind = "warm-up"
    elif stretch.change > 1 + _KIND_TOLERANCE:
        kind = "slowdown"
    return Reading(
        WarmVerdict.STEADY,
        f"{reason} {needed:,.0f} requests",
        windows.requests_in_all,
        windows.seconds_in_all,
        kind,
        stretch.begin,
        needed,
        stretch.rate,
        stretch.drift,
        stretch.drift_error,
    )
