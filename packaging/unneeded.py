"""Empties the vendored crates that only other systems compile.

Their manifests remain, because Cargo.lock names the crates.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

#: Names of crates for Windows, WebAssembly and Apple's systems.
OTHERS = re.compile(r"(winapi|windows|wasi|wasip\d|wit-bindgen|js-sys|web-sys|wasm-bindgen|core-foundation)")


def main(vendor: Path) -> None:
    """Empties the crates for other systems in a folder of ``cargo vendor``."""
    for crate in sorted(vendor.iterdir()):
        if not OTHERS.match(crate.name):
            continue
        for file in crate.rglob("*"):
            if not file.is_file() or file.name in ("Cargo.toml", ".cargo-checksum.json"):
                continue
            if file.suffix == ".rs":
                file.write_bytes(b"")
            else:
                file.unlink()
        checksum = crate / ".cargo-checksum.json"
        checksum.write_text(json.dumps({"files": {}, "package": json.loads(checksum.read_text())["package"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
