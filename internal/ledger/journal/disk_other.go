//go:build !linux

package journal

import "os"

func allocate(f *os.File, bytes int64) error { return zeros(f, bytes) }

func dataSync(f *os.File) error { return f.Sync() }
