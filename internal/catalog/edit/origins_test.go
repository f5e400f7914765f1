package edit_test

import (
	"strings"
	"testing"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

// A credential is sent to the servers that it was given for: a change that leads elsewhere needs it again.
func TestAKeyDoesNotFollowAChangedAddress(t *testing.T) {
	t.Parallel()
	key, none := "sk-another-credential-0001", ""
	for name, c := range map[string]struct {
		id    string // "hut" has a key in the database, "env" one named by a variable, "bare" none, "lan" one and no TLS; "open" is built in with a key, "quiet" without
		set   edit.Spec
		unset []string
		key   *string
		ok    bool
	}{
		"another host":                     {id: "hut", set: edit.Spec{"base_url": "https://evil.example/v1"}},
		"another port":                     {id: "hut", set: edit.Spec{"base_url": "https://hut.example:8443/v1"}},
		"another scheme":                   {id: "hut", set: edit.Spec{"base_url": "http://hut.example/v1"}},
		"a host in front":                  {id: "hut", set: edit.Spec{"base_url": "https://hut.example.evil.example/v1"}},
		"another path":                     {id: "hut", set: edit.Spec{"base_url": "https://hut.example/v2"}, ok: true},
		"the port of the scheme":           {id: "hut", set: edit.Spec{"base_url": "https://HUT.example:443/v1"}, ok: true},
		"another name":                     {id: "hut", set: edit.Spec{"name": "Cabin"}, ok: true},
		"with a key":                       {id: "hut", set: edit.Spec{"base_url": "https://evil.example/v1"}, key: &key, ok: true},
		"with a variable":                  {id: "hut", set: edit.Spec{"base_url": "https://evil.example/v1", "api_key_env": "OTHER_KEY"}, ok: true},
		"the key dropped":                  {id: "hut", set: edit.Spec{"base_url": "https://evil.example/v1"}, key: &none, ok: true},
		"one wire":                         {id: "hut", set: edit.Spec{"wires.image.base_url": "https://evil.example/v1"}},
		"one wire at home":                 {id: "hut", set: edit.Spec{"wires.image.base_url": "https://hut.example/images"}, ok: true},
		"where tokens are":                 {id: "hut", set: edit.Spec{"quirks.auth_url": "https://evil.example/token"}},
		"a variable's":                     {id: "env", set: edit.Spec{"base_url": "https://evil.example/v1"}},
		"a variable's, again":              {id: "env", set: edit.Spec{"base_url": "https://evil.example/v1", "api_key_env": "HUT_KEY"}, ok: true},
		"a proxy that reads the key":       {id: "lan", set: edit.Spec{"proxy": "http://proxy.example:3128"}},
		"a proxy and the key":              {id: "lan", set: edit.Spec{"proxy": "http://proxy.example:3128"}, key: &key, ok: true},
		"a proxy outside of TLS":           {id: "hut", set: edit.Spec{"proxy": "http://proxy.example:3128"}, ok: true},
		"without a key":                    {id: "bare", set: edit.Spec{"base_url": "https://evil.example/v1"}, ok: true},
		"built in":                         {id: "open", set: edit.Spec{"base_url": "https://evil.example/v1"}},
		"built in, its own key":            {id: "open", set: edit.Spec{"base_url": "https://evil.example/v1"}, key: &key, ok: true},
		"built in, no key":                 {id: "open", set: edit.Spec{"base_url": "https://evil.example/v1"}, key: &none},
		"built in, at home":                {id: "open", set: edit.Spec{"base_url": "https://open.example/v2"}, ok: true},
		"built in, its variable comes yet": {id: "quiet", set: edit.Spec{"base_url": "https://evil.example/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.world.env["HUT_KEY"], s.world.env["OTHER_KEY"] = "sk-of-a-variable", "sk-of-another"
			stored := "sk-a-stored-credential-f00d"
			s.must(edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: edit.Spec{"base_url": "https://hut.example/v1"}, Key: &stored})
			s.must(edit.Change{Kind: edit.Provider, ID: "env", Create: true, Set: edit.Spec{"base_url": "https://hut.example/v1", "api_key_env": "HUT_KEY"}})
			s.must(edit.Change{Kind: edit.Provider, ID: "bare", Create: true, Set: edit.Spec{"base_url": "https://hut.example/v1"}})
			s.must(edit.Change{Kind: edit.Provider, ID: "lan", Create: true, Set: edit.Spec{"base_url": "http://lan.example/v1"}, Key: &stored})
			change := edit.Change{Kind: edit.Provider, ID: c.id, Set: c.set, Unset: c.unset, Key: c.key}
			if !c.ok {
				s.refused(change, fault.Invalid, "api_key")
				return
			}
			s.must(change)
		})
	}
}

// The way back is closed, too: a key that was given for another server does not come home, and one of the environment does not go away.
func TestAKeyDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	key, none := "sk-another-credential-0001", ""
	s.must(edit.Change{Kind: edit.Provider, ID: "open", Set: edit.Spec{"base_url": "https://mirror.example/v1"}, Key: &key})
	s.refused(edit.Change{Kind: edit.Provider, ID: "open", Unset: []string{"base_url"}}, fault.Invalid, "api_key")
	s.refused(edit.Change{Kind: edit.Provider, ID: "open", Key: &none}, fault.Invalid, "api_key") // the environment's would be sent to the mirror
	s.must(edit.Change{Kind: edit.Provider, ID: "open", Unset: []string{"base_url"}, Key: &none})
	last := s.store.events[len(s.store.events)-1]
	if !strings.Contains(last.Before, "base_url=https://mirror.example/v1") || !strings.Contains(last.Before, "api_key=...0001") || last.Name == "" {
		t.Errorf("the audit row is %+v", last)
	}
}
