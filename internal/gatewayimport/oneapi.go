package gatewayimport

import (
	"cmp"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// The states of tokens and channels there.
const (
	oneAPIEnabled  = 1
	oneAPIDisabled = 2
	oneAPIExpired  = 3 // of tokens alone; 4 is a token whose quota is used up, which its quota says, too
)

// quotaPerDollar is how many units of quota are a dollar, unless their option QuotaPerUnit has another number.
const quotaPerDollar = 500_000

// oneAPITables are the tables that are read, by a member that a row of theirs has and one of the others lacks.
var oneAPITables = []struct {
	name string
	has  []string
}{
	{"abilities", []string{"channel_id", "model"}},
	{"tokens", []string{"remain_quota"}},
	{"tokens", []string{"unlimited_quota"}},
	{"users", []string{"username"}},
	{"channels", []string{"type", "models"}},
	{"options", []string{"key", "value"}},
}

// channelKind is a type of channels: the prefix that LiteLLM has for the provider, and the address at which its keys are valid.
type channelKind struct{ provider, address string }

// The types that mean the same in both gateways, and those of each: their numbers part after 26. Providers with a service of its own in China
// (Moonshot, Zhipu, MiniMax, Alibaba) are left out, because keys of one are not valid at the other.
var (
	bothKinds = map[int64]channelKind{
		1: {"openai", "https://api.openai.com"}, 14: {"anthropic", "https://api.anthropic.com"}, 20: {"openrouter", "https://openrouter.ai/api"},
		24: {"gemini", "https://generativelanguage.googleapis.com"},
	}
	ownKinds = map[string]map[int64]channelKind{
		OneAPI: {28: {"mistral", "https://api.mistral.ai"}, 29: {"groq", "https://api.groq.com/openai"}, 35: {"cohere", "https://api.cohere.ai"},
			36: {"deepseek", "https://api.deepseek.com"}, 39: {"together_ai", "https://api.together.xyz"}},
		NewAPI: {27: {"perplexity", "https://api.perplexity.ai"}, 34: {"cohere", "https://api.cohere.ai"}, 42: {"mistral", "https://api.mistral.ai"},
			43: {"deepseek", "https://api.deepseek.com"}, 48: {"xai", "https://api.x.ai"}},
	}
)

// oneAPIExport is what the files of one-api or new-api say together.
type oneAPIExport struct {
	source  string
	config  config   // models by the names that channels map
	unit    *big.Rat // units of quota in a dollar
	user    string   // whose tokens they are, as JSON
	mapping map[string]string
}

// oneAPI reads rows of the tables of one-api and new-api: as their API answers (data, or data.items), as a list of rows, or as an object with a
// list for each table. What tokens depend on is read first, whichever place it has.
func (r *reader) oneAPI(documents []document, source string) error {
	x := &oneAPIExport{source: source, config: config{groups: map[string]*group{}}, unit: big.NewRat(quotaPerDollar, 1), mapping: map[string]string{}}
	for _, table := range []string{"options", "channels", "", "tokens"} {
		for i := range documents {
			if err := r.oneAPIDocument(&documents[i], table, x); err != nil {
				return err
			}
		}
		if table == "" {
			if err := r.presetsOf(&x.config); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneAPIDocument reads the rows of a table in a document; those of "" are the rows of tables of which nothing is carried.
func (r *reader) oneAPIDocument(d *document, table string, x *oneAPIExport) error {
	body := d.body
	if data := rawjson.Find(body, "data"); rawjson.KindOf(body) == rawjson.Object && data != nil {
		body = data
		if items := rawjson.Find(data, "items"); rawjson.KindOf(data) == rawjson.Object && items != nil {
			body = items
		}
	}
	switch {
	case rawjson.KindOf(body) == rawjson.Array:
		return r.oneAPIRows(d, body, table, x)
	case rawjson.KindOf(body) == rawjson.Object && rawjson.Find(body, "quota_per_unit") != nil: // GET /api/status
		if table == "options" {
			return x.setUnit(d, rawjson.Find(body, "quota_per_unit"))
		}
		return nil
	case rawjson.KindOf(body) == rawjson.Object:
		lists := 0
		for m := rawjson.MembersOf(body); m.Next(); {
			if rawjson.KindOf(m.Value) == rawjson.Array {
				lists++
				if err := r.oneAPIRows(d, m.Value, table, x); err != nil {
					return err
				}
			}
		}
		if lists > 0 {
			return nil
		}
	}
	return x.foreign(d)
}

func (x *oneAPIExport) foreign(d *document) error {
	return fault.Newf(fault.Invalid, "gatewayimport.oneAPI", "%s is not what %s exports: give rows of its tables tokens, channels and options as JSON, or what GET /api/token/ answers.", d.name, x.source)
}

func (r *reader) oneAPIRows(d *document, list []byte, table string, x *oneAPIExport) error {
	for e := rawjson.ElementsOf(list); e.Next(); {
		name := oneAPITable(e.Value)
		if name == "" {
			return x.foreign(d)
		}
		var err error
		switch {
		case name == "options" && table == name:
			err = r.oneAPIOption(d, e.Value, x)
		case name == "channels" && table == name:
			err = r.oneAPIChannel(d, e.Value, x)
		case name == "tokens" && table == name:
			err = r.oneAPIToken(d, e.Value, x)
		case (name == "users" || name == "abilities") && table == "":
			r.walk(name, e.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func oneAPITable(row []byte) string {
	if rawjson.KindOf(row) != rawjson.Object {
		return ""
	}
	for _, t := range oneAPITables {
		if !slices.ContainsFunc(t.has, func(name string) bool { return rawjson.Find(row, name) == nil }) {
			return t.name
		}
	}
	return ""
}

func (r *reader) oneAPIOption(d *document, o []byte, x *oneAPIExport) error {
	if text(o, "key") == "QuotaPerUnit" {
		return x.setUnit(d, rawjson.Find(o, "value"))
	}
	return nil // the settings of their gateway: this one has its own
}

func (x *oneAPIExport) setUnit(d *document, v []byte) error {
	n, ok := number(v)
	if !ok || n == nil || n.Sign() <= 0 {
		return fault.Newf(fault.Invalid, "gatewayimport.oneAPI", "%s has a QuotaPerUnit that is no number above zero: without it no limit can be converted.", d.name)
	}
	x.unit = n
	return nil
}

// oneAPIChannel takes the names that a channel maps, which are presets here, and the key of its provider.
func (r *reader) oneAPIChannel(d *document, o []byte, x *oneAPIExport) error {
	r.walk("channels", o)
	if status, ok := rawjson.Int(rawjson.Find(o, "status")); ok && status != oneAPIEnabled {
		return nil
	}
	kind := x.kind(o)
	r.oneAPICredential(o, kind)
	mapping := []byte(text(o, "model_mapping"))
	if rawjson.KindOf(rawjson.Find(o, "model_mapping")) == rawjson.Object {
		mapping = rawjson.Find(o, "model_mapping")
	}
	if len(mapping) == 0 || rawjson.Check(mapping, rawjson.Limits{Depth: 2, Keys: maxPresets, Values: maxPresets}) != nil {
		return nil // they ignore one that is no JSON, too
	}
	to := map[string]string{}
	for m := rawjson.MembersOf(mapping); m.Next(); {
		to[string(m.Name)] = textOf(m.Value)
	}
	for m := rawjson.MembersOf(mapping); m.Next(); {
		name := string(m.Name)
		if x.config.groups[name] == nil && len(x.config.groups) == maxPresets {
			return tooMany(d, "mapped models", maxPresets)
		}
		if name != "" && !strings.Contains(name, "*") {
			r.mapped(name, last(to, name), kind.provider, x)
		}
	}
	return nil
}

// last follows a mapping to its end: one name may be mapped to the next. A circle ends where it begins.
func last(to map[string]string, name string) string {
	for range len(to) {
		next := to[name]
		if next == "" {
			break
		}
		name = next
	}
	return name
}

// mapped gives a name of theirs the model that a channel asks for it.
func (r *reader) mapped(name, model, provider string, x *oneAPIExport) {
	g := x.config.groups[name]
	if g == nil {
		g = &group{name: name, preset: Preset{Name: presetName(name)}}
		x.config.groups[name] = g
	}
	slug := model
	for _, n := range candidates(model, provider) {
		if s, ok := r.world.Model(n); ok {
			slug = s
			break
		}
	}
	r.model(&g.preset, &g.content, slug)
}

// kind is what a channel's type means; a zero one for types of which keys are not taken.
func (x *oneAPIExport) kind(o []byte) channelKind {
	n, _ := rawjson.Int(rawjson.Find(o, "type"))
	if k, ok := bothKinds[n]; ok {
		return k
	}
	return ownKinds[x.source][n]
}

// oneAPICredential notes the key of a channel for its provider. A channel with an address of its own has another provider's, or a proxy's.
func (r *reader) oneAPICredential(o []byte, kind channelKind) {
	address := strings.TrimSuffix(text(o, "base_url"), "/")
	id := providers[kind.provider]
	if !r.world.Credentials || id == "" || address != "" && address != kind.address ||
		slices.ContainsFunc(r.plan.Credentials, func(c Credential) bool { return c.Provider == id }) {
		return
	}
	off := rawjson.Find(rawjson.Find(o, "channel_info"), "multi_key_status_list")
	for i, key := range strings.Split(strings.Trim(text(o, "key"), "\n"), "\n") { // several keys of a channel stand on lines
		if key = strings.TrimSpace(key); key == "" || strings.HasPrefix(key, "[") || strings.HasPrefix(key, "{") {
			continue
		}
		if status, ok := rawjson.Int(rawjson.Find(off, strconv.Itoa(i))); ok && status != oneAPIEnabled {
			continue
		}
		r.plan.Credentials = append(r.plan.Credentials, Credential{Provider: id, secret: key})
		return
	}
}

// oneAPIToken makes a key of a token. Rows that were deleted there are kept by their database, and are none.
func (r *reader) oneAPIToken(d *document, o []byte, x *oneAPIExport) error {
	if given(rawjson.Find(o, "deleted_at")) {
		return nil
	}
	if len(r.plan.Keys) == maxKeys {
		return tooMany(d, "tokens", maxKeys)
	}
	if user := string(rawjson.Find(o, "user_id")); user != "" && user != "null" {
		if x.user = cmp.Or(x.user, user); x.user != user {
			return fault.Newf(fault.Invalid, "gatewayimport.oneAPI", "%s has tokens of several users, and keys are made for one: export those of each user_id, and import them for the user here.", d.name)
		}
	}
	r.walk("tokens", o)
	name := text(o, "name")
	if id := string(rawjson.Find(o, "id")); plain(name, maxName) == "" && id != "" {
		name = "token " + strings.Trim(id, `"`)
	}
	k := Key{Name: r.named(name)}
	switch status, _ := rawjson.Int(rawjson.Find(o, "status")); status {
	case oneAPIDisabled:
		k.Disabled = true
	case oneAPIExpired:
		k.Refused = Expired
	}
	limit, ok := x.limit(o)
	r.oneAPIModels(&k, o, x)
	okAddresses := k.from(o, x.source)
	expires, okTime := oneAPITime(rawjson.Find(o, "expired_time"))
	r.finishKey(&k, limit, ok && okAddresses && okTime, apikey.Never, expires)
	return nil
}

// limit is what is left of a token's quota, in dollars; nil without a limit. Their quota can fall below zero.
func (x *oneAPIExport) limit(o []byte) (*big.Rat, bool) {
	if truthy(rawjson.Find(o, "unlimited_quota")) {
		return nil, true
	}
	left, ok := number(rawjson.Find(o, "remain_quota"))
	if !ok || left == nil || left.Sign() < 0 {
		return new(big.Rat), ok
	}
	return new(big.Rat).Quo(left, x.unit), true
}

// oneAPIModels gives a key the models that its token may call: in new-api a list that is switched on, in one-api one that is not empty.
func (r *reader) oneAPIModels(k *Key, o []byte, x *oneAPIExport) {
	list, restricted := text(o, "models"), text(o, "models") != ""
	if x.source == NewAPI {
		list, restricted = text(o, "model_limits"), truthy(rawjson.Find(o, "model_limits_enabled"))
	}
	if !restricted {
		return
	}
	models := words(list, ",")
	r.allowed(k, models, &x.config)
	if len(models) == 0 && k.Refused == "" { // it may call none there
		k.Refused = NoModel
	}
}

// from gives a key the addresses of its token: lines in new-api, parts between commas in one-api. What is no address matches none there, so it
// is left out; it is false where no address is left of those that were given.
func (k *Key) from(o []byte, source string) bool {
	list := text(o, "subnet")
	if source == NewAPI {
		list = text(o, "allow_ips")
	}
	all := words(strings.ReplaceAll(list, ",", "\n"), "\n")
	for _, s := range all {
		p, err := netip.ParsePrefix(s)
		if ip, e := netip.ParseAddr(s); err != nil && e == nil && ip.Zone() == "" {
			p, err = ip.Prefix(ip.BitLen())
		}
		if err == nil {
			k.Addresses = append(k.Addresses, p.Masked())
		}
	}
	return len(all) == 0 || len(k.Addresses) > 0
}

// words are the parts of a list without the empty ones.
func words(list, separator string) (all []string) {
	for s := range strings.SplitSeq(list, separator) {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// oneAPITime is a time in seconds as text in JSON; -1 is none.
func oneAPITime(v []byte) (moment []byte, ok bool) {
	if rawjson.IsNull(v) {
		return nil, true
	}
	n, ok := rawjson.Int(v)
	if !ok || n < -1 || n > 253402300799 { // the end of the year 9999
		return nil, false
	}
	if n == -1 {
		return nil, true
	}
	return []byte(`"` + time.Unix(n, 0).UTC().Format(time.RFC3339) + `"`), true
}

// truthy reads what databases write for a truth: true, 1 or "1".
func truthy(v []byte) bool { return slices.Contains([]string{"true", "1", `"1"`, `"true"`}, string(v)) }
