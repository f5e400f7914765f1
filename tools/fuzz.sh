#!/usr/bin/env bash
# Runs every fuzz target of the repository: tools/fuzz.sh 10m gives each ten minutes, tools/fuzz.sh 1s a second. The test binaries list the
# targets, so that none is forgotten, and the script fails if the sources have more. AT_ONCE targets run in parallel, with one
# worker each. BLIND=1 runs without coverage, which avoids building everything again. Failing inputs are in the package's testdata/fuzz, and the output has the command that repeats them.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-10m}
at_once=${AT_ONCE:-$(nproc 2>/dev/null || echo 2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=$(go env GOCACHE)/fuzz

in_sources=$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*\(' cmd internal | wc -l)
mapfile -t packages < <(grep -rlE --include='*_test.go' '^func Fuzz' cmd internal | xargs -n1 dirname | sort -u)

: > "$work/targets"
# Linking uses one processor, so several are linked at a time.
export instrument=${BLIND:+-vet=off} && export instrument=${instrument:--fuzz=.}
build() { go test -c "$instrument" -o "$2/${1//\//_}.test" "./$1"; }
export -f build
printf '%s\n' "${packages[@]}" | xargs -P "$at_once" -I '{}' bash -c 'build "$@"' build '{}' "$work"
for package in "${packages[@]}"; do
	binary=$work/${package//\//_}.test
	while IFS= read -r target; do
		[[ $target == Fuzz* ]] && printf '%s %s %s\n' "$package" "$binary" "$target" >> "$work/targets"
	done < <(cd "$package" && "$binary" -test.list '^Fuzz')
done
found=$(wc -l < "$work/targets")
if [ "$found" -ne "$in_sources" ]; then
	echo "fuzz: the sources have $in_sources targets, and the test binaries $found: is one behind a build tag?" >&2
	exit 1
fi
echo "fuzz: $found targets in ${#packages[@]} packages, $each each, $at_once at a time"

run() {
	package=$1 binary=$2 target=$3
	log=$4/$target.${package//\//_}.log
	mkdir -p "$6/weir/$package"
	if ! (cd "$package" && GOMAXPROCS=2 "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$5" -test.fuzzminimizetime 10s -test.parallel 1 \
		-test.fuzzcachedir "$6/weir/$package") > "$log" 2>&1; then
		# The end of the time may come in the middle of an input, which go test takes for a failure: nothing was found then.
		if grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input|panic:|hung or terminated' "$log"; then
			return 0
		fi
		echo "FAIL $package $target" && cat "$log"
		return 1
	fi
}
export -f run
xargs -P "$at_once" -L 1 bash -c 'run "$@" || exit 1' run < <(sed "s|\$| $work $each $cache|" "$work/targets") || { echo 'fuzz: see above; the failing input is a file below testdata/fuzz' >&2; exit 1; }
echo "fuzz: ok"
