"""Audits of the emulated profiles on the real clock."""

from __future__ import annotations

import os
import re

import pytest
from bentpipe.profiles import FOLDER, profiles
from helpers.audited import audit
from rigs.networks import Bentpipe, networks

#: The profiles with promises that an audit can measure.
PROFILES = {name: one for name, one in profiles().items() if one.head.get("audit", {}).get("promise")}


@networks
@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_an_emulated_profile_keeps_its_promises(bentpipe: Bentpipe, name: str) -> None:
    """With BENTPIPE_RECORD set, the finding is written into the profile."""
    promised = PROFILES[name].head["audit"]
    bentpipe("net", "up", name, "--name", "profile")
    ends = ("--namespaces", "profile/user", "profile/server")
    options = ("--deviation", promised["deviation"], "--duration", promised["duration"])
    _, rows = audit(bentpipe, "--promise", promised["promise"], *ends, *options)
    found = {
        verdict: [
            f"{direction}.{promise}"
            for promise, direction in rows
            if rows[promise, direction]["verdict"] == verdict
        ]
        for verdict in ("kept", "broken", "not measurable")
    }
    finding = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in found.items() if names)
    print(name, finding, {key: row for key, row in rows.items() if row["verdict"] != "kept"})
    if "BENTPIPE_RECORD" in os.environ:
        file = FOLDER / f"{name}.toml"
        text = re.sub(r'^finding = ".*"$', f'finding = "{finding}"', file.read_text(), count=1, flags=re.M)
        file.write_text(text)
    assert not found["broken"] and found["kept"], rows
