package preset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever comes and goes, what is kept fits, is what was set last, and leaves for want of room alone.
func TestMemoryIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(least, 20*least).Draw(t, "most")
		m := newMemory(most)
		known := map[nameKey]entry{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			k := nameKey{"u" + rapid.StringN(0, 1, 1).Draw(t, "user"), rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")}
			switch rapid.IntRange(0, 5).Draw(t, "do") {
			case 0:
				m.remove(k)
				delete(known, k)
			case 1:
				m.lookAgain(func(user string) bool { return user == k.user })
				for other, e := range known {
					e.due = e.due || other.user == k.user
					known[other] = e
				}
			default:
				e := entry{preset: Preset{Content: strings.Repeat("x", rapid.IntRange(0, 8*least).Draw(t, "bytes"))}}
				before := size(k, e)
				for other, x := range known {
					if other != k {
						before += size(other, x)
					}
				}
				m.set(k, e)
				known[k] = e
				if _, ok := m.get(k); ok != (size(k, e) <= most) {
					t.Fatalf("%d bytes of %d: kept is %v", size(k, e), most, ok)
				}
				if before <= most && m.bytes != before {
					t.Fatalf("%d bytes are kept of %d, with room for %d", m.bytes, before, most)
				}
			}
			sum := 0
			for k, e := range known {
				got, ok := m.get(k)
				if !ok {
					delete(known, k)
					continue
				}
				if sum += size(k, e); got.due != e.due || got.preset.Content != e.preset.Content {
					t.Fatalf("%v is %+v; want %+v", k, got, e)
				}
			}
			if sum != m.bytes || sum > most {
				t.Fatalf("%d bytes are kept, %d counted, of %d", sum, m.bytes, most)
			}
		}
	})
}
