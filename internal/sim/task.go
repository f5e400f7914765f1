package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// This file has what the wires share that are not for conversation: embeddings, moderation, transcription, speech, rerank. Their
// requests are read by the same checker and their answers played by the same exchange, so that settings and faults are the same.

// taskRoutes adds them. Providers whose paths would meet OpenAI's lie below their names.
func (s *Server) taskRoutes() {
	s.route(chatWire, "POST", "/v1/embeddings", s.openAIEmbeddings)
	s.route(voyageWire, "POST", "/voyage/v1/embeddings", s.voyageEmbeddings)
	s.route(cohereWire, "POST", "/cohere/v2/embed", s.cohereEmbed)
	s.route(yandexTaskWire, "POST", "/yandex/foundationModels/v1/textEmbedding", s.yandexEmbedding)
	s.route(gigachatWire, "POST", "/api/v1/embeddings", s.gigachatEmbeddings)
	s.route(moderationsWire, "POST", "/v1/moderations", s.moderations(moderationsWire, "modr-", (*moderations).openAI))
	s.route(mistralWire, "POST", "/mistral/v1/moderations", s.moderations(mistralWire, "", (*moderations).mistral))
	s.route(cohereWire, "POST", "/cohere/v2/rerank", s.rerankRoute(cohereWire, `{"id":"x","results":[]}`, (*reranking).cohere, (*reranking).writtenCohere))
	s.route(voyageWire, "POST", "/voyage/v1/rerank", s.rerankRoute(voyageWire, `{"object":"list","data":[]}`, (*reranking).voyage, (*reranking).writtenVoyage))
	s.route(jinaWire, "POST", "/jina/v1/rerank", s.rerankRoute(jinaWire, `{"model":"m","results":[]}`, (*reranking).jina, (*reranking).writtenJina))
	s.route(transcriptionsWire, "POST", "/v1/audio/transcriptions", s.transcriptions(transcriptionsWire, transcribers))
	s.route(groqWire, "POST", "/groq/openai/v1/audio/transcriptions", s.transcriptions(groqWire, groqTranscribers))
	s.route(deepgramWire, "POST", "/deepgram/v1/listen", s.listen)
	s.route(elevenWire, "POST", "/elevenlabs/v1/speech-to-text", s.scribe)
	s.route(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}", s.elevenSpeak)
	s.route(elevenWire, "POST", "/elevenlabs/v1/text-to-speech/{voice}/stream", s.elevenSpeak)
	s.route(yandexTaskWire, "POST", "/yandex/stt/v3/recognizeFileAsync", s.recognizeFile)
	s.route(yandexTaskWire, "GET", "/yandex/stt/v3/getRecognition", s.getRecognition)
	s.route(yandexTaskWire, "DELETE", "/yandex/stt/v3/deleteRecognition", s.deleteRecognition)
	s.route(yandexTaskWire, "GET", "/yandex/operations/{id}", s.operations)
	s.route(speechWire, "POST", "/v1/audio/speech", s.speak)
	s.route(vllmWire, "POST", "/v1/rerank", s.rerankRoute(vllmWire, `{"id":"x","model":"m","results":[]}`, (*reranking).vllm, (*reranking).writtenVLLM))
}

// wholeWire is a wire that streams nothing, with bodies of its own for errors.
func wholeWire(name string, say *phrases, fail func(*refusal) []byte, admit func(*Server, *http.Request) *refusal, tooLong, shapeless string) *wire {
	return &wire{
		name: name, say: say, fail: fail, admit: admit, tooLong: tooLong, shapeless: []byte(shapeless),
		inside: func(f *refusal, _ string, _ int) frame { return frame{data: fail(f)} },
		stream: streamType, frame: sse,
		text: func(s string) frame { return frame{data: []byte(`{"text":"` + s + `"}`)} },
		idle: frame{data: []byte(`{"idle":true}`)},
	}
}

// byScheme admits who sends the key in the Authorization header behind one of the schemes, such as "Bearer ".
func byScheme(message string, schemes ...string) func(*Server, *http.Request) *refusal {
	return func(s *Server, r *http.Request) *refusal {
		for _, scheme := range schemes {
			if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme); ok && key != "" && s.hasKey(key) {
				return nil
			}
		}
		return wrongKey(401, message)
	}
}

// reader begins to read a body of JSON with the phrases of a wire.
func reader(on *wire, body []byte) (*checker, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(on.say, err)
	}
	c := newChecker(on.say)
	c.root = root
	if !c.typed(root, object, "body") {
		return nil, c.fault
	}
	return &c, nil
}

// asked finds the model that is asked for among those of a wire; nil when it has none of that name, which is then complained of.
func asked[M any](c *checker, name string, models map[string]*M, unknown func(name string) *refusal) *M {
	base, err := c.ask.knobs.named(name)
	if err != nil {
		c.refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
		return nil
	}
	c.ask.name = name
	m := models[base]
	if m == nil && c.fault == nil {
		c.fault = unknown(name)
	}
	return m
}

// plain is a text without the simulator's markers, which are obeyed.
func (c *checker) plain(s, param string) string {
	out, err := c.ask.knobs.markers(s)
	if err != nil {
		c.refuse(param, "invalid_value", err.Error()+".")
	}
	return out
}

// perform plays the answer to a request, unless there is something to complain of.
func (s *Server) perform(w http.ResponseWriter, r *http.Request, started time.Time, c *checker, out *reply) *refusal {
	if err := c.ask.knobs.check(); err != nil {
		c.refuse("", "invalid_value", err.Error()+".")
	}
	if c.fault != nil {
		return c.fault
	}
	x := s.exchange(out.wire, w, r, c.ask.name, out.stream, &c.ask.knobs, started)
	defer x.end()
	x.play(out)
	return nil
}

// whole is an answer that is never streamed.
func whole(on *wire, hollow string, body func() []byte) *reply {
	return &reply{wire: on, body: body, hollow: func() []byte { return []byte(hollow) }}
}

// counted is one count of usage.
type counted struct {
	name string
	n    int
}

// appendCounts writes `,"usage":{...}` under the name of it, or what a provider that counts badly writes.
func appendCounts(dst []byte, name, style string, counts ...counted) []byte {
	if style == "missing" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":{`...)
	for i, c := range counts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCount(dst, c.name, c.n, style)
	}
	return append(dst, '}')
}

func appendNumber(dst []byte, x float64) []byte { return strconv.AppendFloat(dst, x, 'f', -1, 64) }

// listed writes the elements of an array.
func listed[E any](dst []byte, all []E, one func(dst []byte, i int, e E) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, i, e)
	}
	return append(dst, ']')
}

// fingerprint is a number that follows from texts.
func fingerprint(of ...string) uint64 {
	d := newDigest
	for _, s := range of {
		d.add(s)
	}
	return uint64(d)
}
