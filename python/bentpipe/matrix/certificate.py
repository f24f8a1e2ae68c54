"""The certificate of the servers: self-signed, for the name ``server``.

Guests begin in 2020, so the certificate is valid from 2019 on. Its RSA key makes all signatures
equally long, so that reruns have packets of the same lengths.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from .building import place

_CONFIGURATION: Final = """
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = names
copy_extensions = copy
x509_extensions = extensions
[names]
commonName = supplied
[extensions]
basicConstraints = CA:FALSE
"""


def certificate() -> tuple[Path, Path]:
    """Returns the files of the certificate and of its key, created at the first use. Raises
    ``OSError`` if openssl is missing or fails."""
    folder = place() / "certificate"
    cert, key = folder / "cert.pem", folder / "key.pem"
    if not cert.is_file():
        if shutil.which("openssl") is None:
            raise OSError("the certificate of the servers needs openssl; install the package openssl")
        place().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place()) as temporary:
            new = Path(temporary) / "certificate"
            new.mkdir()
            _make(new)
            new.rename(folder)
    return cert, key


def _make(folder: Path) -> None:
    for name, text in {"configuration": _CONFIGURATION, "index": "", "serial": "01\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    request = "req -new -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=server"
    sign = "ca -batch -selfsign -config configuration -keyfile key.pem -in request.pem -out cert.pem -notext"
    for words in (
        [*request.split(), "-addext", "subjectAltName=DNS:server"],
        [*sign.split(), "-startdate", "20190101000000Z", "-enddate", "20990101000000Z"],
    ):
        done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"openssl {words[0]} failed: {done.stderr.strip()}")
