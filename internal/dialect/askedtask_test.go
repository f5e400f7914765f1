package dialect_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/images"
	"weir/internal/wire/moderations"
	"weir/internal/wire/rerank"
	"weir/internal/wire/speech"
	"weir/internal/wire/transcriptions"
)

// asker is an Ask that notes the first call and refuses it.
type asker struct {
	ep   *catalog.Endpoint
	req  *completion.Request
	mu   sync.Mutex
	call *dialect.Call
}

var errAsked = errors.New("asked")

func (a *asker) Do(call dialect.Call) (*dialect.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.call == nil {
		a.call = &call
	}
	return nil, errAsked
}

func (a *asker) Failure(int, http.Header, []byte) *fault.Error        { return dialect.Empty(a.ep) }
func (a *asker) Wait(time.Duration) error                             { return errAsked }
func (a *asker) Now() time.Time                                       { return time.Unix(0, 0) }
func (a *asker) Fetch(string) (data []byte, kind string, err error)   { return nil, "", errAsked }
func (a *asker) FetchForClient(string) (d []byte, ok bool, err error) { return nil, false, errAsked }
func (a *asker) AfterClient() (dialect.Ask, context.CancelFunc)       { return a, func() {} }
func (a *asker) Endpoint() *catalog.Endpoint                          { return a.ep }
func (a *asker) Request() *completion.Request                         { return a.req }

// kinds are the tasks. fields say for each field of the task how a client asks for it, or why it needs no sample.
var kinds = []struct {
	name   string
	task   task.Task
	decode func([]byte) (*completion.Request, error)
	plain  map[string]string
	fields map[string]taskField
}{
	{"embeddings", &task.Embedding{}, embeddings.Decode, map[string]string{"model": `"x/y"`, "input": `"q"`}, map[string]taskField{
		"Inputs": {why: "content"}, "Base64": {why: "the gateway writes the vectors"},
		"Dimensions": {with: one("", `"dimensions":8`)},
		"InputType":  {with: one("", `"input_type":"search_query"`, `"input_type":"classification"`, `"input_type":"odd"`)},
		"Numbers":    {with: one("", `"embedding_types":["int8"]`, `"output_dtype":"binary"`)}, "Asked": {why: "the name of Numbers"},
		"Extra": {with: one("", `"odd":1`)},
	}},
	{"rerank", &task.Rerank{}, rerank.Decode, map[string]string{"model": `"x/y"`, "query": `"q"`, "documents": `["a","b"]`}, map[string]taskField{
		"Query": {why: "content"}, "Documents": {why: "content"}, "Return": {why: "the gateway has the documents"}, "Chunks": {why: "a count"},
		"TopN":  {with: one("", `"top_n":1`)},
		"Extra": {with: one("", `"odd":1`)},
	}},
	{"moderations", &task.Moderation{}, func(b []byte) (*completion.Request, error) { return moderations.Decode(b, "x") }, map[string]string{"model": `"x/y"`, "input": `"q"`}, map[string]taskField{
		"Inputs": {why: "content"}, "Single": {why: "content"},
		"Extra": {with: one("", `"odd":1`)},
	}},
	{"speech", &task.Speech{}, speech.Decode, map[string]string{"model": `"x/y"`, "input": `"q"`, "voice": `"Rachel"`}, map[string]taskField{
		"Input": {why: "content"}, "SSE": {why: "the gateway writes the stream"}, "VoiceID": {why: "part of the voice"},
		"Voice":        {with: one(`"voice":"a"`, `"voice":"Adam"`)},
		"Instructions": {with: one("", `"instructions":"slow"`)},
		"Format":       {with: one("", `"response_format":"wav"`)},
		"Speed":        {with: one("", `"speed":1.1`)},
		"Extra":        {with: one("", `"odd":1`)},
	}},
	{"transcription", &task.Transcription{}, form, map[string]string{"model": `"x/y"`}, map[string]taskField{
		"File": {why: "content"}, "MediaType": {why: "content"}, "Duration": {why: "content"}, "Measured": {why: "content"},
		"Response": {why: "the gateway writes the answer"}, "Format": {why: "content"}, "SpeakerNames": {why: "part of the references"},
		"Words": {why: "providers that have them always give them"}, "Segments": {why: "as words"},
		"Translate":   {why: "a route of its own, which TestTranslations asks for at each dialect"},
		"Language":    {with: one("", `"language":"ru"`)},
		"Prompt":      {with: one("", `"prompt":"p"`)},
		"Temperature": {with: one("", `"temperature":"0.5"`)},
		"Logprobs":    {with: one("", `"include[]":"logprobs"`)},
		"Chunking":    {with: one("", `"chunking_strategy":"auto"`)},
		"SpeakerRefs": {with: one("", `"response_format":"diarized_json","known_speaker_names[]":"a","known_speaker_references[]":"data:audio/wav;base64,`+base64.StdEncoding.EncodeToString(wave())+`"`)},
		"Extra":       {with: one("", `"odd":"1"`)},
	}},
	{"images", &task.Image{}, func(b []byte) (*completion.Request, error) { return images.Decode(b, false) }, map[string]string{"model": `"x/y"`, "prompt": `"q"`}, map[string]taskField{
		"Prompt": {why: "content"}, "Edit": {why: "the gateway writes the answer"}, "URL": {why: "the gateway writes the answer"}, "Options": {why: "each provider gets its own"}, "Mask": {why: "content of edits"},
		"N":           {why: "the gateway calls as often as needed"},
		"Size":        {with: one("", `"size":"1024x1536"`)},
		"Resolution":  {with: one("", `"resolution":"4K"`)},
		"AspectRatio": {with: one("", `"aspect_ratio":"16:9"`)},
		"Quality":     {with: one("", `"quality":"low"`, `"quality":"hd"`)},
		"Background":  {with: one("", `"background":"transparent"`)},
		"Output":      {with: one("", `"output_format":"webp"`, `"output_format":"jpeg"`)},
		"Compression": {with: one("", `"output_format":"jpeg","output_compression":50`)},
		"Seed":        {with: one("", `"seed":5`)},
		"References":  {with: one("", `"input_references":[{"type":"image_url","image_url":{"url":"https://a.test/b.png"}}]`)},
		"Partial":     {with: one(`"stream":true`, `"partial_images":2`)},
		"Moderation":  {with: one("", `"moderation":"low"`)},
		"Style":       {with: one("", `"style":"vivid"`)},
		"Extra":       {with: one("", `"odd":1`)},
	}},
}

type taskField struct {
	why  string
	with []sample
}

// form makes a request of {"field":"value"} with a recording.
func form(body []byte) (*completion.Request, error) {
	f := &wire.Form{File: bytes.NewReader(wave()), FileName: "a.wav", FileType: "audio/wav"}
	for m := rawjson.MembersOf(body); m.Next(); {
		f.Fields = append(f.Fields, task.Field{Name: string(m.Name), Value: rawjson.Text(m.Value)})
	}
	return transcriptions.Decode(f)
}

// wave is silence of two and a half seconds.
func wave() []byte {
	data := bytes.Repeat([]byte{0x80}, 20_000)
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+len(data)))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}

// What a task asks for is sent, refused, or named as unsent, by every dialect that does the task.
func TestNoTaskIsCutInSilence(t *testing.T) {
	t.Parallel()
	models := []string{"m", "gpt-image-1", "gpt-image-2", "dall-e-2", "dall-e-3", "imagen-4", "gemini-2.5-image", "flux-kontext", "text-search-doc/latest"}
	for name, d := range all.Dialects() {
		performer, ok := d.(dialect.Performer)
		if !ok {
			continue
		}
		for i := range kinds {
			kind := &kinds[i]
			var samples []sample
			for _, f := range kind.fields {
				samples = append(samples, f.with...)
			}
			for _, model := range models {
				for _, wire := range []string{"", "openrouter", "chat"} {
					p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name, BaseURL: "https://acme.test/v1", Key: "k", Quirks: catalog.Quirks{ImagesWire: wire}}
					ep := &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: model, Params: catalog.AllParams, Model: &catalog.Model{Slug: "x/y"}}
					for _, x := range samples {
						checkTask(t, performer, ep, kind.decode, kind.plain, kind.name, x)
					}
				}
			}
		}
	}
}

func checkTask(t *testing.T, d dialect.Performer, ep *catalog.Endpoint, decode func([]byte) (*completion.Request, error), plain map[string]string, kind string, x sample) {
	t.Helper()
	if ep.Provider.Dialect == "yandex" && x.with == `"output_format":"jpeg"` {
		return // its images are always that
	}
	where := fmt.Sprintf("%s to %s/%s%s: %s", kind, ep.Provider.Dialect, ep.UpstreamID, ep.Provider.Quirks.ImagesWire, x.with)
	before, _, err := performed(d, ep, decode, plain, x.without)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	after, req, err := performed(d, ep, decode, plain, x.without, x.with)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if before == nil || after == nil || after.Path != before.Path || !bytes.Equal(bodyOf(before), bodyOf(after)) {
		return // refused or sent
	}
	tried := map[string]bool{}
	note(tried, []sample{{with: x.with}})
	for name := range tried {
		if slices.Contains(after.Unsent, name) || slices.Contains(req.Unknown, name) {
			return
		}
	}
	t.Errorf("%s: dropped in silence; unsent are %q", where, after.Unsent)
}

// performed is the first call of a task, nil when it was refused before.
func performed(d dialect.Performer, ep *catalog.Endpoint, decode func([]byte) (*completion.Request, error), plain map[string]string, members ...string) (*dialect.Call, *completion.Request, error) {
	body := maps.Clone(plain)
	for _, m := range members {
		object := []byte("{" + m + "}")
		for x := rawjson.MembersOf(object); x.Next(); {
			body[string(x.Name)] = string(x.Value)
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(body)) {
		list = append(list, fmt.Sprintf("%q:%s", name, body[name]))
	}
	req, err := decode([]byte("{" + strings.Join(list, ",") + "}"))
	if err != nil {
		return nil, nil, err
	}
	ask := &asker{ep: ep, req: req}
	for range d.Perform(ask, ep, req) { // it ends with an error
	}
	return ask.call, req, nil
}

// bodyOf is the body of a call without the boundaries of a form, which are drawn.
func bodyOf(call *dialect.Call) []byte {
	body := call.Body
	if call.Content != nil {
		r, _ := call.Content()
		body, _ = io.ReadAll(r)
	}
	if _, boundary, ok := strings.Cut(call.Header.Get("Content-Type"), "boundary="); ok {
		body = bytes.ReplaceAll(body, []byte(strings.Trim(boundary, `"`)), nil)
	}
	return body
}

// A client cannot ask for more or dearer images under the name that another wire has for it, neither beside the fields that are read nor among
// the parameters for one provider: no money would be held for these images, and none charged. A notice says what was left out.
func TestNoImageIsMadeUnpaid(t *testing.T) {
	t.Parallel()
	names := []string{"n", "num_images", "numImages", "NUM_IMAGES", "num-images", "num_outputs", "batch_size", "batchSize", "batch_count", "n_iter", "number_of_images", "numberOfImages", "sampleCount",
		"numberResults", "num_samples", "n_images", "max_images", "candidateCount", "sequential_image_generation", "sequential_image_generation_options", "image_size", "width", "height", "megapixels",
		"quality", "rendering_speed", "service_tier", "serviceTier", "upscale_factor", "upscaleConfig", "enable_web_search", "model", "model_id", "model_name", "engine", "stream", "sync_mode", "response_format",
		"storageUri", "cachedContent", "parameters", "input", "generationConfig", "image_config", "extra_body", "api_key", "webhook_url", "n[0]"}
	const value = `"smuggled"`
	plain := map[string]string{"model": `"x/y"`, "prompt": `"q"`}
	decode := func(b []byte) (*completion.Request, error) { return images.Decode(b, false) }
	asked := 0
	for name, d := range all.Dialects() {
		performer, ok := d.(dialect.Performer)
		if !ok {
			continue
		}
		for _, model := range []string{"m", "gpt-image-1", "dall-e-3", "imagen-4", "flux-2-pro"} {
			for _, wire := range []string{"", "openrouter", "chat"} {
				if wire != "" && name != "openai" {
					continue
				}
				p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name, BaseURL: "https://acme.test/v1", Key: "k", Quirks: catalog.Quirks{ImagesWire: wire}}
				ep := &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: model, Params: catalog.AllParams, Model: &catalog.Model{Slug: "x/y"}}
				for _, field := range names {
					for said, member := range map[string]string{field: fmt.Sprintf("%q:%s", field, value), "provider.options.acme." + field: fmt.Sprintf(`"provider":{"options":{"acme":{%q:%s}}}`, field, value)} {
						call, req, err := performed(performer, ep, decode, plain, member)
						if err != nil || call == nil || said == "model" {
							continue // refused with the field, no images here, or the request's own model
						}
						asked++
						if bytes.Contains(bodyOf(call), []byte("smuggled")) {
							t.Errorf("%s/%s%s: %s is sent: %s", name, model, wire, said, bodyOf(call))
						}
						if !slices.Contains(call.Unsent, said) && !slices.Contains(req.Unknown, said) {
							t.Errorf("%s/%s%s: %s is dropped in silence; unsent are %q", name, model, wire, said, call.Unsent)
						}
					}
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("only %d requests", asked)
	}
}

// Each field of each task has an entry.
func TestEveryTaskFieldIsDecided(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		typ := reflect.TypeOf(kind.task).Elem()
		for i := range typ.NumField() {
			if f := kind.fields[typ.Field(i).Name]; f.why == "" && f.with == nil {
				t.Errorf("%s: the field %s has no entry: how does a client ask for it, and does each dialect send, refuse or name it?", kind.name, typ.Field(i).Name)
			}
		}
		for name := range kind.fields {
			if _, ok := typ.FieldByName(name); !ok {
				t.Errorf("%s has no field %s", kind.name, name)
			}
		}
	}
}

// A deployment of the operator's own name gets the parameters of its model: by its declaration, or else by the name that clients use.
func TestDeploymentsHaveTheirModelsParameters(t *testing.T) {
	t.Parallel()
	for _, ep := range []*catalog.Endpoint{
		{UpstreamID: "gpt-image-1", Model: &catalog.Model{Slug: "x/y"}},
		{UpstreamID: "our-painter", UpstreamModel: "gpt-image-1", Model: &catalog.Model{Slug: "x/y"}},
		{UpstreamID: "our-painter", Model: &catalog.Model{Slug: "openai/gpt-image-1"}},
	} {
		ep.Provider = &catalog.Provider{ID: "azure", Dialect: "openai", BaseURL: "https://acme.test/v1"}
		call, _, err := performed(all.Dialects()["openai"].(dialect.Performer), ep, func(b []byte) (*completion.Request, error) { return images.Decode(b, false) },
			map[string]string{"model": `"x/y"`, "prompt": `"q"`}, `"stream":true,"partial_images":2`)
		if err != nil || !bytes.Contains(call.Body, []byte(`"partial_images":2`)) || !bytes.Contains(call.Body, []byte(`"model":"`+ep.UpstreamID+`"`)) {
			t.Errorf("%s: %v %s", ep.UpstreamID, err, call.Body)
		}
	}
}
