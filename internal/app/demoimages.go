package app

import (
	"weir/internal/catalog"
	"weir/internal/money"
)

// simImages returns the simulator's image models: one answers directly and is priced by tokens, one uses a queue and is priced by images.
func simImages(origin string) catalog.Declared {
	provider := func(id, dialect, path string) catalog.Provider {
		return catalog.Provider{ID: id, Name: "Simulated " + dialect + " pictures", Dialect: dialect, BaseURL: origin + path, Key: "sk-sim", DataPolicy: catalog.PolicyZero, Simulated: true}
	}
	rubles := func(n int64) money.Price { return money.Price{Nano: int64(money.Ruble) * n / 100, Set: true} }
	input := catalog.Text | catalog.Image
	return catalog.Declared{
		Providers: []catalog.Provider{provider("sim-pictures", "openai", "/v1"), provider("sim-queue", "fal", "/fal/queue")},
		Models: []catalog.ModelInfo{
			{Slug: "sim/picture", Type: catalog.TypeImage, Name: "Sim Picture", Description: "Makes and edits patterns at once, with previews; priced by token."},
			{Slug: "sim/picture-queue", Type: catalog.TypeImage, Name: "Sim Picture Queue", Description: "Makes patterns in a queue; priced by image."},
		},
		Offers: []catalog.Offer{
			{Provider: "sim-pictures", Model: "sim/picture", UpstreamID: "gpt-image-1", Input: input, Pricing: catalog.Pricing{List: "sim", Base: catalog.Prices{Prompt: rubles(50), Image: rubles(100), ImageOutput: rubles(400)}}},
			{Provider: "sim-queue", Model: "sim/picture-queue", UpstreamID: "fal-ai/flux/dev", Input: input, Pricing: catalog.Pricing{List: "sim", Base: catalog.Prices{ImageOutputEach: rubles(250)}}},
		},
	}
}
