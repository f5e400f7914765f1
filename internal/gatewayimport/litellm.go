package gatewayimport

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// liteLLM reads LiteLLM's config.yaml, and what its API answers: GET /key/list?return_full_object=true, GET /key/info, GET /user/info and
// GET /model/info, GET /team/list, GET /user/list and GET /tag/list. Configurations are read first, whichever place they have: keys name their models.
func (r *reader) liteLLM(documents []document) error {
	c := config{groups: map[string]*group{}}
	for i := range documents {
		d := &documents[i]
		keys := rawjson.Find(d.body, "keys") != nil || rawjson.KindOf(rawjson.Find(d.body, "info")) == rawjson.Object
		if kind, _ := groupsOf(d.body); kind == "" && (rawjson.KindOf(d.body) != rawjson.Object || !keys && !isConfig(d.body)) {
			return fault.Newf(fault.Invalid, "gatewayimport.liteLLM", "%s is not what LiteLLM exports: config.yaml has model_list, GET /key/list?return_full_object=true has keys, GET /key/info has info, GET /model/info has data, GET /team/list, /user/list and /tag/list have teams, users and tags.", d.name)
		}
		if isConfig(d.body) {
			if err := r.readConfig(d, &c); err != nil {
				return err
			}
		}
	}
	if err := r.presetsOf(&c); err != nil {
		return err
	}
	for i := range documents {
		if err := r.liteLLMGroups(&documents[i], &c); err != nil {
			return err
		}
		if err := r.liteLLMKeys(&documents[i], &c); err != nil {
			return err
		}
	}
	return nil
}

func isConfig(body []byte) bool {
	for _, name := range []string{"model_list", "router_settings", "litellm_settings", "general_settings", "data"} {
		if rawjson.Find(body, name) != nil {
			return true
		}
	}
	return false
}

func (r *reader) liteLLMKeys(d *document, c *config) error {
	list := rawjson.Find(d.body, "keys")
	if info := rawjson.Find(d.body, "info"); list == nil && rawjson.KindOf(info) == rawjson.Object {
		return r.liteLLMKey(d, info, c)
	}
	for e := rawjson.ElementsOf(list); e.Next(); {
		if rawjson.KindOf(e.Value) != rawjson.Object {
			return fault.Newf(fault.Invalid, "gatewayimport.liteLLM", "%s has hashes of keys alone: ask for GET /key/list?return_full_object=true.", d.name)
		}
		if err := r.liteLLMKey(d, e.Value, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) liteLLMKey(d *document, o []byte, c *config) error {
	if len(r.plan.Keys) == maxKeys {
		return tooMany(d, "keys", maxKeys)
	}
	r.walk("keys", o)
	name := text(o, "key_alias")
	if plain(name, maxName) == "" {
		name = text(o, "key_name")
	}
	k := Key{Name: r.named(name), Team: text(o, "team_id"), User: text(o, "user_id"), Disabled: string(rawjson.Find(o, "blocked")) == "true"}
	if kind := text(o, "key_type"); kind != "" && kind != "default" && kind != "llm_api" {
		k.Refused = Management
	}
	table := rawjson.Find(o, "litellm_budget_table")
	own := func(name string) []byte {
		if v := rawjson.Find(o, name); !rawjson.IsNull(v) {
			return v
		}
		return rawjson.Find(table, name)
	}
	limit, ok := number(own("max_budget"))
	reset, okReset := resetOf(textOf(own("budget_duration")))
	if spent, known := number(rawjson.Find(o, "spend")); limit != nil && reset == apikey.Never && known && spent != nil && spent.Sign() > 0 {
		if limit = new(big.Rat).Sub(limit, spent); limit.Sign() < 0 {
			limit = new(big.Rat)
		}
	}
	if limit == nil {
		reset = apikey.Never
	}
	okRates := r.rates(&k, own("tpm_limit"), own("rpm_limit"), own("max_parallel_requests"))
	r.allowed(&k, texts(rawjson.Find(o, "models")), c)
	r.finishKey(&k, limit, ok && okReset && okRates, reset, rawjson.Find(o, "expires"))
	return nil
}

// resetOf is the shortest interval of ours that is not shorter than theirs, so that no more is spent in any time: "30s", "30m", "30h", "30d",
// "2w", "1mo". As there, 30 days are a month.
func resetOf(duration string) (apikey.Reset, bool) {
	if duration == "" {
		return apikey.Never, true
	}
	digits := strings.TrimRight(duration, "smhdwo")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n <= 0 {
		return "", false
	}
	seconds := map[string]int64{"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "mo": 30 * 86400}[duration[len(digits):]]
	switch n *= seconds; {
	case n == 0:
		return "", false
	case n <= 86400:
		return apikey.Daily, true
	case n <= 7*86400:
		return apikey.Weekly, true
	case n <= 30*86400:
		return apikey.Monthly, true
	}
	return apikey.Never, true
}

// rates gives a key its allowances as far as they are below the operator's. It is false for what sets no allowance: there, zero allows nothing, and here
// everything.
func (r *reader) rates(k *Key, tokens, requests, calls []byte) bool {
	own := apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
	ok := true
	read := func(v []byte, operator int64, into *int64) {
		if rawjson.IsNull(v) {
			return
		}
		n, valid := rawjson.Int(v)
		if !valid || n <= 0 {
			ok = false
			return
		}
		if operator == 0 || n <= operator {
			*into = n
		}
	}
	read(tokens, r.world.Rates.Tokens, &own.Tokens)
	read(requests, r.world.Rates.Requests, &own.Requests)
	read(calls, r.world.Rates.Calls, &own.Calls)
	if own.Tokens != apikey.DefaultRate || own.Requests != apikey.DefaultRate || own.Calls != apikey.DefaultRate {
		k.Rates = &own
	}
	return ok
}

// allowed gives a key the models that it may call. A key that was restricted is never made without a restriction.
func (r *reader) allowed(k *Key, models []string, c *config) {
	add := func(pattern string) {
		if !slices.Contains(k.Models, pattern) {
			k.Models = append(k.Models, pattern)
		}
	}
	for _, name := range models {
		switch name {
		case "all-team-models":
			if k.Team == "" || !r.world.Organization {
				break
			}
			k.Models, k.Dropped = nil, nil // its team's budget narrows them
			return
		case "*", "all-proxy-models":
			k.Models, k.Dropped = nil, nil
			return
		}
		if vendor, is := strings.CutSuffix(name, "/*"); is {
			if _, ok := r.world.Model(vendorOf(vendor) + "/*"); ok {
				add(vendorOf(vendor) + "/*")
				continue
			}
		}
		slugs := r.slugsOf(name, c)
		for _, s := range slugs {
			add(s)
		}
		if name = plain(name, 100); len(slugs) == 0 && len(k.Dropped) < maxDropped {
			k.Dropped = append(k.Dropped, name)
		}
	}
	if len(models) > 0 && len(k.Models) == 0 && k.Refused == "" {
		k.Refused = NoModel
	}
}
