// Package all names every dialect. A new one is a line here and one in catalog's list of names, which a test compares.
package all

import (
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bfl"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/deepgram"
	"weir/internal/dialect/elevenlabs"
	"weir/internal/dialect/fal"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/gigachat"
	"weir/internal/dialect/kling"
	"weir/internal/dialect/luma"
	"weir/internal/dialect/minimax"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/responses"
	"weir/internal/dialect/runway"
	"weir/internal/dialect/voyage"
	"weir/internal/dialect/yandex"
)

// Dialects are the wires to providers, under the names that catalog.Dialects lists.
func Dialects() map[string]dialect.Dialect {
	return map[string]dialect.Dialect{
		"anthropic":  new(anthropic.Dialect),
		"bedrock":    new(bedrock.Dialect),
		"bfl":        new(bfl.Dialect),
		"cohere":     new(cohere.Dialect),
		"deepgram":   new(deepgram.Dialect),
		"elevenlabs": new(elevenlabs.Dialect),
		"fal":        new(fal.Dialect),
		"gemini":     new(gemini.Dialect),
		"gigachat":   new(gigachat.Dialect),
		"kling":      new(kling.Dialect),
		"luma":       new(luma.Dialect),
		"minimax":    new(minimax.Dialect),
		"openai":     new(openai.Dialect),
		"responses":  new(responses.Dialect),
		"runway":     new(runway.Dialect),
		"voyage":     new(voyage.Dialect),
		"yandex":     new(yandex.Dialect),
	}
}
