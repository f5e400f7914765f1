package builtin_test

import (
	"slices"
	"testing"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
)

// Each video model is described wholly, and each of its endpoints has a price for whatever may be asked of it.
func TestVideoModels(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Providers {
		d.Providers[i].BaseURL, _ = builtin.Expand(d.Providers[i].BaseURL, placed)
		d.Providers[i].Wires = builtin.ExpandWires(d.Providers[i].Wires, placed)
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	makers := map[string]bool{}
	for _, info := range d.Models {
		if info.Type != catalog.TypeVideo {
			continue
		}
		m, _, ok := snap.Resolve(info.Slug)
		if !ok || m.Video == nil {
			t.Errorf("%s: no facts", info.Slug)
			continue
		}
		f := m.Video
		if m.Name == "" || m.Description == "" || m.Created.IsZero() || len(f.Resolutions) == 0 || len(f.AspectRatios) == 0 || len(f.Sizes) == 0 || len(f.Durations) == 0 || len(f.FrameImages) == 0 {
			t.Errorf("%s lacks something: %+v, %+v", info.Slug, m, f)
		}
		if !slices.IsSorted(f.Durations) {
			t.Errorf("%s: durations %v", info.Slug, f.Durations)
		}
		for _, ep := range m.Endpoints {
			makers[ep.Provider.ID] = true
			for _, resolution := range f.Resolutions {
				for _, audio := range []bool{false, true} {
					if price := ep.Pricing.SecondOf(resolution, audio); !price.Set || price.Nano <= 0 {
						t.Errorf("%s: %s, sound %t: no price", ep.ID, resolution, audio)
					}
				}
			}
			if ep.Output&catalog.Video == 0 || ep.Input&catalog.Image == 0 {
				t.Errorf("%s: input %v, output %v", ep.ID, ep.Input, ep.Output)
			}
		}
	}
	for _, id := range []string{"openai", "google", "vertex", "runway", "kling", "minimax", "luma", "fal"} {
		if !makers[id] {
			t.Errorf("%s makes no videos", id)
		}
	}
}

// A document adds fields to a model of an earlier document, and changes none of them.
func TestDocumentsComplete(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(map[string]string{"openai": "k"}, rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(d.Models, func(m catalog.ModelInfo) bool { return m.Slug == "openai/sora-2" })
	if i < 0 || d.Models[i].Description == "" || d.Models[i].Created.IsZero() || d.Models[i].Video == nil || !slices.Equal(d.Models[i].Video.Durations, []int{4, 8, 12}) {
		t.Errorf("openai/sora-2 at %d", i)
	}
	seen := map[string]bool{}
	for _, m := range d.Models {
		if seen[m.Slug] {
			t.Errorf("%s is described twice", m.Slug)
		}
		seen[m.Slug] = true
	}
}

// Models of one type are spoken to over the wire for that type.
func TestMiniMaxVideos(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(map[string]string{"minimax": "k"}, rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	m, _, ok := snap.Resolve("minimax/hailuo-2.3")
	if !ok || len(m.Endpoints) != 1 || m.Endpoints[0].Provider.Dialect != "minimax" {
		t.Errorf("%+v", m)
	}
}
