#!/usr/bin/env bash
# Prints a version as Debian sorts it: what came after a tag sorts after it (1.0.0-5-gabc: 1.0.0+5.gabc), what comes before one sorts before it
# (1.1.0-rc.1: 1.1.0~rc.1).
set -euo pipefail
[[ ${1#v} =~ ^[0-9]+\.[0-9] ]] || { echo "packaging/debian-version.sh: $1 is no version such as 1.0.0" >&2; exit 1; }
sed -E 's/-dirty$/+dirty/; s/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/; s/-/~/g' <<< "${1#v}"
