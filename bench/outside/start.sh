#!/usr/bin/env bash
# Starts Weir for a load generator: a new database, a user with money, a key, one model.
#
#   UPSTREAM=http://127.0.0.1:9000/v1 PORT=8086 DATA=/tmp/weir-bench bench/outside/start.sh
#
# The key is in $DATA/key. With KEY_FILE=FILE it is the one in that file, for a load generator whose key is fixed. WEIR is the program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${UPSTREAM:?the base URL of the mock, with /v1}" "${WEIR:=$here/../../bin/weir}" "${PORT:=8086}" "${DATA:=$(mktemp -d)}"
mkdir -p "$DATA"
config=$DATA/weir.yaml
if [ ! -e "$config" ]; then
  sed "s#UPSTREAM#$UPSTREAM#; s#DATA#$DATA/weir#; s#HOST#${HOST:-127.0.0.1}#; s#PORT#$PORT#" "$here/weir.yaml" >"$config"
  "$WEIR" user add bench -c "$config" >/dev/null
  "$WEIR" topup bench 100000000 -c "$config" >/dev/null
  if [ -n "${KEY_FILE:-}" ]; then
    "$WEIR" key add bench --key-from "$KEY_FILE" -c "$config" >/dev/null
    install -m 600 "$KEY_FILE" "$DATA/key"
  else
    (umask 077 && "$WEIR" key add bench --quiet -c "$config" >"$DATA/key")
  fi
fi
exec "$WEIR" serve -c "$config"
