"""The view of a replay with the defects that its audit finds."""

from dataclasses import replace

from deadheat.audit.case import Case
from deadheat.audit.defects.all import find_defects
from deadheat.audit.replay import load_replay
from deadheat.catalog import find_root
from deadheat.errors import DeadheatError
from deadheat.protocol.figures import read_figures, shipped_figures
from deadheat.report.model.view import RunView
from deadheat.store import Store


def with_defects(store: Store, view: RunView) -> RunView:
    """The same view with `defects`, if it is a replay whose published figures are here.

    `deadheat audit` says why if they cannot be read; a report of the run works without them.
    """
    if view.protocol.origin is None:
        return view
    try:
        replay = load_replay(store, view.run_id)
        if not view.trials:
            return view
        root, name = find_root(), view.protocol.origin.figures
        single = root / "published" / f"{name}-repetitions.csv"
        repetitions = read_figures(single) if single.is_file() else None
        case = Case.of(replay, shipped_figures(root, name), repetitions)
    except DeadheatError:
        return view
    return replace(view, defects=find_defects(case))
