"""The program that runs inside an audited network: measures it, and stores the records in a file.

Its argument is a folder with ``request.json`` and the key. The program writes ``observation`` or
``trouble`` into this folder.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

from bentpipe.errors import InputError

from .observing import observe
from .promises import read_promises


def main(folder: Path) -> None:
    """Measures the network as ``request.json`` says."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    address = request["address"] or os.environ.get("MAHIMAHI_BASE")
    progress = folder / "progress"

    def advance(done: float) -> bool:
        progress.write_text(f"{done:.4f}", encoding="utf-8")
        return not (folder / "stop").exists()

    try:
        if not address:
            raise InputError("the address of the reflector is unknown; give it with --reflector")
        seen = observe(
            address,
            request["port"],
            (folder / "key").read_bytes(),
            read_promises(request["promise"]),
            duration=request["duration"],
            seed=request["seed"],
            shared_clock=True,
            advance=advance,
        )
    except InputError as error:
        (folder / "trouble").write_text(str(error), encoding="utf-8")
        return
    unfinished = folder / "observation.new"
    unfinished.write_bytes(pickle.dumps(seen))
    unfinished.rename(folder / "observation")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
