package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/demo"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/secret"
	"weir/internal/sim"
)

// DemoOptions are the options of Demo.
type DemoOptions struct {
	Version string
	Listen  string // "": the default address, or any free port if it is in use
	Data    string
	JSON    bool
	Balance string // the least balance of the demo user, in rubles
	Shapes  uint64 // seed for the shapes of the simulator's answers, 0 none
	Empty   bool   // without the month that was made up, and without its models
	Out     io.Writer
	Signals <-chan os.Signal
}

// demoListen is used by the examples of the documentation.
const demoListen = "127.0.0.1:8080"

// Demo runs the gateway and the simulator in one process, with a user, keys, a balance and a month of use that was made up.
func Demo(ctx context.Context, o DemoOptions) error {
	overlay := config.Overlay{"data_dir": o.Data, "server.admin_listen": "127.0.0.1:0", "server.shutdown_delay": "0s", "log.level": "warn", "log.access": "false", "sign_in.sign_up": "invitation", "price_lists.publish": "off"}
	shop := "" // base URL of the payment provider with play money
	load := func() (config.Config, error) {
		cfg, err := config.Load("", os.LookupEnv, overlay)
		demoVideos(&cfg)
		demoPayments(&cfg, shop)
		demoInvoices(&cfg)
		return cfg, err
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	listener, err := listenDemo(o.Listen)
	if err != nil {
		return err
	}
	simulator, address, err := startSim("127.0.0.1:0", sim.Config{Shapes: o.Shapes})
	if err != nil {
		return err
	}
	defer closeSim(simulator)
	declared := simDeclared("http://" + address)
	if !o.Empty {
		vendors, err := demoVendors("http://" + address)
		if err != nil {
			return err
		}
		declared.Append(vendors)
	}
	shop = "http://" + address + "/yookassa/v3"
	demoPayments(&cfg, shop)
	g, err := open(ctx, cfg, extra{declared: declared, logTo: os.Stderr, version: o.Version, listener: listener, demo: true})
	if err != nil {
		return err
	}
	simulator.Pay().NotifyAt(g.BaseURL() + "/api/payments/notifications")
	access, err := g.demoAccess(ctx, &o)
	if err != nil {
		g.close(ctx)
		return err
	}
	if o.JSON {
		access.simulator = "http://" + address
		err = g.announceJSON(o.Out, access)
	} else {
		err = g.announce(o.Out, access, o.Data)
	}
	if err != nil {
		g.close(ctx)
		return err
	}
	return g.run(ctx, o.Signals, &config.Watcher{Load: load})
}

// demoPayments makes the simulated shop the payment provider, unless a real one is configured.
func demoPayments(cfg *config.Config, shop string) {
	p := &cfg.Payments
	if shop == "" || p.Provider != "" {
		return
	}
	p.Provider, p.Auto.Enabled, p.Poll = "yookassa", true, time.Second
	y := &p.YooKassa
	y.ShopID, y.SecretKey, y.Test, y.BaseURL, y.NotifyFrom = sim.PayShop, secret.New(sim.PaySecret), true, shop, []string{"127.0.0.0/8", "::1"}
}

func listenDemo(address string) (net.Listener, error) {
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, notListening("--listen", err, "another address, or port 0 for any free one")
		}
		return l, nil
	}
	l, err := net.Listen("tcp", demoListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return l, err
}

// demoAccess is what a user of the demo needs.
type demoAccess struct {
	key, management string
	balance         money.Nano
	simulator       string // where the simulated providers are
}

func (g *Gateway) demoAccess(ctx context.Context, o *DemoOptions) (a demoAccess, err error) {
	want, err := money.Parse(o.Balance)
	if err != nil || want < 0 {
		return a, fmt.Errorf("--balance: %q is not an amount of rubles", o.Balance)
	}
	user, err := g.demoPeople(ctx, o, want)
	if err != nil {
		return a, err
	}
	g.people.OpenDemo(user.ID)
	if a.key, a.management, err = g.demoKeys(ctx, user.ID, filepath.Join(g.cfg.DataDir, demoKeyFile)); err != nil {
		return a, err
	}
	until, err := monthOf(ctx, g.store)
	if err != nil {
		return a, err
	}
	g.demo.Store(&accountapi.Demo{Key: a.key, Owner: user.ID, Until: until})
	b, err := g.book.Balance(ctx, user.Wallet)
	if err != nil {
		return a, err
	}
	if a.balance = b.Balance; b.Balance < want {
		a.balance = want
		_, err = g.book.Credit(ctx, ledger.TopUp{Wallet: user.Wallet, Source: "demo", ExternalID: apikey.NewID("top_"), Amount: want - b.Balance, Actor: demo.Actor})
	}
	return a, err
}

func (g *Gateway) announce(w io.Writer, a demoAccess, data string) error {
	made := ""
	if until := g.demo.Load().Until; !until.IsZero() {
		made = "What happened before " + until.Local().Format("2006-01-02 15:04") + " is demo data, made up. "
	}
	_, err := fmt.Fprintf(w, `Weir is ready.

  base URL     %[1]s/v1
  API key      %[2]s
  balance      %[3]s rubles
  management   %[4]s
  metrics      %[5]s/metrics
  data         %[6]s

Try it: open %[1]s in a browser, or

  curl -N %[1]s/v1/chat/completions \
    -H "Authorization: Bearer %[2]s" -H "Content-Type: application/json" \
    -d '{"model":"sim/chat","stream":true,"messages":[{"role":"user","content":"What is a weir?"}]}'

%[7]d models; the sim/ ones are simulated. %[8]sCtrl-C ends it.
`, g.BaseURL(), a.key, a.balance, a.management, g.AdminURL(), data, len(g.catalog.Load().Models()), made)
	return err
}

func (g *Gateway) announceJSON(w io.Writer, a demoAccess) error {
	b := []byte(`{"base_url":`)
	b = rawjson.AppendText(b, g.BaseURL())
	b = rawjson.AppendText(append(b, `,"api_key":`...), a.key)
	b = rawjson.AppendText(append(b, `,"management_key":`...), a.management)
	b = rawjson.AppendText(append(b, `,"admin_url":`...), g.AdminURL())
	b = rawjson.AppendText(append(b, `,"simulator_url":`...), a.simulator)
	b = a.balance.Append(append(b, `,"balance":`...))
	b = append(b, `,"models":[`...)
	for i, m := range g.catalog.Load().Models() {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, m.Slug)
	}
	_, err := fmt.Fprintf(w, "%s],\"pid\":%d}\n", b, os.Getpid())
	return err
}

// SimOptions are the options of Simulate.
type SimOptions struct {
	Listen  string
	Key     string
	Shapes  uint64 // seed for the shapes of answers, 0 none
	Out     io.Writer
	Signals <-chan os.Signal
}

// Simulate runs only the provider simulator, until a signal ends it.
func Simulate(ctx context.Context, o SimOptions) error {
	s, address, err := startSim(o.Listen, sim.Config{Key: o.Key, Shapes: o.Shapes})
	if err != nil {
		return notListening("--listen", err, "another address, or port 0 for any free one")
	}
	defer closeSim(s)
	if _, err := fmt.Fprintf(o.Out, "The simulator is ready at http://%s/v1\nIts models: ", address); err != nil {
		return err
	}
	for i, m := range sim.Catalog() {
		if i > 0 {
			fmt.Fprint(o.Out, ", ")
		}
		fmt.Fprint(o.Out, m.Name)
	}
	fmt.Fprintln(o.Out)
	select {
	case <-o.Signals:
	case <-ctx.Done():
	}
	return nil
}

func startSim(listen string, c sim.Config) (*sim.Server, string, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, "", err
	}
	s := sim.New(c)
	go func() { _ = s.Serve(l) }() // returns after Close
	return s, l.Addr().String(), nil
}

func closeSim(s *sim.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.Close(ctx)
}

// simWire is one wire of the simulator, declared as a provider of the catalog.
type simWire struct {
	id, name, dialect string
	path              string           // path of the base URL
	params            catalog.Params   // parameters of the wire; 0: those of the model
	marks             bool             // the client marks what the provider must cache, and cache writes have a price
	only              catalog.Modality // modalities of prompts on the wire; 0: those of the model. Answers are text
	key               string           // for a wire that requires a key
	oauth             string           // path that exchanges the key for a token; "": the wire uses the key itself
	quirks            catalog.Quirks
}

const wireParams = catalog.ParamTemperature | catalog.ParamTopP | catalog.ParamTopK | catalog.ParamMaxTokens | catalog.ParamMaxCompletionTokens | catalog.ParamStop |
	catalog.ParamTools | catalog.ParamToolChoice | catalog.ParamResponseFormat | catalog.ParamStructuredOutputs | catalog.ParamReasoning | catalog.ParamIncludeReasoning

var simWires = []simWire{
	{id: "sim", name: "Simulator", dialect: "openai", path: "/v1", quirks: catalog.Quirks{TokenInput: true}},
	{id: "sim-anthropic", name: "Simulator, messages wire", dialect: "anthropic", params: wireParams | catalog.ParamParallelToolCalls, marks: true, only: catalog.Text | catalog.Image | catalog.File},
	{
		id: "sim-gemini", name: "Simulator, Gemini wire", dialect: "gemini", path: "/v1beta",
		params: wireParams | catalog.ParamReasoningEffort | catalog.ParamSeed | catalog.ParamFrequencyPenalty | catalog.ParamPresencePenalty,
	},
	{
		id: "sim-responses", name: "Simulator, responses wire", dialect: "responses", path: "/v1",
		params: wireParams&^catalog.ParamStop | catalog.ParamParallelToolCalls | catalog.ParamReasoningEffort | catalog.ParamVerbosity, only: catalog.Text | catalog.Image | catalog.File,
	},
	{
		id: "sim-bedrock", name: "Simulator, Converse wire", dialect: "bedrock", params: wireParams, marks: true, only: catalog.Text | catalog.Image | catalog.File,
		key: "simulated", quirks: catalog.Quirks{ReasoningRequest: "thinking"},
	},
	{
		id: "sim-gigachat", name: "Simulator, GigaChat wire", dialect: "gigachat", path: "/api/v1", params: wireParams&^catalog.ParamStop | catalog.ParamReasoningEffort, only: catalog.Text,
		key: "client:simulated", oauth: "/api/v2/oauth",
	},
}

// everywhere is the model that the simulator serves on every wire.
const everywhere = "sim/anywhere"

// simDeclared returns the simulator at an address as providers of the catalog, one for each wire. The chat wire has all models. Each other
// wire has some of them, under its own slugs. The model everywhere has an endpoint on each wire.
func simDeclared(origin string) catalog.Declared {
	var d catalog.Declared
	for i := range simWires {
		w := &simWires[i]
		p := catalog.Provider{ID: w.id, Name: w.name, Dialect: w.dialect, BaseURL: origin + w.path, Key: w.key, Quirks: w.quirks, DataPolicy: catalog.PolicyZero, Simulated: true}
		if w.dialect == "openai" { // the simulator refuses the field, as OpenAI does
			p.Quirks.Drop = append(slices.Clone(p.Quirks.Drop), "input_type")
		}
		if w.oauth != "" {
			p.Quirks.AuthURL = origin + w.oauth
		}
		d.Providers = append(d.Providers, p)
		for _, m := range sim.Catalog() {
			offer := func(slug string) { d.Offers = append(d.Offers, simOffer(w, &m, slug)) }
			own := w.dialect == "openai"
			switch {
			case own:
				d.Models = append(d.Models, catalog.ModelInfo{Slug: "sim/" + m.Name, Name: m.Title, Description: m.Description})
				offer("sim/" + m.Name)
			case m.Name == "chat" || m.Name == "tools" || m.Name == "reason":
				slug := "sim/" + m.Name + strings.TrimPrefix(w.id, "sim")
				d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: m.Title + " (" + w.dialect + ")", Description: m.Description + " It is served by the " + w.dialect + " dialect alone."})
				offer(slug)
			}
			if m.Name == "reason" {
				offer(everywhere)
			}
		}
	}
	declareVectors(&d, origin)
	declareAudio(&d, origin)
	d.Models = append(d.Models, catalog.ModelInfo{Slug: everywhere, Name: "Sim Anywhere", Description: "Thinks before it answers; served by every dialect."})
	d.Append(simImages(origin))
	d.Append(simVideos(origin))
	for i := range d.Models {
		d.Models[i].DescriptionRU = simInRussian(d.Models[i].Slug)
	}
	return d
}

func simOffer(w *simWire, m *sim.Model, slug string) catalog.Offer {
	o := catalog.Offer{
		Provider: w.id, Model: slug, UpstreamID: m.Name, ContextLength: int64(m.ContextTokens), MaxCompletion: int64(m.MaxOutputTokens),
		Pricing: catalog.Pricing{Base: simPrices(&m.Prices), List: "sim"}, Quantization: "unknown",
	}
	for _, name := range m.Parameters {
		o.Params |= catalog.ParamNamed(name)
	}
	if w.params != 0 {
		o.Params &= w.params
	}
	if b := &o.Pricing.Base; w.marks {
		b.CacheWrite, b.CacheWrite1h = money.Price{Nano: b.Prompt.Nano * 5 / 4, Set: true}, money.Price{Nano: b.Prompt.Nano * 2, Set: true}
	}
	if b := &o.Pricing.Base; !b.WebSearch.Set { // web search of simulated providers costs the same as elsewhere
		b.WebSearch = money.Price{Nano: int64(money.Ruble), Set: true}
	}
	for _, name := range m.Input {
		o.Input |= catalog.ModalityNamed(name)
	}
	for _, name := range m.Output {
		o.Output |= catalog.ModalityNamed(name)
	}
	if w.only != 0 {
		o.Input, o.Output = o.Input&w.only, catalog.Text
	}
	return o
}

func simPrices(p *sim.Prices) catalog.Prices {
	price := func(text string) money.Price {
		if text == "" {
			return money.Price{}
		}
		v, err := money.ParsePrice(text)
		if err != nil {
			panic(err) // cannot happen: the simulator's prices are constants
		}
		return v
	}
	return catalog.Prices{
		Prompt: price(p.Prompt), Completion: price(p.Completion), CacheRead: price(p.CacheRead), Reasoning: price(p.Reasoning),
		Audio: price(p.Audio), AudioOutput: price(p.AudioOutput), ImageOutput: price(p.ImageOutput),
	}
}
