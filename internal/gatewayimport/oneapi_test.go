package gatewayimport_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/gatewayimport"
	"weir/internal/money"
)

// TestTokensOfOneAPI reads tokens as databases and as the API write them. World has 81.25 rubles to a dollar.
func TestTokensOfOneAPI(t *testing.T) {
	t.Parallel()
	addresses := func(all ...string) (list []netip.Prefix) {
		for _, a := range all {
			list = append(list, netip.MustParsePrefix(a))
		}
		return list
	}
	limit := func(amount string, reset apikey.Reset) *apikey.Limit {
		n, err := money.Parse(amount)
		if err != nil {
			t.Fatal(err)
		}
		return &apikey.Limit{Amount: n, Reset: reset}
	}
	for _, c := range []struct {
		name, source, token string
		want                gatewayimport.Key
	}{
		{"what is left of a quota", gatewayimport.NewAPI, `"name":"a","remain_quota":250000,"used_quota":750000,"unlimited_quota":false,"expired_time":-1,"status":1`, gatewayimport.Key{Name: "a", Limit: limit("40.625", apikey.Never)}},
		{"a quota below zero, which there was no limit at all (one-api 227)", gatewayimport.OneAPI, `"name":"a","remain_quota":-12,"unlimited_quota":0,"status":1`, gatewayimport.Key{Name: "a", Limit: limit("0", apikey.Never)}},
		{"used up", gatewayimport.OneAPI, `"name":"a","remain_quota":0,"unlimited_quota":0,"status":4`, gatewayimport.Key{Name: "a", Limit: limit("0", apikey.Never)}},
		{"without a limit, as PostgreSQL writes it", gatewayimport.NewAPI, `"name":"a","remain_quota":-900,"unlimited_quota":true`, gatewayimport.Key{Name: "a"}},
		{"without a limit, as SQLite writes it", gatewayimport.NewAPI, `"name":"a","remain_quota":0,"unlimited_quota":1`, gatewayimport.Key{Name: "a"}},
		{"a quota that is no number", gatewayimport.NewAPI, `"name":"a","remain_quota":"much"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"disabled", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"status":2`, gatewayimport.Key{Name: "a", Disabled: true}},
		{"expired by its state", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"status":3`, gatewayimport.Key{Name: "a", Refused: gatewayimport.Expired}},
		{"expired by its time", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"expired_time":1700000000`, gatewayimport.Key{Name: "a", ExpiresAt: time.Unix(1700000000, 0).UTC(), Refused: gatewayimport.Expired}},
		{"a time of nothing is long ago", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"expired_time":0`, gatewayimport.Key{Name: "a", ExpiresAt: time.Unix(0, 0).UTC(), Refused: gatewayimport.Expired}},
		{"expires", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"expired_time":1830297600`, gatewayimport.Key{Name: "a", ExpiresAt: time.Unix(1830297600, 0).UTC()}},
		{"a time that is none", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"expired_time":-2`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"models, switched on", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"model_limits_enabled":1,"model_limits":"gpt,other, gpt-small"`, gatewayimport.Key{Name: "a", Models: []string{"openai/gpt"}, Dropped: []string{"other", "gpt-small"}}},
		{"models, switched off", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"model_limits_enabled":0,"model_limits":"gpt"`, gatewayimport.Key{Name: "a"}},
		{"no model at all, switched on", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"model_limits_enabled":1,"model_limits":""`, gatewayimport.Key{Name: "a", Refused: gatewayimport.NoModel}},
		{"no model that is served", gatewayimport.OneAPI, `"name":"a","unlimited_quota":1,"models":"other"`, gatewayimport.Key{Name: "a", Dropped: []string{"other"}, Refused: gatewayimport.NoModel}},
		{"all models", gatewayimport.OneAPI, `"name":"a","unlimited_quota":1,"models":null,"subnet":""`, gatewayimport.Key{Name: "a"}},
		{"networks between commas (one-api 178)", gatewayimport.OneAPI, `"name":"a","unlimited_quota":1,"subnet":"192.0.2.0/24, 198.51.100.7/24"`, gatewayimport.Key{Name: "a", Addresses: addresses("192.0.2.0/24", "198.51.100.0/24")}},
		{"addresses on lines, of both kinds (Laisky/one-api 176)", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"allow_ips":"192.0.2.7\n 2001:db8::1 ,\n\nnone"`, gatewayimport.Key{Name: "a", Addresses: addresses("192.0.2.7/32", "2001:db8::1/128")}},
		{"addresses of which none is valid: never all of them", gatewayimport.NewAPI, `"name":"a","unlimited_quota":1,"allow_ips":"office"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"without a name", gatewayimport.OneAPI, `"id":31,"name":"","unlimited_quota":1`, gatewayimport.Key{Name: "token 31"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row := `{"key":"secret",` + c.token + `}`
			for _, file := range []string{`[` + row + `]`, `{"success":true,"data":[` + row + `]}`, `{"data":{"page":1,"items":[` + row + `]}}`, `{"tokens":[` + row + `],"logs":[]}`} {
				got, _ := json.Marshal(read(t, c.source, file).Keys)
				want, _ := json.Marshal([]gatewayimport.Key{c.want})
				if string(got) != string(want) {
					t.Errorf("%.20s\ngot  %s\nwant %s", file, got, want)
				}
			}
		})
	}
}

// TestQuotaUnits converts by the option, wherever it stands among the files, and by the status of the API.
func TestQuotaUnits(t *testing.T) {
	t.Parallel()
	token := `[{"name":"a","remain_quota":1000}]`
	for _, unit := range []string{`[{"key":"SystemName","value":"x"},{"key":"QuotaPerUnit","value":"1000"}]`, `{"success":true,"data":{"quota_per_unit":1000,"version":"v1"}}`} {
		p := read(t, gatewayimport.NewAPI, token, unit)
		if got := p.Keys[0].Limit.Amount.String(); got != "81.25" {
			t.Errorf("%s: %s", unit, got)
		}
	}
	if _, err := gatewayimport.Read(gatewayimport.NewAPI, files(`[{"key":"QuotaPerUnit","value":"0"}]`), world()); !fault.Is(err, fault.Invalid) {
		t.Errorf("no unit: %v", err)
	}
}

// TestTokensOfOneUser refuses a file with tokens of two users: all of them would be spent from one wallet.
func TestTokensOfOneUser(t *testing.T) {
	t.Parallel()
	_, err := gatewayimport.Read(gatewayimport.NewAPI, files(`[{"user_id":1,"unlimited_quota":1},{"user_id":2,"unlimited_quota":1}]`), world())
	if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.From(err).Public, "several users") {
		t.Errorf("%v", err)
	}
	p := read(t, gatewayimport.NewAPI, `[{"user_id":1,"name":"a","unlimited_quota":1},{"user_id":2,"name":"b","unlimited_quota":1,"deleted_at":"2026-01-01 00:00:00+00:00"}]`)
	if len(p.Keys) != 1 {
		t.Errorf("a deleted token: %+v", p.Keys)
	}
}

// TestChannelsOfOneAPI makes presets of mapped names, and lets keys name their models by them.
func TestChannelsOfOneAPI(t *testing.T) {
	t.Parallel()
	channels := `[
		{"id":1,"type":1,"status":1,"models":"fast,gpt,circle","model_mapping":"{\"fast\":\"faster\",\"faster\":\"gpt\",\"gpt\":\"gpt\",\"circle\":\"round\",\"round\":\"circle\",\"Big_One.v2\":\"gpt-small\"}"},
		{"id":2,"type":24,"status":1,"models":"fast","model_mapping":"{\"fast\":\"gem\"}","weight":5,"group":"vip"},
		{"id":3,"type":1,"status":2,"models":"off","model_mapping":"{\"off\":\"gpt\"}"},
		{"id":4,"type":1,"status":1,"models":"x","model_mapping":"no JSON"}]`
	p := read(t, gatewayimport.NewAPI, `[{"name":"a","unlimited_quota":1,"model_limits_enabled":1,"model_limits":"fast"}]`, channels)
	presets := map[string]string{}
	for _, s := range p.Presets {
		presets[s.Name] = string(s.Content) + string(s.Refused)
	}
	if got := presets["fast"]; got != `{"model":"openai/gpt","models":["google/gem"]}` {
		t.Errorf("fast is %s", got)
	}
	if got := presets["big_one-v2"]; got != `{"model":"openai/gpt-small"}` {
		t.Errorf("Big_One.v2 is %s", got)
	}
	if got := presets["circle"]; !strings.Contains(got, string(gatewayimport.NoModel)) {
		t.Errorf("circle is %s", got)
	}
	for _, name := range []string{"off", "gpt", "x"} {
		if _, made := presets[name]; made {
			t.Errorf("%s is a preset", name)
		}
	}
	if got := p.Keys[0].Models; !slices.Equal(got, []string{"openai/gpt", "google/gem"}) {
		t.Errorf("the key has %v", got)
	}
	lost := map[string]gatewayimport.Fate{}
	for _, l := range p.Lost {
		lost[l.Field] = l.Fate
	}
	if lost["channels.weight"] != gatewayimport.BuiltIn || lost["channels.group"] != gatewayimport.None {
		t.Errorf("%v", lost)
	}
}

// TestCredentialsOfOneAPI takes keys of providers where they are valid: types differ between the two gateways, and so does an address.
func TestCredentialsOfOneAPI(t *testing.T) {
	t.Parallel()
	channels := `[
		{"type":1,"status":2,"models":"","key":"off"},
		{"type":1,"status":1,"models":"","key":"proxied","base_url":"https://proxy.example.org"},
		{"type":1,"status":1,"models":"","key":"bad\n\n good \nother","base_url":"https://api.openai.com/","channel_info":{"multi_key_status_list":{"0":3}}},
		{"type":1,"status":1,"models":"","key":"second"},
		{"type":28,"status":1,"models":"","key":"k28"},
		{"type":36,"status":1,"models":"","key":"k36"},
		{"type":43,"status":1,"models":"","key":"k43"},
		{"type":25,"status":1,"models":"","key":"moonshot in China"},
		{"type":41,"status":1,"models":"","key":"[{\"type\":\"service_account\"}]"}]`
	for source, want := range map[string]string{gatewayimport.OneAPI: "openai=good mistral=k28 deepseek=k36 ", gatewayimport.NewAPI: "openai=good deepseek=k43 "} {
		w := world()
		w.Credentials = true
		p, err := gatewayimport.Read(source, files(channels), w)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range p.Credentials {
			got += p.Credentials[i].Provider + "=" + p.Credentials[i].Secret(func(string) (string, bool) { return "", false }) + " "
		}
		if got != want {
			t.Errorf("%s: %s", source, got)
		}
		if p := read(t, source, channels); len(p.Credentials) > 0 {
			t.Errorf("%s: credentials that were not asked for", source)
		}
	}
}

// TestForeignFilesOfOneAPI refuses what is no table of theirs, and names what is.
func TestForeignFilesOfOneAPI(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `[1]`, `[{"a":1}]`, `"text"`, `{"success":false,"message":"not signed in"}`} {
		if _, err := gatewayimport.Read(gatewayimport.NewAPI, files(text), world()); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.From(err).Public, "tables tokens, channels and options") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
