package apptest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Signed counts the signatures of providers. A style without a field for signatures packs them into an existing field, and marks unsigned
// reasoning in the same way.
func (s *Said) Signed(t *testing.T) (n int) {
	t.Helper()
	for _, signature := range s.Signatures {
		if packed, ours := strings.CutPrefix(signature, "weir.1."); ours {
			b, err := base64.RawURLEncoding.DecodeString(packed)
			if err != nil {
				t.Error(err)
			}
			if m := Decode[map[string]string](t, b); m["signature"]+m["data"] == "" {
				continue
			}
		}
		n++
	}
	return n
}

// WantSignatures checks the request that the upstream received last.
func (c *Conformer) WantSignatures(t *testing.T, dialect string, owned map[string]int) {
	t.Helper()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	body := string(c.Sent[len(c.Sent)-1].Body)
	n := strings.Count(body, `"functions_state_id":"`) + strings.Count(body, `"encrypted_content":"`) + strings.Count(body, `"signature":"`) + strings.Count(body, `"thoughtSignature":"`) + strings.Count(body, `"redacted_thinking"`) - strings.Count(body, "skip_thought_signature_validator")
	if n != owned[dialect] || strings.Contains(body, "weir.1.") {
		t.Errorf("%s received %d signatures, %d are its own: %s", dialect, n, owned[dialect], body)
	}
}

// WantNotice checks that the record of a call has the notice that the client got.
func (a *Account) WantNotice(t *testing.T, s Style, is *Said) {
	t.Helper()
	id := is.ID
	if rest, ok := strings.CutPrefix(id, "msg_"); ok {
		id = "gen-" + rest
	}
	if s.Name() == "messages" && strings.HasPrefix(is.Model, "anthropic/") || s.Name() == "gemini" && strings.HasPrefix(is.Model, "gemini/") || strings.TrimSuffix(s.Name(), OfSocket) == "responses" {
		return // the id is the provider's, or that of a stored response
	}
	var c struct{ Data struct{ Notice *string } }
	got := a.Do(t, http.MethodGet, "/api/calls/"+id, nil)
	if err := json.Unmarshal(got.Body, &c); err != nil || got.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.Status, err, got.Body)
	}
	if recorded := c.Data.Notice; (recorded != nil) != (is.Notice != "") || recorded != nil && *recorded != is.Notice {
		t.Errorf("recorded is %v, the client got %q", recorded, is.Notice)
	}
}
