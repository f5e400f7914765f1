package task_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/task"
	"weir/internal/usage"
)

// What went by of an image or a recording decides how many are counted, whatever the upstream reports, and whether they are charged.
func TestMade(t *testing.T) {
	t.Parallel()
	image := &task.Result{Image: &task.MadeImage{Width: 1000, Height: 1000}}
	preview := &task.Result{Image: &task.MadeImage{Partial: true}}
	heard := &task.Result{Transcript: &task.Transcript{Duration: 90 * time.Second}}
	for name, c := range map[string]struct {
		task       task.Task
		results    []*task.Result
		done, left bool
		images     usage.Count // counted
		kilopixels usage.Count
		usual      int64 // images
		millis     int64 // usual
		charged    bool
	}{
		"all of three":               {task: &task.Image{N: 3}, results: []*task.Result{image, image, image}, done: true, images: usage.Of(3), kilopixels: usage.Of(3000), usual: 3, charged: true},
		"fewer than asked for":       {task: &task.Image{N: 3}, results: []*task.Result{image}, done: true, images: usage.Of(1), kilopixels: usage.Of(1000), usual: 1, charged: true},
		"more than asked for":        {task: &task.Image{N: 1}, results: []*task.Result{image, image}, done: true, images: usage.Of(2), kilopixels: usage.Of(2000), usual: 1, charged: true},
		"none":                       {task: &task.Image{N: 2}, done: true, usual: 2},
		"broken behind one":          {task: &task.Image{N: 3}, results: []*task.Result{image, preview}, images: usage.Of(1), kilopixels: usage.Of(1000), usual: 1, charged: true},
		"left behind one":            {task: &task.Image{N: 3, Partial: 1}, results: []*task.Result{preview, image, preview}, left: true, images: usage.Of(2), kilopixels: usage.Of(2000), usual: 2, charged: true},
		"left at a preview":          {task: &task.Image{N: 1, Partial: 2}, results: []*task.Result{preview}, left: true, usual: 1, charged: true},
		"left before any":            {task: &task.Image{N: 1}, left: true, usual: 1},
		"broken at a preview":        {task: &task.Image{N: 1}, results: []*task.Result{preview}, usual: 1},
		"left, more previews than n": {task: &task.Image{N: 2, Partial: 1}, results: []*task.Result{preview, preview, preview, preview}, left: true, usual: 2, charged: true},
		"a recording not measured":   {task: &task.Transcription{Duration: time.Minute}, results: []*task.Result{heard}, done: true, millis: 90_000},
		"a recording measured":       {task: &task.Transcription{Duration: time.Minute, Measured: true}, results: []*task.Result{heard}, done: true, millis: 60_000},
		"a recording left":           {task: &task.Transcription{Duration: time.Minute}, left: true, millis: 60_000, charged: true},
		"vectors broken":             {task: &task.Embedding{}},
		"speech left":                {task: &task.Speech{Input: "hi"}, left: true, charged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := task.Made{Done: c.done, Left: c.left}
			for _, r := range c.results {
				m.Add(r)
			}
			usual, counted := c.task.Consumed(&m)
			if diff := cmp.Diff(usage.Usage{Images: c.images, Kilopixels: c.kilopixels}, counted); diff != "" {
				t.Error(diff)
			}
			if usual.Images.N != c.usual || usual.Millis.N != c.millis || c.task.Charged(&m) != c.charged {
				t.Errorf("usually %d images, %d ms; charged %v", usual.Images.N, usual.Millis.N, c.task.Charged(&m))
			}
		})
	}
}

func TestTextOfAResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result task.Result
		before bool
		want   string
	}{
		{task.Result{}, false, ""},
		{task.Result{Transcript: &task.Transcript{Delta: "a"}}, true, "a"},
		{task.Result{Transcript: &task.Transcript{Delta: "a", Final: true, Text: "all a"}}, false, "a"},
		{task.Result{Transcript: &task.Transcript{Final: true, Text: "all"}}, false, "all"},
		{task.Result{Transcript: &task.Transcript{Final: true, Text: "all"}}, true, ""},
	} {
		if got := c.result.Text(c.before); got != c.want {
			t.Errorf("%+v after text %v: %q, want %q", c.result.Transcript, c.before, got, c.want)
		}
	}
}

// Where the model chooses quality or size itself, nothing that it may report to have made is dearer than what is held.
func TestHeldTariffIsTheDearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quality := rapid.SampledFrom([]string{"", "auto", "low", "standard", "high"})
		size := rapid.SampledFrom([]string{"", "auto", "1024x1024", "2048x2048", "4K"})
		var p catalog.Pricing
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			p.Images = append(p.Images, catalog.ImagePrice{
				Component: "image_output", Unit: rapid.SampledFrom([]string{catalog.UnitImage, catalog.UnitMegapixel, catalog.UnitTokens}).Draw(t, "unit"),
				Variant: quality.Draw(t, "variant"), Resolution: size.Draw(t, "resolution"),
				Price: money.Price{Set: true, Nano: rapid.Int64Range(0, 1000).Draw(t, "price")},
			})
		}
		asked := &task.Image{Quality: rapid.SampledFrom([]string{"", "auto"}).Draw(t, "asked"), Size: size.Draw(t, "size"), Resolution: size.Draw(t, "tier")}
		made := task.Made{Quality: quality.Draw(t, "made quality"), Size: size.Draw(t, "made size"), Dimensions: size.Draw(t, "dimensions")}
		held, charged := asked.Tariff(&p, 10, nil), asked.Tariff(&p, 10, &made)
		for name, pair := range map[string][2]money.Price{
			"each": {held.ImageOutputEach, charged.ImageOutputEach}, "tokens": {held.ImageOutput, charged.ImageOutput}, "megapixel": {held.Megapixel, charged.Megapixel},
		} {
			if pair[1].Nano > pair[0].Nano {
				t.Errorf("%s: held by %d, charged by %d", name, pair[0].Nano, pair[1].Nano)
			}
		}
	})
}
