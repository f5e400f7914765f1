// Package audio has what providers serve for speech: transcription and speech from text.
package audio

import "weir/internal/sim/kit"

// Wires are the wires of this package. Providers whose paths would meet OpenAI's lie below their names.
type Wires struct {
	*kit.Host
	recognized recognitions
}

// New makes the wires.
func New(h *kit.Host) *Wires { return &Wires{Host: h} }

// Reset forgets what was transcribed.
func (s *Wires) Reset() { s.recognized.reset() }

// Mount adds the routes.
func (s *Wires) Mount(m *kit.Routes) {
	m.Add(transcriptionsWire, "POST", "/v1/audio/transcriptions", s.transcriptions(transcriptionsWire, transcribers))
	m.Add(groqWire, "POST", "/groq/openai/v1/audio/transcriptions", s.transcriptions(groqWire, groqTranscribers))
	m.Add(transcriptionsWire, "POST", "/v1/audio/translations", s.translations(transcriptionsWire, translators))
	m.Add(groqWire, "POST", "/groq/openai/v1/audio/translations", s.translations(groqWire, groqTranscribers))
	m.Add(deepgramWire, "POST", "/deepgram/v1/listen", s.listen)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/speech-to-text", s.scribe)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}", s.elevenSpeak)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}/stream", s.elevenSpeak)
	m.Add(kit.YandexTaskWire, "POST", "/yandex/stt/v3/recognizeFileAsync", s.recognizeFile)
	m.Add(kit.YandexTaskWire, "GET", "/yandex/stt/v3/getRecognition", s.getRecognition)
	m.Add(kit.YandexTaskWire, "DELETE", "/yandex/stt/v3/deleteRecognition", s.deleteRecognition)
	m.Add(kit.YandexTaskWire, "GET", "/yandex/operations/{id}", s.operations)
	m.Add(speechWire, "POST", "/v1/audio/speech", s.speak)
}
