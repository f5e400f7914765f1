// Package chat has the wires for conversation, with their lists of models.
package chat

import (
	"net/http"
	"time"

	"weir/internal/sim/kit"
)

// Wires are the wires of this package.
type Wires struct {
	*kit.Host
	stored responseStore
	files  files
	google []func(w http.ResponseWriter, r *http.Request, model, method string) bool
}

// New makes the wires.
func New(h *kit.Host) *Wires { return &Wires{Host: h} }

// Google serves more methods of Google's models: each reports whether the method is its own.
func (s *Wires) Google(serve ...func(w http.ResponseWriter, r *http.Request, model, method string) bool) {
	s.google = serve
}

// Reset forgets stored responses and files.
func (s *Wires) Reset() {
	s.stored.reset()
	s.files.reset()
}

// Mount adds the routes.
func (s *Wires) Mount(m *kit.Routes) {
	m.Add(kit.ChatWire, "POST", "/v1/chat/completions", s.Chat)
	m.Add(kit.ChatWire, "GET", "/v1/models", s.models)
	m.Add(kit.ChatWire, "GET", "/v1/models/{model}", s.model)
	m.Add(responsesWire, "POST", "/v1/responses", s.responses)
	m.Add(responsesWire, "POST", "/v1/responses/input_tokens", s.inputTokens)
	m.AddAll(responsesWire, "/v1/responses/{id}", map[string]http.HandlerFunc{"GET": s.getResponse, "DELETE": s.deleteResponse})
	m.Add(responsesWire, "GET", "/v1/responses/{id}/input_items", s.inputItems)
	m.Add(responsesWire, "POST", "/v1/responses/{id}/cancel", s.cancelResponse)
	m.Add(bedrockWire, "POST", "/model/{id}/converse", s.converse(false))
	m.Add(bedrockWire, "POST", "/model/{id}/converse-stream", s.converse(true))
	m.AddOpen("/api/v2/oauth", s.oauth)
	m.Add(GigachatWire, "POST", "/api/v1/chat/completions", s.gigachat)
	m.Add(GigachatWire, "POST", "/api/v1/files", s.upload)
	m.Add(GigachatWire, "GET", "/api/v1/models", s.models)
	m.Add(yandexWire, "POST", "/yandex/v1/chat/completions", s.yandex)
	for _, base := range [...]string{"", "/anthropic"} {
		m.Add(MessagesWire, "POST", base+"/v1/messages", s.messages)
		m.Add(MessagesWire, "POST", base+"/v1/messages/count_tokens", s.countTokens)
	}
	m.Add(MessagesWire, "GET", "/anthropic/v1/models", s.models)
	m.Add(MessagesWire, "GET", "/anthropic/v1/models/{model}", s.model)
	for _, base := range [...]string{"/v1beta/models/", "/v1beta1/projects/{project}/locations/{location}/publishers/google/models/", "/v1/projects/{project}/locations/{location}/publishers/google/models/"} {
		m.AddAll(GeminiWire, base+"{call}", map[string]http.HandlerFunc{"POST": s.gemini, "GET": s.geminiModel})
	}
	m.Add(GeminiWire, "GET", "/v1beta/models", func(w http.ResponseWriter, _ *http.Request) { kit.SendJSON(w, 200, geminiModels(nil)) })
	m.Add(kit.ChatWire, "POST", "/openrouter/api/v1/chat/completions", s.Chat)
}

// Chat serves POST /v1/chat/completions.
func (s *Wires) Chat(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(kit.ChatWire, w, r, func(body []byte) *kit.Refusal {
		if p := peek(body); p.bench() && s.bench(w, r, &p, body, started) {
			return nil
		}
		a, refused := chatRequest(body)
		if refused == nil {
			s.answerChat(kit.ChatWire, w, r, started, a)
		}
		return refused
	})
}

// yandex serves the chat wire of Yandex AI Studio.
func (s *Wires) yandex(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(yandexWire, w, r, func(body []byte) *kit.Refusal {
		a, refused := chatRequestFor(body, YandexModel)
		if refused == nil {
			s.answerChat(yandexWire, w, r, started, a)
		}
		return refused
	})
}

func (s *Wires) answerChat(on *kit.Wire, w http.ResponseWriter, r *http.Request, started time.Time, a *kit.Request) {
	s.Answer(w, r, started, a, func(answer *kit.Answer, now time.Time) *kit.Reply {
		for i := range answer.Choices {
			if sound := answer.Choices[i].Audio; sound != nil {
				sound.Expires = now.Unix() + audioLife
			}
		}
		return (&chatReply{on: on, ask: a, answer: answer, created: now.Unix()}).reply()
	})
}

func (s *Wires) models(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Anthropic-Version") != "" {
		kit.SendJSON(w, 200, messagesModels(nil))
		return
	}
	dst := []byte(`{"object":"list","data":[`)
	for i := range kit.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = kit.Models[i].Append(dst)
	}
	kit.SendJSON(w, 200, append(dst, ']', '}'))
}

func (s *Wires) geminiModel(w http.ResponseWriter, r *http.Request) {
	m := kit.ModelNamed(r.PathValue("call"))
	if m == nil {
		GeminiWire.Refuse(w, geminiUnknown(r.PathValue("call")))
		return
	}
	kit.SendJSON(w, 200, appendForGemini(nil, m))
}

func (s *Wires) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("model")
	m := kit.ModelNamed(name)
	if m == nil {
		if r.Header.Get("Anthropic-Version") != "" {
			MessagesWire.Refuse(w, &kit.Refusal{Status: 404, Message: "model: " + name})
			return
		}
		kit.ChatWire.Refuse(w, kit.UnknownModel(name))
		return
	}
	if r.Header.Get("Anthropic-Version") != "" {
		kit.SendJSON(w, 200, appendForMessages(nil, m))
		return
	}
	kit.SendJSON(w, 200, m.Append(nil))
}
