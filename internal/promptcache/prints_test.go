package promptcache //nolint:testpackage // prints show nothing of themselves

import (
	"fmt"
	"hash/maphash"
	"testing"

	"pgregory.net/rapid"
)

var seed = maphash.MakeSeed()

// prints are those of instructions and messages.
func prints(seed maphash.Seed, before string, messages ...string) Prints {
	w := NewPrinter(seed)
	w.Write([]byte(before))
	w.Mark()
	for _, m := range messages {
		w.Write([]byte(m))
		w.Mark()
	}
	return w.Prints(false, Unmarked)
}

// TestLongConversation finds where a long conversation changed, as exactly as what is kept of it allows, in bounded memory.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "messages")
		at := rapid.IntRange(1, n+20).Draw(t, "changed")
		earlier, later := make([]string, n), make([]string, n+rapid.IntRange(0, 9).Draw(t, "more"))
		for i := range later {
			later[i] = fmt.Sprintf("message %d", i+1)
			if i < n {
				earlier[i] = later[i]
			}
			if i+1 == at {
				later[i] = "other"
			}
		}
		p := prints(seed, "", earlier...)
		kept, q := p.kept(), prints(seed, "", later...)
		if len(kept.marks) > keptFirst+keptLast {
			t.Fatalf("%d marks are kept", len(kept.marks))
		}
		size, changed := kept.Common(&q)
		want := at
		switch {
		case at > n:
			want = Unchanged
		case kept.gap > 0 && at >= keptFirst && at <= keptFirst+kept.gap: // the next mark is over all of these
			want = keptFirst // the first that is not kept
		}
		if changed != want {
			t.Fatalf("changed at %d of %d, reported %d, want %d", at, n, changed, want)
		}
		if changed == Unchanged && size != p.Bytes() || changed > 0 && size >= p.Bytes() {
			t.Fatalf("%d of %d bytes in common", size, p.Bytes())
		}
	})
}
