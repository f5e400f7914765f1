package e2e_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/openai/openai-go/v3"
)

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	texts := openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"A weir steers a river.", "Bread is baked."}}
	for _, model := range []string{"sim/embed", "sim/embed-gemini", "sim/embed-cohere", "sim/embed-voyage", "sim/embed-yandex", "sim/embed-gigachat"} {
		answer, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: model, Input: texts})
		if err != nil {
			t.Fatalf("%s: %v", model, explain(err))
		}
		if len(answer.Data) != 2 || answer.Data[1].Index != 1 || len(answer.Data[0].Embedding) < 256 || answer.Usage.PromptTokens <= 0 || answer.Model != model {
			t.Errorf("%s: %d vectors, usage %+v", model, len(answer.Data), answer.Usage)
		}
	}
	packed, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "sim/embed", Input: texts, EncodingFormat: openai.EmbeddingNewParamsEncodingFormatBase64})
	var raw struct {
		Data []struct{ Embedding string }
	}
	if err == nil {
		err = json.Unmarshal([]byte(packed.RawJSON()), &raw)
	}
	if err != nil {
		t.Fatal(explain(err))
	}
	plain, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "sim/embed", Input: texts})
	if err != nil {
		t.Fatal(explain(err))
	}
	for i := range raw.Data {
		b, err := base64.StdEncoding.DecodeString(raw.Data[i].Embedding)
		if err != nil || len(b) != 4*len(plain.Data[i].Embedding) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		for j, want := range plain.Data[i].Embedding {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:])); got != float32(want) {
				t.Fatalf("number %d of vector %d is %v as base64 and %v as float", j, i, got, want)
			}
		}
	}
}

func TestModerations(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	answer, err := client.Moderations.New(t.Context(), openai.ModerationNewParams{Model: "sim/moderation", Input: openai.ModerationNewParamsInputUnion{OfStringArray: []string{"A weir.", "I will kill you."}}})
	if err != nil {
		t.Fatal(explain(err))
	}
	if len(answer.Results) != 2 || answer.Results[0].Flagged || !answer.Results[1].Flagged || !answer.Results[1].Categories.Violence || answer.Results[1].CategoryScores.Violence < 0.5 {
		t.Errorf("%s", answer.RawJSON())
	}
}
