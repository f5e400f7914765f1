package dialect_test

import (
	"bytes"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
)

// lender counts what it lends.
type lender struct {
	bytes  int // lent and not returned
	arrive func() int
	fail   func(string, ...any)
}

func (l *lender) Lend(n int) []byte {
	if most := max(1<<20, 4*l.arrive()); n > most {
		l.fail("%d bytes lent for %d that have arrived", n, l.arrive())
	}
	l.bytes += n
	return make([]byte, 0, n)
}

func (l *lender) Return(b []byte) { l.bytes -= cap(b) }

// counter counts what was read.
type counter struct {
	r *bytes.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// An answer is read into memory that grows with it, whatever length the provider declares, and one above the limit is refused.
func TestReadLent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 10), rapid.SampledFrom([]int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1, 3 << 20})).Draw(t, "size")
		body := bytes.Repeat([]byte("weir!"), size/5+1)[:size]
		c := &counter{r: bytes.NewReader(body)}
		lent := &lender{arrive: func() int { return c.n }, fail: t.Fatalf}
		a := dialect.Answer{Endpoint: &catalog.Endpoint{Provider: &catalog.Provider{}}, Body: dialect.NewBody(c), Length: rapid.SampledFrom([]int64{-1, 0, int64(size), int64(size) / 2, 1 << 40}).Draw(t, "declared")}
		if rapid.Bool().Draw(t, "last bytes with their end") {
			a.Body = dialect.NewBody(iotest.DataErrReader(c))
		}
		a.Limits.Whole = rapid.SampledFrom([]int64{int64(size) - 1, int64(size), 8 << 20}).Draw(t, "limit")
		if rapid.Bool().Draw(t, "lender") {
			a.Request = &completion.Request{Buffers: lent}
		}
		got, err := a.ReadLent()
		if (err != nil) != (int64(size) > a.Limits.Whole) || err == nil && !bytes.Equal(got, body) {
			t.Fatalf("%d bytes of %d, %v", len(got), size, err)
		}
		if a.Request != nil && err == nil && lent.bytes != cap(got) {
			t.Fatalf("%d bytes are lent for an answer of %d", lent.bytes, cap(got))
		}
	})
}
