package all_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/rawjson"
	"weir/internal/video"
	"weir/internal/wire/videos"
)

// What a client writes into a string stays in that string: whatever the bytes are, what a provider gets is valid JSON without a name twice, and has
// the members that it has when the string is harmless.
//
// A letter is a request of a client to one endpoint. One of its strings, or of its names, is replaced by a text, and in a second request by the
// harmless twin of that text, in which what means something in JSON is something like it. Both are encoded, and the paths of what would be sent
// are compared. A text that is refused is not sent; a twin that is refused says nothing.

// letter is a request to an endpoint.
type letter struct {
	name    string
	decode  func(body []byte) (*completion.Request, error) // nil: a video
	body    []byte
	ep      *catalog.Endpoint
	dialect dialect.Dialect
	revised bool   // a plugin has changed the prompt: the dialect writes it from the canonical form, whatever its wire is
	spots   []span // its strings, names included, and other scalars
}

type span struct{ from, to int }

// rich are requests with everything that a style has, for every dialect that takes requests of its kind.
var rich = map[string][]string{
	"chat": {
		`{"model":"x/y","messages":[{"role":"system","content":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]},{"role":"user","name":"ann","content":[{"type":"text","text":"look"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAAN","detail":"low"}},{"type":"image_url","image_url":{"url":"https://a.test/i.png"}}]},
			{"role":"assistant","content":"well","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"c2ln","format":"anthropic-claude-v1"},{"type":"reasoning.encrypted","data":"ZGF0YQ==","format":"openai-responses-v1","id":"rs_1"}],
			"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}","thought_signature":"c2ln"}}]},
			{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"{\"t\":1}"}]},{"role":"user","content":"and now?"}],
			"tools":[{"type":"function","function":{"name":"get_weather","description":"weather","parameters":{"type":"object","properties":{"city":{"type":"string","description":"a city","enum":["Oslo","Rome"]}},"required":["city"]},"strict":true}}],
			"tool_choice":{"type":"function","function":{"name":"get_weather"}},"response_format":{"type":"json_schema","json_schema":{"name":"answer","description":"an answer","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true}},
			"stop":["END"],"user":"ann","metadata":{"team":"blue"},"logit_bias":{"50256":-100},"seed":7,"temperature":0.5,"reasoning":{"effort":"low"},"prompt_cache_key":"k","verbosity":"low","max_tokens":100,"some_extra":"b"}`,
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0x"}},{"type":"text","text":"read"}]}],
			"web_search_options":{"search_context_size":"low","user_location":{"type":"approximate","approximate":{"city":"Oslo","country":"NO"}}},"modalities":["text"],"some_extra":{"a":["b"]}}`,
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"text","text":"hear"}]}]}`,
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAAIGZ0"}},{"type":"text","text":"see"}]}]}`,
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}},{"type":"text","text":"read"}]},{"role":"assistant","content":"x","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAAN"}}]},
			{"role":"user","content":"go on"}],"tools":[{"type":"custom","custom":{"name":"sh","description":"shell"}}],"tool_choice":"required"}`,
		`{"model":"x/y","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}},{"role":"function","name":"f","content":"r"}],"functions":[{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}],"function_call":{"name":"f"},
			"audio":{"voice":"alloy","format":"mp3"},"modalities":["text","audio"]}`,
	},
	"messages": {
		`{"model":"x/y","max_tokens":100,"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":[{"type":"text","text":"look"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAAN"}},{"type":"image","source":{"type":"url","url":"https://a.test/i.png"}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"well"},{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Oslo"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":false,"content":[{"type":"text","text":"{\"t\":1}"}]},{"type":"text","text":"and now?"}]}],
			"tools":[{"name":"get_weather","description":"weather","input_schema":{"type":"object","properties":{"city":{"type":"string","description":"a city"}},"required":["city"]}}],
			"tool_choice":{"type":"tool","name":"get_weather"},"stop_sequences":["END"],"metadata":{"user_id":"ann"},"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":2000}}`,
		`{"model":"x/y","max_tokens":100,"messages":[{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"}},{"type":"text","text":"read"}]}],
			"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["a.test"],"user_location":{"type":"approximate","city":"Oslo"}}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}`,
		`{"model":"x/y","max_tokens":100,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAAN"}}]}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
	},
	"responses": {
		`{"model":"x/y","instructions":"be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAAN","detail":"low"}]},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ZGF0YQ=="},{"type":"function_call","call_id":"call_1","name":"get_weather","arguments":"{\"city\":\"Oslo\"}"},
			{"type":"function_call_output","call_id":"call_1","output":"{\"t\":1}"},{"role":"user","content":"and now?"}],
			"tools":[{"type":"function","name":"get_weather","description":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":false}],"tool_choice":{"type":"function","name":"get_weather"},
			"text":{"verbosity":"low","format":{"type":"json_schema","name":"answer","description":"d","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true}},
			"metadata":{"team":"blue"},"user":"ann","prompt_cache_key":"k","store":false,"reasoning":{"effort":"low","summary":"auto"},"temperature":0.5,"max_output_tokens":100}`,
		`{"model":"x/y","input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0x"},{"type":"input_text","text":"read"}]}],"store":false,
			"tools":[{"type":"web_search","search_context_size":"low","user_location":{"type":"approximate","city":"Oslo"},"filters":{"allowed_domains":["a.test"]}}]}`,
		`{"model":"x/y","input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"JVBERi0x"}]},{"role":"user","content":[{"type":"input_file","file_url":"https://a.test/a.pdf"}]}],"store":false}`,
		`{"model":"x/y","input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"input_text","text":"hear"}]}],"store":false}`,
		`{"model":"x/y","input":[{"role":"user","content":[{"type":"input_video","video_url":"data:video/mp4;base64,AAAAIGZ0"}]}],"store":false}`,
		`{"model":"x/y","input":[{"role":"user","content":"q"},{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAAN"}]}],"tools":[{"type":"custom","name":"sh","description":"shell"}],"store":false}`,
	},
	"gemini": {
		`{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAAN","displayName":"i"}},{"fileData":{"mimeType":"image/png","fileUri":"https://a.test/i.png"}}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"get_weather","args":{"city":"Oslo"}},"thoughtSignature":"c2ln"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"get_weather","response":{"output":"{\"t\":1}"}}},{"text":"and now?"}]}],
			"tools":[{"functionDeclarations":[{"name":"get_weather","description":"weather","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING","description":"a city"}},"required":["city"]}}]}],
			"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["get_weather"]}},"safetySettings":[{"category":"HARM_CATEGORY_HATE_SPEECH","threshold":"BLOCK_NONE"}],
			"generationConfig":{"temperature":0.5,"stopSequences":["END"],"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}},"thinkingConfig":{"thinkingBudget":1024},"maxOutputTokens":100},"labels":{"team":"blue"}}`,
		`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0x"}},{"text":"read"}]}],"tools":[{"googleSearch":{"excludeDomains":["a.test"]}}]}`,
		`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"audio/wav","data":"UklGRg=="}},{"text":"hear"}]}]}`,
		`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"video/mp4","data":"AAAAIGZ0"}},{"text":"see"}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAAN"}}]}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"say"}]}],"generationConfig":{"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}}`,
	},
	"embeddings": {
		`{"model":"x/y","input":["one","two"],"dimensions":8,"user":"ann","input_type":"query","encoding_format":"float","some_extra":{"a":"b"}}`,
		`{"model":"x/y","input":[{"content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAAN"}}]}]}`,
	},
	"rerank":      {`{"model":"x/y","query":"which","documents":["one","two"],"top_n":1,"some_extra":{"a":"b"}}`},
	"moderations": {`{"model":"x/y","input":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAAN"}}],"some_extra":{"a":"b"}}`},
	"speech":      {`{"model":"x/y","input":"hello","voice":"alloy","response_format":"mp3","instructions":"calm","speed":1.1,"some_extra":{"a":"b"}}`},
	"images": {
		`{"model":"x/y","prompt":"a dot","size":"1024x1024","quality":"high","user":"ann","output_format":"png","background":"opaque","some_extra":{"a":"b"}}`,
		`{"model":"x/y","prompt":"a dot","input_references":["data:image/png;base64,` + dot + `","https://a.test/i.png"],"aspect_ratio":"1:1","negative_prompt":"a line","style":"vivid","seed":7,"provider":{"options":{"acme":{"own":"value"}}}}`,
	},
	"edits":         {`{"model":"x/y","prompt":"a dot","images":[{"image_url":"data:image/png;base64,` + dot + `"}],"mask":{"image_url":"data:image/png;base64,` + dot + `"},"user":"ann","some_extra":"b"}`},
	"transcription": {`{"model":"x/y","language":"en","prompt":"names","user":"ann","some_extra":"b"}`},
	"video": {
		`{"model":"x/y","prompt":"a river","negative_prompt":"a lake","duration":8,"resolution":"720p","aspect_ratio":"16:9","seed":7,"user":"ann","callback_url":"https://a.test/done"}`,
		`{"model":"x/y","prompt":"a river","duration":8,"frame_images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `"},"frame_type":"first_frame"},{"type":"image_url","image_url":{"url":"https://a.test/i.png"},"frame_type":"last_frame"}],"provider":{"options":{"acme":{"own":"value"}}}}`,
		`{"model":"x/y","prompt":"a river","duration":8,"input_references":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `"}}]}`,
	},
}

// renames are those of a server that has its own words.
const renames = "rename: {seed: random_seed, top_p: nucleus, user: end_user, dimensions: output_dimension, encoding_format: output_dtype, size: image_size, output_format: format}"

// letters are those of all fixtures, each to its own endpoint, and the rich ones to a plain endpoint of every dialect; with quirks, to the endpoints of
// its fixtures, too.
func letters(t testing.TB, quirks bool) (list []letter) {
	t.Helper()
	add := func(l letter) {
		l.spots = scalars(l.body)
		list = append(list, l)
	}
	dialects := all.Dialects()
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		d, declared := dialects[name], []string{""}
		if quirks && name == "openai" {
			declared = append(declared, renames)
		}
		for _, file := range fixtures(t, name) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if more := section(a, "endpoint.yaml"); quirks && !slices.Contains(declared, more) {
				declared = append(declared, more)
			}
			for _, f := range a.Files {
				kind := strings.TrimSuffix(f.Name, ".json")
				if decoders[kind] == nil && kind != "video" {
					continue
				}
				add(letter{name: name + "/" + filepath.Base(file), decode: decoders[kind], body: bytes.TrimSpace(f.Data), dialect: d,
					ep: endpoint(t, name, "https://acme.test", section(a, "endpoint.yaml"))})
			}
		}
		_, texts := d.(dialect.Texter)
		_, performs := d.(dialect.Performer)
		_, films := d.(dialect.VideoMaker)
		for _, kind := range slices.Sorted(maps.Keys(rich)) {
			if kind == "video" && !films || isText(kind) && !texts || kind != "video" && !isText(kind) && !performs {
				continue
			}
			for i, body := range rich[kind] {
				for _, more := range declared {
					l := letter{name: fmt.Sprintf("%s/%s %d", name, kind, i), decode: decoders[kind], body: []byte(body), dialect: d, ep: endpoint(t, name, "https://acme.test", more)}
					add(l)
					if l.revised = texts && isText(kind); l.revised {
						l.name += " revised"
						add(l)
					}
				}
			}
		}
	}
	return list
}

// isText reports whether rich requests of that kind are conversations.
func isText(kind string) bool {
	return kind == "chat" || kind == "messages" || kind == "responses" || kind == "gemini"
}

// scalars are the strings of a body, quotes included, and its numbers, true, false and null: a client may write a string there, too.
func scalars(body []byte) (spots []span) {
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			end := rawjson.StringEnd(body, i)
			spots = append(spots, span{i, end})
			i = end - 1
		case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			end := i
			for end < len(body) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(body[end])) {
				end++
			}
			spots = append(spots, span{i, end})
			i = end - 1
		}
	}
	return spots
}

// with is the body with texts in place of some of its strings.
func (l *letter) with(texts map[int]string) []byte {
	out := make([]byte, 0, len(l.body)+64)
	from := 0
	for i, s := range l.spots {
		if text, ok := texts[i]; ok {
			out = rawjson.AppendText(append(out, l.body[from:s.from]...), text)
			from = s.to
		}
	}
	return append(out, l.body[from:]...)
}

// harmless is the twin of a text: what ends a string or begins another value is something that does not.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '"':
			return '\''
		case '\\':
			return '`'
		case '{', '[':
			return '('
		case '}', ']':
			return ')'
		}
		return r
	}, text)
}

// carrier is an Ask that keeps what it is asked to send. It knows the files at all addresses.
type carrier struct {
	probe
	mu   sync.Mutex // some dialects ask several things at once
	sent []dialect.Call
}

func (c *carrier) Do(call dialect.Call) (*dialect.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, call)
	return nil, errProbe
}
func (c *carrier) FetchForClient(string) ([]byte, bool, error) {
	png, err := base64.StdEncoding.DecodeString(dot)
	return png, true, err
}
func (c *carrier) AfterClient() (dialect.Ask, context.CancelFunc) { return c, func() {} }

var errRefused = errors.New("refused")

// send encodes a request. The error is errRefused when the client or the endpoint's dialect would not take it.
func (l *letter) send(body []byte) ([]dialect.Call, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil { // as the handlers do; a name may be there twice now
		return nil, errRefused
	}
	if l.decode == nil {
		r, err := videos.Decode(body)
		if err != nil {
			return nil, errRefused
		}
		c := &carrier{probe: probe{ep: l.ep, req: &completion.Request{}}}
		s := &video.Submission{Job: "vj_000000000000000000000001", Token: "vj_000000000000000000000001-0-0", Request: r, At: at}
		_, _ = l.dialect.(dialect.VideoMaker).SubmitVideo(c, l.ep, s)
		return c.outcome()
	}
	req, err := l.decode(body)
	if err != nil {
		return nil, errRefused
	}
	if req.Task == nil {
		texter, ok := l.dialect.(dialect.Texter)
		if !ok {
			return nil, errRefused
		}
		if l.revised {
			req = req.Revise(completion.RevisedTurns|completion.RevisedTools|completion.RevisedFormat, func(*completion.Prompt) {})
		}
		call, err := texter.Request(l.ep, req)
		if err != nil {
			return nil, errRefused
		}
		calls := []dialect.Call{call}
		if counter, ok := l.dialect.(dialect.TokenCounter); ok {
			if call, ok := counter.CountRequest(l.ep, req); ok {
				calls = append(calls, call)
			}
		}
		return calls, nil
	}
	c := &carrier{probe: probe{ep: l.ep, req: req}}
	for range l.dialect.(dialect.Performer).Perform(c, l.ep, req) { // it fails, since nothing is answered
	}
	return c.outcome()
}

func (c *carrier) outcome() ([]dialect.Call, error) {
	if len(c.sent) == 0 {
		return nil, errRefused
	}
	return c.sent, nil
}

// paths are the places of everything that is sent: where it goes, which header fields it has, which parts or members and of what kind.
func paths(call *dialect.Call) (list []string, err error) {
	address := call.Path + call.URL
	if i := strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return nil, fmt.Errorf("the address %q has a character that no address has", address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	list = append(list, call.Verb()+strings.Repeat("/*", strings.Count(u.EscapedPath(), "/")), "#"+strings.Repeat("*", min(len(u.Fragment), 1)))
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	for name, values := range query {
		list = append(list, fmt.Sprintf("?%s %d", harmless(name), len(values)))
	}
	for name, values := range call.Header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return nil, fmt.Errorf("the header field %s has the value %q", name, v)
			}
		}
		list = append(list, fmt.Sprintf("%s: %d", name, len(values)))
	}
	body := bytes.Join(call.Pieces(), nil)
	if call.Content != nil {
		r, _ := call.Content()
		if body, err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	kind, params, _ := mime.ParseMediaType(call.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/form-data":
		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			list = append(list, "part "+harmless(p.FormName())+" "+strings.Join(slices.Sorted(maps.Keys(p.Header)), " "))
		}
	case len(body) > 0 && !strings.HasPrefix(kind, "audio/") && kind != "application/octet-stream":
		if err := rawjson.Check(body, rawjson.Defaults); err != nil {
			return nil, fmt.Errorf("%w in %s", err, body)
		}
		list = appendPaths(list, "", body)
	}
	slices.Sort(list)
	return list, nil
}

// values are what a wire has as JSON and the client wrote as text: the arguments of a call, the result of a tool.
var values = map[string]bool{"input": true, "args": true, "arguments": true, "response": true, "json": true}

func appendPaths(list []string, path string, v []byte) []string {
	kind := rawjson.KindOf(v)
	list = append(list, fmt.Sprintf("%s %v", path, kind))
	for m := rawjson.MembersOf(v); m.Next(); {
		name := harmless(string(m.Name))
		if values[name] && rawjson.KindOf(m.Value) == rawjson.Object {
			list = append(list, path+"."+name)
			continue
		}
		list = appendPaths(list, path+"."+name, m.Value)
	}
	at := 0
	for e := rawjson.ElementsOf(v); e.Next(); at++ {
		list = appendPaths(list, fmt.Sprintf("%s[%d]", path, at), e.Value)
	}
	return list
}

// try sends a letter with texts in the place of some of its strings, and looks at what a provider would get.
func (l *letter) try(t *testing.T, texts map[int]string) {
	t.Helper()
	body := l.with(texts)
	sent, err := l.send(body)
	if err != nil {
		return
	}
	twins := map[int]string{}
	for i, text := range texts {
		twins[i] = harmless(text)
	}
	twin, err := l.send(l.with(twins))
	refused := err != nil
	var want [][]string
	for i := range twin {
		list, err := paths(&twin[i])
		if err != nil {
			t.Fatalf("%s: %v\n%s", l.name, err, l.with(twins))
		}
		want = append(want, list)
	}
	for i := range sent {
		got, err := paths(&sent[i])
		switch {
		case err != nil:
			t.Fatalf("%s: %v\n%s", l.name, err, body)
		case refused || len(sent) > len(twin): // of what is asked at once, how much is begun before the first failure depends on the scheduler
		case !slices.ContainsFunc(want, func(list []string) bool { return slices.Equal(got, list) }):
			t.Fatalf("%s: the members depend on the bytes of a string\n%s\nonly with it: %q\nonly without: %q\nsent: %s", l.name, body,
				without(got, want[0]), without(want[0], got), bytes.Join(sent[i].Pieces(), nil))
		}
	}
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// hostile are texts for any string. {} is what stands there.
var hostile = []string{
	`{}","injected":{"a":1},"x":"`, `{}"}},{"injected":1},{"x":{"y":"`, "{}\\", "{}\n\"a\x00", `{"a":1,"a":[2],"\ud83d":0}`, `data:{}"x,1;base64,AAAA","x":"`, `{}?a=b&c=d/../e#f g`, `1,"injected":2`,
}

// Hostile texts at every place of every request.
func TestStringsStayStrings(t *testing.T) {
	t.Parallel()
	for _, l := range letters(t, false) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for i, s := range l.spots {
				for _, text := range hostile {
					was := rawjson.Text(l.body[s.from:s.to])
					l.try(t, map[int]string{i: strings.ReplaceAll(text, "{}", was)})
				}
			}
		})
	}
}

// A member that the gateway does not know, under a name that the encoder writes itself: it is there once, as the encoder wrote it.
func TestExtraMembersDoNotCollide(t *testing.T) {
	t.Parallel()
	for _, l := range letters(t, true) {
		if !bytes.Contains(l.body, []byte(`"some_extra"`)) && !bytes.Contains(l.body, []byte(`"own"`)) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for i, s := range l.spots {
				if name := rawjson.Text(l.body[s.from:s.to]); name != "some_extra" && name != "own" {
					continue
				}
				sent, err := l.send(l.body)
				if err != nil {
					return
				}
				for _, name := range membersOf(t, &sent[0]) {
					calls, _ := l.send(l.with(map[int]string{i: name}))
					for j := range calls {
						names := membersOf(t, &calls[j])
						if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
							t.Errorf("%s: with %q the members are %q", l.name, name, names)
						}
						if _, err := paths(&calls[j]); err != nil {
							t.Errorf("%s: with %q: %v", l.name, name, err)
						}
					}
				}
			}
		})
	}
}

// membersOf are the names of the members or fields of a body.
func membersOf(t *testing.T, call *dialect.Call) (names []string) {
	t.Helper()
	list, err := paths(call)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if name, ok := strings.CutPrefix(p, "part "); ok {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	for m := rawjson.MembersOf(bytes.Join(call.Pieces(), nil)); m.Next(); {
		names = append(names, string(m.Name))
	}
	return names
}

func FuzzRequests(f *testing.F) {
	list := letters(f, true)
	for i := range list {
		if i%4 == 0 { // each costs the beginning of every run
			f.Add(uint16(i), uint16(3*i), hostile[i%len(hostile)], uint16(5*i), "")
		}
	}
	f.Add(uint16(0), uint16(0), "iVBORw0KGgoAAAAN", uint16(1), "data:image/png;base64,")
	f.Fuzz(func(t *testing.T, which, at uint16, text string, other uint16, more string) {
		l := &list[int(which)%len(list)]
		if len(l.spots) == 0 {
			return
		}
		i, j := int(at)%len(l.spots), int(other)%len(l.spots)
		texts := map[int]string{i: strings.ToValidUTF8(text, "\uFFFD")}
		if more != "" && j != i {
			texts[j] = strings.ToValidUTF8(more, "\uFFFD")
		}
		l.try(t, texts)
	})
}
