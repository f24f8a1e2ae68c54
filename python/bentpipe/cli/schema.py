"""``bentpipe schema``: the JSON Schema of scenarios."""

from __future__ import annotations

from .common import Json, Out


def schema(out: Out = None, json: Json = False) -> None:  # noqa: ARG001 - it is JSON with and without
    """Print the JSON Schema of scenarios."""
    import json as codec

    from bentpipe import scenarios

    from .output import print_json, write_text

    document = scenarios.schema()
    if out is not None:
        write_text(out, codec.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        print_json(document)
