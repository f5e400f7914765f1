package catalog_test

import (
	"testing"

	"weir/internal/catalog"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, dialect, upstream string
		want                    bool
	}{
		{catalog.TypeChat, "bedrock", "m", true}, {catalog.TypeTranscription, "openai", "gpt-4o-transcribe", true}, {catalog.TypeTranscription, "openai", "whisper-1", false},
		{catalog.TypeTranscription, "openai", "openai/whisper-large-v3", false}, {catalog.TypeTranscription, "deepgram", "nova-3", false}, {catalog.TypeEmbedding, "openai", "m", false},
	} {
		e := catalog.Endpoint{UpstreamID: c.upstream, Model: &catalog.Model{Type: c.kind}, Provider: &catalog.Provider{Dialect: c.dialect}}
		if got := e.Streams(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
