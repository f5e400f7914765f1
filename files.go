// Package weir holds files of the repository that are part of the program: the documentation, and what its pages share with the web interface.
// It is at the root because a Go package can only embed files below it.
package weir

import "embed"

// Files are by their names in the repository.
//
//go:embed docs/*.md docs/commands/*.md docs/decisions/*.md docs/guides/*.md docs/migrate/*.md docs/providers/*.md docs/ru/*.md docs/ru/guides/*.md docs/screens/call.png CHANGELOG.md weir.example.yaml
//go:embed web/src/styles.css web/src/assets/weir.svg web/src/assets/inter.woff2
var Files embed.FS
