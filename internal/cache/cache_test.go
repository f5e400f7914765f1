package cache_test

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/cache"
)

// Against a plain map: what is found is what was set last, the weight never passes the bound, and nothing leaves while there is room.
func TestAgainstMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 20).Draw(t, "most")
		weigh := func(_, v int) int64 { return int64(v % 7) }
		c := cache.New(most, weigh)
		all := map[int]int{}
		weight := func(v int) int64 { return max(1, weigh(0, v)) }
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			k, v := rapid.IntRange(0, 12).Draw(t, "k"), rapid.IntRange(0, 100).Draw(t, "v")
			switch rapid.IntRange(0, 5).Draw(t, "do") {
			case 0:
				c.Delete(k)
				delete(all, k)
			case 1:
				for k, x := range c.All() {
					if got, ok := c.Get(k); !ok || got != x || all[k] != x {
						t.Fatalf("%d is %d among all, and else %d", k, x, got)
					}
					if x%3 == v%3 {
						c.Delete(k)
					}
				}
				for k, x := range all {
					if x%3 == v%3 {
						delete(all, k)
					}
				}
			case 2, 3:
				if got, ok := c.Get(k); ok && got != all[k] {
					t.Fatalf("%d is %d; want %d", k, got, all[k])
				}
			default:
				before := int64(0)
				for other, x := range all {
					if other != k {
						before += weight(x)
					}
				}
				c.Set(k, v)
				all[k] = v
				if got, ok := c.Get(k); ok != (weight(v) <= most) || ok && got != v {
					t.Fatalf("%d of weight %d was set: %d, %v", k, weight(v), got, ok)
				}
				kept := int64(0)
				for k, v := range all { // what has left is forgotten here as well
					if got, ok := c.Get(k); !ok {
						delete(all, k)
					} else if kept += weight(v); got != v {
						t.Fatalf("%d is %d; want %d", k, got, v)
					}
				}
				switch {
				case kept > most:
					t.Fatalf("%d of %d are kept", kept, most)
				case before+weight(v) <= most && kept != before+weight(v):
					t.Fatalf("%d are kept of %d, with room for %d", kept, before+weight(v), most)
				}
			}
		}
	})
}

func TestWhatIsUsedStays(t *testing.T) {
	t.Parallel()
	c := cache.New[int, int](100, nil)
	for i := range 10 {
		c.Set(i, i)
	}
	for n := 10; n < 10_000; n++ {
		c.Set(n, n)
		for i := range 10 {
			if _, ok := c.Get(i); !ok {
				t.Fatalf("%d was used all the time and has left when %d came", i, n)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	c := cache.New[int, int](50, nil)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				k := (i*7 + w) % 100
				if v, ok := c.Get(k); ok && v != k {
					t.Errorf("%d is %d", k, v)
				}
				c.Set(k, k)
				if i%97 == 0 {
					c.Delete(k)
					for k := range c.All() {
						if k == w {
							c.Delete(k)
						}
					}
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkGet(b *testing.B) {
	c := cache.New[[32]byte, *int](20_000, nil)
	var k [32]byte
	c.Set(k, new(int))
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Get(k)
		}
	})
}
