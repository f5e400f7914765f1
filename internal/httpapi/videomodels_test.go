package httpapi_test

import (
	"testing"

	"weir/internal/catalog/builtin"
	"weir/internal/money"
)

// Every video model of the built-in catalog is listed with every field.
func TestBuiltinVideoModels(t *testing.T) {
	t.Parallel()
	rate, err := money.NewRate("100", "0")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, id := range []string{"openai", "google", "vertex", "runway", "kling", "minimax", "luma", "fal"} {
		keys[id] = "key-of-" + id
	}
	d, err := builtin.Declare(keys, builtin.Rate{Rate: rate, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Providers { // addresses with variables are not looked at here
		d.Providers[i].BaseURL = "https://" + d.Providers[i].ID + ".example"
	}
	l := openLibrary(t, build(t, d), nil)
	list, _ := at(l.get("/v1/videos/models").json(t), "data").([]any)
	if len(list) < 12 {
		t.Fatalf("%d models", len(list))
	}
	for _, item := range list {
		id := at(item, "id")
		for _, name := range []string{"id", "canonical_slug", "name", "description"} {
			if text, ok := at(item, name).(string); !ok || text == "" {
				t.Errorf("%v: %s is %v", id, name, at(item, name))
			}
		}
		if _, ok := at(item, "model_hub_id").(string); !ok {
			t.Errorf("%v: model_hub_id is %v", id, at(item, "model_hub_id"))
		}
		if n, ok := at(item, "created").(float64); !ok || n <= 0 {
			t.Errorf("%v: created is %v", id, at(item, "created"))
		}
		for _, name := range []string{"supported_resolutions", "supported_aspect_ratios", "supported_sizes", "supported_frame_images", "supported_durations"} {
			if some, ok := at(item, name).([]any); !ok || len(some) == 0 {
				t.Errorf("%v: %s is %v", id, name, at(item, name))
			}
		}
		if _, ok := at(item, "allowed_passthrough_parameters").([]any); !ok {
			t.Errorf("%v: no list of parameters", id)
		}
		for _, name := range []string{"generate_audio", "seed"} {
			if _, ok := at(item, name).(bool); !ok {
				t.Errorf("%v: %s is %v", id, name, at(item, name))
			}
		}
		if prices, ok := at(item, "pricing_skus").(map[string]any); !ok || len(prices) == 0 {
			t.Errorf("%v: pricing_skus is %v", id, at(item, "pricing_skus"))
		}
	}
}
