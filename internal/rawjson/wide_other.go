//go:build !amd64

package rawjson

const wide = false

func wideText(*byte, int) (at int, ok bool) { return 0, true }

func wideClose(*byte, int) (at int, found bool) { return 0, false }
