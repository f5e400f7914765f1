package e2e_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"testing"

	"github.com/openai/openai-go/v3"
)

func decodeImage(t *testing.T, encoded string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
		t.Fatalf("no picture: %v", err)
	}
	return data
}

func TestImages(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	made, err := client.Images.Generate(t.Context(), openai.ImageGenerateParams{Model: "sim/picture", Prompt: "A weir in spring", N: openai.Int(2), Quality: openai.ImageGenerateParamsQualityLow})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Data) != 2 || made.Usage.OutputTokens <= 0 || made.Usage.TotalTokens != made.Usage.InputTokens+made.Usage.OutputTokens || made.Created == 0 {
		t.Fatalf("%.2000s", made.RawJSON())
	}
	file := decodeImage(t, made.Data[0].B64JSON)
	edited, err := client.Images.Edit(t.Context(), openai.ImageEditParams{
		Model: "sim/picture", Prompt: "Higher water", Image: openai.ImageEditParamsImageUnion{OfFileArray: []io.Reader{openai.File(bytes.NewReader(file), "weir.png", "image/png")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	decodeImage(t, edited.Data[0].B64JSON)
}

func TestImageStream(t *testing.T) {
	t.Parallel()
	stream := theDemo.client(t).Images.GenerateStreaming(t.Context(), openai.ImageGenerateParams{Model: "sim/picture", Prompt: "A weir in autumn", PartialImages: openai.Int(2)})
	var kinds []string
	var last openai.ImageGenStreamEventUnion
	for stream.Next() {
		last = stream.Current()
		kinds = append(kinds, last.Type)
		decodeImage(t, last.B64JSON)
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(kinds) != 3 || kinds[0] != "image_generation.partial_image" || kinds[2] != "image_generation.completed" || last.Usage.OutputTokens <= 0 {
		t.Errorf("%v, usage %+v", kinds, last.Usage)
	}
}
