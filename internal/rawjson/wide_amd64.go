package rawjson

import "golang.org/x/sys/cpu"

// wide reports whether texts can be looked at in blocks of 64 bytes, with vectors (AVX2).
var wide = cpu.X86.HasAVX2

// wideText is plainText that also passes escapes of one letter: it ends before what ends the text, before an escape that is invalid or is
// written with u, or within the last 64 bytes of the n at p, perhaps inside a character that is valid so far. ok is false at bytes that are
// not UTF-8. Three bytes before p are readable, and no character reaches from there to p.
//
//go:noescape
func wideText(p *byte, n int) (at int, ok bool)

// wideClose looks for the quote that closes the text at p. If it is not found, nothing before at closes the text, and at is not escaped.
//
//go:noescape
func wideClose(p *byte, n int) (at int, found bool)
