"""Old names of commands, which are refused with the new names."""

from __future__ import annotations

from typing import Final

#: The new name of each command by its old name.
COMMANDS: Final = {
    "emodel": "voice emodel",
    "listen": "voice listen",
    "pabx": "voice pabx",
    "phone": "voice phone",
    "budget": "space budget",
    "rain": "space rain",
    "contacts": "space contacts",
    "up": "net up",
    "ps": "net ps",
    "exec": "net exec",
    "set": "net set",
    "watch": "net watch",
    "down": "net down",
    "doctor": "machine doctor",
    "calibrate": "machine calibrate",
    "pep": "machine pep",
    "kernel": "machine kernel",
    "netpipe": "export RUN np.out",
}
