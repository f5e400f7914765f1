#!/usr/bin/env bash
# Checks whether the product calls code with known vulnerabilities. The database is that of the Go project, or the one in GOVULNDB: a
# mirror or a folder (file:///...). If it cannot be reached, the script reports that nothing was checked. With VULN=required that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
go mod verify >/dev/null || { echo 'vulnerabilities: a module is not what go.sum says it is' >&2; exit 1; }
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
status=0
bin/govulncheck ./... 2>"$errors" || status=$?
cat "$errors" >&2
case $status in
0) echo 'vulnerabilities: none known in what is called' ;;
3) echo 'vulnerabilities: found, see above' >&2 && exit 1 ;;
*)
	if ! grep -qE 'fetching vulnerabilities|govulncheck: .*(dial tcp|no such host|connection refused|timeout)' "$errors"; then
		echo 'vulnerabilities: the check itself failed, see above' >&2 && exit 1
	fi
	echo 'vulnerabilities: NOT CHECKED. The database could not be reached, so nothing is known; the modules are those of go.sum, and that is all.' \
		'Run make vuln where https://vuln.go.dev can be reached, or set GOVULNDB to a mirror.' >&2
	[ "${VULN:-}" != required ] || exit 1
	;;
esac
