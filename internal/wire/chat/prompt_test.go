package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	c "weir/internal/completion"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/wire/chat"
)

func promptOf(t *testing.T, members string) *c.Prompt {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := req.Prompt()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func textPart(s string) c.Part { return c.Part{Text: s} }

// What a conversation says in the canonical form, by what it was written as.
func TestPromptTurns(t *testing.T) {
	t.Parallel()
	reasoning := func(t c.ReasoningDetail) c.Part { return c.Part{Kind: c.ReasoningPart, Reasoning: &t} }
	media := func(k c.PartKind, m c.Media) c.Part { return c.Part{Kind: k, Media: &m} }
	call := func(x c.Call) c.Part { return c.Part{Kind: c.CallPart, Call: &x} }
	for _, tc := range []struct {
		name, messages string
		system         []c.Part
		turns          []c.Turn
	}{
		{"system in front and in the middle", `{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]},
			{"role":"user","content":"q","name":"me"},{"role":"system","content":"c"}`,
			[]c.Part{textPart("a"), {Text: "b", Cache: "5m"}},
			[]c.Turn{{Name: "me", Parts: []c.Part{textPart("q")}}, {Role: c.System, Parts: []c.Part{textPart("c")}}}},
		{"media", `{"role":"user","cache_control":{"type":"ephemeral","ttl":"1h"},"content":[
			{"type":"image_url","image_url":{"url":"data:image\/PNG;base64,QUJD","detail":"low"}},{"type":"image_url","image_url":{"url":"https://a.test/b.png"}},
			{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;name=a;base64,QUJD"}},
			{"type":"file","file":{"file_id":"file-1"}},{"type":"input_video","input_video":{"url":"https://a.test/b.mp4"}}]}`, nil,
			[]c.Turn{{Parts: []c.Part{
				media(c.ImagePart, c.Media{Type: "image/png", Base64: encoded.Of([]byte("ABC")), Detail: "low"}), media(c.ImagePart, c.Media{URL: "https://a.test/b.png"}),
				media(c.AudioPart, c.Media{Type: "audio/wav", Base64: encoded.Of([]byte("ABC"))}), media(c.FilePart, c.Media{Type: "application/pdf", Base64: encoded.Of([]byte("ABC")), Name: "a.pdf"}),
				media(c.FilePart, c.Media{FileID: "file-1"}), {Kind: c.VideoPart, Media: &c.Media{URL: "https://a.test/b.mp4"}, Cache: "1h"}}}}},
		{"tools there and back", `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[
				{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}","thought_signature":"sig"}},{"id":"2","type":"function","function":{"name":"g","arguments":""}},
				{"id":"3","type":"custom","custom":{"name":"h","input":"free"}}]},
			{"role":"tool","tool_call_id":"2","content":"two"},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]}`, nil,
			[]c.Turn{{Parts: []c.Part{textPart("q")}},
				{Role: c.Assistant, Parts: []c.Part{call(c.Call{ID: "1", Name: "f", Arguments: []byte(`{"a":1}`), Signature: "sig"}), call(c.Call{ID: "2", Name: "g", Arguments: []byte("{}")}),
					call(c.Call{ID: "3", Name: "h", Arguments: []byte("free"), Custom: true})}},
				{Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "2", Name: "g", Parts: []c.Part{textPart("two")}}}}},
				{Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "1", Name: "f", Parts: []c.Part{textPart("one"), media(c.ImagePart, c.Media{Type: "image/png", Base64: encoded.Of([]byte("A"))})}}}}}}},
		{"reasoning in entries and fragments", `{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":"ignored","reasoning_details":[
				{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"one ","signature":null},{"type":"reasoning.text","index":0,"text":"two"},
				{"type":"reasoning.text","index":0,"text":"","signature":"s"},{"type":"reasoning.encrypted","index":1,"format":"google-gemini-v1","id":"c1","data":"g"},
				{"type":"reasoning.encrypted","index":2,"id":"rs_1","format":"openai-responses-v1","data":"e"},{"type":"unheard.of","text":"x"}],
				"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, nil,
			[]c.Turn{{Parts: []c.Part{textPart("q")}}, {Role: c.Assistant, Parts: []c.Part{
				reasoning(c.ReasoningDetail{Format: c.FormatAnthropic, Text: "one two", Signature: "s"}),
				reasoning(c.ReasoningDetail{Kind: c.ReasoningEncrypted, Format: c.FormatOpenAI, ID: "rs_1", Data: "e"}),
				textPart("a"), call(c.Call{ID: "c1", Name: "f", Arguments: []byte("{}"), Signature: "g"})}}}},
		{"reasoning as text", `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"reasoning_content":"hm"}`, nil,
			[]c.Turn{{Parts: []c.Part{textPart("q")}}, {Role: c.Assistant, Parts: []c.Part{reasoning(c.ReasoningDetail{Text: "hm"}), {Kind: c.RefusalPart, Text: "no"}}}}},
		{"deprecated functions", `{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}`, nil,
			[]c.Turn{{Parts: []c.Part{textPart("q")}}, {Role: c.Assistant, Parts: []c.Part{call(c.Call{ID: "call_1", Name: "f", Arguments: []byte("{}")})}},
				{Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "call_1", Name: "f", Parts: []c.Part{textPart("r")}}}}}}},
		{"images of an answer", `{"role":"user","content":"q"},{"role":"assistant","content":"","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}},{"url":"https://a.test/i"}]}`, nil,
			[]c.Turn{{Parts: []c.Part{textPart("q")}}, {Role: c.Assistant, Parts: []c.Part{media(c.ImagePart, c.Media{Type: "image/png", Base64: encoded.Of([]byte("A"))}), media(c.ImagePart, c.Media{URL: "https://a.test/i"})}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := promptOf(t, `"messages":[`+tc.messages+`]`)
			if diff := cmp.Diff(tc.system, p.System); diff != "" {
				t.Errorf("system (-want +got):\n%s", diff)
			}
			for i := range p.Turns {
				p.Turns[i].At = c.Span{} // shown below
			}
			if diff := cmp.Diff(tc.turns, p.Turns); diff != "" {
				t.Errorf("turns (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn knows its message, so that it can travel as the client wrote it; and files from earlier answers are recognized.
func TestPromptTurnsKnowTheirMessages(t *testing.T) {
	t.Parallel()
	messages := []string{
		`{"role":"system","content":"s"}`, `{"role":"user","content":"one","x":1}`,
		`{"role":"assistant","content":"two","annotations":[{"type":"file","file":{"hash":"ab","name":"a.pdf","content":[{"type":"text","text":"of a "},{"type":"text","text":"file"}]}},{"type":"url_citation"}]}`,
		`{"role":"system","content":"later"}`, `{"role":"user","content":"three"}`,
	}
	req, err := chat.Decode([]byte(`{"messages": [` + strings.Join(messages, " ,\n") + `],"model":"v/m"}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := req.Prompt()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Turns {
		got = append(got, string(req.Body[p.Turns[i].At.Start:p.Turns[i].At.End]))
	}
	if diff := cmp.Diff(messages[1:], got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]c.ReadFile{{Hash: "ab", Text: "of a file"}}, p.Files); diff != "" {
		t.Error(diff)
	}
}

// The canonical form of the fields outside the conversation.
func TestPromptFields(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tc := range []struct {
		members string
		want    c.Prompt
	}{
		{`"temperature":0.70,"top_p":1,"top_k":5,"min_p":0.1,"top_a":0.2,"frequency_penalty":-1,"presence_penalty":1.5,"repetition_penalty":1.1,"seed":42,"verbosity":"low","logprobs":true,"top_logprobs":3,"logit_bias":{"1":-5}`,
			c.Prompt{Sampling: c.Sampling{Temperature: "0.70", TopP: "1", TopK: "5", MinP: "0.1", TopA: "0.2", FrequencyPenalty: "-1", PresencePenalty: "1.5", RepetitionPenalty: "1.1", Seed: "42",
				Verbosity: "low", Logprobs: true, TopLogprobs: 3, LogitBias: []byte(`{"1":-5}`)}}},
		{`"temperature":null,"stop":"x","parallel_tool_calls":false,"prompt_cache_key":"k","cache_control":{"type":"ephemeral","ttl":"5m"}`,
			c.Prompt{Stop: []string{"x"}, Serial: true, CacheKey: "k", Cache: "5m"}},
		{`"stop":["a","b"],"modalities":["text","audio"],"audio":{"voice":"v","format":"mp3"},"web_search_options":{"search_context_size":"high","user_location":{"a":1}}`,
			c.Prompt{Stop: []string{"a", "b"}, Audio: &c.AudioOutput{Voice: "v", Format: "mp3"}, Search: &c.Search{ContextSize: "high", Location: []byte(`{"a":1}`)}}},
		{`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true},"cache_control":{"type":"ephemeral"}},{"type":"custom","custom":{"name":"g"}},{"type":"web_search"}],"tool_choice":"required"`,
			c.Prompt{Choice: c.Choice{Mode: c.ChoiceRequired}, Tools: []c.Tool{{Name: "f", Description: "d", Parameters: []byte(`{"type":"object"}`), Strict: &yes, Cache: "5m"},
				{Name: "g", Custom: true, HostedType: "custom"}, {Hosted: []byte(`{"type":"web_search"}`), HostedType: "web_search"}}}},
		{`"functions":[{"name":"f"}],"function_call":{"name":"f"}`, c.Prompt{Tools: []c.Tool{{Name: "f"}}, Choice: c.Choice{Mode: c.ChoiceTool, Name: "f"}}},
		{`"tool_choice":{"type":"function","function":{"name":"f"}}`, c.Prompt{Choice: c.Choice{Mode: c.ChoiceTool, Name: "f"}}},
		{`"tool_choice":{"type":"custom","custom":{"name":"f"}}`, c.Prompt{Choice: c.Choice{Mode: c.ChoiceTool, Name: "f", Custom: true}}},
		{`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","name":"g"}]}}`,
			c.Prompt{Choice: c.Choice{Mode: c.ChoiceRequired, Allowed: []string{"f", "g"}}}},
		{`"tool_choice":"none","response_format":{"type":"json_object"}`, c.Prompt{Choice: c.Choice{Mode: c.ChoiceNone}, Format: c.Format{Kind: c.FormatJSON}}},
		{`"tool_choice":"auto","response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":{"type":"object"},"strict":false}}`,
			c.Prompt{Choice: c.Choice{Mode: c.ChoiceAuto}, Format: c.Format{Kind: c.FormatSchema, Name: "n", Description: "d", Schema: []byte(`{"type":"object"}`), Strict: &no}}},
	} {
		got := promptOf(t, `"messages":[{"role":"user","content":"q"}],`+tc.members)
		got.Turns = nil
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.members, diff)
		}
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add([]byte(`{"model":"v/m","messages":[{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"x"}],"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}]}`))
	f.Add([]byte(`{"model":"v/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}},{"type":"file","file":{"file_id":"x"}}]}],"tools":[{"type":"x"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Decode(body)
		if err != nil {
			return
		}
		p, err := req.Prompt()
		if bad := fault.From(err); bad != nil && bad.Op == "wire.Media" && bad.Param != "" { // only data is read that Decode has not checked
			return
		}
		if err != nil {
			t.Fatalf("decoded but not canonical: %v", err)
		}
		parts := p.System
		for _, turn := range p.Turns {
			parts = append(parts, turn.Parts...)
		}
		for _, part := range parts {
			has := map[c.PartKind]bool{c.TextPart: true, c.RefusalPart: true, c.ImagePart: part.Media != nil, c.AudioPart: part.Media != nil, c.FilePart: part.Media != nil,
				c.VideoPart: part.Media != nil, c.CallPart: part.Call != nil && (part.Call.Custom || len(part.Call.Arguments) > 0), c.ResultPart: part.Result != nil,
				c.ReasoningPart: part.Reasoning != nil}
			if !has[part.Kind] {
				t.Fatalf("a part of kind %d lacks what it is: %+v", part.Kind, part)
			}
		}
	})
}

// A provider of another wire gets data as base64 or not at all.
func TestPromptMedia(t *testing.T) {
	t.Parallel()
	const bad = `AAAA\",\"x\":\"`
	for path, message := range map[string]string{
		"content[0].image_url.url":    `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + bad + `"}}]}`,
		"content[1].input_audio.data": `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{"data":"` + strings.Repeat("A", 64) + bad + `","format":"wav"}}]}`,
		"content[0].file.file_data":   `{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,` + bad + `"}}]}`,
		"content[0].video_url.url":    `{"role":"user","content":[{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + bad + `"}}]}`,
		"content[0].input_video.url":  `{"role":"user","content":[{"type":"input_video","input_video":{"url":"data:video/mp4;base64,` + bad + `"}}]}`,
		"images[0].image_url.url":     `{"role":"assistant","content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + bad + `"}}]}`,
	} {
		req, err := chat.Decode([]byte(`{"model":"v/m","messages":[{"role":"user","content":"q"},` + message + `]}`))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_, err = req.Prompt()
		if f := fault.From(err); f == nil || f.Kind != fault.InvalidPrompt || f.Param != "messages[1]."+path {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
