#!/usr/bin/env bash
# Checks the alert rules with Prometheus's own program, runs their tests, and parses the expressions of the dashboard: tools/alerts-test.sh
# Without promtool in PATH it takes Debian's, from the package prometheus, which is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
promtool=$(command -v promtool || true)
if [ -z "$promtool" ]; then
	chmod 755 "$work"
	(cd "$work" && apt-get -qq download prometheus 2> /dev/null && dpkg-deb --extract prometheus_*.deb .) || { echo 'this test needs promtool: install Prometheus, or run it on Debian after apt-get update' >&2; exit 1; }
	promtool=$work/usr/bin/promtool
fi
"$promtool" check rules packaging/prometheus/alerts.yaml
(cd packaging/prometheus && "$promtool" test rules alerts_test.yaml)
# An alert without a test is an error.
diff <(grep -oP '^      - alert: \K\w+' packaging/prometheus/alerts.yaml | sort) <(grep -oP '^  - name: \K\w+' packaging/prometheus/alerts_test.yaml | sort)
# Grafana fills in its variables; promtool has no command for expressions alone, but reads rules.
python3 - packaging/grafana/weir.json > "$work/dashboard.yaml" << 'READ'
import json, re, sys
found = []
def look(x):
    if isinstance(x, dict):
        found.extend(v for k, v in x.items() if k == "expr")
        x = list(x.values())
    if isinstance(x, list):
        for y in x: look(y)
look(json.load(open(sys.argv[1])))
rules = [{"record": "dashboard:%d" % i, "expr": re.sub(r"\$\w+", "5m", e)} for i, e in enumerate(found)]
assert len(rules) > 10, "the dashboard has too few expressions"
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
READ
"$promtool" check rules "$work/dashboard.yaml"
