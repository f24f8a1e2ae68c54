"""``bentpipe schema``: prints the JSON Schema of scenarios."""

from __future__ import annotations

from .common import Json, Out


def schema(out: Out = None, json: Json = False) -> None:  # noqa: ARG001 - the schema is JSON in any case
    """Print the JSON Schema of scenarios."""
    from bentpipe.scenario import scenarios

    from .output import as_json, of_format, print_json, write_text

    document = scenarios.schema()
    if out is not None:
        of_format(out, (".json",))
        write_text(out, as_json(document) + "\n")
    else:
        print_json(document)
