package media_test

import (
	"os"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/app/apptest"
)

// The examples of the pages on embeddings, moderation and rerank work as they are written, on a demo.
func TestVectorDocuments(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		d := app.SimDeclared(strings.TrimSuffix(s.Declared.Providers[0].BaseURL, "/v1"))
		s.Declared.Providers = append(s.Declared.Providers, d.Providers...)
		s.Declared.Models, s.Declared.Offers = append(s.Declared.Models, d.Models...), append(s.Declared.Offers, d.Offers...)
	})
	a := gw.NewAccount(t)
	for _, page := range []string{"embeddings", "moderation", "rerank"} {
		text, err := os.ReadFile("../../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		examples := 0
		for _, command := range strings.Split(string(text), "    curl $BASE")[1:] {
			path, rest, _ := strings.Cut(command, " ")
			_, body, _ := strings.Cut(rest, "-d '")
			body, _, ok := strings.Cut(body, "'\n")
			if got := a.Send(t, "POST", path, []byte(body), nil); !ok || got.Status != 200 {
				t.Errorf("%s: %s %s: status %d: %s", page, path, body, got.Status, got.Body)
			}
			examples++
		}
		if examples == 0 {
			t.Errorf("%s has no example", page)
		}
	}
}
