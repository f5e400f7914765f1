package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// pixel is a PNG of one pixel.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// silence returns a WAV file of a tenth of a second.
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
		sees  []string // texts in the answer that prove that the part arrived complete
		parts []openai.ChatCompletionContentPartUnionParam
	}{
		{"text in two parts", nil, []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("One river."), openai.TextContentPart("Two rivers.")}},
		{"image", []string{"image", "70 bytes"}, []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is this?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel, Detail: "low"}),
		}},
		{"two images", []string{"2"}, []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What differs?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel}),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel, Detail: "high"}),
		}},
		{"audio", []string{"audio", "1644 bytes"}, []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is said?"),
			openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: silence(), Format: "wav"}),
		}},
		{"file", []string{"file"}, []openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What does it say?"),
			openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{Filename: openai.String("empty.pdf"), FileData: openai.String(document)}),
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := theDemo.client(t)
			params := openai.ChatCompletionNewParams{Model: "sim/vision", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(c.parts)}}
			plain := complete(t, client, params)
			for _, wanted := range c.sees {
				if !strings.Contains(text(t, plain), wanted) {
					t.Errorf("the model did not see %q: %q", wanted, text(t, plain))
				}
			}
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

// TestImageInTheAnswer reads a generated image in both formats for clients.
func TestImageInTheAnswer(t *testing.T) {
	t.Parallel()
	answer := complete(t, theDemo.client(t), ask("sim/image", "Draw a weir."), option.WithJSONSet("modalities", []string{"text", "image"}))
	var images []struct {
		Type     string `json:"type"`
		URL      string `json:"url"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.JSON.ExtraFields["images"].Raw()), &images); err != nil {
		t.Fatalf("%v: %s", err, answer.RawJSON())
	}
	if len(images) == 0 || images[0].Type != "image_url" || images[0].URL != images[0].ImageURL.URL || !strings.HasPrefix(images[0].URL, "data:image/png;base64,") {
		t.Errorf("images: %+v", images)
	}
}

func TestAudioInTheAnswer(t *testing.T) {
	t.Parallel()
	params := ask("sim/audio", "Say hello.")
	params.Modalities = []string{"text", "audio"}
	params.Audio = openai.ChatCompletionAudioParam{Format: openai.ChatCompletionAudioParamFormatWAV, Voice: openai.ChatCompletionAudioParamVoiceUnion{OfString: openai.String("alloy")}}
	audio := complete(t, theDemo.client(t), params).Choices[0].Message.Audio
	waves, err := base64.StdEncoding.DecodeString(audio.Data)
	if err != nil || !bytes.HasPrefix(waves, []byte("RIFF")) || audio.ID == "" || audio.Transcript == "" {
		t.Errorf("audio: %v, %d bytes, id %q, transcript %q", err, len(waves), audio.ID, audio.Transcript)
	}
}
