//go:build unix

package app

import (
	"os"
	"syscall"
)

// ownerOf is the user to whom a file belongs; ok is false where that is not known.
func ownerOf(info os.FileInfo) (uid uint32, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Uid, true
}
