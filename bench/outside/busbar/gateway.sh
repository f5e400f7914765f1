#!/usr/bin/env bash
# Manifest of Weir for the harness of Busbar: copy this folder to gateways/weir of it, and set WEIR_HOME to a checkout of Weir that is built.
GW_KIND=native
GW_DISPLAY="Weir"
GW_LANG=Go
GW_CLASS="Gateway"
GW_REPO=${WEIR_REPO:-}
GW_PORT=8086
GW_PATH=/v1/chat/completions
GW_MODEL=openai/gpt-4o-mini
GW_AUTH=$(cat "${WEIR_DATA:=/tmp/weir-busbar}/key" 2>/dev/null || true)

gw_version() { "$WEIR_HOME/bin/weir" version; }
gw_build() { make -C "$WEIR_HOME" program >/dev/null; }
gw_launch() {
  UPSTREAM="http://127.0.0.1:$MOCK_PORT/v1" PORT="$GW_PORT" DATA="$WEIR_DATA" taskset -c "$CORES" "$WEIR_HOME/bench/outside/start.sh" >"$GW_DIR/launch.log" 2>&1 &
  WEIR_PID=$!
  for _ in $(seq 100); do curl -sf -o /dev/null "http://127.0.0.1:$GW_PORT/v1/models" && break; sleep 0.1; done
  GW_AUTH=$(cat "$WEIR_DATA/key")
}
gw_diag() { tail -n 25 "$GW_DIR/launch.log"; }
gw_stop() { kill "$WEIR_PID" 2>/dev/null; wait "$WEIR_PID" 2>/dev/null; rm -rf "$WEIR_DATA"; }
