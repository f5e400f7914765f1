#!/usr/bin/env bash
# Figures of the size of the house, one line each, for a commit (default: what is checked out). Suites count as tests: folders whose name ends in
# "test".
#     tools/figures.sh [commit]
set -euo pipefail
cd "$(dirname "$0")/.."
at=${1:-}
if [ -n "$at" ]; then
	tree=$(mktemp -d)
	trap 'rm -rf "$tree"' EXIT
	git archive "$at" | tar -x -C "$tree"
	cd "$tree"
fi

go_files() { find internal cmd docs.go -name '*.go' ! -name '*_test.go' ! -path '*test/*' ! -path 'internal/sim/*' 2>/dev/null; }
members='\bo\.(text|integer|integers|boolean|null|moment|amount|amountText|textOrNull|raw|texts|price|figure|measured|Name)\('

echo "Go outside tests, suites, simulator, bench:  $(go_files | xargs cat | wc -l)"
echo "methods of the largest types:                $(go_files | xargs grep -hoE '^func \([a-z]+ \*?[A-Za-z]+' /dev/null | sed -E 's/^func \([a-z]+ \*?//' | sort | uniq -c | sort -rn | awk 'NR<=4{printf "%s%s %s", sep, $2, $1; sep=", "}')"
echo "OpenAPI written by hand, lines:              $(cat internal/httpapi/openapi.base.yaml 2>/dev/null | wc -l | sed 's/^0$/all/')"
echo "OpenAPI, lines:                              $(wc -l <internal/httpapi/openapi.yaml)"
echo "JSON members appended by hand in httpapi:    $(cat internal/httpapi/*.go | grep -cE "$members")"
echo "own HTTP server and gate, lines:             $(cat internal/httpapi/h1server/*.go internal/httpapi/gate.go 2>/dev/null | wc -l)"
echo "settings of a node, in the example:          $(grep -cE '^ *[a-z_0-9]+: *[^ #]' weir.example.yaml)"
echo "yaml tags, also of sections and of what declares providers and models: $(cat internal/config/*.go | grep -cE 'yaml:"[a-z]')"
echo "files with a busy machine of their own:      $(grep -rl 'setBusy' web/src --include='*.ts' --include='*.tsx' | wc -l)"
echo "lines over 160 characters in web/src:        $(find web/src \( -name '*.ts' -o -name '*.tsx' \) ! -name schema.d.ts ! -path '*/messages/*' | xargs awk 'length > 160' | wc -l)"
echo "packages:                                    $(find internal cmd -name '*.go' -printf '%h\n' | sort -u | wc -l)"
