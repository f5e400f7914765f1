package deepgram

import (
	"bytes"
	"io"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
)

var endpoint = &catalog.Endpoint{Provider: &catalog.Provider{Name: "Deepgram", Key: "k", Headers: map[string]string{"X-Own": "1"}}, UpstreamID: "nova-3"}

func TestCall(t *testing.T) {
	t.Parallel()
	base := url.Values{"model": {"nova-3"}, "smart_format": {"true"}, "punctuate": {"true"}, "utterances": {"true"}}
	with := func(more ...string) url.Values {
		q := url.Values{}
		for k, v := range base {
			q[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			q.Add(more[i], more[i+1])
		}
		return q
	}
	for name, tt := range map[string]struct {
		task task.Transcription
		want url.Values
	}{
		"no language":    {task.Transcription{Response: "json"}, with("detect_language", "true")},
		"a language":     {task.Transcription{Response: "srt", Language: "ru"}, with("language", "ru")},
		"speakers":       {task.Transcription{Response: "diarized_json", Language: "en"}, with("language", "en", "diarize", "true")},
		"its own fields": {task.Transcription{Language: "en", Extra: []task.Field{{Name: "numerals", Value: "true"}, {Name: "callback", Value: "https://example.com"}, {Name: "model", Value: "other"}}}, with("language", "en", "numerals", "true")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.task.File, tt.task.MediaType = bytes.NewReader([]byte("RIFF")), "audio/wav"
			c := call(endpoint, &tt.task)
			u, err := url.Parse(c.Path)
			if err != nil || u.Path != "/v1/listen" {
				t.Fatalf("%v: %s", err, c.Path)
			}
			if diff := cmp.Diff(tt.want, u.Query()); diff != "" {
				t.Error(diff)
			}
			for range 2 { // afresh for each try
				body, size := c.Content()
				if b, err := io.ReadAll(body); err != nil || string(b) != "RIFF" || size != 4 || c.Header.Get("Content-Type") != "audio/wav" {
					t.Errorf("%q of %d bytes, %v, %v", b, size, err, c.Header)
				}
			}
		})
	}
	if h := (&Dialect{}).Header(endpoint.Provider); h.Get("Authorization") != "Token k" || h.Get("X-Own") != "1" {
		t.Errorf("%v", h)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const words = `[{"word":"is","start":0.08,"end":0.3,"confidence":0.9,"speaker":1,"punctuated_word":"Is"},{"word":"it","start":0.3,"end":0.5,"speaker":1,"punctuated_word":"it?"},{"word":"yes","start":2,"end":2.4,"speaker":0}]`
	const body = `{"metadata":{"request_id":"r-1","duration":3.25},"results":{"channels":[{"detected_language":"en","alternatives":[{"transcript":"Is it? Yes.","words":` + words + `}]}]`
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	want := &task.Transcript{
		Final: true, Text: "Is it? Yes.", Language: "en", Duration: ms(3250),
		Words: []task.Word{{Text: "Is", Start: ms(80), End: ms(300), Speaker: "A"}, {Text: "it?", Start: ms(300), End: ms(500), Speaker: "A"}, {Text: "yes", Start: ms(2000), End: ms(2400), Speaker: "B"}},
	}
	for name, tt := range map[string]struct {
		body     string
		segments []task.Segment
	}{
		"utterances": {body + `,"utterances":[{"start":0.08,"end":0.5,"transcript":"Is it?","speaker":1},{"start":2,"end":2.4,"transcript":"Yes.","speaker":0}]}}`,
			[]task.Segment{{Start: ms(80), End: ms(500), Text: "Is it?", Speaker: "A"}, {Start: ms(2000), End: ms(2400), Text: "Yes.", Speaker: "B"}}},
		"words alone": {body + `}}`, []task.Segment{{Start: ms(80), End: ms(500), Text: "Is it?", Speaker: "A"}, {Start: ms(2000), End: ms(2400), Text: "yes", Speaker: "B"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, err := read(endpoint, &task.Transcription{}, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			full := *want
			full.Segments = tt.segments
			if diff := cmp.Diff(&full, ev.Result.Transcript); diff != "" {
				t.Error(diff)
			}
			if ev.Head.ID != "r-1" || ev.Usage.Millis.N != 3250 || !ev.Done {
				t.Errorf("%+v, usage %+v", ev.Head, ev.Usage)
			}
		})
	}
	for _, broken := range []string{`{}`, `{"results":{"channels":[]}}`, `{"results":{"channels":[{"alternatives":[]}]}}`, `{"results":{"channels":[{"alternatives":[{"transcript":null}]}]}}`} {
		if _, err := read(endpoint, &task.Transcription{}, []byte(broken)); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		kind   fault.Kind
		public string
	}{
		{400, `{"err_code":"Bad Request","err_msg":"Bad Request: failed to process audio: corrupt or unsupported data","request_id":"r"}`, fault.Invalid, "Bad Request: failed to process audio: corrupt or unsupported data"},
		{400, `{"category":"INVALID_AUDIO","message":"No sound.","details":"x"}`, fault.Invalid, "No sound."},
		{401, `{"err_code":"INVALID_AUTH","err_msg":"Invalid credentials."}`, fault.ProviderUnavailable, "The provider did not accept the gateway's request."},
		{408, `{"err_code":"SLOW_UPLOAD","err_msg":"Request upload timeout.","request_id":"r"}`, fault.Timeout, "The provider did not answer in time."}, // deepgram/deepgram-js-sdk#320
		{429, `no JSON`, fault.RateLimited, "The provider's rate limit is reached."},
	} {
		f := (&Dialect{}).Failure(endpoint, tt.status, nil, []byte(tt.body))
		if f.Kind != tt.kind || f.Public != tt.public {
			t.Errorf("%d %s: %v", tt.status, tt.body, f)
		}
	}
}

// Nova-3 and Flux refuse keywords with 400 (EpicenterHQ/epicenter#895, deepgram/deepgram-js-sdk#474): the notice names them.
func TestKeywordsByModel(t *testing.T) {
	t.Parallel()
	for model, sent := range map[string]bool{"nova-2": true, "nova-2-medical": true, "enhanced": true, "nova-3": false, "nova-3-general": false, "nova-3-medical": false, "flux-general-en": false} {
		ep := &catalog.Endpoint{Provider: endpoint.Provider, UpstreamID: model}
		c := call(ep, &task.Transcription{File: bytes.NewReader(nil), Extra: []task.Field{{Name: "keywords", Value: "weir:2"}, {Name: "numerals", Value: "true"}}})
		u, err := url.Parse(c.Path)
		if err != nil || u.Query().Has("keywords") != sent || slices.Contains(c.Unsent, "keywords") == sent || !u.Query().Has("numerals") {
			t.Errorf("%s: %s, without %v, %v", model, c.Path, c.Unsent, err)
		}
	}
}

func TestReadAsReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, text, language string }{
		// deepgram/deepgram-python-captions#15
		"silence": {`{"metadata":{"request_id":"r","duration":5.02,"channels":1},"results":{"channels":[{"alternatives":[{"transcript":"","confidence":0.0,"words":[],"paragraphs":{"transcript":"\n","paragraphs":[]}}],"detected_language":"en","language_confidence":0.155}]}}`, "", "en"},
		// jambonz/jambonz-feature-server#1115
		"several languages": {`{"metadata":{"duration":2},"results":{"channels":[{"alternatives":[{"transcript":"hola, good day","words":[],"languages":["es","en"]}]}]}}`, "hola, good day", "es"},
		// BerriAI/litellm#16088
		"a language that was found": {`{"metadata":{"duration":2},"results":{"channels":[{"alternatives":[{"transcript":"bonjour","languages":[]}],"detected_language":"fr"}]}}`, "bonjour", "fr"},
	} {
		ev, err := read(endpoint, &task.Transcription{}, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said := ev.Result.Transcript; said.Text != tt.text || said.Language != tt.language || !ev.Usage.Millis.Reported {
			t.Errorf("%s: %+v, usage %+v", name, said, ev.Usage)
		}
	}
}

// Whatever a provider sends, it is a transcript or a fault.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"metadata":{"duration":1},"results":{"channels":[{"alternatives":[{"transcript":"a","words":[{"word":"a","start":0,"end":1e300,"speaker":-1}]}]}],"utterances":[{}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ev, err := read(endpoint, &task.Transcription{}, body)
		if (err == nil) != (ev != nil && ev.Done && ev.Result.Transcript.Final) {
			t.Fatalf("%+v, %v", ev, err)
		}
		_ = (&Dialect{}).Failure(endpoint, 400, nil, body)
	})
}
