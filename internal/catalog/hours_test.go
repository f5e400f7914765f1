package catalog_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
)

func scheduled(t testing.TB, hours ...catalog.Hours) (*catalog.Pricing, error) {
	t.Helper()
	one, two := money.Price{Nano: 1, Set: true}, money.Price{Nano: 2, Set: true}
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.test"}},
		Offers:    []catalog.Offer{{Provider: "p", Model: "v/m", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: one, Completion: two}, Hours: hours, Source: "the page"}}},
	})
	if err != nil {
		return nil, err
	}
	return &snap.Models()[0].Endpoints[0].Pricing, nil
}

func costs(nano int64) catalog.Prices {
	return catalog.Prices{Prompt: money.Price{Nano: nano, Set: true}}
}

// Which hours fit a moment: from the first minute to before the last, in their zone, whatever that does with its clocks.
func TestHours(t *testing.T) {
	t.Parallel()
	p, err := scheduled(t,
		catalog.Hours{From: "00:00", To: "24:00", Days: []string{"sat", "sun"}, Zone: "Asia/Shanghai", Prices: costs(5)},
		catalog.Hours{From: "09:00", To: "12:00", Zone: "Asia/Shanghai", Prices: costs(10)},
		catalog.Hours{From: "11:00", To: "18:00", Zone: "Asia/Shanghai", Prices: costs(20)},
		catalog.Hours{From: "02:30", To: "03:00", Zone: "Europe/Berlin", Prices: costs(30)},
	)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]int64{
		"2026-11-23T00:59:59Z": 1, "2026-11-23T01:00:00Z": 10, "2026-11-23T03:59:59.999Z": 10, "2026-11-23T04:00:00Z": 20, "2026-11-23T10:00:00Z": 1,
		"2026-11-21T01:00:00Z": 5, "2026-11-20T15:59:59Z": 1, "2026-11-20T16:00:00Z": 5, "2026-11-22T16:00:00Z": 1, // the day is Shanghai's
		"2026-11-23T09:00:00+08:00": 10,
		"2026-03-28T01:30:00Z":      5, "2026-03-29T00:45:00Z": 5, "2026-03-30T00:45:00Z": 30, "2026-03-27T00:45:00Z": 1, // Berlin's summer begins on the 29th
	} {
		moment, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.At(moment).Base.Prompt.Nano; got != want {
			t.Errorf("at %s a prompt costs %d, want %d", at, got, want)
		}
	}
	monday := p.At(time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC))
	if monday.Base.Completion.Nano != 2 || monday.Source != "the page; charged by the hours 09:00-12:00 Asia/Shanghai" {
		t.Errorf("%+v", monday)
	}
	plain, err := scheduled(t)
	if err != nil || plain.At(time.Now()) != plain || plain.Dearest(100) != plain {
		t.Errorf("without hours: %v", err)
	}
}

// What is held covers what is charged, at any moment.
func TestDearestHours(t *testing.T) {
	t.Parallel()
	clock := rapid.Custom(func(t *rapid.T) string {
		return time.Unix(60*rapid.Int64Range(0, 24*60-2).Draw(t, "minute"), 0).UTC().Format("15:04")
	})
	rapid.Check(t, func(r *rapid.T) {
		var hours []catalog.Hours
		for range rapid.IntRange(0, 4).Draw(r, "windows") {
			hours = append(hours, catalog.Hours{From: clock.Draw(r, "from"), To: "24:00", Zone: rapid.SampledFrom([]string{"", "UTC", "Asia/Shanghai", "America/New_York"}).Draw(r, "zone"), Prices: costs(rapid.Int64Range(0, 9).Draw(r, "price"))})
		}
		p, err := scheduled(t, hours...)
		if err != nil {
			r.Fatal(err)
		}
		most := p.Dearest(10).Base.Prompt.Nano
		if now := p.At(time.Unix(rapid.Int64Range(0, 1<<32).Draw(r, "at"), 0)).Base.Prompt.Nano; now > most {
			r.Fatalf("%d is charged, %d is held", now, most)
		}
	})
}

func TestBadHours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hours catalog.Hours
		want  string
	}{
		{catalog.Hours{From: "9:00", To: "12:00", Prices: costs(1)}, `"9:00" is no time of the day`},
		{catalog.Hours{From: "00:00", To: "24:01", Prices: costs(1)}, `"24:01" is no time of the day`},
		{catalog.Hours{From: "00:00", Prices: costs(1)}, `"" is no time of the day`},
		{catalog.Hours{From: "22:00", To: "02:00", Prices: costs(1)}, "from must be before to"},
		{catalog.Hours{From: "01:00", To: "01:00", Prices: costs(1)}, "from must be before to"},
		{catalog.Hours{From: "01:00", To: "02:00", Zone: "Mars/Olympus", Prices: costs(1)}, `there is no time zone "Mars/Olympus"`},
		{catalog.Hours{From: "01:00", To: "02:00", Zone: "Local", Prices: costs(1)}, `there is no time zone "Local"`},
		{catalog.Hours{From: "01:00", To: "02:00", Zone: "../../etc/passwd", Prices: costs(1)}, "there is no time zone"},
		{catalog.Hours{From: "01:00", To: "02:00", Days: []string{"Monday"}, Prices: costs(1)}, `"Monday" is not one of mon`},
		{catalog.Hours{From: "01:00", To: "02:00"}, "a price is negative, or there is none"},
		{catalog.Hours{From: "01:00", To: "02:00", Prices: costs(-1)}, "a price is negative, or there is none"},
		{catalog.Hours{From: "01:00", To: "02:00", Prices: catalog.Prices{CacheRead: money.Price{Nano: 1, Set: true}}}, "there is a price for cache_read, but none for the other hours"},
	} {
		if _, err := scheduled(t, c.hours); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", &c.hours, err, c.want)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	p, err := scheduled(b, catalog.Hours{From: "09:00", To: "12:00", Zone: "Asia/Shanghai", Prices: costs(10)})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if p.At(now) == p {
			b.Fatal("not in the hours")
		}
	}
}
