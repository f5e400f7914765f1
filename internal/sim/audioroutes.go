// Package audio has what providers serve for speech: transcription and speech from text.
package sim

// audioWires are the wires of this package. Providers whose paths would meet OpenAI's lie below their names.
type audioWires struct {
	*Host
	heard recognitions
}

func newAudioWires(h *Host) *audioWires { return &audioWires{Host: h} }

// Reset forgets what was transcribed.
func (s *audioWires) Reset() { s.heard.reset() }

// Mount adds the routes.
func (s *audioWires) Mount(m *Routes) {
	m.Add(transcriptionsWire, "POST", "/v1/audio/transcriptions", s.transcriptions(transcriptionsWire, transcribers))
	m.Add(groqWire, "POST", "/groq/openai/v1/audio/transcriptions", s.transcriptions(groqWire, groqTranscribers))
	m.Add(deepgramWire, "POST", "/deepgram/v1/listen", s.listen)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/speech-to-text", s.scribe)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}", s.elevenSpeak)
	m.Add(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}/stream", s.elevenSpeak)
	m.Add(yandexTaskWire, "POST", "/yandex/stt/v3/recognizeFileAsync", s.recognizeFile)
	m.Add(yandexTaskWire, "GET", "/yandex/stt/v3/getRecognition", s.getRecognition)
	m.Add(yandexTaskWire, "DELETE", "/yandex/stt/v3/deleteRecognition", s.deleteRecognition)
	m.Add(yandexTaskWire, "GET", "/yandex/operations/{id}", s.operations)
	m.Add(speechWire, "POST", "/v1/audio/speech", s.speak)
}
