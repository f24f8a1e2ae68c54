#!/bin/sh
# The real NetPIPE in both islands of a network that `bentpipe run` has brought up; options go to both ends:
#   bentpipe run studies/lan_islands/islands.toml -- sh studies/lan_islands/nptcp.sh -n 7 -p 0 -u 65536 -o np.out
set -eu
: "${BENTPIPE:=bentpipe}"
"$BENTPIPE" net exec island-2 -- NPtcp -P 5002 "$@" -o /dev/null >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
# 138A is the port, state 0A of /proc/net/tcp a program that listens.
tries=0
until "$BENTPIPE" net exec island-2 -- grep -qsE ':138A 0+:0000 0A' /proc/net/tcp /proc/net/tcp6; do
    tries=$((tries + 1))
    if [ $tries -gt 60 ] || ! kill -0 $server 2>/dev/null; then
        echo "NPtcp does not listen at island-2" >&2
        exit 1
    fi
    sleep 0.2
done
NPtcp -h island-2 -P 5002 "$@"
