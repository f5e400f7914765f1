package edit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/seal"
)

func TestAddedProviderAndEndpoint(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := s.addHut()
	m, ok := b.Snapshot.Model("acme/tiny")
	if !ok || len(m.Endpoints) != 1 {
		t.Fatalf("the model is %+v", m)
	}
	ep := m.Endpoints[0]
	if ep.ID != "hut/acme/tiny" || ep.Provider.Name != "Hut" || ep.ContextLength != 8000 || ep.Params != catalog.ParamTemperature|catalog.ParamTools {
		t.Errorf("the endpoint is %+v", ep)
	}
	// 0.6 dollars for 1,000,000 tokens at 100 rubles: 0.06 rubles for 1000
	if p := ep.Pricing; p.Base.Prompt.String() != "0.06" || p.Base.Completion.String() != "0.09" || p.List != "database-2" || p.Rate != "usd=100 margin=0" ||
		p.Source != "price_usd.completion=0.9; price_usd.prompt=0.6" {
		t.Errorf("its prices are %+v", p)
	}
	v := b.Endpoint("hut/acme/tiny")
	if v == nil || v.Origin != edit.FromDatabase || !v.On || b.Provider("hut").Origin != edit.FromDatabase {
		t.Errorf("views: %+v", v)
	}
}

func TestEveryShapeOfPrice(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{
		"price_usd.request": "0.01", "thresholds.0.above": "128000", "thresholds.0.price_usd.prompt": "1.2", "thresholds.1.above": "200000", "thresholds.1.prices.prompt": "0.5"}})
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/paint", Create: true, Set: edit.Spec{"provider": "hut", "model": "acme/paint", "type": "image",
		"images.0.component": "image_output", "images.0.unit": "image", "images.0.resolution": "1K", "images.0.price_usd": "0.04",
		"images.1.component": "text_input", "images.1.unit": "tokens_1k", "images.1.price_usd": "5", "images.1.basis": "fixed"}})
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/film", Create: true, Set: edit.Spec{"provider": "hut", "model": "acme/film", "type": "video",
		"video.0.resolution": "720p", "video.0.with_audio": "true", "video.0.per_second": "12.5", "video.1.per_second_usd": "0.1"}})
	b := s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/ear", Create: true, Set: edit.Spec{"provider": "hut", "model": "acme/ear", "type": "audio_transcription", "price_usd.minute": "0.006"}})
	of := func(id string) catalog.Pricing {
		m, _ := b.Snapshot.Model(id)
		return m.Endpoints[0].Pricing
	}
	tiny := of("acme/tiny")
	if tiny.Base.Request.String() != "1" || len(tiny.Thresholds) != 2 || tiny.Thresholds[0].Above != 128000 || tiny.Thresholds[0].Prices.Prompt.String() != "0.12" || tiny.Thresholds[1].Prices.Prompt.String() != "0.5" {
		t.Errorf("thresholds: %+v", tiny)
	}
	if tiny.List != "database-3" {
		t.Errorf("a changed list is named %q", tiny.List)
	}
	paint := of("acme/paint")
	if len(paint.Images) != 2 || paint.Images[0].Price.String() != "4" || paint.Images[0].Basis != "supplier_rate" || paint.Images[1].Price.String() != "0.5" || paint.Images[1].Basis != "fixed" {
		t.Errorf("images: %+v", paint.Images)
	}
	video := of("acme/film")
	if len(video.Video) != 2 || video.Video[0].PerSecond.String() != "12.5" || !video.Video[0].WithAudio || video.Video[1].PerSecond.String() != "10" {
		t.Errorf("video: %+v", video.Video)
	}
	if ear := of("acme/ear"); ear.Minute.String() != "0.6" {
		t.Errorf("minute: %+v", ear)
	}
}

// A row describes a model that nothing else describes; what is declared elsewhere it may repeat, and not contradict.
func TestRowsDescribeModels(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	b := s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"about.name": "Tiny", "about.description": "Small; fast.",
		"about.hub_id": "acme/Tiny", "about.created": "2026-01-31", "max_in_flight": "7"}})
	m, _ := b.Snapshot.Model("acme/tiny")
	if m.Name != "Tiny" || m.Description != "Small; fast." || m.HubID != "acme/Tiny" || m.Created.Format(time.DateOnly) != "2026-01-31" || m.Type != catalog.TypeChat {
		t.Errorf("the model is %+v", m)
	}
	if m.Endpoints[0].MaxInFlight != 7 || m.Endpoints[0].UpdatedAt.IsZero() {
		t.Errorf("the endpoint is %+v", m.Endpoints[0])
	}
	second := edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny/eu", Create: true, Set: edit.Spec{"provider": "hut", "model": "acme/tiny", "region": "eu",
		"prices.prompt": "1", "prices.completion": "1", "about.name": "Tiny"}}
	s.must(second)
	s.refused(edit.Change{Kind: edit.Endpoint, ID: second.ID, Set: edit.Spec{"about.name": "Tiniest"}}, fault.Invalid, "about.name")
	s.refused(edit.Change{Kind: edit.Endpoint, ID: second.ID, Set: edit.Spec{"about.created": "2026-02-01"}}, fault.Invalid, "about.created")
	s.must(edit.Change{Kind: edit.Endpoint, ID: second.ID, Set: edit.Spec{"about.created": "2026-01-31"}})
	s.refused(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"about.created": "yesterday"}}, fault.Invalid, "about.created")
	b = s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Unset: []string{"about", "max_in_flight"}})
	if m, _ = b.Snapshot.Model("acme/tiny"); m.Name != "Tiny" || m.Description != "" || m.Endpoints[0].MaxInFlight != 0 {
		t.Errorf("without what was unset the model is %+v", m)
	}
}

func TestBuiltInRows(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := s.must(edit.Change{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{"prices.prompt": "0.01", "prices.completion": "0.02"}})
	m, _ := b.Snapshot.Model("acme/small")
	var own *catalog.Endpoint
	for _, ep := range m.Endpoints {
		if ep.Provider.ID == "open" {
			own = ep
		}
	}
	if p := own.Pricing; p.Base.Prompt.String() != "0.01" || p.Base.CacheRead.Set || p.Rate != "" || own.ContextLength != 1000 {
		t.Errorf("prices are not replaced as a whole: %+v", p)
	}
	b = s.must(edit.Change{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{"disabled": "true"}})
	if m, _ = b.Snapshot.Model("acme/small"); len(m.Endpoints) != 1 || m.Endpoints[0].Provider.ID != "filed" {
		t.Errorf("a disabled endpoint is offered: %+v", m.Endpoints)
	}
	if v := b.Endpoint("open/acme/small"); v.Origin != edit.FromBuiltin || v.On || v.Row == nil {
		t.Errorf("view: %+v", v)
	}
	b = s.must(edit.Change{Kind: edit.Endpoint, ID: "open/acme/small", Remove: true})
	if v := b.Endpoint("open/acme/small"); !v.On || v.Row != nil || v.Pricing.List != "builtin-1" {
		t.Errorf("without its row a built-in endpoint is %+v", v)
	}
	b = s.must(edit.Change{Kind: edit.Provider, ID: "open", Set: edit.Spec{"disabled": "true"}})
	if b.Snapshot.Providers["open"] != nil {
		t.Error("a disabled provider takes part")
	}
	b = s.must(edit.Change{Kind: edit.Provider, ID: "open", Unset: []string{"disabled"}, Set: edit.Spec{
		"quirks.rename.seed": "random_seed", "quirks.system_role": "true", "quirks.drop": "user,logit_bias", "quirks.cost_digits": "10", "quirks.max_tokens_field": "max_tokens", "headers.X-Team": "weir"}})
	p := b.Snapshot.Providers["open"]
	if q := p.Quirks; q.Rename["seed"] != "random_seed" || q.Rename["a"] != "b" || !q.SystemRole || strings.Join(q.Drop, " ") != "user logit_bias" || q.CostDigits != 10 || q.MaxTokensField != "max_tokens" {
		t.Errorf("quirks: %+v", q)
	}
	if p.Headers["X-Team"] != "weir" || p.Key != "sk-of-the-environment" {
		t.Errorf("provider: %+v", p)
	}
	s.refused(edit.Change{Kind: edit.Provider, ID: "open", Create: true, Set: hut}, fault.Conflict, "")
	s.must(edit.Change{Kind: edit.Provider, ID: "open", Remove: true})
	f := s.refused(edit.Change{Kind: edit.Provider, ID: "open", Remove: true}, fault.Conflict, "")
	if !strings.Contains(f.Public, "disable it") {
		t.Errorf("sentence: %s", f.Public)
	}
}

// A built-in provider whose variable is not set switches on with a credential of the database.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := open(t)
	if v := s.built().Provider("quiet"); v == nil || v.On {
		t.Fatalf("at first: %+v", v)
	}
	secret := "sk-very-secret-credential-1234"
	b := s.must(edit.Change{Kind: edit.Provider, ID: "quiet", Key: &secret})
	if p := b.Snapshot.Providers["quiet"]; p == nil || p.Key != secret {
		t.Fatalf("with a credential: %+v", p)
	}
	row := s.store.state.Rows[0]
	if row.Last4() != "1234" || len(row.Keys) != 1 || strings.Contains(string(row.Keys[0].Sealed), "secret") {
		t.Errorf("stored: %+v", row)
	}
	for _, e := range s.store.events {
		if strings.Contains(e.Before+e.After, "secret-cred") || !strings.Contains(e.After, "api_key=...1234") {
			t.Errorf("audited: %+v", e)
		}
	}
	// moved to another row it does not open
	stolen := edit.State{Rows: []edit.Row{{Kind: edit.Provider, ID: "hut", Keys: row.Keys}}}
	if c := stolen.Credentials(s.world.ring, s.world.lookup)["hut"]; c.Err == nil {
		t.Errorf("a moved secret opened: %+v", c)
	}
	// a node without the master key leaves the provider out and says why
	ring := s.world.ring
	s.world.ring = nil
	b = s.built()
	if b.Snapshot.Providers["quiet"] != nil || len(b.Left) != 1 || !strings.Contains(b.Left[0], "master key") {
		t.Errorf("without the master key: %+v, %q", b.Snapshot.Providers["quiet"], b.Left)
	}
	s.world.ring = ring

	b = s.must(edit.Change{Kind: edit.Provider, ID: "quiet", Set: edit.Spec{"api_key_env": "THEIR_KEY"}})
	if p := b.Snapshot.Providers["quiet"]; p == nil || p.Key != "sk-from-a-variable" || s.store.state.Rows[0].Keys != nil {
		t.Errorf("with a variable: %+v", p)
	}
	b = s.must(edit.Change{Kind: edit.Provider, ID: "quiet", Set: edit.Spec{"api_key_env": "NOT_SET"}})
	if b.Snapshot.Providers["quiet"] != nil || len(b.Left) != 1 || !strings.Contains(b.Left[0], "NOT_SET") {
		t.Errorf("with a variable that is not set: %q", b.Left)
	}
	s.refused(edit.Change{Kind: edit.Provider, ID: "quiet", Set: edit.Spec{"api_key_env": "WEIR_MASTER_KEY"}}, fault.Invalid, "api_key_env")
	s.refused(edit.Change{Kind: edit.Provider, ID: "quiet", Set: edit.Spec{"api_key_env": "THEIR_KEY"}, Key: &secret}, fault.Invalid, "api_key")
	broken := "two words"
	s.refused(edit.Change{Kind: edit.Provider, ID: "quiet", Key: &broken}, fault.Invalid, "api_key")

	// over the HTTP API only variables that the configuration lists
	listed := edit.NewEditor(s.store, s.world, nil, time.Now, nil).OnlyVariables([]string{"THEIR_KEY"})
	for name, fine := range map[string]bool{"THEIR_KEY": true, "AWS_SECRET_ACCESS_KEY": false, "their_key": false} {
		_, err := listed.Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "quiet", Set: edit.Spec{"api_key_env": name}}, audit.Actor{Name: "test"})
		if f := fault.From(err); (err == nil) != fine || err != nil && (f.Kind != fault.Invalid || f.Param != "api_key_env") {
			t.Errorf("api_key_env %q: %v", name, err)
		}
	}
	without := edit.NewEditor(s.store, s.world, nil, time.Now, nil)
	_, err := without.Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "quiet", Key: &secret}, admin)
	if f := fault.From(err); f == nil || f.Kind != fault.Conflict || f.Param != "api_key" || !strings.Contains(f.Public, "secrets.master_key_file") {
		t.Errorf("without a master key: %v", err)
	}
}

// A provider's proxy has its password in variables, of which the API may name those that are listed.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.world.env["PROXY_USER"], s.world.env["PROXY_PASSWORD"] = "anna", "p@ss/word"
	at := "http://${PROXY_USER}:${PROXY_PASSWORD}@proxy.corp:3128"
	b := s.must(edit.Change{Kind: edit.Provider, ID: "mill", Create: true, Set: edit.Spec{"base_url": "https://mill.example/v1", "proxy": at}})
	p := b.Snapshot.Providers["mill"]
	if user, password := p.Proxy.Login(); p.Proxy.String() != "http://proxy.corp:3128" || user != "anna" || password != "p@ss/word" {
		t.Errorf("%s with %q and %q", p.Proxy, user, password)
	}
	for _, e := range s.store.events {
		if strings.Contains(e.Before+e.After, "p@ss") || !strings.Contains(e.After, "proxy="+at) {
			t.Errorf("audited: %+v", e)
		}
	}
	if b = s.must(edit.Change{Kind: edit.Provider, ID: "open", Set: edit.Spec{"proxy": "direct"}}); b.Snapshot.Providers["open"].Proxy.String() != "direct" {
		t.Errorf("a built-in one: %+v", b.Snapshot.Providers["open"].Proxy)
	}
	for _, refused := range []string{
		"http://anna:s3cret-word@proxy.corp", "http://s3cret-word@proxy.corp", "http://a:${WEIR_MASTER_KEY}@proxy.corp", "${WEIR_STORE_DSN}", "proxy.corp:3128", "ftp://proxy.corp", "http://proxy.corp:99999", "http://${a b}@proxy.corp",
	} {
		s.refused(edit.Change{Kind: edit.Provider, ID: "mill", Set: edit.Spec{"proxy": refused}}, fault.Invalid, "proxy")
	}
	listed := edit.NewEditor(s.store, s.world, nil, time.Now, nil).OnlyVariables([]string{"PROXY_USER"})
	_, err := listed.Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "mill", Set: edit.Spec{"proxy": at}}, audit.Actor{Name: "test"})
	if f := fault.From(err); err == nil || f.Param != "proxy" || !strings.Contains(f.Public, "PROXY_PASSWORD") {
		t.Errorf("a variable that is not listed: %v", err)
	}
	// a node without the variable leaves the provider out and says why
	delete(s.world.env, "PROXY_PASSWORD")
	if b = s.built(); b.Snapshot.Providers["mill"] != nil || len(b.Left) != 1 || !strings.Contains(b.Left[0], "PROXY_PASSWORD is not set") {
		t.Errorf("without the variable: %q", b.Left)
	}
}

func TestRotatedSecrets(t *testing.T) {
	t.Parallel()
	s := open(t)
	secret := "sk-very-secret-credential-1234"
	s.must(edit.Change{Kind: edit.Provider, ID: "quiet", Key: &secret})
	old := make([]byte, 32)
	for i := range old {
		old[i] = byte(i)
	}
	fresh := []byte("0123456789abcdef0123456789abcdef")
	both, err := seal.NewRing(fresh, old)
	if err != nil {
		t.Fatal(err)
	}
	editor := edit.NewEditor(s.store, s.world, both, time.Now, nil)
	for _, want := range []int{1, 0} {
		if n, err := editor.RotateSecrets(t.Context(), admin); err != nil || n != want {
			t.Fatalf("rotated %d, %v; want %d", n, err, want)
		}
	}
	only, err := seal.NewRing(fresh)
	if err != nil {
		t.Fatal(err)
	}
	s.world.ring = only
	if p := s.built().Snapshot.Providers["quiet"]; p == nil || p.Key != secret {
		t.Errorf("after the rotation: %+v", p)
	}
	if e := s.store.events[1]; e.Action != audit.SecretRotated {
		t.Errorf("audited: %+v", e)
	}
}

func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	endpoint := func(set edit.Spec) edit.Change {
		return edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: set}
	}
	for name, c := range map[string]struct {
		change edit.Change
		kind   fault.Kind
		param  string
	}{
		"unknown field":           {endpoint(edit.Spec{"balance": "1"}), fault.Invalid, "balance"},
		"unknown price":           {endpoint(edit.Spec{"prices.promt": "1"}), fault.Invalid, "prices.promt"},
		"no number":               {endpoint(edit.Spec{"prices.prompt": "-1"}), fault.Invalid, "prices.prompt"},
		"ruble price too fine":    {endpoint(edit.Spec{"prices.image": "0.0000000001"}), fault.Invalid, "prices.image"},
		"two prices for one":      {endpoint(edit.Spec{"prices.prompt": "1"}), fault.Invalid, "price_usd.prompt"},
		"no completion price":     {edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Unset: []string{"price_usd.completion"}}, fault.Invalid, ""},
		"unknown parameter":       {endpoint(edit.Spec{"params": "temprature"}), fault.Invalid, "params"},
		"unknown modality":        {endpoint(edit.Spec{"input": "smell"}), fault.Invalid, "input"},
		"unknown quantization":    {endpoint(edit.Spec{"quantization": "int3"}), fault.Invalid, "quantization"},
		"answer above context":    {endpoint(edit.Spec{"max_output": "9000", "max_n": "2"}), fault.Invalid, "max_output"},
		"threshold of nothing":    {endpoint(edit.Spec{"thresholds.0.above": "0", "thresholds.0.prices.prompt": "1"}), fault.Invalid, "thresholds"},
		"second name of a field":  {endpoint(edit.Spec{"thresholds.00.above": "5"}), fault.Invalid, "thresholds.00.above"},
		"renamed":                 {endpoint(edit.Spec{"model": "acme/other"}), fault.Invalid, "model"},
		"type of another":         {edit.Change{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{"type": "imagine"}}, fault.Invalid, "type"},
		"control character":       {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"name": "a\nb"}}, fault.Invalid, "name"},
		"credentials in the URL":  {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"base_url": "https://a:b@hut.example"}}, fault.Invalid, "base_url"},
		"credential in a header":  {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"headers.Authorization": "Bearer x"}}, fault.Invalid, "headers.Authorization"},
		"unknown quirk":           {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"quirks.temper": "bad"}}, fault.Invalid, "quirks.temper"},
		"quirk of another word":   {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"quirks.reasoning_request": "shout"}}, fault.Invalid, "quirks.reasoning_request"},
		"name of another":         {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"name": "Open"}}, fault.Invalid, "name"},
		"unknown policy":          {edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"data_policy": "none"}}, fault.Invalid, "data_policy"},
		"provider again":          {edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: hut}, fault.Conflict, ""},
		"no such provider":        {edit.Change{Kind: edit.Provider, ID: "barn", Set: hut}, fault.NotFound, ""},
		"bad id":                  {edit.Change{Kind: edit.Provider, ID: "a/b", Create: true, Set: hut}, fault.Invalid, ""},
		"no such endpoint":        {edit.Change{Kind: edit.Endpoint, ID: "hut/acme/none", Set: edit.Spec{"disabled": "true"}}, fault.NotFound, ""},
		"nothing to remove":       {edit.Change{Kind: edit.Endpoint, ID: "hut/acme/none", Remove: true}, fault.NotFound, ""},
		"provider with endpoints": {edit.Change{Kind: edit.Provider, ID: "hut", Remove: true}, fault.Conflict, ""},
		"endpoint of nobody": {edit.Change{Kind: edit.Endpoint, ID: "barn/acme/x", Create: true,
			Set: edit.Spec{"provider": "barn", "model": "acme/x", "prices.prompt": "1", "prices.completion": "1"}}, fault.Invalid, "provider"},
		"id of another": {edit.Change{Kind: edit.Endpoint, ID: "hut/acme/y", Create: true,
			Set: edit.Spec{"provider": "hut", "model": "acme/x", "prices.prompt": "1", "prices.completion": "1"}}, fault.Invalid, ""},
		"nameless endpoint": {edit.Change{Kind: edit.Endpoint, ID: "hut/acme/y", Create: true, Set: edit.Spec{"provider": "hut"}}, fault.Invalid, "model"},
		"bad slug": {edit.Change{Kind: edit.Endpoint, ID: "hut/tiny", Create: true,
			Set: edit.Spec{"provider": "hut", "model": "tiny", "prices.prompt": "1", "prices.completion": "1"}}, fault.Invalid, "model"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := *s
			inner.t = t
			inner.refused(c.change, c.kind, c.param)
		})
	}
}

// The file and the database never own the same row.
func TestRowsOfTheFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	f := s.refused(edit.Change{Kind: edit.Provider, ID: "filed", Set: edit.Spec{"disabled": "true"}}, fault.Conflict, "")
	if !strings.Contains(f.Public, "weir.yaml:7") {
		t.Errorf("the sentence does not say where: %s", f.Public)
	}
	f = s.refused(edit.Change{Kind: edit.Endpoint, ID: "filed/acme/small", Set: edit.Spec{"prices.prompt": "1"}}, fault.Conflict, "")
	if !strings.Contains(f.Public, "weir.yaml:12") {
		t.Errorf("the sentence does not say where: %s", f.Public)
	}
	s.refused(edit.Change{Kind: edit.Provider, ID: "filed", Create: true, Set: hut}, fault.Conflict, "")
	// another endpoint of a declared provider is a separate row
	s.must(edit.Change{Kind: edit.Endpoint, ID: "filed/acme/more", Create: true, Set: edit.Spec{"provider": "filed", "model": "acme/more", "prices.prompt": "1", "prices.completion": "1"}})

	// a file that declares what the database owns does not build, and the error names the row; removing the row is the way out
	s.addHut()
	s.world.file["hut"] = "weir.yaml:30"
	_, err := s.Built(t.Context())
	if f := fault.From(err); f == nil || f.Kind != fault.Conflict || !strings.Contains(f.Public, `"hut"`) || !strings.Contains(f.Public, "weir.yaml:30") {
		t.Fatalf("both own the row: %v", err)
	}
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Remove: true})
	s.must(edit.Change{Kind: edit.Provider, ID: "hut", Remove: true})
	if v := s.built().Provider("hut"); v == nil || v.Origin != edit.FromFile {
		t.Errorf("afterwards: %+v", v)
	}
}

// A file that takes away what endpoints of the database hang on does not stop a node.
func TestEndpointsWithoutTheirProvider(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.world.file["barn"] = "weir.yaml:30"
	s.must(edit.Change{Kind: edit.Endpoint, ID: "barn/acme/x", Create: true, Set: edit.Spec{"provider": "barn", "model": "acme/x", "prices.prompt": "1", "prices.completion": "1"}})
	delete(s.world.file, "barn")
	b := s.built()
	if _, there := b.Snapshot.Model("acme/x"); there || len(b.Left) != 1 {
		t.Errorf("left out: %q", b.Left)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"price_usd.prompt": "0.7"}})
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Remove: true})
	if err := s.SetRate(t.Context(), rate.Record{Margin: "0.15", Source: rate.Manual}, admin); err != nil {
		t.Fatal(err)
	}
	entries, err := s.History(t.Context(), 0, 10)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	want := []struct {
		action string
		id     string
	}{{audit.RateSet, ""}, {audit.CatalogRemoved, "hut/acme/tiny"}, {audit.CatalogChanged, "hut/acme/tiny"}, {audit.CatalogAdded, "hut/acme/tiny"}, {audit.CatalogAdded, "hut"}}
	for i, e := range entries {
		if e.Action != want[i].action || e.ID != want[i].id || e.Version != int64(5-i) || e.Name != admin.Name || e.From != admin.From || !e.At.Equal(s.world.now) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if e := entries[2]; e.Before["price_usd.prompt"] != "0.6" || e.After["price_usd.prompt"] != "0.7" || e.After["context_length"] != "8000" {
		t.Errorf("the whole row before and after: %+v", e)
	}
	if e := s.store.events[2]; e.Before != "price_usd.prompt=0.6" || e.After != "price_usd.prompt=0.7" || e.Target != "endpoint:hut/acme/tiny" {
		t.Errorf("the audit log has what changed: %+v", e)
	}
	if older, _ := s.History(t.Context(), 3, 1); len(older) != 1 || older[0].Version != 2 {
		t.Errorf("before version 3: %+v", older)
	}
}

// A change that loses a race is decided again; one that always loses fails with that reason.
func TestRaces(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.store.racing = 3
	s.must(edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: hut})
	s.store.racing = 100
	_, err := s.Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"name": "House"}}, admin)
	if !errors.Is(err, edit.ErrMoved) || !fault.Is(err, fault.Conflict) {
		t.Errorf("after many races: %v", err)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	price := func() (string, string) {
		m, _ := s.built().Snapshot.Model("acme/tiny")
		return m.Endpoints[0].Pricing.Base.Prompt.String(), m.Endpoints[0].Pricing.Rate
	}
	if err := s.SetRate(t.Context(), rate.Record{RubPerUSD: "80", Margin: "0.15", Source: rate.Manual}, admin); err != nil {
		t.Fatal(err)
	}
	// 0.6 x 80 x 1.15 / 1000
	if p, version := price(); p != "0.0552" || version != "manual-2026-11-21@80+0.15" {
		t.Errorf("after a change of both: %s at %s", p, version)
	}
	// one that begins later holds later
	if err := s.SetRate(t.Context(), rate.Record{RubPerUSD: "90", Source: rate.Manual, From: s.world.now.Add(time.Hour)}, admin); err != nil {
		t.Fatal(err)
	}
	if p, _ := price(); p != "0.0552" {
		t.Errorf("before its beginning: %s", p)
	}
	s.world.now = s.world.now.Add(time.Hour)
	if p, version := price(); p != "0.0621" || version != "manual-2026-11-21@90+0.15" {
		t.Errorf("from its beginning on: %s at %s", p, version)
	}
	for name, c := range map[string]struct {
		record rate.Record
		param  string
	}{
		"nothing":        {rate.Record{}, "rate"},
		"zero":           {rate.Record{RubPerUSD: "0"}, "rate"},
		"negative":       {rate.Record{RubPerUSD: "-80"}, "rate"},
		"exponent":       {rate.Record{RubPerUSD: "8e1"}, "rate"},
		"huge":           {rate.Record{RubPerUSD: "1000000"}, "rate"},
		"margin of more": {rate.Record{Margin: "15"}, "margin"},
		"margin of text": {rate.Record{Margin: "15 %"}, "margin"},
	} {
		if f := fault.From(s.SetRate(t.Context(), c.record, admin)); f == nil || f.Kind != fault.Invalid || f.Param != c.param {
			t.Errorf("%s: %v", name, f)
		}
	}
	s.world.declared.RateAt = "weir.yaml:3"
	if f := fault.From(s.SetRate(t.Context(), rate.Record{RubPerUSD: "81"}, admin)); f == nil || f.Kind != fault.Conflict || !strings.Contains(f.Public, "weir.yaml:3") {
		t.Errorf("a rate that the file declares: %v", f)
	}
	if err := s.SetRate(t.Context(), rate.Record{Margin: "0.2"}, admin); err != nil {
		t.Errorf("the margin is nobody's: %v", err)
	}
	if _, version := price(); version != "static@100+0.2" {
		t.Errorf("the file's rate with the database's margin is named %s", version)
	}
}

// What only takes away is possible in a catalog that does not build any more: it is the way out.
func TestWayOutOfABrokenCatalog(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	s.store.state.Rows[0].Spec["quirks.reasoning_request"] = "of an older version"
	if _, err := s.Built(t.Context()); err == nil {
		t.Fatal("it builds")
	}
	s.refused(edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"name": "House"}}, fault.Invalid, "")
	s.must(edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"disabled": "true"}})
	s.built()
}

// What was declared outside the configuration takes part although a built-in provider of that id is off.
func TestDeclaredUnderABuiltInID(t *testing.T) {
	t.Parallel()
	own := catalog.Provider{ID: "quiet", Dialect: "openai", BaseURL: "https://own.example/v1"}
	price := money.Price{Nano: 1, Set: true}
	b, err := edit.Build(&edit.Base{
		Declared: catalog.Declared{Providers: []catalog.Provider{own}, Offers: []catalog.Offer{{Provider: "quiet", Model: "acme/m", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price, Completion: price}}}}},
		Known:    []catalog.Provider{{ID: "quiet", Dialect: "openai", BaseURL: "https://quiet.example/v1"}},
	}, &edit.State{}, rate.Effective{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := b.Snapshot.Providers["quiet"]; p == nil || p.BaseURL != own.BaseURL || len(b.Providers) != 1 || !b.Endpoints[0].On {
		t.Errorf("providers %+v, endpoints %+v", b.Providers, b.Endpoints)
	}
}
