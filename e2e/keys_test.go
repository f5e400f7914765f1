package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

type key struct {
	Hash      string       `json:"hash"`
	Label     string       `json:"label"`
	Name      string       `json:"name"`
	Disabled  bool         `json:"disabled"`
	Limit     *json.Number `json:"limit"`
	Remaining *json.Number `json:"limit_remaining"`
	Reset     *string      `json:"limit_reset"`
	Usage     json.Number  `json:"usage"`
	Expires   *time.Time   `json:"expires_at"`
}

type newKey struct {
	Data key    `json:"data"`
	Key  string `json:"key"`
}

type oneKey struct {
	Data key `json:"data"`
}

type keyList struct {
	Data []key `json:"data"`
}

func addKey(t *testing.T, manager *openai.Client, fields map[string]any) newKey {
	t.Helper()
	var made newKey
	if err := manager.Post(t.Context(), "keys", fields, &made); err != nil {
		t.Fatalf("POST keys: %v", explain(err))
	}
	if made.Key == "" || made.Data.Hash == "" {
		t.Fatalf("POST keys gave %+v", made)
	}
	return made
}

func TestLifeOfAKey(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	manager := own.client(t, withKey(own.ManagementKey))
	made := addKey(t, manager, map[string]any{"name": "laptop", "limit": 100, "limit_reset": "daily"})
	if made.Data.Name != "laptop" || made.Data.Limit == nil || nanos(t, made.Data.Limit.String()) != 100e9 || made.Data.Reset == nil || *made.Data.Reset != "daily" {
		t.Errorf("made %+v", made.Data)
	}
	if want := made.Key[:12] + "..." + made.Key[len(made.Key)-3:]; made.Data.Label != want {
		t.Errorf("label is %q, want %q", made.Data.Label, want)
	}

	user := own.client(t, withKey(made.Key))
	cost := costOf(t, complete(t, user, ask("sim/chat", "Hello.")).Usage)
	found := get[oneKey](t, manager, "keys/"+made.Data.Hash, nil).Data
	if nanos(t, found.Usage.String()) != cost || nanos(t, found.Remaining.String()) != 100e9-cost {
		t.Errorf("after an answer of %d the key shows %+v", cost, found)
	}
	if listed := get[keyList](t, manager, "keys", nil).Data; len(listed) < 2 {
		t.Errorf("the list has %d keys; the demo's own is one of them", len(listed))
	}

	var changed oneKey
	path := "keys/" + made.Data.Hash
	if err := manager.Patch(t.Context(), path, map[string]any{"name": "phone", "disabled": true}, &changed); err != nil {
		t.Fatal(explain(err))
	}
	if changed.Data.Name != "phone" || !changed.Data.Disabled {
		t.Errorf("changed to %+v", changed.Data)
	}
	_, err := user.Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	refused(t, err, 401, "authentication")

	if err := manager.Patch(t.Context(), path, map[string]any{"disabled": false}, &changed); err != nil {
		t.Fatal(explain(err))
	}
	complete(t, user, ask("sim/chat", "Hello again."))
	if err := manager.Delete(t.Context(), path, nil, nil); err != nil {
		t.Fatal(explain(err))
	}
	_, err = user.Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	refused(t, err, 401, "authentication")
	refused(t, manager.Get(t.Context(), path, nil, &changed), 404, "not_found")
}

func TestKeyLimit(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	manager := own.client(t, withKey(own.ManagementKey))
	price := costOf(t, complete(t, own.client(t), ask("sim/chat", "Hello.")).Usage)
	none := addKey(t, manager, map[string]any{"name": "empty", "limit": 0})
	_, err := own.client(t, withKey(none.Key)).Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	_, said := refused(t, err, 402, "payment_required")
	for _, amount := range []string{"required", "available"} {
		if _, ok := said.Metadata[amount].(string); !ok {
			t.Errorf("metadata.%s is %v, want decimal text", amount, said.Metadata[amount])
		}
	}

	// A limit of a few answers allows some calls and then no more, and the spending never exceeds it.
	limit := 5 * price
	few := addKey(t, manager, map[string]any{"name": "few", "limit": json.Number(decimal(limit))})
	client := own.client(t, withKey(few.Key))
	spent := nano(0)
	params := ask("sim/chat", "Hello.")
	params.MaxTokens = openai.Int(64)
	refusals := 0
	for range 20 {
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err == nil {
			spent += costOf(t, answer.Usage)
			continue
		}
		var typed *openai.Error
		if !errors.As(err, &typed) || typed.StatusCode != 402 {
			t.Fatal(explain(err))
		}
		refusals++
	}
	if refusals == 0 || spent > limit {
		t.Errorf("a limit of %d let %d through and refused %d times", limit, spent, refusals)
	}
}

func TestExpiredKey(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	manager := own.client(t, withKey(own.ManagementKey))
	until := func(d time.Duration) newKey {
		return addKey(t, manager, map[string]any{"name": "short", "expires_at": time.Now().UTC().Add(d).Format(time.RFC3339Nano)})
	}
	complete(t, own.client(t, withKey(until(time.Hour).Key)), ask("sim/chat", "Hello."))
	made := until(3 * time.Second)
	<-time.After(time.Until(*made.Data.Expires) + 50*time.Millisecond)
	client := own.client(t, withKey(made.Key))
	_, err := client.Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	refused(t, err, 401, "authentication")
}

func TestKeysNeedAManagementKey(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	var list keyList
	refused(t, client.Get(t.Context(), "keys", nil, &list), 403, "permission_denied")
	var made newKey
	refused(t, client.Post(t.Context(), "keys", map[string]any{"name": "x"}, &made), 403, "permission_denied")
	refused(t, theDemo.client(t, withKey("sk-weir-mgmt-v1-nothing")).Get(t.Context(), "keys", nil, &list), 401, "authentication")
}

func TestBadKeyBodies(t *testing.T) {
	t.Parallel()
	manager := theDemo.client(t, withKey(theDemo.ManagementKey))
	for name, body := range map[string]map[string]any{
		"no name":        {},
		"negative limit": {"name": "x", "limit": -1},
		"reset of years": {"name": "x", "limit": 1, "limit_reset": "yearly"},
		"unknown field":  {"name": "x", "balance": 1000},
		"past":           {"name": "x", "expires_at": "2020-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made newKey
			refused(t, manager.Post(sendingWrong(t.Context()), "keys", body, &made), 400, "invalid_request")
		})
	}
}

// decimal returns an amount as plain decimal text.
func decimal(n nano) string { return fmt.Sprintf("%d.%09d", n/1e9, n%1e9) }
