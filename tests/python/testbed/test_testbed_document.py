"""The OpenAPI document of the test bed, from which programs and the page's types are generated. It
is self-contained, and describes every operation with all its refusals."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed.api.application import openapi
from helpers import ROOT


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    methods = ("get", "put", "post", "patch", "delete")
    return [
        (path, method, item[method])
        for path, item in openapi()["paths"].items()
        for method in methods
        if method in item
    ]


def test_every_reference_has_an_end_and_every_schema_is_used() -> None:
    document = openapi()
    schemas = document["components"]["schemas"]
    used = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert used == set(schemas)
    assert len(schemas) > 40


def test_every_operation_has_a_name_of_its_own_a_text_and_its_refusals() -> None:
    found = operations()
    assert len(found) > 40
    names = [operation["operationId"] for _, _, operation in found]
    assert len(set(names)) == len(names)
    for path, method, operation in found:
        where = f"{method.upper()} {path}"
        assert operation.get("description") or operation.get("summary"), where
        statuses = set(operation["responses"])
        assert any(status.startswith(("2", "3")) for status in statuses), where
        # A caller may lack the rights, and a request may be wrong.
        assert "4XX" in statuses, where


def test_the_document_is_the_same_each_time_and_is_built_but_not_kept() -> None:
    assert openapi() == openapi()
    ignored = subprocess.run(
        ["git", "check-ignore", "build/openapi.json", "examples/bentpipe.schema.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ignored.returncode == 128:
        pytest.skip("not a git repository")
    assert ignored.stdout.split() == ["build/openapi.json", "examples/bentpipe.schema.json"]
