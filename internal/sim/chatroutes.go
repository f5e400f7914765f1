// Package chat has the wires for conversation, with their lists of models.
package sim

import (
	"net/http"
	"time"
)

// chatWires are the wires of this package.
type chatWires struct {
	*Host
	stored responseStore
	files  files
	google []func(w http.ResponseWriter, r *http.Request, model, method string) bool
}

func newChatWires(h *Host) *chatWires { return &chatWires{Host: h} }

// Google serves more methods of Google's models: each reports whether the method is its own.
func (s *chatWires) Google(serve ...func(w http.ResponseWriter, r *http.Request, model, method string) bool) {
	s.google = serve
}

// Reset forgets stored responses and files.
func (s *chatWires) Reset() {
	s.stored.reset()
	s.files.reset()
}

// Mount adds the routes.
func (s *chatWires) Mount(m *Routes) {
	m.Add(chatWire, "POST", "/v1/chat/completions", s.chat)
	m.Add(chatWire, "GET", "/v1/models", s.models)
	m.Add(chatWire, "GET", "/v1/models/{model}", s.model)
	m.Add(responsesWire, "POST", "/v1/responses", s.responses)
	m.Add(responsesWire, "POST", "/v1/responses/input_tokens", s.inputTokens)
	m.AddAll(responsesWire, "/v1/responses/{id}", map[string]http.HandlerFunc{"GET": s.getResponse, "DELETE": s.deleteResponse})
	m.Add(responsesWire, "GET", "/v1/responses/{id}/input_items", s.inputItems)
	m.Add(responsesWire, "POST", "/v1/responses/{id}/cancel", s.cancelResponse)
	m.Add(bedrockWire, "POST", "/model/{id}/converse", s.converse(false))
	m.Add(bedrockWire, "POST", "/model/{id}/converse-stream", s.converse(true))
	m.Open("/api/v2/oauth", s.oauth)
	m.Add(gigachatWire, "POST", "/api/v1/chat/completions", s.gigachat)
	m.Add(gigachatWire, "POST", "/api/v1/files", s.upload)
	m.Add(gigachatWire, "GET", "/api/v1/models", s.models)
	m.Add(yandexWire, "POST", "/yandex/v1/chat/completions", s.yandex)
	for _, base := range [...]string{"", "/anthropic"} {
		m.Add(messagesWire, "POST", base+"/v1/messages", s.messages)
		m.Add(messagesWire, "POST", base+"/v1/messages/count_tokens", s.countTokens)
	}
	m.Add(messagesWire, "GET", "/anthropic/v1/models", s.models)
	m.Add(messagesWire, "GET", "/anthropic/v1/models/{model}", s.model)
	for _, base := range [...]string{"/v1beta/models/", "/v1beta1/projects/{project}/locations/{location}/publishers/google/models/", "/v1/projects/{project}/locations/{location}/publishers/google/models/"} {
		m.AddAll(geminiWire, base+"{call}", map[string]http.HandlerFunc{"POST": s.gemini, "GET": s.geminiModel})
	}
	m.Add(geminiWire, "GET", "/v1beta/models", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, geminiModels(nil)) })
	m.Add(chatWire, "POST", "/openrouter/api/v1/chat/completions", s.chat)
}

// chat serves POST /v1/chat/completions.
func (s *chatWires) chat(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(chatWire, w, r, func(body []byte) *refusal {
		if p := peek(body); p.bench() && s.bench(w, r, &p, body, started) {
			return nil
		}
		a, refused := chatRequest(body)
		if refused == nil {
			s.answerChat(chatWire, w, r, started, a)
		}
		return refused
	})
}

// yandex serves the chat wire of Yandex AI Studio.
func (s *chatWires) yandex(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(yandexWire, w, r, func(body []byte) *refusal {
		a, refused := chatRequestFor(body, yandexModel)
		if refused == nil {
			s.answerChat(yandexWire, w, r, started, a)
		}
		return refused
	})
}

func (s *chatWires) answerChat(on *wire, w http.ResponseWriter, r *http.Request, started time.Time, a *ask) {
	s.answer(w, r, started, a, func(answer *answer, now time.Time) *reply {
		for i := range answer.choices {
			if sound := answer.choices[i].audio; sound != nil {
				sound.expires = now.Unix() + audioLife
			}
		}
		return (&chatReply{on: on, ask: a, answer: answer, created: now.Unix()}).reply()
	})
}

func (s *chatWires) models(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Anthropic-Version") != "" {
		sendJSON(w, 200, messagesModels(nil))
		return
	}
	dst := []byte(`{"object":"list","data":[`)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = models[i].append(dst)
	}
	sendJSON(w, 200, append(dst, ']', '}'))
}

func (s *chatWires) geminiModel(w http.ResponseWriter, r *http.Request) {
	m := modelNamed(r.PathValue("call"))
	if m == nil {
		geminiWire.refuse(w, geminiUnknown(r.PathValue("call")))
		return
	}
	sendJSON(w, 200, appendForGemini(nil, m))
}

func (s *chatWires) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("model")
	m := modelNamed(name)
	if m == nil {
		if r.Header.Get("Anthropic-Version") != "" {
			messagesWire.refuse(w, &refusal{status: 404, message: "model: " + name})
			return
		}
		chatWire.refuse(w, unknownModel(name))
		return
	}
	if r.Header.Get("Anthropic-Version") != "" {
		sendJSON(w, 200, appendForMessages(nil, m))
		return
	}
	sendJSON(w, 200, m.append(nil))
}
