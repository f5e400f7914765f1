// Package o200k counts tokens of OpenAI's vocabulary o200k_base. It gives what the reference gives, without its library, whose vocabulary is
// source code and makes the program five megabytes larger.
package o200k

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"hash/maphash"
	"io"
	"math"
	"sync"
)

// packed has the tokens of OpenAI's o200k_base in the order of their ranks, compressed by gzip: a byte with the length, then the token.
// TestVocabulary makes it of the library that it is compared with.
//
//go:embed o200k.gz
var packed []byte

// none is the rank of what is no token.
const none = math.MaxUint32

// vocabulary finds the rank of a token. It takes some 5 MB.
type vocabulary struct {
	tokens  []byte   // one after the other
	ends    []uint32 // in tokens, by rank
	longest int      // bytes of a token
	seed    maphash.Seed
	table   []uint32 // ranks plus one by hash, in open addressing; 0: free
}

// base is unpacked at the first count: most nodes never estimate.
var base = sync.OnceValue(func() *vocabulary {
	v, err := unpack(packed)
	if err != nil {
		panic("o200k: " + err.Error()) // tested
	}
	return v
})

func unpack(packed []byte) (*vocabulary, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	v := &vocabulary{tokens: all[:0], seed: maphash.MakeSeed(), table: make([]uint32, 1<<19)}
	for len(all) > 0 {
		n := int(all[0])
		token := all[1 : 1+n]
		all = all[1+n:]
		v.tokens = append(v.tokens, token...) // behind what is still to be read
		v.ends = append(v.ends, uint32(len(v.tokens)))
		v.longest = max(v.longest, n)
		rank := len(v.ends) - 1
		at := v.slot(v.token(rank))
		for v.table[at] != 0 {
			at = (at + 1) & (len(v.table) - 1)
		}
		v.table[at] = uint32(rank) + 1
	}
	return v, nil
}

func (v *vocabulary) token(rank int) []byte {
	start := uint32(0)
	if rank > 0 {
		start = v.ends[rank-1]
	}
	return v.tokens[start:v.ends[rank]]
}

func (v *vocabulary) slot(token []byte) int {
	return int(maphash.Bytes(v.seed, token)) & (len(v.table) - 1)
}

// rank is that of a token, or none.
func (v *vocabulary) rank(token []byte) uint32 {
	if len(token) > v.longest {
		return none
	}
	for at := v.slot(token); v.table[at] != 0; at = (at + 1) & (len(v.table) - 1) {
		if rank := v.table[at] - 1; bytes.Equal(v.token(int(rank)), token) {
			return rank
		}
	}
	return none
}
