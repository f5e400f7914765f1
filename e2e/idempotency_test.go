package e2e_test

import (
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3/option"
)

// A request that is sent twice with an idempotency key is answered twice and charged once.
func TestNamedRequests(t *testing.T) {
	t.Parallel()
	client := ownDemo(t).client(t)
	var again *http.Response
	first := complete(t, client, ask("sim/chat", "What is a weir?"), option.WithHeader("Idempotency-Key", "whole"))
	spent := purseOf(t, client).spent
	second := complete(t, client, ask("sim/chat", "What is a weir?"), option.WithHeader("Idempotency-Key", "whole"), option.WithResponseInto(&again))
	if first.RawJSON() != second.RawJSON() || again.Header.Get("Idempotent-Replayed") != "true" || again.Header.Get("X-Generation-Id") != first.ID {
		t.Errorf("the second answer is %s, %v; the first was %s", second.RawJSON(), again.Header, first.RawJSON())
	}
	whole, chunks := stream(t, client, ask("sim/chat", "What is a weir?"), option.WithHeader("Idempotency-Key", "stream"))
	once := purseOf(t, client).spent
	wholeAgain, chunksAgain := stream(t, client, ask("sim/chat", "What is a weir?"), option.WithHeader("Idempotency-Key", "stream"))
	if wholeAgain.ID != whole.ID || len(chunksAgain) != len(chunks) || wholeAgain.Choices[0].Message.Content != whole.Choices[0].Message.Content {
		t.Errorf("the second stream has %d chunks of %s; the first had %d of %s", len(chunksAgain), wholeAgain.ID, len(chunks), whole.ID)
	}
	if once <= spent || purseOf(t, client).spent != once {
		t.Errorf("spent %d, then %d, then %d", spent, once, purseOf(t, client).spent)
	}
	_, err := client.Chat.Completions.New(t.Context(), ask("sim/chat", "Something else."), option.WithHeader("Idempotency-Key", "whole"))
	refused(t, err, http.StatusUnprocessableEntity, "idempotency_mismatch")
}
