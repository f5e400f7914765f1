package app

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"weir/internal/config"
	"weir/internal/demo"
	"weir/internal/money"
)

// openDemo opens a demo in a folder, whose clock stands still.
func openDemo(t testing.TB, dir string, now time.Time) *Gateway {
	t.Helper()
	cfg, err := config.Load("", func(string) (string, bool) { return "", false }, config.Overlay{"data_dir": dir, "server.admin_listen": "off", "price_lists.publish": "off"})
	if err != nil {
		t.Fatal(err)
	}
	declared := simDeclared("http://127.0.0.1:1")
	vendors, err := demoVendors("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	declared.Append(vendors)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := open(context.Background(), cfg, extra{declared: declared, logTo: io.Discard, listener: l, demo: true, clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDemoMonth(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := openDemo(t, t.TempDir(), time.Now())
	defer g.close(ctx)
	began := time.Now()
	made, err := demo.Fill(ctx, g.monthStores(), demo.Month{Seed: demoSeed, Now: time.Now(), Catalog: g.catalog.Load(), Keep: 1000 * money.Ruble})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v %+v", time.Since(began), made)
	v, err := g.book.Verify(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// BenchmarkDemoMonth measures what a first start waits for.
func BenchmarkDemoMonth(b *testing.B) {
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		g := openDemo(b, b.TempDir(), time.Now())
		b.StartTimer()
		_, err := demo.Fill(ctx, g.monthStores(), demo.Month{Seed: demoSeed, Now: time.Now(), Catalog: g.catalog.Load(), Keep: 1000 * money.Ruble})
		b.StopTimer()
		g.close(ctx)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
