"""Checks of every request, and the headers of every response."""

from __future__ import annotations

from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bentpipe.testbed.settings import Settings

#: The picture and the plots use inline styles. Scripts are never inline. The preview compiles the
#: engine, a WebAssembly module.
CONTENT: Final = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
#: Maximum size of a request's body: a scenario with its JSON wrapper.
MAX_BODY_BYTES: Final = 2_000_000
SAFE: Final = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Refuses requests with a foreign Host (DNS rebinding), a foreign or missing Origin (cross-site
    request forgery), or a long body."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.hosts = {*LOOPBACK, *settings.names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request to the application, or refuses it."""
        if scope["type"] != "http":
            if scope["type"] != "websocket":
                await self.app(scope, receive, send)
            return
        refusal = self.refusal(scope)
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                raise TooLong
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name not in headers:
                        headers[name] = value
                if scope["path"].startswith("/api") and "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        if refusal is not None:
            status, text = refusal
            await JSONResponse({"detail": text}, status)(scope, receive, with_headers)
            return
        try:
            await self.app(scope, bounded, with_headers)
        except TooLong:
            await JSONResponse({"detail": f"the request is longer than {MAX_BODY_BYTES} bytes"}, 413)(
                scope, receive, with_headers
            )

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Returns status and message for a request to be refused; None for an allowed request."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self.hosts:
            return 421, "the test bed does not know this host name; add it with --name"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return 413, f"the request is longer than {MAX_BODY_BYTES} bytes"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "requests from other sites are refused"
        if scope["method"] in SAFE:
            return None
        # Browsers must send an Origin; programs send a token instead.
        if origin is None and "authorization" not in headers:
            return 403, "a request that changes data needs an Origin header or a token"
        kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "the body must be application/json"
        return None


class TooLong(Exception):  # noqa: N818 - caught above
    """The body is longer than :data:`MAX_BODY_BYTES`."""


def _name(host: str) -> str:
    """Returns the name in a Host header, without the port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def is_encrypted(scope: Any, settings: Settings) -> bool:
    """Returns true if passwords may be sent over this connection: it is encrypted, local to the
    machine, or --insecure allows plain HTTP."""
    name = _name(Headers(scope=scope).get("host", ""))
    return settings.insecure or settings.proxied or scope.get("scheme") == "https" or name in LOOPBACK
