package discover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/catalog/discover"
	"weir/internal/catalog/edit"
)

const text, image = catalog.Text, catalog.Image

// server answers like one whose answers are in a file, and counts what it was asked.
type server struct {
	answers map[string]json.RawMessage
	asked   map[string]int
}

func recorded(t *testing.T, name string) *server {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{asked: map[string]int{}}
	if err := json.Unmarshal(data, &s.answers); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) ask(_ context.Context, address string, body []byte) (int, []byte, error) {
	path := strings.TrimPrefix(address, "http://host")
	if body != nil {
		var show struct{ Model string }
		_ = json.Unmarshal(body, &show)
		path += " " + show.Model
	}
	s.asked[path]++
	if answer, ok := s.answers[path]; ok {
		return http.StatusOK, answer, nil
	}
	return http.StatusNotFound, []byte(`{"error":"not found"}`), nil
}

// TestServers reads what each server answers, in the forms of their documents and of public bug reports, which the files name.
func TestServers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]edit.Found{
		"ollama": {Server: edit.ServerOllama, Models: []edit.FoundModel{
			{ID: "big:latest", Type: "chat", Context: 32768, Trained: 131072, Asked: 32768, Input: text | image, Tools: edit.Can, Reasons: edit.Cannot, Quantization: "int4", Mark: "d3"},
			{ID: "nomic-embed-text:latest", Type: "embedding", Trained: 2048, Asked: 8192, Quantization: "fp16", Mark: "d2"},
			{ID: "old:7b", Type: "chat", Context: 8192, Trained: 32768, Mark: "d4"},
			{ID: "qwen3:8b", Type: "chat", Context: 8192, Trained: 40960, Input: text, Tools: edit.Can, Reasons: edit.Can, Quantization: "int4", Loaded: true, Mark: "d1"},
		}, Notes: []string{"1 models are left out, because Ollama passes them on to another server: gpt-oss:120b-cloud"}},
		"ollama-idle": {Server: edit.ServerOllama, Models: []edit.FoundModel{
			{ID: "qwen3:8b", Type: "chat", Context: 4096, Trained: 40960, Input: text, Tools: edit.Can, Reasons: edit.Can, Mark: "d1"},
		}, Notes: []string{"Ollama does not say with how many tokens it serves 1 models until they are loaded; 4096 are assumed, because it cuts longer prompts without an error. Set context_length to its OLLAMA_CONTEXT_LENGTH"}},
		"ollama-empty": {Server: edit.ServerOllama},
		"vllm": {Server: edit.ServerVLLM, Models: []edit.FoundModel{
			{ID: "Qwen/Qwen3-8B", Type: "chat", Context: 32768, Loaded: true}, {ID: "sql-adapter", Type: "chat", Context: 32768, Loaded: true},
		}},
		"sglang":           {Server: edit.ServerSGLang, Models: []edit.FoundModel{{ID: "Qwen/Qwen2.5-VL-7B", Type: "chat", Context: 131072, Input: text | image, Loaded: true}}},
		"sglang-embedding": {Server: edit.ServerSGLang, Models: []edit.FoundModel{{ID: "BAAI/bge-m3", Type: "embedding", Context: 8192, Loaded: true}}},
		"llamacpp": {Server: edit.ServerLlamaCpp, Models: []edit.FoundModel{
			{ID: "/models/gemma-3-4b-it-Q4_K_M.gguf", Type: "chat", Context: 8192, Trained: 131072, Input: text | image, Tools: edit.Cannot, Loaded: true},
		}},
		"llamacpp-router": {Server: edit.ServerLlamaCpp, Models: []edit.FoundModel{
			{ID: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", Type: "chat", Context: 4096, Trained: 131072, Input: text | image, Loaded: true},
			{ID: "unsloth/Qwen3-8B-GGUF:Q4_K_M", Type: "chat", Context: 16384, Input: text},
		}, Notes: []string{"my-decision-model is left out: it gives decisions", "new:Q8_0 is left out until it is downloaded"}},
		"lmstudio": {Server: edit.ServerLMStudio, Models: []edit.FoundModel{
			{ID: "meta-llama-3.1-8b-instruct", Type: "chat", Context: 4096, Trained: 131072, Input: text, Tools: edit.Can, Quantization: "int4", Loaded: true},
			{ID: "qwen2-vl-7b-instruct", Type: "chat", Trained: 32768, Input: text | image, Quantization: "int4"},
			{ID: "text-embedding-nomic-embed-text-v1.5", Type: "embedding", Trained: 2048, Quantization: "int4"},
		}},
		"lmstudio-v1": {Server: edit.ServerLMStudio, Models: []edit.FoundModel{
			{ID: "google/gemma-3-4b", Type: "chat", Trained: 131072, Input: text | image, Quantization: "int4"},
			{ID: "qwen/qwen3.5-9b", Type: "chat", Context: 4096, Trained: 262144, Input: text | image, Tools: edit.Can, Quantization: "int4", Loaded: true},
		}},
		"other": {Server: edit.ServerOther, Models: []edit.FoundModel{{ID: "m", Type: "chat", Context: 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := recorded(t, name)
			got, err := discover.Models(t.Context(), s.ask, "http://host/v1/", 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			for path := range s.asked { // asking for the properties of a model that is not loaded would load it
				if strings.HasPrefix(path, "/props?") && (!strings.Contains(path, "autoload=false") || strings.Contains(path, "Qwen3-8B")) {
					t.Errorf("asked %s", path)
				}
			}
		})
	}
}

// TestDescribedOnce asks Ollama again: what it has said of a model counts until its digest changes.
func TestDescribedOnce(t *testing.T) {
	t.Parallel()
	s := recorded(t, "ollama")
	first, err := discover.Models(t.Context(), s.ask, "http://host/v1", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.answers["/api/tags"] = json.RawMessage(strings.Replace(string(s.answers["/api/tags"]), `"d1"`, `"d9"`, 1))
	again, err := discover.Models(t.Context(), s.ask, "http://host/v1", 0, &first)
	if err != nil {
		t.Fatal(err)
	}
	if s.asked["/api/show qwen3:8b"] != 2 || s.asked["/api/show big:latest"] != 1 {
		t.Errorf("asked: %v", s.asked)
	}
	first.Models[3].Mark = "d9"
	if diff := cmp.Diff(first.Models, again.Models); diff != "" {
		t.Error(diff)
	}
}

// TestOperatorsLength takes the operator's word where the server has none.
func TestOperatorsLength(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{"ollama-idle": 16384, "vllm": 32768, "other": 1000} {
		got, err := discover.Models(t.Context(), recorded(t, name).ask, "http://host/v1", 16384, nil)
		if err != nil || got.Models[0].Context != want || len(got.Notes) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestNonsense bounds what a server may say, and names what it leaves out.
func TestNonsense(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&many, `{"id":"m%04d","owned_by":"vllm","max_model_len":8},`, i)
	}
	answer := func(items string) string { return `{"object":"list","data":[` + strings.TrimSuffix(items, ",") + `]}` }
	for _, c := range []struct {
		name, body string
		status     int
		err, note  string
		models     int
	}{
		{"thousands", answer(many.String()), 200, "", "4744 models more than 256 are left out", 256},
		{"a huge name", answer(`{"id":"` + strings.Repeat("x", 3000) + `","owned_by":"vllm"},{"id":"m","owned_by":"vllm"}`), 200, "", "1 models are left out, because no text of at most 200 characters names them: " + strings.Repeat("x", 40) + "...", 1},
		{"names that are none", answer(`{"id":"a\u0000b","owned_by":"vllm"},{"id":"","owned_by":"vllm"},{"id":7,"owned_by":"vllm"},{"id":"two words","owned_by":"vllm"}`), 200, "", "4 models are left out", 0},
		{"duplicates", answer(`{"id":"m","owned_by":"vllm"},{"id":"m","owned_by":"vllm"},{"id":"m","owned_by":"vllm"}`), 200, "", "2 models are named more than once", 1},
		{"a length that is none", answer(`{"id":"m","owned_by":"vllm","max_model_len":99999999999999}`), 200, "", "", 1},
		{"a web page", "<!doctype html><title>login</title>", 200, "answers with a web page: check base_url", "", 0},
		{"no JSON", "OK", 200, "answers with what is not JSON", "", 0},
		{"no list", `{"models":1}`, 200, "not with a list of models: check base_url", "", 0},
		{"a key is wanted", `{}`, 401, "refuses the key (status 401): set api_key", "", 0},
		{"no such route", `{}`, 404, "status 404: check base_url", "", 0},
		{"too much", `"` + strings.Repeat("x", discover.MaxBytes) + `"`, 200, "more than 4 MiB", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := discover.Models(t.Context(), func(context.Context, string, []byte) (int, []byte, error) { return c.status, []byte(c.body), nil }, "http://host/v1", 0, nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error: %v", err)
				}
				return
			}
			if err != nil || len(got.Models) != c.models || !strings.Contains(strings.Join(got.Notes, "\n"), c.note) {
				t.Errorf("%d models, notes %q, %v", len(got.Models), got.Notes, err)
			}
			for _, m := range got.Models {
				if m.Context > 100_000_000 {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

// TestAway says that a server does not answer, with what the connection said.
func TestAway(t *testing.T) {
	t.Parallel()
	_, err := discover.Models(t.Context(), func(context.Context, string, []byte) (int, []byte, error) {
		return 0, nil, errors.New("connection refused")
	}, "http://host/v1", 0, nil)
	if err == nil || !strings.Contains(err.Error(), "http://host/v1/models does not answer: connection refused") {
		t.Error(err)
	}
}

// FuzzModels gives any bytes as every answer: nothing that comes back is out of bounds.
func FuzzModels(f *testing.F) {
	for _, name := range []string{"ollama", "vllm", "llamacpp-router", "lmstudio"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		var answers map[string]json.RawMessage
		if err := json.Unmarshal(data, &answers); err != nil {
			f.Fatal(err)
		}
		for _, path := range slices.Sorted(maps.Keys(answers)) {
			f.Add([]byte(answers[path]))
		}
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := discover.Models(t.Context(), func(context.Context, string, []byte) (int, []byte, error) { return 200, answer, nil }, "http://host/v1", 0, nil)
		if err != nil {
			return
		}
		if len(got.Models) > discover.MostModels || got.Server == "" {
			t.Errorf("%d models of %q", len(got.Models), got.Server)
		}
		for _, m := range got.Models {
			if m.ID == "" || len(m.ID) > 200 || m.Type != catalog.TypeChat && m.Type != catalog.TypeEmbedding || m.Context < 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}
