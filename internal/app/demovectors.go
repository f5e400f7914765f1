package app

import (
	"weir/internal/catalog"
	"weir/internal/sim"
)

// simVectors lists the simulator's models for embedding, moderation and rerank, with the wires that serve them.
var simVectors = []struct {
	slug, name, about, kind string
	provider, dialect, path string // with a dialect: a new provider; without: one that is already declared
	upstream                string
	prices                  sim.Prices
	search                  string // rubles per search
	input                   catalog.Modality
	context                 int64
}{
	{slug: "sim/embed", name: "Sim Embed", about: "Vectors of 1536 numbers, or fewer, that follow from the text.", kind: catalog.TypeEmbedding, provider: "sim", upstream: "embed",
		prices: sim.Prices{Prompt: "0.002"}, context: 8192},
	{slug: "sim/embed-gemini", name: "Sim Embed (gemini)", about: "Vectors of 3072 numbers, through the gemini dialect only.", kind: catalog.TypeEmbedding, provider: "sim-gemini", upstream: "embed",
		prices: sim.Prices{Prompt: "0.015"}, context: 2048},
	{slug: "sim/embed-gigachat", name: "Sim Embed (gigachat)", about: "Vectors of 1024 numbers, through the gigachat dialect only.", kind: catalog.TypeEmbedding, provider: "sim-gigachat", upstream: "embed",
		prices: sim.Prices{Prompt: "0.04"}, context: 512},
	{slug: "sim/embed-cohere", name: "Sim Embed (cohere)", about: "Vectors of 1536 numbers, through the cohere dialect only.", kind: catalog.TypeEmbedding, provider: "sim-cohere", dialect: "cohere", path: "/cohere", upstream: "embed",
		prices: sim.Prices{Prompt: "0.012"}, input: catalog.Image, context: 128_000},
	{slug: "sim/embed-voyage", name: "Sim Embed (voyage)", about: "Vectors of 1024 numbers, through the voyage dialect only.", kind: catalog.TypeEmbedding, provider: "sim-voyage", dialect: "voyage", path: "/voyage/v1", upstream: "embed",
		prices: sim.Prices{Prompt: "0.006"}, context: 32_000},
	{slug: "sim/embed-yandex", name: "Sim Embed (yandex)", about: "Vectors of 256 numbers, through the yandex dialect only.", kind: catalog.TypeEmbedding, provider: "sim-yandex", dialect: "yandex", path: "/yandex", upstream: "emb://sim/text-search-doc/latest",
		prices: sim.Prices{Prompt: "0.0102"}, context: 2048},
	{slug: "sim/moderation", name: "Sim Moderation", about: "Moderates texts and images by a few words, in thirteen categories; free.", kind: catalog.TypeModeration, provider: "sim", upstream: "moderation",
		prices: sim.Prices{Prompt: "0"}, input: catalog.Image, context: 32_768},
	{slug: "sim/rerank", name: "Sim Rerank", about: "Sorts documents by the words that they share with a query.", kind: catalog.TypeRerank, provider: "sim-cohere", upstream: "rerank", search: "0.2", context: 4096},
	{slug: "sim/rerank", kind: catalog.TypeRerank, provider: "sim-voyage", upstream: "rerank", prices: sim.Prices{Prompt: "0.005"}, context: 32_000},
	{slug: "sim/rerank-openai", name: "Sim Rerank (openai)", about: "Sorts documents, through the openai dialect only.", kind: catalog.TypeRerank, provider: "sim", upstream: "rerank", prices: sim.Prices{Prompt: "0.002"}, context: 8192},
}

// declareVectors adds the models of simVectors to the demo's catalog.
func declareVectors(d *catalog.Declared, origin string) {
	for i := range simVectors {
		v := &simVectors[i]
		if v.dialect != "" {
			d.Providers = append(d.Providers, catalog.Provider{ID: v.provider, Name: "Simulator, " + v.dialect + " wire", Dialect: v.dialect, BaseURL: origin + v.path, Key: "simulated",
				DataPolicy: catalog.PolicyZero, Simulated: true})
		}
		if v.name != "" {
			d.Models = append(d.Models, catalog.ModelInfo{Slug: v.slug, Name: v.name, Description: v.about, Type: v.kind})
		}
		prices := simPrices(&v.prices)
		if v.search != "" {
			prices.Request = simPrices(&sim.Prices{Prompt: v.search}).Prompt
		}
		d.Offers = append(d.Offers, catalog.Offer{
			Provider: v.provider, Model: v.slug, UpstreamID: v.upstream, ContextLength: v.context, Input: catalog.Text | v.input, Output: catalog.Text,
			Pricing: catalog.Pricing{Base: prices, List: "sim"}, Quantization: "unknown",
		})
	}
}
