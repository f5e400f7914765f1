#!/usr/bin/env bash
# Builds the release before this one as FILE: tools/previous.sh FILE
# That is the newest tag before this commit. Until there is a tag, it is the commit before the newest migration: the last whose tables differ.
set -euo pipefail
file=$(realpath -m "$1")
cd "$(dirname "$0")/.."
if ! git rev-parse --is-inside-work-tree > /dev/null 2>&1 || [ "$(git rev-parse --is-shallow-repository)" = true ]; then
	echo 'The release before is built from the history of this repository, which is not here: git fetch --unshallow --tags' >&2
	exit 1
fi
if ! commit=$(git describe --tags --abbrev=0 'HEAD^' 2> /dev/null); then
	newest=$(cd internal/store/postgres/migrations && printf '%s\n' *.sql | tail -1)
	commit=$(git log -1 --diff-filter=A --format=%H HEAD -- "internal/store/postgres/migrations/$newest")
	[ -n "$commit" ] || { echo "Migration $newest is not committed." >&2; exit 1; }
	commit=$commit^
fi
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree" 2> /dev/null || rm -rf "$tree"' EXIT
git worktree add --quiet --detach "$tree" "$commit"
echo "the release before is $(git -C "$tree" log -1 --format='%h %cs %s')"
version=$(git describe --tags --always "$commit")
# Its web interface is left out: that needs npm, and nothing here opens it. Releases before the first keep their version elsewhere.
(cd "$tree" && CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$version -X weir/internal/app.Version=$version" -o "$file" ./cmd/weir)
