package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// Metadata is stored by its content, not as it was written: a megabyte of blanks in it neither makes a call free nor fills the database, in
// any style. Metadata that is too long is refused with a clear error, and costs nothing.
func TestMetadataOfBlanks(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	blanks := strings.Repeat(" \t\n\r", 300_000)                                // 1.2 MB
	for _, style := range []string{"chat", "responses", "messages", "gemini"} { //nolint:paralleltest // the balance is checked after all of them
		t.Run(style, func(t *testing.T) {
			a := c.newAccount(t)
			for _, stream := range []string{`"stream":false`, `"stream":true`} {
				before := a.credits(t)
				path, body := ofStyle(style, own[style], `"metadata":{`+blanks+`"user_id"`+blanks+`:"somebody"`+blanks+`},`+stream)
				got := a.send(t, http.MethodPost, path, []byte(body), nil)
				if got.status != http.StatusOK {
					t.Fatalf("%s: %d %.300s", stream, got.status, got.body)
				}
				waitFor(t, "the charge", func() bool { return a.credits(t).TotalUsage != before.TotalUsage })
			}
			spent := a.credits(t).TotalUsage
			refused := []string{`"metadata":{"user_id":{}}`, `"metadata":[` + blanks + `]`}
			if style != "messages" { // in this style the provider limits the length of an id
				refused = append(refused, `"metadata":{"user_id":`+blanks+`"`+strings.Repeat("x", 600)+`"}`)
			}
			for _, bad := range refused {
				path, body := ofStyle(style, own[style], bad)
				got := a.send(t, http.MethodPost, path, []byte(body), nil)
				if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "metadata") && !strings.Contains(string(got.body), "user_id") {
					t.Errorf("%.40s: %d %.300s", bad, got.status, got.body)
				}
			}
			if now := a.credits(t).TotalUsage; now != spent {
				t.Errorf("refused calls cost: %s spent before, %s now", spent, now)
			}
			a.wantNothingHeld(t)
		})
	}
	c.wantBalanced(t)
}
