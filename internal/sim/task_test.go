package sim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/sim"
)

// wave is a WAV file of silence, 8 kHz and 8 bits, with a note in a separate chunk if there is one.
func wave(seconds float64, note string) string {
	var b bytes.Buffer
	chunk := func(name string, data []byte) {
		b.WriteString(name)
		binary.Write(&b, binary.LittleEndian, uint32(len(data)))
		b.Write(data)
		if len(data)%2 == 1 {
			b.WriteByte(0)
		}
	}
	format := []byte{1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0}
	chunk("fmt ", format)
	if note != "" {
		chunk("LIST", []byte("INFO"+note))
	}
	chunk("data", bytes.Repeat([]byte{0x80}, int(seconds*8000)))
	inside := b.String()
	return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(4+len(inside)))) + "WAVE" + inside
}

// sound returns an audio file of testdata, or one that the simulator answers with.
func sound(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "sounds", name))
	if err != nil {
		b, err = os.ReadFile(filepath.Join("audio", "sounds", name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// formOf is a form with fields "name=value" and, unless the name is "", one file.
func formOf(file, data string, fields ...string) (head, body string) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	form.SetBoundary("boundary-of-the-tests")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		form.WriteField(name, value)
	}
	if file != "" {
		part, _ := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + file + `"`}, "Content-Type": {"application/octet-stream"}})
		io.WriteString(part, data)
	}
	form.Close()
	return "Content-Type: " + form.FormDataContentType(), b.String()
}

func transcribe(s *sim.Server, file, data string, fields ...string) *httptest.ResponseRecorder {
	head, body := formOf(file, data, fields...)
	return post(s, "POST", "/v1/audio/transcriptions", head, body)
}

// kept holds an answer to what was written down of it.
func kept(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	file := filepath.Join("testdata", "task", name+".txt")
	got := printed(t, w)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: the answer is now\n%s", name, got)
	}
}

func floats(t testing.TB, v any) (out []float64) {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("%v is no list", v)
	}
	for _, x := range list {
		out = append(out, x.(float64))
	}
	return out
}

// unpacked reads base64 of 32-bit floats.
func unpacked(t testing.TB, s string) (out []float64) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(raw) >= 4; raw = raw[4:] {
		out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
	}
	return out
}

func norm(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// embedding is one of the wires: how a text is sent, and where its vector is.
var embeddings = []struct {
	name, path, head, body string // %q is replaced by the text
	at                     string
	dims                   int
	unit                   bool
	tokens                 string // path of the count; "" none is reported
}{
	{"openai", "/v1/embeddings", "", `{"model":"embed","input":%q}`, "data.0.embedding", 1536, true, "usage.prompt_tokens"},
	{"openai large", "/v1/embeddings", "", `{"model":"text-embedding-3-large","input":[%q],"dimensions":256}`, "data.0.embedding", 256, true, "usage.total_tokens"},
	{"gemini", "/v1beta/models/embed:embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":%q}]}}`, "embedding.values", 3072, true, ""},
	{"gemini short", "/v1beta/models/embed:batchEmbedContents", "X-Goog-Api-Key: any", `{"requests":[{"model":"models/embed","content":{"parts":[{"text":%q}]},"output_dimensionality":768}]}`, "embeddings.0.values", 768, false, ""},
	{"cohere", "/cohere/v2/embed", "Authorization: Bearer any", `{"model":"embed","input_type":"search_query","texts":[%q]}`, "embeddings.float.0", 1536, true, "meta.billed_units.input_tokens"},
	{"voyage", "/voyage/v1/embeddings", "Authorization: Bearer any", `{"model":"embed","input":%q,"output_dimension":512}`, "data.0.embedding", 512, true, "usage.total_tokens"},
	{"yandex", "/yandex/foundationModels/v1/textEmbedding", "Authorization: Api-Key any", `{"modelUri":"emb://f/text-search-doc/latest","text":%q}`, "embedding", 256, true, "numTokens"},
	{"gigachat", "/api/v1/embeddings", "token", `{"model":"Embeddings","input":[%q]}`, "data.0.embedding", 1024, true, "data.0.usage.prompt_tokens"},
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	for _, on := range embeddings {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			head := on.head
			if head == "token" {
				head = token(t, s)
			}
			call := func(s *sim.Server, said string) tree {
				w := post(s, "POST", on.path, head, fmt.Sprintf(on.body, said))
				if w.Code != 200 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				return readTree(t, w.Body.Bytes())
			}
			first := call(s, "a weir holds the water back")
			v := floats(t, at(first, on.at))
			if n := norm(v); len(v) != on.dims || (math.Abs(n-1) < 1e-4) != on.unit {
				t.Errorf("%d dimensions of length %v", len(v), n)
			}
			same(t, "the same text", at(call(s, "a weir holds the water back"), on.at), at(first, on.at))
			same(t, "a marker", at(call(s, "[[sim delay=0s]] a weir holds the water back"), on.at), at(first, on.at))
			other := floats(t, at(call(s, "another text"), on.at))
			dot := 0.0
			for i := range v {
				dot += v[i] * other[i]
			}
			if dot > 0.9*norm(v)*norm(other) {
				t.Errorf("different texts have nearly the same direction: %v", dot)
			}
			if on.tokens != "" {
				if got := fmt.Sprint(at(first, on.tokens)); got != "6" {
					t.Errorf("%s tokens", got)
				}
				for _, how := range []string{"missing", "negative", "huge", "floats"} {
					if got := at(call(s, "[[sim fault=u30-"+how+"]] a weir holds the water back"), on.tokens); fmt.Sprint(got) == "6" {
						t.Errorf("u30-%s: %v", how, got)
					}
				}
			}
			if got := s.Stats().Total; got.Requests == 0 || got.Refused != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEmbeddingEncodings(t *testing.T) {
	t.Parallel()
	s := fixed()
	ask := func(path, head, body string) tree {
		w := post(s, "POST", path, head, body)
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return readTree(t, w.Body.Bytes())
	}
	plain := ask("/v1/embeddings", "", `{"model":"embed","input":["a","b"]}`)
	packed := ask("/v1/embeddings", "", `{"model":"embed","input":["a","b"],"encoding_format":"base64"}`)
	for i := range 2 {
		path := fmt.Sprintf("data.%d.embedding", i)
		a, b := floats(t, at(plain, path)), unpacked(t, textAt(packed, path))
		for j := range a {
			if float32(a[j]) != float32(b[j]) {
				t.Fatalf("%d.%d: %v and %v", i, j, a[j], b[j])
			}
		}
		if numberAt(plain, fmt.Sprintf("data.%d.index", i)) != float64(i) {
			t.Errorf("index of %d", i)
		}
	}
	short := floats(t, at(ask("/v1/embeddings", "", `{"model":"embed","input":"a","dimensions":8}`), "data.0.embedding"))
	long := floats(t, at(plain, "data.0.embedding"))
	for i := range short {
		if ratio := short[i] / long[i] * long[0] / short[0]; math.Abs(ratio-1) > 1e-3 {
			t.Errorf("the short vector is not the beginning of the long one: %v", ratio)
		}
	}
	same(t, "tokens", at(ask("/v1/embeddings", "", `{"model":"embed","input":[1,2,3]}`), "data.0.embedding"), at(ask("/v1/embeddings", "", `{"model":"embed","input":[[1,2,3],[4]]}`), "data.0.embedding"))

	all := at(ask("/cohere/v2/embed", "Authorization: Bearer any", `{"model":"embed-v4.0","input_type":"search_document","texts":["a"],"output_dimension":256,"embedding_types":["float","int8","uint8","binary","ubinary","base64"]}`), "embeddings")
	for kind, n := range map[string]int{"float": 256, "int8": 256, "uint8": 256, "binary": 32, "ubinary": 32} {
		v := floats(t, at(all, kind+".0"))
		if len(v) != n {
			t.Errorf("%s has %d", kind, len(v))
		}
		for i, x := range v {
			low, high := -128.0, 127.0
			if kind[0] == 'u' {
				low, high = 0, 255
			}
			if kind != "float" && (x < low || x > high || x != math.Trunc(x)) {
				t.Fatalf("%s[%d] is %v", kind, i, x)
			}
		}
	}
	if got := unpacked(t, textAt(all, "base64.0")); len(got) != 256 || float32(got[3]) != float32(floats(t, at(all, "float.0"))[3]) {
		t.Errorf("base64 has %d", len(got))
	}
	raw, _ := base64.StdEncoding.DecodeString(textAt(ask("/voyage/v1/embeddings", "Authorization: Bearer any", `{"model":"voyage-3.5","input":"a","output_dtype":"int8","encoding_format":"base64"}`), "data.0.embedding"))
	if len(raw) != 1024 {
		t.Errorf("int8 in base64 has %d bytes", len(raw))
	}
	image := `data:image/png;base64,` + png8
	mixed := ask("/cohere/v2/embed", "Authorization: Bearer any", `{"model":"embed","input_type":"search_document","inputs":[{"content":[{"type":"text","text":"a"}]},{"content":[{"type":"image_url","image_url":{"url":"`+image+`"}}]}]}`)
	if numberAt(mixed, "meta.billed_units.images") != 1 || numberAt(mixed, "meta.billed_units.input_tokens") != 1 {
		t.Errorf("%v", mixed["meta"])
	}
}

func many(n int) string { return `["` + strings.Repeat(`a","`, n-1) + `a"]` }

const bearerAny = "Authorization: Bearer any"

// Each is what the real service refuses, with a part of what it says.
func TestTasksRefuse(t *testing.T) {
	t.Parallel()
	s := fixed()
	giga := token(t, s)
	const (
		openAI, gemini, cohere, voyage = "/v1/embeddings", "/v1beta/models/embed:", "/cohere/v2/embed", "/voyage/v1/embeddings"
		yandex, sber, eleven           = "/yandex/foundationModels/v1/textEmbedding", "/api/v1/embeddings", "/elevenlabs/v1/text-to-speech/abcdef"
	)
	for _, c := range []struct {
		name, path, head, body string
		status                 int
		want                   string
	}{
		{"openai: no model", openAI, "", `{"input":"a"}`, 400, "you must provide a model parameter"},
		{"openai: model", openAI, "", `{"model":"x","input":"a"}`, 404, "model_not_found"},
		{"openai: chat model", openAI, "", `{"model":"chat","input":"a"}`, 404, "model_not_found"},
		{"openai: unknown", openAI, "", `{"model":"embed","input":"a","provider":{}}`, 400, "Unrecognized request argument supplied: provider"},
		{"openai: no input", openAI, "", `{"model":"embed"}`, 400, "input"},
		{"openai: empty text", openAI, "", `{"model":"embed","input":""}`, 400, "'$.input' is invalid"},
		{"openai: empty list", openAI, "", `{"model":"embed","input":[]}`, 400, "'$.input' is invalid"},
		{"openai: mixed", openAI, "", `{"model":"embed","input":["a",[1]]}`, 400, "'$.input' is invalid"},
		{"openai: objects", openAI, "", `{"model":"embed","input":[{"content":"a"}]}`, 400, "'$.input' is invalid"},
		{"openai: 2049", openAI, "", `{"model":"embed","input":` + many(2049) + `}`, 400, "'$.input' is invalid"},
		{"openai: too long", openAI, "", `{"model":"embed","input":"` + strings.Repeat("a ", 8200) + `"}`, 400, "maximum context length is 8192"},
		{"openai: dimensions", openAI, "", `{"model":"embed","input":"a","dimensions":2000}`, 400, "less than or equal to 1536"},
		{"openai: ada", openAI, "", `{"model":"text-embedding-ada-002","input":"a","dimensions":8}`, 400, "does not support specifying dimensions"},
		{"openai: format", openAI, "", `{"model":"embed","input":"a","encoding_format":"int8"}`, 400, "encoding_format"},
		{"openai: form", openAI, "Content-Type: text/plain", `{"model":"embed","input":"a"}`, 415, "application/json"},
		{"openai: GET", openAI, "", ``, 405, "Not allowed"},
		{"openai: marker", openAI, "", `{"model":"embed","input":"[[sim nonsense=1]]"}`, 400, "the simulator has no setting"},

		{"gemini: 101", gemini + "batchEmbedContents", "X-Goog-Api-Key: any", `{"requests":[` + strings.Repeat(`{"model":"models/embed","content":{"parts":[{"text":"a"}]}},`, 100) + `{}]}`, 400, "at most 100 requests can be in one batch"},
		{"gemini: no model in batch", gemini + "batchEmbedContents", "X-Goog-Api-Key: any", `{"requests":[{"content":{"parts":[{"text":"a"}]}}]}`, 400, "unexpected model name format"},
		{"gemini: empty batch", gemini + "batchEmbedContents", "X-Goog-Api-Key: any", `{"requests":[]}`, 400, "requests is not specified"},
		{"gemini: OpenAI's names", gemini + "embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":"a"}]},"input":"a"}`, 400, "Cannot find field"},
		{"gemini: no content", gemini + "embedContent", "X-Goog-Api-Key: any", `{}`, 400, "EmbedContentRequest.content"},
		{"gemini: task", gemini + "embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":"a"}]},"taskType":"search_query"}`, 400, "TaskType"},
		{"gemini: title", gemini + "embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":"a"}]},"title":"t"}`, 400, "RETRIEVAL_DOCUMENT"},
		{"gemini: size", gemini + "embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":"a"}]},"outputDimensionality":4000}`, 400, "3072"},
		{"gemini: model", "/v1beta/models/chat:embedContent", "X-Goog-Api-Key: any", `{"content":{"parts":[{"text":"a"}]}}`, 404, "is not supported for embedContent"},

		{"cohere: no key", cohere, "", `{}`, 401, "invalid api token"},
		{"cohere: no type", cohere, bearerAny, `{"model":"embed","texts":["a"]}`, 400, "valid input_type must be provided"},
		{"cohere: 97", cohere, bearerAny, `{"model":"embed","input_type":"clustering","texts":` + many(97) + `}`, 400, "total number of texts must be at most 96 - received 97"},
		{"cohere: text", cohere, bearerAny, `{"model":"embed","input_type":"clustering","texts":"a"}`, 400, "should be of type []string"},
		{"cohere: both", cohere, bearerAny, `{"model":"embed","input_type":"clustering","texts":["a"],"images":["b"]}`, 400, "exactly one of"},
		{"cohere: unknown", cohere, bearerAny, `{"model":"embed","input_type":"clustering","texts":["a"],"dimensions":5}`, 422, "unknown field: parameter 'dimensions'"},
		{"cohere: size", cohere, bearerAny, `{"model":"embed","input_type":"clustering","texts":["a"],"output_dimension":300}`, 400, "256, 512, 1024, 1536"},
		{"cohere: fixed size", cohere, bearerAny, `{"model":"embed-english-v3.0","input_type":"clustering","texts":["a"],"output_dimension":256}`, 400, "output_dimension"},
		{"cohere: too long", cohere, bearerAny, `{"model":"embed-english-v3.0","input_type":"clustering","truncate":"NONE","texts":["` + strings.Repeat("a ", 600) + `"]}`, 400, "too many tokens"},
		{"cohere: model", cohere, bearerAny, `{"model":"x","input_type":"clustering","texts":["a"]}`, 404, "model 'x' not found"},

		{"voyage: no key", voyage, "", `{}`, 401, "API key is invalid"},
		{"voyage: unknown", voyage, bearerAny, `{"model":"embed","input":"a","dimensions":5}`, 400, "Argument 'dimensions' is not supported by our API"},
		{"voyage: 1001", voyage, bearerAny, `{"model":"embed","input":` + many(1001) + `}`, 400, "batch size limit is 1000"},
		{"voyage: 129", voyage, bearerAny, `{"model":"voyage-law-2","input":` + many(129) + `}`, 400, "batch size limit is 128"},
		{"voyage: empty", voyage, bearerAny, `{"model":"embed","input":[""]}`, 400, "empty strings"},
		{"voyage: float is no encoding", voyage, bearerAny, `{"model":"embed","input":"a","encoding_format":"float"}`, 400, "encoding_format"},
		{"voyage: type", voyage, bearerAny, `{"model":"embed","input":"a","input_type":"search_query"}`, 400, "input_type"},

		{"yandex: no scheme", yandex, "X-Key: any", `{}`, 401, `"grpcCode":16`},
		{"yandex: uri", yandex, bearerAny, `{"modelUri":"gpt://f/text-search-doc/latest","text":"a"}`, 400, "Failed to parse model URI"},
		{"yandex: two texts", yandex, bearerAny, `{"modelUri":"emb://f/text-search-doc/latest","text":["a","b"]}`, 400, "must be a string"},
		{"yandex: empty", yandex, bearerAny, `{"modelUri":"emb://f/text-search-doc/latest","text":""}`, 400, "empty or too long"},
		{"yandex: model", yandex, bearerAny, `{"modelUri":"emb://f/x/latest","text":"a"}`, 400, "is not supported"},

		{"gigachat: no token", sber, bearerAny, `{"model":"embed","input":["a"]}`, 401, "Unauthorized"},
		{"gigachat: no input", sber, giga, `{"model":"embed"}`, 422, "input is required"},
		{"gigachat: tokens", sber, giga, `{"model":"embed","input":[[1]]}`, 422, "must be a string"},
		{"gigachat: too long", sber, giga, `{"model":"Embeddings","input":["` + strings.Repeat("a ", 600) + `"]}`, 413, "Tokens limit exceeded"},

		{"moderation: no input", "/v1/moderations", "", `{}`, 400, "input"},
		{"moderation: empty list", "/v1/moderations", "", `{"input":[]}`, 400, "empty array"},
		{"moderation: image for text", "/v1/moderations", "", `{"model":"text-moderation-latest","input":[{"type":"image_url","image_url":{"url":"https://x/a.png"}}]}`, 400, "does not support image inputs"},
		{"moderation: two images", "/v1/moderations", "", `{"input":[{"type":"image_url","image_url":{"url":"https://x/a.png"}},{"type":"image_url","image_url":{"url":"https://x/a.png"}}]}`, 400, "exceeds maximum of 1"},
		{"moderation: no image", "/v1/moderations", "", `{"input":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`, 400, "could not be read"},
		{"moderation: mixed", "/v1/moderations", "", `{"input":["a",{"type":"text","text":"b"}]}`, 400, "input[1]"},
		{"moderation: unknown", "/v1/moderations", "", `{"input":"a","user":"u"}`, 400, "user"},
		{"mistral: no key", "/mistral/v1/moderations", "", `{}`, 401, "Unauthorized"},
		{"mistral: no model", "/mistral/v1/moderations", bearerAny, `{"input":"a"}`, 422, "Field required"},
		{"mistral: objects", "/mistral/v1/moderations", bearerAny, `{"model":"moderation","input":[{"type":"text","text":"a"}]}`, 422, "a string"},

		{"cohere rerank: none", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"a","documents":[]}`, 400, "list of documents must not be empty"},
		{"cohere rerank: objects", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"a","documents":[{"text":"a"}]}`, 400, "documents[0]"},
		{"cohere rerank: return_documents", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"a","documents":["a"],"return_documents":true}`, 422, "unknown field"},
		{"cohere rerank: top_n", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"a","documents":["a"],"top_n":0}`, 400, "top_n"},
		{"voyage rerank: top_n", "/voyage/v1/rerank", bearerAny, `{"model":"rerank","query":"a","documents":["a"],"top_n":1}`, 400, "Argument 'top_n' is not supported by our API"},
		{"voyage rerank: 1001", "/voyage/v1/rerank", bearerAny, `{"model":"rerank","query":"a","documents":` + many(1001) + `}`, 400, "cannot exceed 1000"},
		{"jina: no key", "/jina/v1/rerank", "", `{}`, 401, "Unauthorized"},
		{"jina: no query", "/jina/v1/rerank", bearerAny, `{"model":"rerank","documents":["a"]}`, 422, "Field required: query"},
		{"vllm: model", "/v1/rerank", "", `{"model":"x","query":"a","documents":["a"]}`, 404, "model_not_found"},
		{"vllm: nothing", "/v1/rerank", "", `{"model":"rerank","query":"a"}`, 400, "documents"},

		{"speech: voice", "/v1/audio/speech", "", `{"model":"tts-1","input":"a","voice":"bob"}`, 400, "voice"},
		{"speech: no voice", "/v1/audio/speech", "", `{"model":"tts-1","input":"a"}`, 400, "voice"},
		{"speech: empty", "/v1/audio/speech", "", `{"model":"tts-1","input":"","voice":"ash"}`, 400, "empty string"},
		{"speech: long", "/v1/audio/speech", "", `{"model":"tts-1","input":"` + strings.Repeat("я", 4097) + `","voice":"ash"}`, 400, "length 4097"},
		{"speech: format", "/v1/audio/speech", "", `{"model":"tts-1","input":"a","voice":"ash","response_format":"ogg"}`, 400, "response_format"},
		{"speech: sse", "/v1/audio/speech", "", `{"model":"tts-1","input":"a","voice":"ash","stream_format":"sse"}`, 400, "stream_format"},
		{"speech: instructions", "/v1/audio/speech", "", `{"model":"tts-1","input":"a","voice":"ash","instructions":"b"}`, 400, "instructions"},
		{"speech: speed", "/v1/audio/speech", "", `{"model":"tts-1","input":"a","voice":"ash","speed":5}`, 400, "speed"},
		{"eleven: no key", eleven, bearerAny, `{"text":"a"}`, 401, "invalid_api_key"},
		{"eleven: OpenAI's names", eleven, "Xi-Api-Key: any", `{"input":"a"}`, 422, `"type":"missing","loc":["body","text"]`},
		{"eleven: format", eleven + "?output_format=mp3", "Xi-Api-Key: any", `{"text":"a"}`, 422, "output_format"},
		{"eleven: model", eleven, "Xi-Api-Key: any", `{"text":"a","model_id":"tts-1"}`, 400, "invalid_model_id"},
		{"eleven: settings", eleven, "Xi-Api-Key: any", `{"text":"a","voice_settings":{"stability":2}}`, 422, "from 0 to 1"},
	} {
		method := "POST"
		if c.body == "" {
			method = "GET"
		}
		if w := post(s, method, c.path, c.head, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

func TestTranscriptionsRefuse(t *testing.T) {
	t.Parallel()
	s := fixed()
	good := wave(1, "")
	for _, c := range []struct {
		name, file, data string
		fields           []string
		status           int
		want             string
	}{
		{"no model", "a.wav", good, nil, 400, "you must provide a model parameter"},
		{"model", "a.wav", good, []string{"model=embed"}, 404, "model_not_found"},
		{"no file", "", "", []string{"model=whisper-1"}, 400, "'file'"},
		{"unknown field", "a.wav", good, []string{"model=whisper-1", "provider={}"}, 400, "provider"},
		{"extension", "a.txt", good, []string{"model=whisper-1"}, 400, "Supported formats"},
		{"no extension", "a", good, []string{"model=whisper-1"}, 400, "Supported formats"},
		{"rubbish", "a.wav", "this was never sound", []string{"model=whisper-1"}, 400, "could not be decoded"},
		{"rubbish for 4o", "a.mp3", "this was never sound", []string{"model=gpt-4o-transcribe"}, 400, "corrupted or unsupported"},
		{"another format", "a.mp3", good, []string{"model=whisper-1"}, 400, "could not be decoded"},
		{"too short", "a.wav", wave(0.05, ""), []string{"model=whisper-1"}, 400, "audio_too_short"},
		{"too large", "a.wav", wave(3300, ""), []string{"model=whisper-1"}, 413, "Maximum content size limit (26214400)"},
		{"too long for 4o", "a.wav", wave(1401, ""), []string{"model=gpt-4o-transcribe"}, 400, "audio duration 1401 seconds is longer than 1400 seconds"},
		{"srt for 4o", "a.wav", good, []string{"model=gpt-4o-transcribe", "response_format=srt"}, 400, "is not compatible"},
		{"diarized for whisper", "a.wav", good, []string{"model=whisper-1", "response_format=diarized_json"}, 400, "is not compatible"},
		{"format", "a.wav", good, []string{"model=whisper-1", "response_format=xml"}, 400, "response_format"},
		{"temperature", "a.wav", good, []string{"model=whisper-1", "temperature=2"}, 400, "temperature"},
		{"language", "a.wav", good, []string{"model=whisper-1", "language=english"}, 400, "ISO-639-1"},
		{"granularities without verbose_json", "a.wav", good, []string{"model=whisper-1", "timestamp_granularities[]=word"}, 400, "verbose_json"},
		{"granularity", "a.wav", good, []string{"model=whisper-1", "response_format=verbose_json", "timestamp_granularities[]=line"}, 400, "timestamp_granularities"},
		{"logprobs of whisper", "a.wav", good, []string{"model=whisper-1", "include[]=logprobs"}, 400, "logprobs"},
		{"diarize without chunks", "a.wav", good, []string{"model=gpt-4o-transcribe-diarize"}, 400, "chunking_strategy is required for diarization models"},
		{"chunks", "a.wav", good, []string{"model=gpt-4o-transcribe-diarize", "chunking_strategy=some"}, 400, "chunking_strategy"},
		{"diarize with prompt", "a.wav", good, []string{"model=gpt-4o-transcribe-diarize", "chunking_strategy=auto", "prompt=a"}, 400, "Prompt is not supported"},
		{"speakers of whisper", "a.wav", good, []string{"model=whisper-1", "known_speaker_names[]=a"}, 400, "Known speakers"},
		{"a name without a sound", "a.wav", good, []string{"model=diarize", "chunking_strategy=auto", "known_speaker_names[]=a"}, 400, "same number"},
		{"a short sound", "a.wav", good, []string{"model=diarize", "chunking_strategy=auto", "known_speaker_names[]=a", "known_speaker_references[]=" + dataURL(wave(1, ""))}, 400, "between 2 and 10 seconds"},
		{"stream", "a.wav", good, []string{"model=transcribe", "stream=yes"}, 400, "stream"},
		{"text streamed", "a.wav", good, []string{"model=transcribe", "stream=true", "response_format=text"}, 400, "Streaming is not supported"},
	} {
		if w := transcribe(s, c.file, c.data, c.fields...); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	if w := post(s, "POST", "/v1/audio/transcriptions", "", `{"model":"whisper-1"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "Could not parse multipart form") {
		t.Errorf("JSON: %d %s", w.Code, w.Body)
	}
	head, body := formOf("a.wav", good, "model=whisper-1")
	if w := post(s, "POST", "/v1/audio/transcriptions", head, body[:len(body)-20]); w.Code != 400 {
		t.Errorf("a form without an end: %d %s", w.Code, w.Body)
	}
	for name, c := range map[string]struct {
		path, head, body string
		status           int
		want             string
	}{
		"groq: no key":         {"/groq/openai/v1/audio/transcriptions", head, body, 401, "Invalid API Key"},
		"deepgram: scheme":     {"/deepgram/v1/listen", bearerAny, good, 401, "INVALID_AUTH"},
		"deepgram: parameter":  {"/deepgram/v1/listen?response_format=json", deepgramHead, good, 400, "response_format"},
		"deepgram: bool":       {"/deepgram/v1/listen?diarize=maybe", deepgramHead, good, 400, "diarize"},
		"deepgram: model":      {"/deepgram/v1/listen?model=whisper-1", deepgramHead, good, 400, "No such model"},
		"deepgram: rubbish":    {"/deepgram/v1/listen", deepgramHead, "never sound", 400, "corrupt or unsupported data"},
		"deepgram: form":       {"/deepgram/v1/listen", "Authorization: Token any\n" + head, body, 400, "corrupt or unsupported data"},
		"eleven: key":          {"/elevenlabs/v1/speech-to-text", bearerAny + "\n" + head, body, 401, "invalid_api_key"},
		"eleven: no model":     {"/elevenlabs/v1/speech-to-text", "Xi-Api-Key: any\n" + head, body, 422, "model"},
		"speechkit: key":       {"/yandex/stt/v3/recognizeFileAsync", "X: y", `{}`, 401, "grpcCode"},
		"speechkit: rubbish":   {"/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("WAV", "never sound", ""), 400, "Failed to decode audio"},
		"speechkit: another":   {"/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("MP3", good, ""), 400, "Failed to decode audio"},
		"speechkit: container": {"/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("FLAC", good, ""), 400, "containerAudioType"},
		"speechkit: unknown":   {"/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("WAV", good, `,"file":1`), 400, "unknown field"},
		"speechkit: labels":    {"/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("WAV", good, `,"speakerLabeling":{"speakerLabeling":"SPEAKER_LABELING_ENABLED"}`), 400, "FULL_DATA"},
	} {
		if w := post(s, "POST", c.path, c.head, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/yandex/operations/x", "/yandex/stt/v3/getRecognition?operationId=x"} {
		if w := post(s, "GET", path, yandexHead, ""); w.Code != 404 || !strings.Contains(w.Body.String(), `"grpcCode":5`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

const (
	deepgramHead = "Authorization: Token any\nContent-Type: audio/wav"
	yandexHead   = "Authorization: Api-Key any"
)

func dataURL(data string) string {
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString([]byte(data))
}

func speechkitBody(container, data, more string) string {
	return `{"content":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `","recognitionModel":{"model":"general","audioFormat":{"containerAudio":{"containerAudioType":"` + container + `"}},"languageRestriction":{"restrictionType":"WHITELIST","languageCode":["en-US"]},"textNormalization":{"textNormalization":"TEXT_NORMALIZATION_ENABLED"}}` + more + `}`
}

func TestTranscriptionAnswers(t *testing.T) {
	t.Parallel()
	s := fixed()
	file := wave(6, "")
	for name, fields := range map[string][]string{
		"whisper-json":    {"model=whisper-1", "prompt=a word"},
		"whisper-text":    {"model=whisper-1", "response_format=text", "language=ru"},
		"whisper-srt":     {"model=whisper-1", "response_format=srt"},
		"whisper-vtt":     {"model=whisper-1", "response_format=vtt", "language=zh"},
		"whisper-verbose": {"model=whisper-1", "response_format=verbose_json", "timestamp_granularities[]=word", "timestamp_granularities[]=segment"},
		"4o-json":         {"model=gpt-4o-transcribe", "include[]=logprobs", "prompt=two words"},
		"4o-stream":       {"model=gpt-4o-transcribe@chunk=6", "stream=true"},
		"diarized":        {"model=gpt-4o-transcribe-diarize", "response_format=diarized_json", "chunking_strategy=auto", "known_speaker_names[]=agent", "known_speaker_references[]=" + dataURL(wave(3, ""))},
		"diarized-stream": {"model=gpt-4o-transcribe-diarize@chunk=9", "response_format=diarized_json", "chunking_strategy=auto", "stream=1"},
	} {
		kept(t, name, transcribe(s, "a.wav", file, fields...))
	}
	head, body := formOf("a.wav", file, "model=whisper-large-v3-turbo", "response_format=verbose_json", "timestamp_granularities[]=word")
	kept(t, "groq-verbose", post(s, "POST", "/groq/openai/v1/audio/transcriptions", bearerAny+"\n"+head, body))
	kept(t, "deepgram", post(s, "POST", "/deepgram/v1/listen?model=nova-3&smart_format=true&diarize=true&utterances=true&detect_language=true", deepgramHead, file))
	kept(t, "deepgram-plain", post(s, "POST", "/deepgram/v1/listen", deepgramHead, file))
	head, body = formOf("a.wav", wave(2, ""), "model_id=scribe_v1", "diarize=true", "timestamps_granularity=character")
	kept(t, "elevenlabs", post(s, "POST", "/elevenlabs/v1/speech-to-text", "Xi-Api-Key: any\n"+head, body))
}

// The same file says the same, whatever wire it comes by, whole or streamed.
func TestTranscriptIsOne(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, file := range []string{"tone.mp3", "tone.m4a", "tone.webm", "tone.opus", "tone.flac", "tone.wav"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			name := strings.Replace(file, ".opus", ".ogg", 1)
			data := wave(2, "")
			if file != "tone.wav" {
				data = sound(t, file)
			}
			plain := readTree(t, transcribe(s, name, data, "model=whisper-1").Body.Bytes())
			want := textAt(plain, "text")
			if want == "" {
				t.Fatalf("%v", plain)
			}
			w := transcribe(s, name, data, "model=gpt-4o-mini-transcribe", "stream=true")
			said := ""
			all := readEvents(t, w.Body.String())
			for _, e := range all {
				said += textAt(e.data, "delta")
			}
			if last := all[len(all)-1].data; said != want || textAt(last, "text") != want || numberAt(last, "usage.output_tokens") == 0 || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Errorf("the stream says %q, want %q; it ends with %v", said, want, last)
			}
			deep := readTree(t, post(s, "POST", "/deepgram/v1/listen?punctuate=true", deepgramHead, data).Body.Bytes())
			if got := textAt(deep, "results.channels.0.alternatives.0.transcript"); got != want {
				t.Errorf("deepgram says %q", got)
			}
			head, body := formOf(name, data, "model_id=scribe_v2")
			if got := textAt(readTree(t, post(s, "POST", "/elevenlabs/v1/speech-to-text", "Xi-Api-Key: any\n"+head, body).Body.Bytes()), "text"); got != want {
				t.Errorf("elevenlabs says %q", got)
			}
		})
	}
	seconds := func(data string) float64 {
		return numberAt(readTree(t, transcribe(s, "a.wav", data, "model=whisper-1", "response_format=verbose_json").Body.Bytes()), "duration")
	}
	if a, b := seconds(wave(1.5, "")), seconds(wave(7.25, "a note")); a != 1.5 || b != 7.25 {
		t.Errorf("WAV lasts %v and %v", a, b)
	}
}

func TestSpeechKit(t *testing.T) {
	t.Parallel()
	s := fixed()
	submit := func(note string) string {
		w := post(s, "POST", "/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("WAV", wave(4, note), ""))
		first := readTree(t, w.Body.Bytes())
		if w.Code != 200 || first["done"] != false || textAt(first, "id") == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return textAt(first, "id")
	}
	get := func(path string) *httptest.ResponseRecorder { return post(s, "GET", "/yandex/"+path, yandexHead, "") }
	id := submit("")
	if w := get("stt/v3/getRecognition?operation_id=" + id); w.Code != 404 {
		t.Errorf("before the end: %d %s", w.Code, w.Body)
	}
	for i, want := range []bool{false, true, true} {
		if got := readTree(t, get("operations/"+id).Body.Bytes()); got["done"] != want {
			t.Errorf("poll %d: %v", i, got)
		}
	}
	w := get("stt/v3/getRecognition?operationId=" + id)
	said, lines := "", strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	for _, line := range lines {
		said = strings.TrimSpace(said + " " + textAt(readTree(t, []byte(line)), "result.finalRefinement.normalizedText.alternatives.0.text"))
	}
	want := textAt(readTree(t, transcribe(s, "a.wav", wave(4, ""), "model=whisper-1").Body.Bytes()), "text")
	if said != want || textAt(readTree(t, []byte(lines[0])), "result.final.alternatives.0.words.0.endTimeMs") == "" {
		t.Errorf("%q, want %q in %s", said, want, w.Body)
	}
	if w := post(s, "DELETE", "/yandex/stt/v3/deleteRecognition?operationId="+id, yandexHead, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get("operations/" + id); w.Code != 404 {
		t.Errorf("after its end: %d %s", w.Code, w.Body)
	}

	id = submit("[[sim polls=1 job=fail]]")
	if got := readTree(t, get("operations/"+id).Body.Bytes()); got["done"] != true || numberAt(got, "error.code") != 3 {
		t.Errorf("%v", got)
	}
	id = submit("[[sim on=poll fault=u16 times=1 id=speechkit]]")
	if a, b := get("operations/"+id), get("operations/"+id); a.Code != 503 || b.Code != 200 {
		t.Errorf("%d and %d", a.Code, b.Code)
	}
	id = submit("[[sim polls=1 on=content fault=u9]]")
	get("operations/" + id)
	if w := get("stt/v3/getRecognition?operationId=" + id); w.Code != 429 || !strings.Contains(w.Body.String(), `"grpcCode":8`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.Reset()
	if w := get("operations/" + id); w.Code != 404 {
		t.Errorf("after a reset: %d", w.Code)
	}
}

// begins is how each format begins.
var begins = map[string]string{"mp3": "\xff\xf3", "opus": "OggS", "aac": "\xff\xf1", "flac": "fLaC", "wav": "RIFF", "pcm": ""}

func TestSpeech(t *testing.T) {
	t.Parallel()
	s := fixed()
	for format, head := range begins {
		body := `{"model":"speech","input":"hello","voice":"ash","response_format":"` + format + `"`
		w := post(s, "POST", "/v1/audio/speech", "", body+`}`)
		if w.Code != 200 || w.Body.Len() < 500 || !strings.HasPrefix(w.Body.String(), head) || !strings.HasPrefix(w.Header().Get("Content-Type"), "audio/") || w.Header().Get("Content-Length") != "" {
			t.Errorf("%s: %d, %d bytes of %s", format, w.Code, w.Body.Len(), w.Header())
		}
		whole := ""
		all := readEvents(t, post(s, "POST", "/v1/audio/speech", "", body+`,"stream_format":"sse"}`).Body.String())
		for _, e := range all {
			raw, err := base64.StdEncoding.DecodeString(textAt(e.data, "audio"))
			if err != nil {
				t.Fatal(err)
			}
			whole += string(raw)
		}
		if last := all[len(all)-1].data; whole != w.Body.String() || textAt(last, "type") != "speech.audio.done" || numberAt(last, "usage.input_tokens") != 1 {
			t.Errorf("%s: the events are not the sound; %v", format, last)
		}
	}
	if w := post(s, "POST", "/v1/audio/speech", "", `{"model":"speech","input":"hello","voice":{"id":"voice_1"}}`); w.Code != 200 || w.Header().Get("Content-Type") != "audio/mpeg" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	for format, kind := range map[string]string{"": "audio/mpeg", "mp3_44100_128": "audio/mpeg", "pcm_24000": "audio/pcm", "opus_48000_64": "audio/opus", "ulaw_8000": "audio/basic", "wav_24000": "audio/wav"} {
		for _, path := range []string{"", "/stream"} {
			w := post(s, "POST", "/elevenlabs/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM"+path+"?output_format="+format, "Xi-Api-Key: any", `{"text":"привет","model_id":"eleven_v3","voice_settings":{"stability":0.5}}`)
			if w.Code != 200 || w.Header().Get("Content-Type") != kind || w.Header().Get("Character-Cost") != "6" || w.Body.Len() < 500 {
				t.Errorf("%s: %d, %d bytes, %s", format, w.Code, w.Body.Len(), w.Header())
			}
		}
	}
}

func TestRerank(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, on := range []struct{ path, results, shown, tokens, more string }{
		{"/cohere/v2/rerank", "results", "", "meta.billed_units.search_units", `"top_n":2`},
		{"/voyage/v1/rerank", "data", "document", "usage.total_tokens", `"top_k":2,"return_documents":true`},
		{"/jina/v1/rerank", "results", "document.text", "usage.total_tokens", `"top_n":2`},
		{"/v1/rerank", "results", "document.text", "usage.total_tokens", `"top_n":2,"anything":1`},
	} {
		w := post(s, "POST", on.path, bearerAny, `{"model":"rerank","query":"the old weir","documents":["a boat","the weir is old","old water"],`+on.more+`}`)
		got := readTree(t, w.Body.Bytes())
		list, _ := at(got, on.results).([]any)
		if w.Code != 200 || len(list) != 2 || numberAt(list[0], "index") != 1 || numberAt(list[1], "index") != 2 || numberAt(list[0], "relevance_score") <= numberAt(list[1], "relevance_score") || numberAt(got, on.tokens) == 0 {
			t.Errorf("%s: %d %s", on.path, w.Code, w.Body)
		}
		if on.shown != "" && textAt(list[0], on.shown) != "the weir is old" {
			t.Errorf("%s shows %v", on.path, list[0])
		}
	}
	long := strings.Repeat("word ", 1200)
	w := post(s, "POST", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"a","documents":`+many(99)[:len(many(99))-1]+`,"`+long+`"]}`)
	if got := numberAt(readTree(t, w.Body.Bytes()), "meta.billed_units.search_units"); got != 2 {
		t.Errorf("%v units", got)
	}
}

func TestModerations(t *testing.T) {
	t.Parallel()
	s := fixed()
	ask := func(body string) tree {
		w := post(s, "POST", "/v1/moderations", "", body)
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return readTree(t, w.Body.Bytes())
	}
	names := func(v any) int { return len(v.(tree)) }
	two := ask(`{"input":["I will kill the process","a quiet river"]}`)
	if at(two, "results.0.flagged") != true || at(two, "results.1.flagged") != false || at(two, "results.0.categories.violence") != true || textAt(two, "model") != "omni-moderation-latest" {
		t.Errorf("%v", two)
	}
	for _, part := range []string{"categories", "category_scores", "category_applied_input_types"} {
		if n := names(at(two, "results.0."+part)); n != 13 {
			t.Errorf("%s has %d", part, n)
		}
	}
	seen := ask(`{"model":"omni-moderation-2024-09-26","input":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png8 + `"}}]}`)
	if n := len(at(seen, "results").([]any)); n != 1 {
		t.Errorf("%d results", n)
	}
	same(t, "types of violence", at(seen, "results.0.category_applied_input_types.violence"), []any{"text", "image"})
	same(t, "types of hate", at(seen, "results.0.category_applied_input_types.hate"), []any{"text"})
	old := ask(`{"model":"text-moderation-latest","input":""}`)
	if result := at(old, "results.0").(tree); names(result["categories"]) != 11 || result["category_applied_input_types"] != nil || textAt(old, "model") != "text-moderation-007" {
		t.Errorf("%v", old)
	}
	for model, n := range map[string]int{"mistral-moderation-2411": 9, "mistral-moderation-latest": 11} {
		w := post(s, "POST", "/mistral/v1/moderations", bearerAny, `{"model":"`+model+`","input":["kill"]}`)
		got := readTree(t, w.Body.Bytes())
		if names(at(got, "results.0.categories")) != n || at(got, "results.0.categories.violence_and_threats") != true || at(got, "results.0.flagged") != nil {
			t.Errorf("%s", w.Body)
		}
	}
}

// taskCalls send a prompt or a note by each wire.
var taskCalls = map[string]func(s *sim.Server, say string) *httptest.ResponseRecorder{
	"embeddings": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1/embeddings", "", `{"model":"embed","input":"`+say+`","dimensions":4}`)
	},
	"gemini": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1beta/models/embed:embedContent", "", `{"content":{"parts":[{"text":"`+say+`"}]},"outputDimensionality":4}`)
	},
	"cohere": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/cohere/v2/rerank", bearerAny, `{"model":"rerank","query":"`+say+`","documents":["a"]}`)
	},
	"voyage": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/voyage/v1/embeddings", bearerAny, `{"model":"embed","input":"`+say+`"}`)
	},
	"yandex": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/yandex/foundationModels/v1/textEmbedding", yandexHead, `{"modelUri":"emb://f/embed","text":"`+say+`"}`)
	},
	"moderations": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1/moderations", "", `{"input":"`+say+`"}`)
	},
	"mistral": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/mistral/v1/moderations", bearerAny, `{"model":"moderation","input":"`+say+`"}`)
	},
	"jina": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/jina/v1/rerank", bearerAny, `{"model":"rerank","query":"q","documents":["`+say+`"]}`)
	},
	"vllm": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1/rerank", "", `{"model":"rerank","query":"`+say+`","documents":["a"]}`)
	},
	"transcriptions": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return transcribe(s, "a.wav", wave(3, ""), "model=whisper-1", "prompt="+say)
	},
	"srt": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return transcribe(s, "a.wav", wave(3, say), "model=whisper-1", "response_format=srt")
	},
	"transcription stream": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return transcribe(s, "a.wav", wave(3, say), "model=transcribe", "stream=true")
	},
	"deepgram": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/deepgram/v1/listen", deepgramHead, wave(3, say))
	},
	"elevenlabs": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		head, body := formOf("a.wav", wave(3, say), "model_id=scribe_v1")
		return post(s, "POST", "/elevenlabs/v1/speech-to-text", "Xi-Api-Key: any\n"+head, body)
	},
	"speechkit": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/yandex/stt/v3/recognizeFileAsync", yandexHead, speechkitBody("WAV", wave(3, say), ""))
	},
	"speech": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1/audio/speech", "", `{"model":"speech","input":"`+say+` a","voice":"ash"}`)
	},
	"speech events": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/v1/audio/speech", "", `{"model":"speech","input":"`+say+` a","voice":"ash","stream_format":"sse"}`)
	},
	"eleven speech": func(s *sim.Server, say string) *httptest.ResponseRecorder {
		return post(s, "POST", "/elevenlabs/v1/text-to-speech/abcdef/stream", "Xi-Api-Key: any", `{"text":"`+say+` a"}`)
	},
}

func TestTaskFaults(t *testing.T) {
	t.Parallel()
	for name, send := range taskCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			call := func(fault string) *httptest.ResponseRecorder {
				s.Reset()
				w := send(s, "[[sim fault="+fault+"]] water")
				if got := s.Stats().Total; got.Faults != 1 || got.Requests != 1 {
					t.Errorf("%s: counted %+v, answered %d %s", fault, got, w.Code, w.Body)
				}
				return w
			}
			good := send(s, "water")
			if good.Code != 200 {
				t.Fatalf("%d %s", good.Code, good.Body)
			}
			for fault, status := range map[string]int{
				"u9": 429, "u10": 429, "u11-huge": 429, "u12": 400, "u12 status=422": 422, "u12-context": 400, "u12-secret": 400, "u13": 401, "u13 status=402": 402,
				"u13 status=403": 403, "u14": 404, "u15": 500, "u15 status=529": 529, "u16": 503, "u17": 302,
			} {
				w := call(fault)
				if w.Code != status || status != 302 && !json.Valid(w.Body.Bytes()) {
					t.Errorf("%s: %d %s", fault, w.Code, w.Body)
				}
			}
			if got := call("u9").Header().Get("Retry-After"); got != "7" {
				t.Errorf("Retry-After %q", got)
			}
			if w := call("u15-html"); w.Code != 500 || w.Header().Get("Content-Type") != "text/html" {
				t.Errorf("u15-html: %d %s", w.Code, w.Header())
			}
			for _, how := range []string{"empty", "truncated", "html", "text", "array", "null", "object", "nochoices"} {
				if w := call("u18-" + how); w.Code != 200 || w.Body.String() == good.Body.String() {
					t.Errorf("u18-%s: %d %s", how, w.Code, w.Body)
				}
			}
			if w := call("u19 code=503"); w.Code != 200 || !strings.Contains(w.Body.String(), "The simulator failed inside its answer.") {
				t.Errorf("u19: %d %s", w.Code, w.Body)
			}
			for how, kind := range map[string]string{"plain": "text/plain; charset=utf-8", "html": "text/html; charset=utf-8", "none": ""} {
				if w := call("u20-" + how); w.Code != 200 || w.Header().Get("Content-Type") != kind {
					t.Errorf("u20-%s: %d %s", how, w.Code, w.Header())
				}
			}
			if w := call("u21-rubbish"); w.Header().Get("Content-Encoding") != "gzip" {
				t.Errorf("u21: %s", w.Header())
			}
			if w := call("u22-big bytes=100000"); w.Code != 200 || w.Body.Len() < 100_000 {
				t.Errorf("u22: %d bytes", w.Body.Len())
			}
			if w := call("u29"); w.Code != 200 || w.Body.Len() >= good.Body.Len() {
				t.Errorf("u29: %d %s", w.Code, w.Body)
			}
			if w := call("u31"); w.Header().Get("Set-Cookie") == "" || w.Code != 200 || w.Header().Get("Content-Type") != good.Header().Get("Content-Type") {
				t.Errorf("u31: %d %s", w.Code, w.Header())
			}
			for _, fault := range []string{"u7-clean", "u8", "u25 bytes=10", "u26", "u27", "u28", "u30"} {
				if w := call(fault); w.Code != 200 {
					t.Errorf("%s: %d %s", fault, w.Code, w.Body)
				}
			}
			if w := call("u7-clean"); w.Body.Len() >= good.Body.Len() {
				t.Errorf("u7: %d bytes of %d", w.Body.Len(), good.Body.Len())
			}
			s.Reset()
			if a, b := send(s, "[[sim fault=u15 times=1 id=once]] water"), send(s, "[[sim fault=u15 times=1 id=once]] water"); a.Code != 500 || b.Code != 200 {
				t.Errorf("times=1: %d and %d", a.Code, b.Code)
			}
			if w := send(s, "[[sim nonsense=1]] water"); w.Code < 400 || !strings.Contains(w.Body.String(), "the simulator has no setting") {
				t.Errorf("a misspelt marker: %d %s", w.Code, w.Body)
			}
		})
	}
}

// Over a new connection, so that a cut is seen.
func TestTaskFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	_, addr := start(t, sim.Config{Key: "k"})
	do := func(path, body string) (*http.Response, []byte, error) {
		r, _ := http.NewRequest("POST", "http://"+addr+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer k")
		w, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(r)
		if err != nil {
			return nil, nil, err
		}
		defer w.Body.Close()
		b, err := io.ReadAll(w.Body)
		return w, b, err
	}
	speak := func(say string) string {
		return `{"model":"speech","input":"` + say + ` a","voice":"ash","response_format":"wav"}`
	}
	w, whole, err := do("/v1/audio/speech", speak(""))
	if err != nil || w.ContentLength != -1 || len(w.TransferEncoding) != 1 {
		t.Fatalf("sound: %v %v, %d bytes of %d", err, w.TransferEncoding, len(whole), w.ContentLength)
	}
	for _, fault := range []string{"u6", "u7-chunk", "u7-length"} {
		if _, b, err := do("/v1/audio/speech", speak("[[sim fault="+fault+"]]")); err == nil || len(b) >= len(whole) {
			t.Errorf("%s: %v after %d bytes", fault, err, len(b))
		}
		if _, _, err := do("/v1/embeddings", `{"model":"embed","input":"[[sim fault=`+fault+`]] a"}`); err == nil {
			t.Errorf("embeddings, %s: no error", fault)
		}
	}
	for _, path := range []string{"/v1/embeddings", "/voyage/v1/embeddings"} {
		if _, _, err := do(path, `{"model":"embed-fault-u2","input":"a"}`); err == nil {
			t.Errorf("%s: an answer after u2", path)
		}
	}
	r, _ := http.NewRequest("POST", "http://"+addr+"/v1/rerank", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer wrong")
	if w, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(r); err != nil || w.StatusCode != 401 {
		t.Errorf("a wrong key: %v %v", w, err)
	} else {
		w.Body.Close()
	}
}

// Whatever comes, it is answered or refused, and what says that it is JSON is JSON.
func FuzzTasks(f *testing.F) {
	paths := []string{
		"/v1/embeddings", "/v1beta/models/embed:embedContent", "/v1beta/models/embed:batchEmbedContents", "/cohere/v2/embed", "/cohere/v2/rerank", "/voyage/v1/embeddings",
		"/voyage/v1/rerank", "/yandex/foundationModels/v1/textEmbedding", "/v1/moderations", "/mistral/v1/moderations", "/jina/v1/rerank", "/v1/rerank", "/v1/audio/speech",
		"/elevenlabs/v1/text-to-speech/abcdef", "/yandex/stt/v3/recognizeFileAsync", "/deepgram/v1/listen", "form",
	}
	for i, body := range []string{
		`{"model":"embed","input":["a",""],"dimensions":4}`, `{"content":{"parts":[{"text":"a"}]}}`, `{"requests":[{"model":"models/embed","content":{"parts":[{"text":"a"}]}}]}`,
		`{"model":"embed","input_type":"image","images":["data:image/png;base64,` + png8 + `"]}`, `{"model":"rerank","query":"a","documents":["b"]}`, `{"model":"embed","input":["a"]}`,
		`{"model":"rerank","query":"a","documents":["b"]}`, `{"modelUri":"emb://f/embed","text":"a"}`, `{"input":[{"type":"text","text":"a"}]}`, `{"model":"moderation","input":"a"}`,
		`{"model":"rerank","query":"a","documents":["b"]}`, `{"model":"rerank","query":"a","documents":["b"]}`, `{"model":"speech","input":"a","voice":"ash"}`, `{"text":"a"}`,
		speechkitBody("WAV", wave(1, ""), ""), wave(1, ""), wave(1, "note"),
	} {
		f.Add(uint8(i), []byte(body))
	}
	f.Add(uint8(16), []byte("ID3"))
	f.Add(uint8(16), []byte("RIFF\x00\x00\x00\x00WAVEfmt \xff\xff\xff\xff"))
	s := fixed()
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		if bytes.Contains(body, []byte("sim")) || bytes.Contains(body, []byte("@")) || bytes.Contains(body, []byte("fault")) {
			return // it would be obeyed
		}
		path := paths[int(which)%len(paths)]
		head, said := "Authorization: Bearer any\nXi-Api-Key: any", string(body)
		switch path {
		case "form":
			path = "/v1/audio/transcriptions"
			head, said = formOf("a.wav", said, "model=whisper-1", "response_format=verbose_json")
		case "/deepgram/v1/listen":
			head = deepgramHead
		}
		w := post(s, "POST", path, head, said)
		if w.Code != 200 && (w.Code < 400 || w.Code >= 500) {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s: %s", path, w.Body)
		}
	})
}
