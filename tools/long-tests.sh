#!/usr/bin/env bash
# Prints a pattern for go test -run: the tests of these folders that do less with -short, or nothing with the race detector. A test does less
# if it, or a function of its folder that it calls, asks testing.Short or apptest.Shown. The others would only be repeated.
set -euo pipefail
find "$@" -maxdepth 1 -name '*_test.go' -print0 | xargs -0 awk '
	FNR == 1 { name = ""; raceless = 0; folder = FILENAME; sub(/[^\/]*$/, "", folder) }
	/^\/\/go:build.*!race/ { raceless = 1 }
	/^func / { name = $0; sub(/^func (\([^)]*\) )?/, "", name); sub(/[^A-Za-z0-9_].*/, "", name); name = folder name; if (raceless) less[name] = 1; next }
	name != "" { body[name] = body[name] "\n" $0 }
	END {
		for (f in body) if (body[f] ~ /testing\.Short\(\)|apptest\.Shown\(/) less[f] = 1
		do {
			found = 0
			for (f in body) if (!(f in less)) for (g in less) {
				split_at = match(g, /[^\/]*$/); folder = substr(g, 1, split_at - 1); callee = substr(g, split_at)
				if (index(f, folder) == 1 && callee !~ /^Test/ && body[f] ~ ("[^A-Za-z0-9_.]" callee "\\(")) { less[f] = 1; found = 1; break }
			}
		} while (found)
		for (f in less) { sub(/.*\//, "", f); if (f ~ /^Test./ && f != "TestMain") list = list (list == "" ? "" : "|") f }
		if (list == "") { print "long-tests: there are none" > "/dev/stderr"; exit 1 }
		print "^(" list ")$"
	}'
