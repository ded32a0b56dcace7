"""The profile of a run of several workloads as a part of its JSON document."""

import dataclasses
import math

from deadheat.report.findings.profile import Prediction, Profile, profile, texts_of
from deadheat.report.formats import document_profile as to
from deadheat.report.model.view import RunView


def profile_part(view: RunView) -> to.Profile | None:
    """None for a run of one workload."""
    overview = profile(view)
    if overview is None:
        return None
    return to.Profile(
        rows=tuple(
            to.ProfileRow(name=row.name, shares=_shares(overview, place))
            for place, row in enumerate(overview.rows)
        ),
        predictions=tuple(map(_prediction, overview.predictions)),
    )


def _shares(overview: Profile, place: int) -> tuple[to.Share, ...]:
    shares = overview.rows[place].shares
    return tuple(
        to.Share(
            workload=level.workload,
            connections=level.connections,
            **dataclasses.asdict(shares[level.workload]),
        )
        for level in overview.levels
        if level.workload in shares
    )


def _prediction(each: Prediction) -> to.Prediction:
    agreement = each.agreement
    tau_b = agreement.tau_b if agreement and math.isfinite(agreement.tau_b) else None
    known = agreement is not None and agreement.has_interval
    return to.Prediction(
        by=each.by,
        workload=each.workload,
        tau_b=tau_b,
        low=agreement.low if agreement and known else None,
        high=agreement.high if agreement and known else None,
        servers=agreement.contenders if agreement else 0,
        inversions=agreement.inversions if agreement else (),
        movers=tuple(to.Mover(**dataclasses.asdict(mover)) for mover in each.movers),
        cpu_us_more=each.cpu_us_more,
        text=tuple(texts_of(each)),
    )
