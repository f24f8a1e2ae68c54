"""A client of language servers over standard input and output (Language Server Protocol 3.17), as
an editor is one."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

#: Time limit of one answer: a server that has none is broken.
LIMIT_S = 60.0

#: Diagnostics are complete after this time without new ones. Servers publish several versions.
QUIET_S = 2.0

#: The settings that servers request.
SETTINGS = {"schema": {"enabled": True, "links": False, "catalogs": []}}


class EndedError(Exception):
    """The server ended before it answered."""


class LanguageServer:
    """A running server for the files of a folder. The mark ``^`` in a text is the cursor."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.folder = folder
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._count = 0

    def __enter__(self) -> Self:
        try:
            self._initialize()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Returns the result of a request."""
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while (message := self._next(LIMIT_S)).get("id") != self._count or "method" in message:
            pass
        assert "error" not in message, message
        return message["result"]

    def completions(self, text: str) -> dict[str, str]:
        """Returns the label of each completion at the cursor, with its description."""
        found = self._at("textDocument/completion", text)
        items = found["items"] if isinstance(found, dict) else found or []
        return {item["label"]: _text(item.get("documentation")) for item in items}

    def hover(self, text: str) -> str:
        """Returns the text that appears at the cursor."""
        found = self._at("textDocument/hover", text)
        return _text(found["contents"]) if found else ""

    def diagnostics(self, text: str) -> list[tuple[int, str]]:
        """Returns the errors in a text: line, from 0, and message."""
        place = self._open(text)
        found: list[dict[str, Any]] = []
        limit = LIMIT_S
        while True:
            try:
                message = self._next(limit)
            except queue.Empty:
                break
            params = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == place:
                found = params["diagnostics"]
                limit = QUIET_S
        return [(one["range"]["start"]["line"], one["message"]) for one in found]

    def _initialize(self) -> None:
        kept = {"documentationFormat": ["markdown"]}
        abilities = {
            "workspace": {"configuration": True},
            "textDocument": {
                "completion": {"completionItem": kept},
                "hover": {"contentFormat": ["markdown"]},
            },
        }
        root = {"uri": self.folder.as_uri(), "name": self.folder.name}
        self.call(
            "initialize",
            {
                "processId": None,
                "rootUri": root["uri"],
                "workspaceFolders": [root],
                "capabilities": abilities,
            },
        )
        self._notify("initialized", {})

    def _at(self, method: str, text: str) -> Any:
        before, _, after = text.partition("^")
        place = self._open(before + after)
        position = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
        return self.call(method, {"textDocument": {"uri": place}, "position": position})

    def _open(self, text: str) -> str:
        self._count += 1
        file = self.folder / f"scenario-{self._count}.toml"
        file.write_text(text, encoding="utf-8")
        document = {"uri": file.as_uri(), "languageId": "toml", "version": 1, "text": text}
        self._notify("textDocument/didOpen", {"textDocument": document})
        return file.as_uri()

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EndedError from None

    def _next(self, limit_s: float) -> dict[str, Any]:
        message = self._messages.get(timeout=limit_s)
        if message is None:
            raise EndedError
        return message

    def _read(self) -> None:
        """Queue what the server sends, and answer its requests."""
        assert self._process.stdout is not None
        while head := self._process.stdout.readline():
            length = 0
            while head not in (b"\r\n", b""):
                name, _, value = head.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                head = self._process.stdout.readline()
            message = json.loads(self._process.stdout.read(length) or b"{}")
            if "id" in message and "method" in message:
                items = (message.get("params") or {}).get("items", [])
                asked = message["method"] == "workspace/configuration"
                with contextlib.suppress(EndedError):
                    self._send({"id": message["id"], "result": [SETTINGS for _ in items] if asked else None})
            else:
                self._messages.put(message)
        self._messages.put(None)


def _text(documentation: Any) -> str:
    return documentation["value"] if isinstance(documentation, dict) else documentation or ""
