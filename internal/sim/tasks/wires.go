// Package tasks simulates embeddings, rerank and moderation. Requests are read by the same
// checker as those of conversation and answers played by the same exchange, so that settings and faults are the same.
package tasks

import (
	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// Wires are the wires of this package. Providers whose paths would meet OpenAI's lie below their names.
type Wires struct{ *kit.Host }

// New makes the wires.
func New(h *kit.Host) *Wires { return &Wires{h} }

// Mount adds the routes.
func (s *Wires) Mount(m *kit.Routes) {
	m.Add(kit.ChatWire, "POST", "/v1/embeddings", s.openAIEmbeddings)
	m.Add(voyageWire, "POST", "/voyage/v1/embeddings", s.voyageEmbeddings)
	m.Add(cohereWire, "POST", "/cohere/v2/embed", s.cohereEmbed)
	m.Add(kit.YandexTaskWire, "POST", "/yandex/foundationModels/v1/textEmbedding", s.yandexEmbedding)
	m.Add(chat.GigachatWire, "POST", "/api/v1/embeddings", s.gigachatEmbeddings)
	m.Add(moderationsWire, "POST", "/v1/moderations", s.moderations(moderationsWire, "modr-", (*moderations).openAI))
	m.Add(mistralWire, "POST", "/mistral/v1/moderations", s.moderations(mistralWire, "", (*moderations).mistral))
	m.Add(cohereWire, "POST", "/cohere/v2/rerank", s.rerankRoute(cohereWire, `{"id":"x","results":[]}`, (*reranking).cohere, (*reranking).writtenCohere))
	m.Add(voyageWire, "POST", "/voyage/v1/rerank", s.rerankRoute(voyageWire, `{"object":"list","data":[]}`, (*reranking).voyage, (*reranking).writtenVoyage))
	m.Add(jinaWire, "POST", "/jina/v1/rerank", s.rerankRoute(jinaWire, `{"model":"m","results":[]}`, (*reranking).jina, (*reranking).writtenJina))
	m.Add(vllmWire, "POST", "/v1/rerank", s.rerankRoute(vllmWire, `{"id":"x","model":"m","results":[]}`, (*reranking).vllm, (*reranking).writtenVLLM))
}
