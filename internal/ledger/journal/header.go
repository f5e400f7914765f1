package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// header is the head of a file: magic, first position, the books that its records are for, checksum of all that; and after it the mark, with
// a checksum of the header, which each sync moves on. Files from before there were books have magic, position and checksum only.
type header struct {
	base  int64
	books string
	mark  int64 // the records before this position have been on the disk
	size  int64
}

const (
	magic      = "WEIRJNL2"
	oldMagic   = "WEIRJNL1"
	oldHead    = 20
	booksBytes = 40
	markAt     = 16 + booksBytes + 4
)

func (h header) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(append(make([]byte, 0, headBytes), magic...), uint64(h.base))
	b = append(b, make([]byte, booksBytes)...)
	copy(b[16:], h.books)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = appendMark(b, max(h.mark, h.base+headBytes))
	return append(b, make([]byte, headBytes-len(b))...)
}

// old is the head of a file of before there were books.
func (h header) old() []byte {
	b := binary.LittleEndian.AppendUint64([]byte(oldMagic), uint64(h.base))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendMark(b []byte, mark int64) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(mark))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[len(b)-8:], castagnoli))
}

var errHead = errors.New("the file does not begin as a journal")

// readHeader reads the head of the file that begins at base.
func readHeader(r io.ReaderAt, base int64) (header, error) {
	b := make([]byte, headBytes)
	if n, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return header{}, err
	} else {
		clear(b[n:])
	}
	if bytes.HasPrefix(b, header{base: base}.old()) {
		return header{base: base, size: oldHead}, nil
	}
	h := header{base: base, size: headBytes, books: string(bytes.TrimRight(b[16:16+booksBytes], "\x00"))}
	h.mark = int64(binary.LittleEndian.Uint64(b[markAt:]))
	if h.mark < base || !bytes.Equal(b, h.bytes()) {
		return header{}, errHead
	}
	return h, nil
}
