"""The verdicts as a document: JSON, JUnit, HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from bentpipe.quantities import number

from .verdicts import BROKEN, UNKNOWN

if TYPE_CHECKING:
    from .verdicts import Audit, Row


def numbers_of(row: Row) -> str:
    """Returns the measured number with its interval and unit as text; "-" without one."""
    if row.measured is None:
        return "-"
    text = number(row.measured)
    if row.low is not None and row.high is not None and row.low < row.high:
        high = f"to {number(row.high)}" if math.isfinite(row.high) else "or more"
        text += f" ({number(row.low)} {high})"
    return f"{text} {row.unit}".strip()


def explanation(row: Row) -> str:
    """Returns reason and likely cause as one text; empty without them."""
    return "; ".join(filter(None, (row.reason, row.cause)))


def document(audit: Audit, about: Mapping[str, str]) -> dict[str, Any]:
    """Returns the audit for JSON."""
    return {
        **about,
        "broken": len(audit.broken),
        "promises": [row.as_dict() for row in audit.rows],
        "notes": audit.notes,
    }


def junit(audit: Audit, about: Mapping[str, str]) -> str:
    """Returns the audit as JUnit's XML: a test case per promise; promises that cannot be measured
    are skipped tests."""
    skipped = sum(row.verdict == UNKNOWN for row in audit.rows)
    suite = ElementTree.Element(
        "testsuite",
        name=f"bentpipe audit {about['network']}",
        tests=str(len(audit.rows)),
        failures=str(len(audit.broken)),
        errors="0",
        skipped=str(skipped),
    )
    for row in audit.rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=about["network"], name=f"{row.name} {row.direction}"
        )
        text = f"promised {row.promised}, measured {numbers_of(row)}"
        if row.verdict == BROKEN:
            failed = ElementTree.SubElement(case, "failure", message=row.cause or text, type=BROKEN)
            failed.text = "; ".join(filter(None, (text, explanation(row))))
        elif row.verdict == UNKNOWN:
            ElementTree.SubElement(case, "skipped", message=row.reason or UNKNOWN)
        ElementTree.SubElement(case, "system-out").text = text
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def html(audit: Audit, about: Mapping[str, str]) -> str:
    """Returns the audit as one self-contained page, in the style of reports."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bentpipe.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rows = [(row, numbers_of(row), explanation(row)) for row in audit.rows]
    return environment.get_template("audit.html.j2").render(
        title=f"Audit of {about['network']}",
        rows=rows,
        broken=len(audit.broken),
        about=about,
        notes=audit.notes,
    )
