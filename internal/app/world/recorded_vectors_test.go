package world_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
)

// vectors is an answer with embeddings, of any wire: each vector by its place, and the tokens where they are reported.
type vectors struct {
	all    [][]float32
	tokens int64
}

func vectorOf(v any) (out []float32) {
	if data, ok := v.(string); ok {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			panic(err)
		}
		for ; len(raw) >= 4; raw = raw[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
		return out
	}
	for _, x := range list(v) {
		out = append(out, float32(x.(float64)))
	}
	return out
}

// readVectors reads what OpenAI, Voyage, Cohere and Google send.
func readVectors(body []byte) (out vectors, err error) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		return out, err
	}
	data := list(o["data"])
	out.all = make([][]float32, len(data))
	for _, x := range data {
		out.all[num(obj(x)["index"])] = vectorOf(obj(x)["embedding"])
	}
	for _, x := range list(obj(o["embeddings"])["float"]) {
		out.all = append(out.all, vectorOf(x))
	}
	for _, x := range list(o["embeddings"]) {
		out.all = append(out.all, vectorOf(obj(x)["values"]))
	}
	usage := obj(o["usage"])
	out.tokens = max(num(usage["prompt_tokens"]), num(usage["total_tokens"]), num(obj(obj(o["meta"])["billed_units"])["input_tokens"]), num(obj(o["usageMetadata"])["promptTokenCount"]))
	return out, nil
}

// texts are the inputs of a recorded request; where it was not recorded, as many as there are vectors.
func (r *recording) texts(vectors int) (out []any) {
	var o object
	if r.Request != nil {
		if err := json.Unmarshal(r.Request, &o); err != nil {
			panic(err)
		}
	}
	out = append(append(out, list(o["texts"])...), list(o["input"])...)
	for _, x := range list(o["requests"]) {
		out = append(out, textIn(obj(x)["content"]))
	}
	for len(out) < vectors {
		out = append(out, "text")
	}
	return out
}

// TestRecordedVectors asks for each recorded embedding in both styles that embed, as numbers and as base64: vectors and tokens are the recorded ones.
func TestRecordedVectors(t *testing.T) {
	t.Parallel()
	var all []*recording
	for _, is := range recordings() {
		if strings.Contains(is.Wire, "embed") {
			all = append(all, is)
		}
	}
	if len(all) == 0 {
		t.Fatal("no embeddings are recorded")
	}
	r := startReplay(t, all)
	for _, is := range all {
		want, err := readVectors(is.bytesOf())
		if err != nil {
			t.Fatal(err)
		}
		texts := is.texts(len(want.all))
		var requests []any
		for _, text := range texts {
			requests = append(requests, object{"content": object{"parts": []any{object{"text": text}}}})
		}
		asked := map[string]object{
			"/v1/embeddings":  {"model": is.slug(), "input": texts},
			"/v1/embeddings?": {"model": is.slug(), "input": texts, "encoding_format": "base64"},
			"/v1beta/models/" + is.slug() + ":batchEmbedContents": {"requests": requests},
		}
		for path, o := range asked {
			body, _ := json.Marshal(o) //nolint:errchkjson // plain
			got := r.key.Send(t, http.MethodPost, path, body, nil)
			if is.Status != http.StatusOK || got.Status != http.StatusOK {
				if is.Status == http.StatusOK || got.Status < 400 {
					t.Errorf("%s %s: status %d after %d: %.300s", is.ID, path, got.Status, is.Status, got.Body)
				}
				continue
			}
			heard, err := readVectors(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprint(heard.all), fmt.Sprint(want.all); a != b {
				t.Errorf("%s %s (%s): %.200s, want %.200s", is.ID, path, is.File, a, b)
			}
			if want.tokens > 0 && heard.tokens > 0 && heard.tokens != want.tokens {
				t.Errorf("%s %s (%s): %d tokens, want %d", is.ID, path, is.File, heard.tokens, want.tokens)
			}
			if sent := r.sent(is.ID).Body; is.Request != nil && len((&recording{Request: sent}).texts(0)) != len(texts) {
				t.Errorf("%s %s: the provider got %.300s", is.ID, path, sent)
			}
		}
	}
}
