package rawjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// ValidUTF8 reports what utf8.Valid reports, several times faster for text that is not all ASCII: that function goes byte by byte from the first
// other character on.
func ValidUTF8(b []byte) bool {
	const high = 0x8080808080808080
	for len(b) > 0 {
		for len(b) >= 64 {
			p := (*[64]byte)(b)
			w := binary.LittleEndian.Uint64(p[0:]) | binary.LittleEndian.Uint64(p[8:]) | binary.LittleEndian.Uint64(p[16:]) | binary.LittleEndian.Uint64(p[24:]) |
				binary.LittleEndian.Uint64(p[32:]) | binary.LittleEndian.Uint64(p[40:]) | binary.LittleEndian.Uint64(p[48:]) | binary.LittleEndian.Uint64(p[56:])
			if w&high != 0 {
				break
			}
			b = b[64:]
		}
		for len(b) >= 8 {
			w := binary.LittleEndian.Uint64(b) & high
			if w != 0 {
				b = b[bits.TrailingZeros64(w)/8:]
				break
			}
			b = b[8:]
		}
		// Cyrillic, Greek and accented letters have two bytes and come in words: four of them at once, then one by one.
		for len(b) >= 8 && fourPairs(binary.LittleEndian.Uint64(b)) {
			b = b[8:]
		}
		for len(b) >= 2 && b[0] >= 0xC2 && b[0] <= 0xDF && b[1]&0xC0 == 0x80 {
			b = b[2:]
		}
		switch {
		case len(b) == 0:
			return true
		case b[0] < utf8.RuneSelf:
			if len(b) < 8 {
				b = b[1:]
			}
		default:
			r, size := utf8.DecodeRune(b)
			if r == utf8.RuneError && size <= 1 {
				return false
			}
			b = b[size:]
		}
	}
	return true
}

// plainText is plainPrefix that also checks the bytes as UTF-8: it ends at the first byte that is not UTF-8, with false.
func plainText(b []byte) (n int, ok bool) {
	i := 0
	for {
		i += asciiPrefix(b[i:])
		if i == len(b) || b[i] < utf8.RuneSelf {
			return i, true
		}
		for i+8 <= len(b) && fourPairs(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		for i+2 <= len(b) && b[i] >= 0xC2 && b[i] <= 0xDF && b[i+1]&0xC0 == 0x80 {
			i += 2
		}
		if i < len(b) && b[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size <= 1 {
				return i, false
			}
			i += size
		}
	}
}

// asciiPrefix is plainPrefix that ends at the first byte that is not ASCII, too, and takes less for it.
func asciiPrefix(b []byte) int {
	i := 0
	if len(b) >= 8 { // the space between two words, or a whole word
		if m := odd(binary.LittleEndian.Uint64(b)) & highs; m != 0 {
			return bits.TrailingZeros64(m) >> 3
		}
		i = 8
	}
	for ; i+32 <= len(b); i += 32 {
		p := (*[32]byte)(b[i:])
		w, x, y, z := binary.LittleEndian.Uint64(p[0:]), binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if (odd(w)|odd(x)|odd(y)|odd(z))&highs != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if m := odd(binary.LittleEndian.Uint64(b[i:])) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// fourPairs reports whether eight bytes are four characters of two bytes: the first byte of each is 110xxxxx and not below C2, the second 10xxxxxx.
func fourPairs(w uint64) bool {
	return w&0xC0E0C0E0C0E0C0E0 == 0x80C080C080C080C0 && ((w&0x001E001E001E001E)+0x7FFF7FFF7FFF7FFF)&0x8000800080008000 == 0x8000800080008000
}
