"""The file ``fidelity.json`` of an emulation or a measurement as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.quantities import span_text

if TYPE_CHECKING:
    from .runs import Run


def fidelity_text(run: Run) -> str | None:
    """Returns the accuracy of an emulation and its problems. None for a run without
    ``fidelity.json``."""
    fidelity = run.fidelity
    if not fidelity:
        return None
    if "one_way_width_s" in fidelity:
        return "; ".join([f"{fidelity['verdict']}: measured", *fidelity["reasons"]])
    late, lost = fidelity["lateness"], fidelity["lost"]
    text = (
        f"{fidelity['verdict']}: {late['count']} packets reached their hosts {span_text(late['p50_s'])} late (median), "
        f"99 % of them at most {span_text(late['p99_s'])}, the latest {span_text(late['max_s'])}; "
        f"{lost or 'none'} lost outside the model"
    )
    return "; ".join([text, *fidelity["reasons"]])
