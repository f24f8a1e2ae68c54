"""The application: its routes, the page, and the responses to errors."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from pydantic import BaseModel
from sqlalchemy.exc import DataError, OperationalError

import bentpipe
from bentpipe._native import ScenarioError
from bentpipe.documentation import CLONE, SITE
from bentpipe.errors import InputError
from bentpipe.testbed.paths import without_paths
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store

from . import (
    accounts,
    calls,
    comments,
    configurations,
    courses,
    drafts,
    laboratory,
    live,
    means,
    plans,
    reproducing,
    reservations,
    results,
    run_lists,
    runs,
    saved_views,
    sessions,
)
from .events import Broadcast
from .security import Guard

#: Folder in which `make web` stores the built page.
PAGE: Final = Path(__file__).resolve().parents[1] / "static"
#: The engine for browsers as a script: of the site in the package, or of a clone's build. Without
#: both, the page has no preview.
ENGINES: Final = (
    SITE / "_static" / "engine.js",
    CLONE / "build" / "site-scripts" / "engine.js",
)


class Refusal(BaseModel):
    """The reason of a refused request."""

    detail: str


#: Additional responses of every route.
REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"model": Refusal, "description": "Refused, with the reason"},
    503: {"model": Refusal, "description": "Busy, or the database cannot be written"},
}

_UNBUILT: Final = """<!doctype html><html lang="en"><title>bentpipe</title><h1>The page is not built</h1>
<p>Run <code>make web</code> in the repository (it needs Node), then reload. The REST interface works: see
<a href="/api/openapi.json">/api/openapi.json</a>."""


def application(settings: Settings, store: Store) -> FastAPI:
    """Returns the web process's application."""
    broadcast = Broadcast(store)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with broadcast.running():
            yield

    app = FastAPI(
        title="bentpipe test bed",
        version=bentpipe.__version__,
        summary="The REST interface of the page.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.settings, app.state.store, app.state.broadcast = settings, store, broadcast
    # Routes of lists, such as /runs/total, come before those of single runs.
    for module in (
        sessions,
        accounts,
        courses,
        drafts,
        plans,
        configurations,
        run_lists,
        saved_views,
        runs,
        comments,
        live,
        reproducing,
        results,
        means,
        calls,
        laboratory,
        reservations,
    ):
        app.include_router(module.router, prefix="/api", responses=REFUSALS)
    _errors(app, settings.data)
    _page(app)
    app.add_middleware(Guard, settings=settings)
    return app


def _errors(app: FastAPI, data: Path) -> None:
    """Registers the handlers of errors. The body of every error is ``{"detail": TEXT}``. The text
    contains no details of this machine, such as the data folder."""

    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> Response:
        return JSONResponse({"detail": str(error)}, error.status)

    @app.exception_handler(ScenarioError)
    @app.exception_handler(InputError)
    def invalid(_: Request, error: ValueError) -> Response:
        return JSONResponse({"detail": without_paths(str(error), data)}, 422)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> Response:
        # The refused value is left out, because it may be a password.
        told = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()]
        return JSONResponse({"detail": "; ".join(told)}, 422)

    @app.exception_handler(DataError)
    def unfit(_: Request, __: DataError) -> Response:
        return JSONResponse({"detail": "the database cannot hold this value"}, 422)

    @app.exception_handler(OperationalError)
    def busy(_: Request, __: OperationalError) -> Response:
        return JSONResponse({"detail": "the database is busy or cannot be written; try again"}, 503)


#: Compressed forms of an asset, the smallest first: content coding and ending of the file.
CODINGS: Final = (("br", ".br"), ("gzip", ".gz"))


def _page(app: FastAPI) -> None:
    @app.get("/assets/{name}", include_in_schema=False)
    def asset(name: str, request: Request) -> Response:
        file = PAGE / "assets" / name
        if file.parent != PAGE / "assets" or not file.is_file():
            return JSONResponse({"detail": "there is no such file"}, 404)
        # The file may be cached for long, because its name contains a hash of its content.
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
        accepted = {
            one.partition(";")[0].strip() for one in request.headers.get("accept-encoding", "").split(",")
        }
        for coding, ending in CODINGS:
            small = file.with_name(name + ending)
            if coding in accepted and small.is_file():
                kind, _ = mimetypes.guess_type(name)
                headers["Content-Encoding"] = coding
                return FileResponse(small, headers=headers, media_type=kind)
        return FileResponse(file, headers=headers)

    @app.get("/engine.js", include_in_schema=False)
    def engine() -> Response:
        file = next((one for one in ENGINES if one.is_file()), None)
        if file is None:
            return JSONResponse({"detail": "this installation has no engine for browsers"}, 404)
        return FileResponse(file, headers={"Cache-Control": "no-cache"})

    read: dict[tuple[float, int], tuple[bytes, str]] = {}

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        # Served from memory, because the page is small and every tab requests it. Read again after
        # a new build.
        try:
            about = (PAGE / "index.html").stat()
        except OSError:
            return HTMLResponse(_UNBUILT, 503)
        version = (about.st_mtime, about.st_size)
        if version not in read:
            content = (PAGE / "index.html").read_bytes()
            read.clear()
            read[version] = content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        content, tag = read[version]
        headers = {"Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(content, headers=headers)


def openapi() -> dict[str, Any]:
    """Returns the OpenAPI document, without a database."""
    return application(Settings(Path()), Store("sqlite://")).openapi()
