package app_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// Metadata is stored by its content, not as it was written: a megabyte of blanks in it neither makes a call free nor fills the database, in
// any style. Metadata that is too long is refused with a clear error, and costs nothing.
func TestMetadataOfBlanks(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	blanks := strings.Repeat(" \t\n\r", 300_000)                                // 1.2 MB
	for _, style := range []string{"chat", "responses", "messages", "gemini"} { //nolint:paralleltest // the balance is checked after all of them
		t.Run(style, func(t *testing.T) {
			a := c.NewAccount(t)
			for _, stream := range []string{`"stream":false`, `"stream":true`} {
				before := a.Credits(t)
				path, body := apptest.OfStyle(style, apptest.Own[style], `"metadata":{`+blanks+`"user_id"`+blanks+`:"somebody"`+blanks+`},`+stream)
				got := a.Send(t, http.MethodPost, path, []byte(body), nil)
				if got.Status != http.StatusOK {
					t.Fatalf("%s: %d %.300s", stream, got.Status, got.Body)
				}
				apptest.WaitFor(t, "the charge", func() bool { return a.Credits(t).TotalUsage != before.TotalUsage })
			}
			spent := a.Credits(t).TotalUsage
			refused := []string{`"metadata":{"user_id":{}}`, `"metadata":[` + blanks + `]`}
			if style != "messages" { // in this style the provider limits the length of an id
				refused = append(refused, `"metadata":{"user_id":`+blanks+`"`+strings.Repeat("x", 600)+`"}`)
			}
			for _, bad := range refused {
				path, body := apptest.OfStyle(style, apptest.Own[style], bad)
				got := a.Send(t, http.MethodPost, path, []byte(body), nil)
				if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "metadata") && !strings.Contains(string(got.Body), "user_id") {
					t.Errorf("%.40s: %d %.300s", bad, got.Status, got.Body)
				}
			}
			if now := a.Credits(t).TotalUsage; now != spent {
				t.Errorf("refused calls cost: %s spent before, %s now", spent, now)
			}
			a.WantNothingHeld(t)
		})
	}
	c.WantBalanced(t)
}
