package routing_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/routing"
)

func BenchmarkChoose(b *testing.B) {
	health := func(string) routing.Health { return routing.Health{} }
	random := func() float64 { return 0.3 }
	for _, c := range []struct {
		name   string
		offers []catalog.Offer
		q      routing.Query
	}{
		{"single", []catalog.Offer{offer("alpha", "v/m", "1", "1")}, routing.Query{}},
		{"single explained", []catalog.Offer{offer("alpha", "v/m", "1", "1")}, routing.Query{Explain: true}},
		{"four", four(), routing.Query{}},
		{"four sorted explained", four(), routing.Query{Explain: true, Preferences: routing.Preferences{Sort: "price", Ignore: []string{"alpha"}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			snap := snapshot(b, c.offers...)
			c.q.Models, c.q.Health, c.q.Rand = []string{"v/m"}, health, random
			b.ReportAllocs()
			for b.Loop() {
				if _, err := routing.Choose(c.q, snap); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
