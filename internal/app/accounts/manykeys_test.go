package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// With as many keys as an operator can allow, lists have each key once, the pages all of them and the API by the hundred, and one more is refused
// by the name of the setting.
func TestMostKeysOfAUser(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Keys.MaxPerUser = apikey.MostPerUser })
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	had := len(elements(o.Page(t, "/api/keys")["data"]))
	var list []string
	for i := range apikey.MostPerUser - had {
		list = append(list, fmt.Sprintf(`{"hash":"%d","name":"key %d"}`, i, i))
	}
	order := map[string]any{"source": "openrouter", "dry_run": false, "files": []any{map[string]any{"text": `{"data":[` + strings.Join(list, ",") + `]}`}}}
	if got := o.Pages.Do(t, http.MethodPost, "/api/import", order); got.Status != http.StatusOK || strings.Count(string(got.Body), `"outcome":"made"`) != len(list) {
		t.Fatalf("%d %.300s", got.Status, got.Body)
	}
	shown := o.Page(t, "/api/keys")
	hashes := map[string]bool{}
	for _, k := range elements(shown["data"]) {
		hashes[fmt.Sprint(k["hash"])] = true
	}
	if len(hashes) != apikey.MostPerUser || fmt.Sprint(shown["most"]) != "1000" {
		t.Errorf("%d keys are shown, of at most %v", len(hashes), shown["most"])
	}
	for offset := 0; len(hashes) > 0; offset += 100 {
		page := elements(o.Page(t, fmt.Sprintf("/v1/keys?include_disabled=true&offset=%d", offset))["data"])
		if len(page) != 100 {
			t.Fatalf("%d keys from %d", len(page), offset)
		}
		for _, k := range page {
			if h := fmt.Sprint(k["hash"]); hashes[h] {
				delete(hashes, h)
			} else {
				t.Errorf("%v from %d: twice, or not among the shown ones", k, offset)
			}
		}
	}
	got := o.Pages.Do(t, http.MethodPost, "/api/keys", map[string]any{"name": "one more"})
	if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "may have 1000 keys") || !strings.Contains(string(got.Body), "keys.max_per_user") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
