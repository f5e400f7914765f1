package relay_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/vector"
)

// tasked is a world whose model v/m is of the type that does what.
func tasked(t *testing.T, what task.Task, pricing catalog.Pricing, providers ...string) *world {
	t.Helper()
	return quirky(t, what, pricing, catalog.Quirks{}, providers...)
}

// quirky is tasked with providers that have quirks.
func quirky(t *testing.T, what task.Task, pricing catalog.Pricing, quirks catalog.Quirks, providers ...string) *world {
	t.Helper()
	w := newWorld(t, nil, offer("alpha", "v/chat", "1", "2"))
	d := catalog.Declared{Models: []catalog.ModelInfo{{Slug: "v/m", Type: what.Type()}}}
	for _, id := range append([]string{"alpha"}, providers...) {
		d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: strings.ToUpper(id), Dialect: "openai", BaseURL: "https://" + id + ".test/v1", Quirks: quirks})
		d.Offers = append(d.Offers, catalog.Offer{Provider: id, Model: "v/m", Pricing: pricing})
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	w.snap = snap
	return w
}

func asks(what task.Task) func(*relay.Call) {
	return func(c *relay.Call) { c.Request.Task, c.Request.Needs.N = what, 0 }
}

func gives(r task.Result) step { return step{ev: &completion.Event{Result: &r}} }

var vectors = gives(task.Result{Vectors: []task.Vector{{Numbers: vector.Of([]float32{1, 0})}}})

// image is an image of 1000 x 1000 pixels.
func image(size, quality string) step {
	return gives(task.Result{Image: &task.MadeImage{Data: []byte{1}, Width: 1000, Height: 1000, Size: size, Quality: quality}})
}

func said(text string) step {
	return gives(task.Result{Transcript: &task.Transcript{Final: true, Text: text}})
}

// perImage prices images by the line: quality and size, or one of them.
func perImage(lines ...[3]string) catalog.Pricing {
	var p catalog.Pricing
	for _, l := range lines {
		p.Images = append(p.Images, catalog.ImagePrice{Component: "image_output", Unit: catalog.UnitImage, Variant: l[0], Resolution: l[1], Price: price(l[2])})
	}
	return p
}

// What a task holds before it begins, and what it is charged for: by what the upstream reports, by what came out, or by what is usual.
func TestTaskMoney(t *testing.T) {
	t.Parallel()
	of := usage.Of
	base := func(p catalog.Prices) catalog.Pricing { return catalog.Pricing{Base: p} }
	tokens := base(catalog.Prices{Prompt: price("1"), Completion: price("2"), Audio: price("3")})
	qualities := perImage([3]string{"low", "1024x1024", "1"}, [3]string{"high", "1024x1024", "5"}, [3]string{"low", "2048x2048", "3"}, [3]string{"high", "2048x2048", "9"})
	minute := &task.Transcription{Duration: 90 * time.Second, Measured: true}
	for _, c := range []struct {
		name    string
		task    task.Task
		pricing catalog.Pricing
		script  script
		hold    string
		cost    string
		source  usage.Source
	}{
		{"embedding, as reported", &task.Embedding{}, base(catalog.Prices{Prompt: price("1")}), script{vectors, usedExactly(usage.Usage{Prompt: of(7)}), done()}, "0.01", "0.007", usage.Reported},
		{"embedding, our count", &task.Embedding{Inputs: make([]task.Input, 1)}, base(catalog.Prices{Prompt: price("1")}), script{vectors, done()}, "0.01", "0.006", usage.Estimated},
		{"embedding of tokens", &task.Embedding{Inputs: []task.Input{{Tokens: make([]int32, 8)}}}, base(catalog.Prices{Prompt: price("1")}), script{vectors, done()}, "0.01", "0.008", usage.Estimated},
		{"moderation for nothing", &task.Moderation{}, base(catalog.Prices{Prompt: price("0")}), script{gives(task.Result{Verdicts: make([]task.Verdict, 1)}), done()}, "0", "0", usage.Reported},
		{"speech by characters", &task.Speech{Input: strings.Repeat("ж", 250)}, catalog.Pricing{Rates: catalog.Rates{Characters: price("2")}}, script{gives(task.Result{Audio: &task.AudioPiece{Data: []byte{1}}}), done()}, "0.5", "0.5", usage.Reported},
		{"speech by tokens", &task.Speech{Input: strings.Repeat("a", 100)}, base(catalog.Prices{Prompt: price("1"), AudioOutput: price("10")}),
			script{gives(task.Result{Audio: &task.AudioPiece{Data: []byte{1}}}), usedExactly(usage.Usage{Prompt: of(25), Completion: of(50), OutputAudio: of(50)}), done()}, "6.74", "0.525", usage.Reported},
		{"rerank by searches", &task.Rerank{Documents: make([]string, 101)}, base(catalog.Prices{Request: price("3")}), script{gives(task.Result{Ranks: make([]task.Rank, 1)}), done()}, "6", "6", usage.Reported},
		{"rerank, searches reported", &task.Rerank{Documents: make([]string, 101)}, base(catalog.Prices{Request: price("3")}),
			script{gives(task.Result{Ranks: make([]task.Rank, 1)}), usedExactly(usage.Usage{Requests: of(1)}), done()}, "6", "3", usage.Reported},
		{"transcription by the minute, as measured", minute, catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}, script{said("a b"), done()}, "9", "9", usage.Reported},
		{"transcription by the minute, as reported", minute, catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}, script{said("a b"), usedExactly(usage.Usage{Millis: of(60_001)}), done()}, "9", "6.0001", usage.Reported},
		{"transcription by tokens", minute, tokens, script{said("a b"), usedExactly(usage.Usage{Prompt: of(900), PromptAudio: of(900), Completion: of(10)}), done()}, "11.024", "2.72", usage.Reported},
		{"transcription by tokens that nobody told", minute, tokens, script{said("a b"), done()}, "11.024", "2.704", usage.Estimated},
		{"an absurd duration", minute, catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}, script{said("a b"), usedExactly(usage.Usage{Millis: of(math.MaxInt64)}), done()}, "9", "9", usage.Capped},
		{"pictures, each", &task.Image{N: 3}, perImage([3]string{"", "", "4"}), script{image("", ""), image("", ""), done()}, "12", "8", usage.Reported},
		{"previews cost nothing of their own", &task.Image{N: 1}, perImage([3]string{"", "", "4"}),
			script{gives(task.Result{Image: &task.MadeImage{Partial: true, Data: []byte{1}}}), image("", ""), done()}, "4", "4", usage.Reported},
		{"pictures by the quality asked for", &task.Image{N: 1, Quality: "low", Size: "2048x2048"}, qualities, script{image("", ""), done()}, "3", "3", usage.Reported},
		{"pictures by what the upstream made", &task.Image{N: 1}, qualities, script{image("1024x1024", "high"), done()}, "9", "5", usage.Reported},
		{"pictures by pixels", &task.Image{N: 1, Size: "1000x1000"}, catalog.Pricing{Images: []catalog.ImagePrice{{Component: "image_output", Unit: catalog.UnitMegapixel, Price: price("2")}}},
			script{image("", ""), done()}, "2", "2", usage.Reported},
		{"pictures by tokens", &task.Image{N: 1, Prompt: "ab"}, base(catalog.Prices{Prompt: price("1"), ImageOutput: price("10")}),
			script{image("", ""), usedExactly(usage.Usage{Prompt: of(5), Completion: of(1056), OutputImage: of(1056)}), done()}, "62.402", "10.565", usage.Reported},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := tasked(t, c.task, c.pricing)
			var held money.Nano
			w.plays("alpha/v/m", append(script{does(func(context.Context) { _, held = w.book.Open() })}, c.script...))
			call := w.call(asks(c.task))
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			if held != rubles(c.hold) || call.Record.Hold != held {
				t.Errorf("held %s, recorded %s, want %s", held, call.Record.Hold, c.hold)
			}
			w.wantCharged(c.cost)
			if rec := w.settled(call); rec == nil || rec.Usage.Source != c.source || rec.Cost != rubles(c.cost) {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// Providers are compared by what the task costs there, in whatever unit they charge for it: the cheaper of two is asked.
func TestTaskPricesOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task        task.Task
		dear, cheap catalog.Pricing
		answer      step
	}{
		"images": {&task.Image{N: 1}, perImage([3]string{"", "", "20"}), perImage([3]string{"", "", "2"}), image("", "")},
		"images of a size": {&task.Image{N: 1, Size: "1024x1024", Quality: "low"}, perImage([3]string{"low", "1024x1024", "3"}, [3]string{"high", "", "4"}), perImage([3]string{"low", "1024x1024", "2"}, [3]string{"high", "", "9"}),
			image("", "")},
		"an image or tokens": {&task.Image{N: 1}, catalog.Pricing{Base: catalog.Prices{ImageOutput: price("5")}}, perImage([3]string{"", "", "2"}), image("", "")},
		"minutes":            {&task.Transcription{Duration: time.Minute, Measured: true}, catalog.Pricing{Rates: catalog.Rates{Minute: price("3")}}, catalog.Pricing{Rates: catalog.Rates{Minute: price("0.3")}}, said("a")},
		"characters": {&task.Speech{Input: "hello"}, catalog.Pricing{Rates: catalog.Rates{Characters: price("3")}}, catalog.Pricing{Rates: catalog.Rates{Characters: price("0.3")}},
			gives(task.Result{Audio: &task.AudioPiece{Data: []byte{1}}})},
		"requests": {&task.Rerank{Documents: make([]string, 1)}, catalog.Pricing{Base: catalog.Prices{Request: price("3")}}, catalog.Pricing{Base: catalog.Prices{Request: price("1")}},
			gives(task.Result{Ranks: make([]task.Rank, 1)})},
		"tokens": {&task.Embedding{Inputs: make([]task.Input, 1)}, catalog.Pricing{Base: catalog.Prices{Prompt: price("3")}}, catalog.Pricing{Base: catalog.Prices{Prompt: price("1")}}, vectors},
	} {
		for _, by := range []string{"", "price"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				w := tasked(t, c.task, c.cheap, "beta")
				m, _ := w.snap.Model("v/m")
				for _, ep := range m.Endpoints {
					if ep.Provider.ID == "alpha" {
						ep.Pricing = c.dear
					}
				}
				w.plays("beta/v/m", script{c.answer, done()})
				call := w.call(asks(c.task), func(x *relay.Call) { x.Request.Preferences.Sort = by })
				if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil || call.Record.Provider != "beta" {
					t.Errorf("%s served: %v", call.Record.Provider, err)
				}
			})
		}
	}
}

// Audio by the minute is held for and charged in the units in which the provider bills, whether the provider or the gateway measured it.
func TestAudioUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		quirks     catalog.Quirks
		heard      time.Duration
		reported   int64 // milliseconds; 0: none
		hold, cost string
		source     usage.Source
	}{
		{"to the millisecond", catalog.Quirks{}, 3410 * time.Millisecond, 0, "0.341", "0.341", usage.Reported},
		{"started seconds", catalog.Quirks{AudioStep: 1}, 3410 * time.Millisecond, 0, "0.4", "0.4", usage.Reported},
		{"seconds that the provider has rounded", catalog.Quirks{AudioStep: 1}, 3410 * time.Millisecond, 4000, "0.4", "0.4", usage.Reported},
		{"started minutes", catalog.Quirks{AudioStep: 60}, 61 * time.Second, 61_000, "12", "12", usage.Reported},
		{"no more than the last whole step", catalog.Quirks{AudioStep: 60}, time.Minute, 60_000, "6", "6", usage.Reported},
		{"longer than heard, into the next step", catalog.Quirks{AudioStep: 15}, 14_500 * time.Millisecond, 15_300, "1.5", "3", usage.Reported},
		{"a least length", catalog.Quirks{AudioLeast: 10}, 3410 * time.Millisecond, 0, "1", "1", usage.Reported},
		{"a least length that was exceeded", catalog.Quirks{AudioLeast: 10}, 12_345 * time.Millisecond, 0, "1.2345", "1.2345", usage.Reported},
		{"both", catalog.Quirks{AudioStep: 4, AudioLeast: 10}, time.Second, 0, "1.2", "1.2", usage.Reported},
		{"an implausible length", catalog.Quirks{AudioStep: 1, AudioLeast: 10}, 3410 * time.Millisecond, math.MaxInt64, "1", "1", usage.Capped},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			what := &task.Transcription{Duration: c.heard, Measured: true}
			w := quirky(t, what, catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}, c.quirks)
			answer := script{said("a b")}
			if c.reported > 0 {
				answer = append(answer, usedExactly(usage.Usage{Millis: usage.Of(c.reported)}))
			}
			var held money.Nano
			w.plays("alpha/v/m", append(script{does(func(context.Context) { _, held = w.book.Open() })}, append(answer, done())...))
			call := w.call(asks(what))
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			if held != rubles(c.hold) {
				t.Errorf("held %s, want %s", held, c.hold)
			}
			w.wantCharged(c.cost)
			if rec := w.settled(call); rec == nil || rec.Usage.Source != c.source {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// A task goes to the next endpoint until there is a result, and only to models that can do it.
func TestTaskFailover(t *testing.T) {
	t.Parallel()
	what := &task.Embedding{}
	w := tasked(t, what, catalog.Pricing{Base: catalog.Prices{Prompt: price("1")}}, "beta")
	w.plays("alpha/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint, status(503))})
	w.plays("beta/v/m", script{vectors, usedExactly(usage.Usage{Prompt: usage.Of(7)}), done()})
	first := func(c *relay.Call) { c.Request.Preferences.Order = []string{"alpha", "beta"} }
	if err := w.relay.Complete(t.Context(), w.call(asks(what), first), &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantAttempts("alpha/v/m", "beta/v/m")
	w.wantCharged("0.007")
	wantKind(t, w.relay.Complete(t.Context(), w.call(), &sink{}), fault.WrongEndpoint)
}

// What a client has of a broken answer: nothing is charged when the provider broke it, all of a recording or a text when its client gave up,
// and never an image that was not finished.
func TestTaskBroken(t *testing.T) {
	t.Parallel()
	recording := &task.Transcription{Duration: time.Minute}
	minute := catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}
	delta := gives(task.Result{Transcript: &task.Transcript{Delta: "a"}})
	preview := gives(task.Result{Image: &task.MadeImage{Partial: true, Data: []byte{1}}})
	broken := fails(fault.ProviderUnavailable, fault.NextEndpoint)
	for _, c := range []struct {
		name    string
		task    task.Task
		pricing catalog.Pricing
		script  script
		leaves  int // at which entry of the sink, the start is the first; 0: never
		want    string
	}{
		{"transcript broken by the provider", recording, minute, script{delta, broken}, 0, "0"},
		{"transcript given up", recording, minute, script{delta, delta, done()}, 3, "6"},
		{"picture broken by the provider", &task.Image{N: 1}, perImage([3]string{"", "", "4"}), script{preview, broken}, 0, "0"},
		{"picture given up", &task.Image{N: 1}, perImage([3]string{"", "", "4"}), script{preview, image("", ""), done()}, 3, "4"},
		{"picture given up behind a preview", &task.Image{N: 3}, perImage([3]string{"", "", "4"}), script{preview, preview, preview, done()}, 3, "4"},
		{"a picture, and the preview of another", &task.Image{N: 3, Partial: 2}, perImage([3]string{"", "", "4"}), script{image("", ""), preview, preview, done()}, 4, "8"},
		{"previews of three pictures", &task.Image{N: 3, Partial: 1}, perImage([3]string{"", "", "4"}), script{preview, preview, preview, preview, done()}, 5, "12"},
		{"more previews than pictures", &task.Image{N: 2, Partial: 1}, perImage([3]string{"", "", "4"}), script{preview, preview, preview, preview, preview, done()}, 6, "8"},
		{"pictures by tokens, given up behind a preview", &task.Image{N: 3}, catalog.Pricing{Base: catalog.Prices{Prompt: price("0"), ImageOutput: price("10")}}, script{preview, preview, preview, done()}, 3, "10.56"},
		{"two of three pictures, then broken by the provider", &task.Image{N: 3}, perImage([3]string{"", "", "4"}), script{image("", ""), image("", ""), broken}, 0, "8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := tasked(t, c.task, c.pricing)
			w.plays("alpha/v/m", c.script)
			s := &sink{failAt: c.leaves}
			if err := w.relay.Complete(t.Context(), w.call(asks(c.task), streamed), s); err == nil {
				t.Error("no error")
			}
			w.wantCharged(c.want)
		})
	}
}
