package relay_test

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/relay"
	"weir/internal/usage"
)

// answers is an upstream that answers at once with the same events.
type answers []completion.Event

func (a answers) Complete(context.Context, *catalog.Endpoint, *completion.Request, relay.Flusher) iter.Seq2[*completion.Event, error] {
	return a.each
}

func (a answers) each(yield func(*completion.Event, error) bool) {
	for i := range a {
		if !yield(&a[i], nil) {
			return
		}
	}
}

type nobody struct{}

func (nobody) Start(relay.Served) error      { return nil }
func (nobody) Event(*completion.Event) error { return nil }
func (nobody) End(relay.Receipt) error       { return nil }

// BenchmarkComplete is a call whose answer has 1 KB, settled in a journal; "without" is the ledger's part alone.
func BenchmarkComplete(b *testing.B) {
	u := usage.Usage{Prompt: usage.Of(300), Completion: usage.Of(256)}
	h := completion.Head{ID: "chatcmpl-1", Model: "m"}
	kilobyte := []byte(strings.Repeat("abcdefg ", 128))
	one := answers{{Head: &h, Text: kilobyte, Finish: completion.Stop, NativeFinish: "stop", Usage: &u}, {Choice: -1, Done: true}}
	stream := answers{{Head: &h}}
	for i := 0; i < len(kilobyte); i += 16 {
		stream = append(stream, completion.Event{Text: kilobyte[i : i+16]})
	}
	stream = append(stream, completion.Event{Finish: completion.Stop, Usage: &u}, completion.Event{Choice: -1, Done: true})
	for _, c := range []struct {
		name   string
		up     answers
		stream bool
	}{{"whole", one, false}, {"stream of 64", stream, true}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, func(d *relay.Deps, cfg *relay.Config) {
				d.Upstream, d.Now = c.up, time.Now
				gated()(d, cfg)
			}, offer("alpha", "v/m", "0.000001", "0.000001"))
			call := w.call()
			call.Request.Stream = c.stream
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				call := *call
				call.At, call.Generation = time.Now(), "gen-1772000000-"+strconv.Itoa(i)
				if err := w.relay.Complete(context.Background(), &call, nobody{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, c := range []struct {
		name string
		most int64
		kind fault.Kind
	}{{"refused, ejected", 0, fault.NoProvider}, {"refused, full", 1, fault.ProviderOverloaded}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, func(d *relay.Deps, cfg *relay.Config) {
				d.Now = time.Now
				gated(func(c *health.Config) { c.EjectAfter = 1 })(d, cfg)
				d.Gate.Admit(&catalog.Endpoint{ID: "alpha/v/m", Provider: &catalog.Provider{BaseURL: "http://alpha"}}, "") // stays in flight
			}, offer("alpha", "v/m", "0.000001", "0.000001", func(o *catalog.Offer) { o.MaxInFlight = c.most }))
			w.plays("alpha/v/m", broken)
			call := w.call()
			call.At = time.Now()
			_ = w.relay.Complete(context.Background(), call, nobody{}) // and ejects it
			_ = w.relay.Complete(context.Background(), call, nobody{}) // the one in a second that is let through
			b.ReportAllocs()
			for b.Loop() {
				call := *call
				call.At = time.Now()
				if err := w.relay.Complete(context.Background(), &call, nobody{}); !fault.Is(err, c.kind) && !fault.Is(err, fault.ProviderUnavailable) {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("ledger alone", func(b *testing.B) {
		w := newWorld(b, nil, offer("alpha", "v/m", "0.000001", "0.000001"))
		w.relay = relay.New(relay.Deps{Upstream: one, Book: w.book, Tokens: words{}, Now: time.Now, Rand: func() float64 { return 0 }}, relay.Default())
		call := w.call()
		call.At = time.Now()
		if err := w.relay.Complete(context.Background(), call, nobody{}); err != nil {
			b.Fatal(err)
		}
		rec := *call.Record
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			rec.Generation = "gen-1772000000-" + strconv.Itoa(i)
			hold, err := w.book.Hold(context.Background(), ledger.HoldRequest{Wallet: wallet, Key: caller.Key, Amount: rec.Hold})
			if err != nil {
				b.Fatal(err)
			}
			if err := w.book.Settle(context.Background(), hold, &rec); err != nil {
				b.Fatal(err)
			}
		}
	})
}
