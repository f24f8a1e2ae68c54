"""The first process of a guest in which one TCP connection passes a router that runs an exported
script for netem.

Arguments: the script, congestion control, seconds. Prints the bytes acknowledged and the minimum
round-trip time in microseconds, and ends the guest.
"""

import os
import subprocess
import sys
import traceback
from pathlib import Path

# The guest starts Python without the folders of its modules.
sys.path.insert(0, str(Path(__file__).parent.parent))

from kernel.netem_inside import LIBC, POWER_OFF, connect, transfer

if __name__ == "__main__":
    try:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        # User-Mode Linux appends a word to its command line.
        script, variant, seconds = sys.argv[1:4]
        connect()
        with subprocess.Popen(["ip", "netns", "exec", "m", "sh", script, "to-b", "to-a"]) as imposed:
            # The first step is in force before the first packet.
            while "delay" not in subprocess.check_output(["tc", "-n", "m", "qdisc"], text=True):
                pass
            print("acknowledged", *transfer(variant, float(seconds)), flush=True)
            print("ended", imposed.poll(), flush=True)
            imposed.kill()
    except BaseException:  # noqa: BLE001 - the guest ends before Python would say it
        traceback.print_exc()
    finally:
        LIBC.reboot(POWER_OFF)
