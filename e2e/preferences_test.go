package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Preferences of an account apply at once to requests of its keys, in addition to those in the requests, and an explanation shows them.
func TestAccountPreferences(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	manager, user := own.client(t, withKey(own.ManagementKey)), own.client(t)
	const address = "../api/account/preferences" // relative to /v1
	var got struct {
		Data struct{ Provider json.RawMessage }
	}
	if err := manager.Put(t.Context(), address, map[string]any{"provider": map[string]any{"ignore": []string{"sim"}, "sort": "price"}}, &got); err != nil {
		t.Fatal(explain(err))
	}
	_, err := user.Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	refused(t, err, 404, "no_endpoints")

	var explained struct {
		Data struct {
			Preferences map[string]any
			Defaults    struct{ Account, Key map[string]any }
		}
	}
	body := map[string]any{"model": "sim/chat", "messages": []any{map[string]any{"role": "user", "content": "Hello."}}, "provider": map[string]any{"sort": "latency"}}
	if err := user.Post(t.Context(), "route/explain", body, &explained); err != nil {
		t.Fatal(explain(err))
	}
	if p := explained.Data.Preferences; p["sort"] != "latency" || len(p["ignore"].([]any)) != 1 || explained.Data.Defaults.Account["sort"] != "price" || explained.Data.Defaults.Key != nil {
		t.Errorf("explained as %+v", explained.Data)
	}
	if err := manager.Get(t.Context(), address, nil, &got); err != nil || !strings.Contains(string(got.Data.Provider), "ignore") {
		t.Errorf("kept as %s, %v", got.Data.Provider, err)
	}
	if err := manager.Put(t.Context(), address, map[string]any{"provider": nil}, &got); err != nil {
		t.Fatal(explain(err))
	}
	complete(t, user, ask("sim/chat", "Hello again."))
	_, said := refused(t, manager.Put(sendingWrong(t.Context()), address, map[string]any{"provider": map[string]any{"onlies": []string{"sim"}}}, &got), 400, "invalid_request")
	if said.Metadata["param"] != "provider.onlies" {
		t.Errorf("param %v", said.Metadata["param"])
	}
}
