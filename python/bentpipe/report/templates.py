"""The templates of HTML pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def template(name: str, *packages: str) -> jinja2.Template:
    """Returns a template of ``packages`` or, if they have none of this name, of reports. Each may
    include parts of the other."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(package, ".") for package in (*packages, "bentpipe.report")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
