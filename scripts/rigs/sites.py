"""Pages of interactive figures for tests and benchmarks, without the rest of the site."""

from __future__ import annotations

import base64
import contextlib
import functools
import gzip
import html
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manual import blocks, playground, tries

ROOT = Path(__file__).resolve().parents[2]
#: The script of the site, as built by `scripts/web site`.
SCRIPTS = ROOT / "build" / "site-scripts"
#: The engine for browsers, as built by `scripts/wasm --build`.
MODULE = ROOT / "build" / "wasm" / "bentpipe.wasm"


@functools.cache
def specs(page: Path) -> dict[str, dict[str, Any]]:
    """Returns the interactive figures of a page by title, as data for the page's script. Callers
    must not change the data."""
    text = page.read_text(encoding="utf-8")
    files = tries.scenarios(text)
    return {block.title: tries.page_spec(block.text, files) for block in blocks.read(text) if block.title}


def write(folder: Path, found: dict[str, dict[str, Any]], module: bytes | None = None) -> Path:
    """Writes a page with these blocks, the script and the engine, or another ``module``."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in SCRIPTS.iterdir():
        shutil.copy(file, folder)
    if module is not None:
        text = base64.b64encode(gzip.compress(module)).decode()
        (folder / "engine.js").write_text(f'window.bentpipeEngine = "{text}";\n')
    parts = "".join(tries.element(title, spec) for title, spec in found.items())
    title = html.escape(folder.name)
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="try.css">'
        f"<body><main><h1>{title}</h1>{parts}</main>"
        '<script defer src="try.js"></script></body></html>',
        encoding="utf-8",
    )
    return page


def write_playground(folder: Path) -> Path:
    """Writes the playground, as the site contains it, and returns its page."""
    shutil.copytree(SCRIPTS, folder / "_static")
    playground.write(folder / "_static")
    return Path(shutil.copy(ROOT / "docs" / "_extra" / "playground.html", folder))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder over HTTP on this machine, and gives its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


#: The types of the exports: parameters and results, as value types of WebAssembly.
_I32, _F64 = 0x7F, 0x7C
_EXPORTS: dict[str, tuple[list[int], list[int], bytes]] = {
    "bp_input": ([_I32], [_I32], b"\x41\x80\x08"),
    "bp_open": ([], [_I32], b"\x41\x01"),
    "bp_check": ([], [_I32], b"\x41\x01"),
    "bp_advance": ([_I32], [_F64], b""),
    "bp_events": ([], [_F64], b"\x44" + bytes(8)),
    "bp_close": ([], [], b""),
    "bp_answer": ([], [_I32], b"\x41\x00"),
    "bp_answer_length": ([], [_I32], b"\x41\x00"),
    "bp_panic": ([], [_I32], b"\x41\x10"),
    "bp_panic_length": ([], [_I32], b""),
}
#: Instructions of `bp_advance`: a trap, and a loop without end.
TRAP = b"\x00"
LOOP = b"\x03\x40\x0c\x00\x0b\x00"
#: Instructions that trap after the memory has reached its maximum, as a failed allocation does.
EXHAUST = b"\x03\x40\x41\x01\x40\x00\x41\x7f\x47\x0d\x00\x0b\x00"


def module(advance: bytes, message: str) -> bytes:
    """Returns a WebAssembly module with the engine's exports, whose runs execute ``advance``.

    ``message`` is the text of its panic.
    """
    text = message.encode()
    types, bodies, exports = [], [], []
    for number, (name, (taken, given, body)) in enumerate(_EXPORTS.items()):
        types.append(bytes([0x60, len(taken), *taken, len(given), *given]))
        code = {"bp_advance": advance, "bp_panic_length": bytes([0x41, len(text)])}.get(name, body)
        bodies.append(_sized(b"\x00" + code + b"\x0b"))
        exports.append(_sized(name.encode()) + bytes([0, number]))
    exports.append(_sized(b"memory") + b"\x02\x00")
    sections = {
        1: _list(types),
        3: _list([bytes([number]) for number in range(len(types))]),
        5: b"\x01\x01\x10\x40",
        7: _list(exports),
        10: _list(bodies),
        11: b"\x01\x00\x41\x10\x0b" + _sized(text),
    }
    return b"\0asm\1\0\0\0" + b"".join(bytes([key]) + _sized(value) for key, value in sections.items())


def _sized(content: bytes) -> bytes:
    size, found = len(content), bytearray()
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size]) + content


def _list(parts: list[bytes]) -> bytes:
    return bytes([len(parts)]) + b"".join(parts)


def private_bytes(browser: Any) -> int:
    """Returns the largest private memory of a process of the browser that draws pages."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return max(_private(one["id"]) for one in processes if one["type"] == "renderer")


def _private(process: int) -> int:
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Private_"))
