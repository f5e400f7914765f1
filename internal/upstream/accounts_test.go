package upstream

import "testing"

// Providers name the operator's organization where they speak of its limits.
func TestWithoutAccounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"in organization `org_01hw8f0aa0ekmrn70ffm2zkdv1` on tokens":      "in organization `[account]` on tokens",
		"organization org-uOtiSEwvUnroadaOnJJquBEC and proj_abcdefghijkl": "organization [account] and [account]",
		`"user_id":"user_2abcdefghijkl"`:                                  `"user_id":"[account]"`,
		"user_input must be text":                                         "user_input must be text",
	} {
		if got := string(withoutAccounts([]byte(text))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
