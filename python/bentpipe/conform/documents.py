"""The report card as a document: JSON, HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.report.templates import template

from .case import FAIL, NOT_APPLICABLE, PASS, Result


def counts(results: Sequence[Result]) -> str:
    """Returns the number of results of each verdict as text."""
    numbers = {verdict: sum(one.verdict == verdict for one in results) for verdict in (PASS, FAIL)}
    text = f"{numbers[PASS]} passed, {numbers[FAIL]} failed"
    others = len(results) - sum(numbers.values())
    return f"{text}, {others} {NOT_APPLICABLE}" if others else text


def document(results: Sequence[Result], about: Mapping[str, str]) -> dict[str, Any]:
    """Returns the card for JSON."""
    failed = sum(one.verdict == FAIL for one in results)
    return {**about, "failed": failed, "cases": [one.as_dict() for one in results]}


def html(results: Sequence[Result], about: Mapping[str, str]) -> str:
    """Returns the card as one self-contained page, in the style of reports."""
    page = template("card.html.j2", "bentpipe.conform")
    return page.render(results=results, about=about, counts=counts(results), fail=FAIL)
