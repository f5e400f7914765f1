package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"testing"

	"github.com/openai/openai-go/v3"
)

// pixel is a PNG of one pixel.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// silence is a WAV of a tenth of a second.
func silence() string {
	const rate, samples = 8000, 800
	var wav bytes.Buffer
	field := func(v any) { _ = binary.Write(&wav, binary.LittleEndian, v) } // to memory: cannot fail
	wav.WriteString("RIFF")
	field(uint32(36 + 2*samples))
	wav.WriteString("WAVEfmt ")
	field([]uint32{16})
	field([]uint16{1, 1})
	field([]uint32{rate, 2 * rate})
	field([]uint16{2, 16})
	wav.WriteString("data")
	field(uint32(2 * samples))
	wav.Write(make([]byte, 2*samples))
	return base64.StdEncoding.EncodeToString(wav.Bytes())
}

const document = "data:application/pdf;base64,JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tpZHNbXS9Db3VudCAwPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+PgolJUVPRgo="

func TestPartsInThePrompt(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		parts []openai.ChatCompletionContentPartUnionParam
	}{
		{"text in two parts", []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("One river."), openai.TextContentPart("Two rivers.")}},
		{"image", []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is this?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel, Detail: "low"}),
		}},
		{"two images", []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What differs?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel}),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel, Detail: "high"}),
		}},
		{"audio", []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is said?"),
			openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: silence(), Format: "wav"}),
		}},
		{"file", []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What does it say?"),
			openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{Filename: openai.String("empty.pdf"), FileData: openai.String(document)}),
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := theDemo.client(t)
			params := openai.ChatCompletionNewParams{Model: "sim/chat", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(c.parts)}}
			plain := complete(t, client, params)
			text(t, plain)
			whole, _ := stream(t, client, params)
			if got, want := text(t, &whole.ChatCompletion), text(t, plain); got != want {
				t.Errorf("streamed %q, plain %q", got, want)
			}
			if costOf(t, plain.Usage) <= 0 {
				t.Errorf("usage: %s", plain.Usage.RawJSON())
			}
		})
	}
}

func TestUnknownPart(t *testing.T) {
	t.Parallel()
	body := map[string]any{"model": "sim/chat", "messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "smell", "smell": "river"}}}}}
	err := theDemo.client(t).Post(sendingWrong(t.Context()), "chat/completions", body, nil)
	_, said := refused(t, err, 400, "invalid_prompt")
	if said.Metadata["param"] != "messages[0].content[0].type" {
		t.Errorf("param is %v", said.Metadata["param"])
	}
}
