"""Every operation of the OpenAPI document with data that Schemathesis generates. Responses are
never a server error, and have the status, type and form that the document describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed.api.callers import COOKIE
from helpers.beds import Bed, _cheap_passwords, launched, saved
from hypothesis import HealthCheck, Phase, given, settings

__all__ = ["_cheap_passwords"]

#: Operations that remove objects of other operations, and the endless stream.
EXCEPT = {("DELETE", "/api/session"), ("GET", "/api/events"), ("PUT", "/api/session/password")}


def hold(bed: Bed, client: Any, each: int, seed: int) -> int:
    """Tries every operation ``each`` times. Returns the number of requests."""
    # Its import takes a second of a processor.
    schemathesis = pytest.importorskip("schemathesis", reason="no Schemathesis")
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    host = {"Host": "localhost"}
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", bed.app, headers=host)
    # The session is sent as a header, because Schemathesis has its own client.
    headers = {**host, "Origin": "http://localhost", "Cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if (operation.method.upper(), operation.path) in EXCEPT:
            continue

        def check(case: Any) -> None:
            nonlocal tried
            tried += 1
            answer = case.call(headers=headers)
            case.validate_response(
                answer,
                checks=[
                    not_a_server_error,
                    status_code_conformance,
                    content_type_conformance,
                    response_schema_conformance,
                ],
            )

        given(case=operation.as_strategy())(
            settings(
                max_examples=each,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(check)
        )()
    return tried


def test_the_document_holds(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "data")
    root = bed.join("root", "administrator")
    saved(root)
    launched(root)
    assert hold(bed, root, 3, 1) > 60
    bed.store.close()


@pytest.mark.slow
def test_the_document_holds_at_length(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "data")
    root = bed.join("root", "administrator")
    saved(root)
    launched(root)
    hold(bed, root, 100, 2)
    bed.store.close()
