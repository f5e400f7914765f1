package upstream

import (
	"crypto/sha256"
	"encoding/hex"

	"weir/internal/catalog"
)

// Adaptive tells the models of Anthropic that decide themselves how long they think, and are told an effort, from those that take a budget.
func Adaptive(ep *catalog.Endpoint) bool {
	switch ep.Provider.Quirks.ReasoningRequest {
	case "adaptive":
		return true
	case "thinking":
		return false
	}
	return ep.Params != catalog.AllParams && ep.Params&catalog.ParamReasoningEffort != 0
}

const maxCallID = 64

// CallID is an id of a tool call in the letters that wires of Anthropic's models take: another's becomes a name made from it, behind prefix,
// the same at each turn.
func CallID(prefix, id string) string {
	ok := id != "" && len(id) <= maxCallID
	for i := range len(id) {
		c := id[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if ok {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:12])
}

// HashUser is what stands for a client's user id at a provider: 64 hexadecimal digits, the most that every server takes.
func HashUser(account string, user []byte) string {
	h := sha256.New()
	h.Write([]byte(account))
	h.Write([]byte{0})
	h.Write(user)
	return hex.EncodeToString(h.Sum(nil))
}
