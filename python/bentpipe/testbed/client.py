"""Client of the REST interface for programs, with a token."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from bentpipe.errors import InputError, unknown

#: Final states of a run.
FINAL: Final = ("done", "failed", "cancelled", "incomplete")


@dataclass(frozen=True)
class Laboratory:
    """A test bed at a server, accessed with a user's token."""

    server: str
    token: str

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the JSON value of the response to a request. Raises :class:`bentpipe.InputError`
        with the reason of a refusal."""
        answer = self._open(method, path, body)
        return json.loads(answer) if answer else None

    def fetch(self, run: str, out: Path) -> list[Path]:
        """Saves the files of a run as a run folder, and returns their paths. The folder is created
        after all files have arrived, so that an interruption leaves no incomplete run."""
        out = out.resolve()
        if out.exists() and any(out.iterdir()):
            raise InputError(f"{out} is not empty; choose another folder")
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as unfinished:
            folder = Path(unfinished) / out.name
            folder.mkdir()
            saved = []
            for file in self.request("GET", f"/runs/{quote(run)}/files"):
                # The server chooses the paths, so they are checked to lie inside the folder.
                place = folder / file["path"]
                if not place.resolve().is_relative_to(folder):
                    raise InputError(f"the server sent the path {file['path']}, which is outside the folder")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(self._open("GET", f"/runs/{quote(run)}/files/{quote(file['path'])}"))
                saved.append(out / file["path"])
            folder.rename(out)
        return saved

    def wait(self, run: str, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Waits for the end of a run and returns the run. Calls ``tell`` with the run at each
        poll."""
        while True:
            found: dict[str, Any] = self.request("GET", f"/runs/{quote(run)}")
            tell(found)
            if found["state"] in FINAL:
                return found
            time.sleep(0.5)

    def _open(self, method: str, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.server}/api{path}",
            data,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                read: bytes = answer.read()
                return read
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            try:
                reason = json.loads(text)["detail"]
            except (ValueError, KeyError, TypeError):
                reason = f"status {error.code}"
            raise InputError(f"{self.server}: {reason}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise InputError(f"{self.server} does not respond: {reason}") from None


def laboratory(server: str) -> Laboratory:
    """Returns the test bed at a URL, with the token from the environment. Raises
    :class:`bentpipe.InputError`."""
    if not server.startswith(("http://", "https://")):
        raise InputError(f'"{server}" is not a URL of a server; allowed: a URL such as http://127.0.0.1:8470')
    token = os.environ.get("BENTPIPE_TOKEN", "")
    if not token:
        raise InputError("no token: create one on the page of your account, and set BENTPIPE_TOKEN to it")
    return Laboratory(server.rstrip("/"), token)


def named(rows: list[dict[str, Any]], name: str, what: str) -> dict[str, Any]:
    """Returns the row with an id or a name. Raises :class:`bentpipe.InputError`."""
    for key in ("id", "name"):
        for row in rows:
            if row[key] == name:
                return row
    if name.endswith(".toml"):
        raise InputError(f"there is no file {name}, and no {what} with this name")
    raise unknown(what, name, {str(row["name"]) for row in rows})
