"""The templates of HTML pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def environment(*packages: str) -> jinja2.Environment:
    """Returns the templates of ``packages``, followed by those of reports, whose style all pages
    share."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(name, ".") for name in (*packages, "bentpipe.report")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
