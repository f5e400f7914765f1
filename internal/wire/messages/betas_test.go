package messages_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/wire/messages"
)

// What coding agents send goes on as they wrote it; features without a price stay here.
func TestBetas(t *testing.T) {
	t.Parallel()
	const agent = "claude-code-20250219,oauth-2025-04-20,interleaved-thinking-2025-05-14,thinking-token-count-2026-05-13,context-management-2025-06-27,prompt-caching-scope-2026-01-05," +
		"mid-conversation-system-2026-04-07,advisor-tool-2026-03-01,effort-2025-11-24,extended-cache-ttl-2025-04-11"
	const claudeCode = "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13," +
		"advanced-tool-use-2025-11-20,effort-2025-11-24"
	for _, c := range []struct{ in, kept, left string }{
		{"", "", ""}, {agent, agent, ""}, {"context-1m-2025-08-07|files-api-2025-04-14 , skills-2025-10-02", "context-1m-2025-08-07|files-api-2025-04-14 , skills-2025-10-02", ""},
		// Claude Code 2.1.330 to an address of its user's
		{claudeCode, claudeCode, ""},
		{"gold-plated-2027-01-01", "", "gold-plated-2027-01-01"}, {"a, effort-2025-11-24,b|compact-2026-01-12", "effort-2025-11-24|compact-2026-01-12", "a|b"},
		{"effort", "effort", ""}, {"effort-2025-11", "", "effort-2025-11"}, {"effort-2025-11-24-turbo", "", "effort-2025-11-24-turbo"}, {"20250219", "", "20250219"}, {" , ", " , ", ""},
		{"output-128k-2025-02-19,max-tokens-3-5-sonnet-2024-07-15,fast-mode-2026-02-01,message-threads-2026-08-12", "output-128k-2025-02-19,max-tokens-3-5-sonnet-2024-07-15,fast-mode-2026-02-01", "message-threads-2026-08-12"},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "|")
		}
		if kept, left := messages.NewFeatures(nil).Betas(split(c.in)); !slices.Equal(kept, split(c.kept)) || !slices.Equal(left, split(c.left)) {
			t.Errorf("%q: kept %q, left out %q", c.in, kept, left)
		}
	}
}
