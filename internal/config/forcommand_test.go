package config_test

import (
	"strings"
	"testing"

	"weir/internal/config"
)

// Commands that call no provider work although what only a node needs is missing; a node says all that is.
func TestLoadForCommand(t *testing.T) {
	t.Parallel()
	model := `models: [{id: acme/tiny, prices: {prompt: "1", completion: "1"}}]`
	for name, c := range map[string]struct {
		text    string
		missing string // what a node says
		needed  bool   // a command says it, too
	}{
		"a key":           {"providers: [{id: hut, base_url: 'https://hut.example/v1', api_key: 'env:HUT_KEY', " + model + "}]", "HUT_KEY", false},
		"one of two keys": {"providers: [{id: hut, base_url: 'https://hut.example/v1', api_keys: [a, 'env:HUT_KEY'], " + model + "}]", "HUT_KEY", false},
		"a header":        {"providers: [{id: hut, base_url: 'https://hut.example/v1', headers: {X-Key: '${HUT_KEY}'}, " + model + "}]", "HUT_KEY", false},
		"a key file":      {"providers: [{id: hut, base_url: 'https://hut.example/v1', api_key: 'file:/nowhere/key', " + model + "}]", "/nowhere/key", false},
		"an address":      {"providers: [{id: cloud, like: azure, api_key: x, " + model + "}]", "environment variable AZURE", false},
		"a mail password": {"server: {public_url: 'https://weir.example'}\nmail: {host: mail.example, from: 'weir@mail.example', username: weir, password: 'env:SMTP_PASSWORD'}", "SMTP_PASSWORD", false},
		"the database":    {"store: {dsn: 'env:DATABASE'}", "DATABASE", true},
		"money":           {"payments: {yookassa: {shop_id: '1', secret_key: 'env:SHOP_KEY'}}", "SHOP_KEY", true},
	} {
		file := write(t, c.text)
		_, err := config.Load(file, env(), nil)
		if err == nil || !strings.Contains(err.Error(), c.missing) {
			t.Errorf("%s: a node says %v", name, err)
		}
		if _, err := config.LoadForCommand(file, env(), nil); (err != nil) != c.needed {
			t.Errorf("%s: a command says %v", name, err)
		}
	}
	file := write(t, "providers:\n- {id: hut, base_url: nowhere, api_key: 'env:HUT_KEY'}\n")
	if _, err := config.LoadForCommand(file, env(), nil); err == nil || strings.Contains(err.Error(), "HUT_KEY") {
		t.Errorf("other errors stay: %v", err)
	}
}
