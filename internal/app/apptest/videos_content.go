package apptest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/audit"
)

// Shot makes a completed job.
func (a *Account) Shot(t *testing.T, prompt string) *ShownVideo {
	t.Helper()
	return a.AwaitVideo(t, a.Shoot(t, Shoot("film/works", prompt)).ID, "completed")
}

// Reel reads a job's content with additional headers.
func (a *Account) Reel(t *testing.T, method, id, query string, header map[string]string) *Answer {
	t.Helper()
	return a.Send(t, method, "/v1/videos/"+id+"/content"+query, nil, header)
}

// Download reads content whose connection may be cut.
func (a *Account) Download(t *testing.T, id string) (int, *Answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.Gw.URL+"/v1/videos/"+id+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	res, err := a.Gw.Client.Do(req)
	if err != nil {
		return 200, &Answer{Header: http.Header{}}, err // cut before the head was sent
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, &Answer{Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// WebhookSecret returns the secret that signs the account's events.
func (a *Account) WebhookSecret(t *testing.T) string {
	t.Helper()
	admin := a.Gw.Node.Admin()
	key, err := admin.Keys.ByHash(t.Context(), "", apikey.Hash(a.Key))
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := admin.Keys.Create(t.Context(), apikey.NewKey{Name: "management", User: key.User, Creator: key.User, Management: true}, audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	got := (&Account{Gw: a.Gw, Key: text}).Do(t, "POST", "/api/account/webhook-secret", nil)
	var reported struct{ Data struct{ Secret string } }
	if err := json.Unmarshal(got.Body, &reported); err != nil || !strings.HasPrefix(reported.Data.Secret, "whsec_") {
		t.Fatalf("the secret: %d %s", got.Status, got.Body)
	}
	return reported.Data.Secret
}
