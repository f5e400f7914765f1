package apptest

import (
	"fmt"

	"weir/internal/catalog"
)

// OfStyle returns the path and body of a request of a style, with one more member.
func OfStyle(style, model, member string) (path, body string) {
	said := `"messages":[{"role":"user","content":"Over the weir"}]`
	switch style {
	case "messages":
		return "/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":64,%s,%s}`, model, said, member)
	case "gemini":
		return "/v1beta/models/" + model + ":generateContent", fmt.Sprintf(`{"contents":[{"parts":[{"text":"Over the weir"}]}],%s}`, member)
	case "responses":
		return "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"Over the weir","store":false,%s}`, model, member)
	}
	return "/v1/chat/completions", fmt.Sprintf(`{"model":%q,%s,%s}`, model, said, member)
}

// Own is the model whose provider uses the style's wire.
var Own = map[string]string{"messages": "anthropic/chat", "responses": "responses/chat", "chat": "openai/chat", "gemini": "gemini/chat"}

// Unpriced removes the tool prices of the conformance catalog.
func Unpriced(s *Setup) {
	for i := range s.Offers {
		b := &s.Offers[i].Pricing.Base
		b.WebSearch, b.CodeExecution = catalog.Prices{}.WebSearch, catalog.Prices{}.CodeExecution
	}
}
