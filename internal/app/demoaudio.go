package app

import (
	"weir/internal/catalog"
	"weir/internal/money"
)

// simAudio lists the simulator's models for transcription and speech, with the wires that serve them.
var simAudio = []struct {
	slug, name, about, kind string
	provider, dialect, path string // with a dialect: a new provider; without: one that is already declared
	upstream                string

	minute, characters                     string // rubles per minute; rubles per 1000 characters
	prompt, audio, completion, audioOutput string // rubles per 1000 tokens
}{
	{slug: "sim/whisper", name: "Sim Whisper", about: "Transcribes audio, in all formats of Whisper.", kind: catalog.TypeTranscription, provider: "sim", upstream: "whisper", minute: "0.6"},
	{slug: "sim/transcribe", name: "Sim Transcribe", about: "Transcribes audio as a stream.", kind: catalog.TypeTranscription, provider: "sim", upstream: "transcribe",
		prompt: "0.25", audio: "0.6", completion: "1"},
	{slug: "sim/diarize", name: "Sim Diarize", about: "Transcribes audio with speakers.", kind: catalog.TypeTranscription, provider: "sim", upstream: "diarize",
		prompt: "0.25", audio: "0.6", completion: "1"},
	{slug: "sim/listen", name: "Sim Listen", about: "Transcribes audio, through the deepgram dialect only.", kind: catalog.TypeTranscription,
		provider: "sim-deepgram", dialect: "deepgram", path: "/deepgram", upstream: "listen", minute: "0.5"},
	{slug: "sim/scribe", name: "Sim Scribe", about: "Transcribes audio, through the elevenlabs dialect only.", kind: catalog.TypeTranscription,
		provider: "sim-elevenlabs", dialect: "elevenlabs", path: "/elevenlabs", upstream: "scribe", minute: "0.4"},
	{slug: "sim/speechkit", name: "Sim SpeechKit", about: "Transcribes audio, through the yandex dialect only.", kind: catalog.TypeTranscription,
		provider: "sim-yandex", upstream: "speechkit", minute: "0.6"},
	{slug: "sim/speech", name: "Sim Speech", about: "Text to speech: a tone in the requested format.", kind: catalog.TypeSpeech, provider: "sim", upstream: "speech",
		prompt: "0.06", audioOutput: "1.2"},
	{slug: "sim/speech-elevenlabs", name: "Sim Speech (elevenlabs)", about: "Text to speech, through the elevenlabs dialect only.", kind: catalog.TypeSpeech,
		provider: "sim-elevenlabs", upstream: "speech", characters: "5"},
}

// declareAudio adds the models of simAudio to the demo's catalog.
func declareAudio(d *catalog.Declared, origin string) {
	price := func(text string) money.Price {
		if text == "" {
			return money.Price{}
		}
		v, err := money.ParsePrice(text)
		if err != nil {
			panic(err) // cannot happen: the prices are constants
		}
		return v
	}
	for i := range simAudio {
		m := &simAudio[i]
		if m.dialect != "" {
			d.Providers = append(d.Providers, catalog.Provider{ID: m.provider, Name: "Simulator, " + m.dialect + " wire", Dialect: m.dialect, BaseURL: origin + m.path, Key: "simulated",
				DataPolicy: catalog.PolicyZero, Simulated: true})
		}
		d.Models = append(d.Models, catalog.ModelInfo{Slug: m.slug, Name: m.name, Description: m.about, Type: m.kind})
		o := catalog.Offer{Provider: m.provider, Model: m.slug, UpstreamID: m.upstream, Input: catalog.Audio | catalog.Text, Output: catalog.Text, Quantization: "unknown"}
		if m.kind == catalog.TypeSpeech {
			o.Input, o.Output = catalog.Text, catalog.Audio
		}
		o.Pricing = catalog.Pricing{
			List: "sim", Rates: catalog.Rates{Minute: price(m.minute), Characters: price(m.characters)},
			Base: catalog.Prices{Prompt: price(m.prompt), Audio: price(m.audio), Completion: price(m.completion), AudioOutput: price(m.audioOutput)},
		}
		d.Offers = append(d.Offers, o)
	}
}
