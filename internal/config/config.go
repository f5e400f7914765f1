// Package config holds all settings of an operator: one struct with defaults, overridden by a YAML file, environment variables and flags,
// and checked as a whole. No other code in the program reads the environment. A secret in the configuration never prints itself.
package config

import (
	"crypto/x509"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/batch"
	"weir/internal/blob/s3"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/update"
	"weir/internal/fetch"
	"weir/internal/health"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/idempotency"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/limit/quota"
	"weir/internal/mail"
	"weir/internal/messenger"
	"weir/internal/notify"
	"weir/internal/oidc"
	"weir/internal/organization"
	"weir/internal/outbound"
	"weir/internal/ownkey"
	"weir/internal/payment"
	"weir/internal/payment/yookassa"
	"weir/internal/plugin"
	"weir/internal/rate"
	"weir/internal/relay"
	"weir/internal/secret"
	"weir/internal/trace"
	"weir/internal/trace/otlp"
	"weir/internal/upstream"
	"weir/internal/video"
	"weir/internal/webhook"
)

// Config is the whole configuration. Its yaml names are the keys of the file; see weir.example.yaml for their meaning. The tag reload says
// whether a running node applies a changed value (live) or not (restart), for a field and all fields in it.
type Config struct {
	Server      Server               `yaml:"server" reload:"restart"`
	EnvFile     string               `yaml:"environment_file" reload:"restart"` // see TakeEnvironment
	DataDir     string               `yaml:"data_dir" reload:"restart"`
	Store       Store                `yaml:"store" reload:"restart"`
	Journal     journal.Options      `yaml:"journal" reload:"restart"`
	Ledger      ledger.Config        `yaml:"ledger" reload:"restart"`
	Upstream    Upstream             `yaml:"upstream" reload:"restart"`
	Stream      httpapi.Streams      `yaml:"stream" reload:"restart"`
	Relay       Relay                `yaml:"relay" reload:"restart"`
	Shaping     plugin.Config        `yaml:"shaping" reload:"restart"`
	Health      health.Config        `constant:"health" reload:"restart"`
	Keys        Keys                 `yaml:"keys" reload:"restart"`
	SignIn      SignIn               `yaml:"sign_in" reload:"restart"`
	Orgs        []organization.Grant `yaml:"organizations" reload:"restart"` // what directories of organizations may do
	Mail        mail.Config          `yaml:"mail" reload:"restart"`
	Notify      notify.Config        `yaml:"notifications" reload:"restart"`
	Alerts      messenger.Config     `yaml:"alerts" reload:"restart"`
	Payments    Payments             `yaml:"payments" reload:"restart"`
	Invoices    Invoices             `yaml:"invoices" reload:"restart"`
	OwnKeys     ownkey.Config        `yaml:"own_keys" reload:"restart"`
	Web         Web                  `yaml:"web" reload:"restart"`
	Idempotency idempotency.Config   `yaml:"idempotency" reload:"restart"`
	Responses   history.Config       `yaml:"responses" reload:"restart"`
	Fetch       Fetch                `yaml:"fetch" reload:"restart"`
	Video       VideoJobs            `yaml:"video" reload:"restart"`
	Batch       Batches              `yaml:"batch" reload:"restart"`
	Export      Export               `yaml:"export" reload:"restart"`
	Pricing     Pricing              `yaml:"pricing"`
	PriceLists  update.Config        `yaml:"price_lists" reload:"restart"`
	Sealing     Sealing              `yaml:"secrets" reload:"restart"`
	Builtin     Builtin              `yaml:"builtin" reload:"live"`
	Providers   []Provider           `yaml:"providers" reload:"live"`
	Families    []catalog.Family     `yaml:"families" reload:"live"` // facts of families of models, over the built-in ones
	Models      []Model              `yaml:"models" reload:"live"`
	Log         Log                  `yaml:"log"`
	Tracing     Tracing              `yaml:"tracing" reload:"restart"`
	Runtime     Runtime              `yaml:"runtime" reload:"restart"`

	list     *builtin.List // prices of built-in models; nil: those of the program
	places   positions     // where values were set, for messages
	warnings []Warning     // see Warnings
	written  time.Time     // modification time of the file; zero without one
	// forCommand says that secrets and addresses which a command does not need may be missing; see LoadForCommand.
	forCommand bool
	// keys returns the credentials of built-in providers in the environment. It is a function because printing a struct would show unexported
	// values, without calling their Format methods.
	keys func() []string
}

// Server configures the listeners and what clients may do.
type Server struct {
	httpapi.Config `yaml:",inline"`
	Listen         string        `yaml:"listen"`
	AdminListen    string        `yaml:"admin_listen"` // "off": no admin listener
	ShutdownDelay  time.Duration `yaml:"shutdown_delay"`
	DrainTimeout   time.Duration `yaml:"drain_timeout"`
	TrustedProxies []string      `yaml:"trusted_proxies"` // addresses or prefixes
	TLS            TLS           `yaml:"tls"`
}

// TLS configures encryption on listen. Without it Weir is behind a proxy that does it, or serves its own machine.
type TLS struct {
	CertFile       string `yaml:"cert_file"`       // PEM: the node's own certificate first, then the ones that lead to the authority
	KeyFile        string `yaml:"key_file"`        // PEM
	RedirectListen string `yaml:"redirect_listen"` // redirects http:// to public_url; "": nothing listens
	ACME           ACME   `yaml:"acme"`
}

// On reports whether listen is encrypted.
func (t *TLS) On() bool { return t.CertFile != "" || t.KeyFile != "" || len(t.ACME.Domains) > 0 }

// ACME configures where certificates come from, in place of files.
type ACME struct {
	Domains      []string `yaml:"domains"` // the first one is the default of public_url
	Email        string   `yaml:"email"`
	DirectoryURL string   `yaml:"directory_url"`
	CAFile       string   `yaml:"ca_file"` // certificate authorities in PEM that vouch for directory_url; "": the system's
}

// Roots returns the authorities of ca_file, nil for the system's.
func (a *ACME) Roots() (*x509.CertPool, error) {
	if a.CAFile == "" {
		return nil, nil
	}
	pem, err := readAuthorities(a.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pem))
	return pool, nil
}

// Store configures the database.
type Store struct {
	DSN           DSN  `yaml:"dsn"`             // "": weir.db in the data directory
	AllowDataLoss bool `yaml:"allow_data_loss"` // allows a PostgreSQL server that may lose commits in a crash
	// Details of calls are dropped when they are older; their charges and all sums stay. 0: never.
	Retention time.Duration `yaml:"retention"`
}

// Upstream is how providers are called.
type Upstream struct {
	upstream.Config `yaml:",inline"`
	HTTPClient      string         `yaml:"http_client"`            // "own", "standard"
	Proxy           outbound.Proxy `yaml:"proxy" reload:"live"`    // of every connection that leaves the gateway for the Internet; "": none
	NoProxy         []string       `yaml:"no_proxy" reload:"live"` // hosts, domains, addresses and networks that are reached without it
}

// Relay bounds one call.
type Relay struct {
	relay.Config `yaml:",inline"`
	MaxInFlight  int64 `yaml:"max_in_flight_per_endpoint"`
}

// SignIn decides who may sign in with a browser.
type SignIn struct {
	auth.Config `yaml:",inline"`
	Providers   []oidc.Provider `yaml:"providers"`                // where people may sign in instead
	ClaudeCode  string          `yaml:"claude_code_settings"`     // file with what is set for Claude Codes that are signed in, as in its managed-settings.json; "": nothing
	ClaudeCodes []AgentSettings `yaml:"claude_code_settings_for"` // files for some people, instead
}

// AgentSettings are what is set for the programs of some people.
type AgentSettings struct {
	Who  []string `yaml:"who"` // e-mail addresses, "@" and a domain, ids of users, "role:" and a role
	File string   `yaml:"file"`
}

// Payments configures how people pay for their wallets.
type Payments struct {
	payment.Config `yaml:",inline"`
	YooKassa       yookassa.Config `yaml:"yookassa"`
}

// Invoices configures how organizations pay by bank transfer.
type Invoices struct {
	Enabled      bool           `yaml:"enabled"`
	Seller       invoice.Seller `yaml:"seller"`
	VAT          rate.VAT       `yaml:"vat"`
	NumberPrefix string         `yaml:"number_prefix"`
	ActPrefix    string         `yaml:"act_prefix"`
	Line         string         `yaml:"line"`     // what is sold, on invoices
	ActLine      string         `yaml:"act_line"` // what was rendered, on acts
	Min          Decimal        `yaml:"min"`      // rubles of an invoice
	Max          Decimal        `yaml:"max"`
	ExpireAfter  time.Duration  `yaml:"expire_after"`
	MaxOpen      int64          `constant:"max_open"`
	MaxPerDay    int64          `constant:"max_per_day"`
}

// Web decides which pages the listener for clients serves beside the API.
type Web struct {
	Interface bool `yaml:"interface"` // catalog, account, playground
	Docs      bool `yaml:"docs"`      // the documentation
	Status    bool `yaml:"status"`    // the health of providers is shown to everybody
	Rankings  bool `yaml:"rankings"`  // which models are used most is shown to visitors, too
}

// Keys are the defaults of clients' keys.
type Keys struct {
	apikey.Config `yaml:",inline"`
	StrictSchema  bool         `yaml:"strict_schema"`
	RateLimits    apikey.Rates `yaml:"rate_limits"`
	// AccountRateLimits are of all keys of an account together, so that a further key is no further allowance.
	AccountRateLimits apikey.Rates `yaml:"account_rate_limits"`
	FreeModels        quota.Free   `yaml:"free_models"`
}

// Fetch configures and bounds the fetching of addresses that clients and providers name.
type Fetch struct {
	fetch.Config `yaml:",inline"`
	// Hosts, addresses and networks of the operator, by who names the address; see Allowed.
	AllowProviderMedia []string `yaml:"allow_provider_media"`
	AllowClientMedia   []string `yaml:"allow_client_media"`
	AllowCallbacks     []string `yaml:"allow_callbacks"`
}

// Batches bounds files and batches, and configures where files are stored.
type Batches struct {
	batch.Config `yaml:",inline"`
	Keep         string    `yaml:"keep"`   // "folder", "s3"
	Folder       string    `yaml:"folder"` // "": files in the data directory
	MinFreeBytes Size      `constant:"min_free_bytes"`
	S3           s3.Config `yaml:"s3"`
}

// Export configures where files of calls go.
type Export struct {
	Keep   string    `yaml:"keep"`   // "folder", "s3"
	Folder string    `yaml:"folder"` // "": exports in the data directory
	S3     s3.Config `yaml:"s3"`
}

// VideoJobs bounds video jobs, and configures where videos are stored.
type VideoJobs struct {
	video.Config    `yaml:",inline"`
	Keep            string         `yaml:"keep"` // "provider", "folder", "s3"
	MaxContentBytes Size           `yaml:"max_content_bytes"`
	Folder          string         `yaml:"folder"` // "": content in the data directory
	MinFreeBytes    Size           `constant:"min_free_bytes"`
	S3              s3.Config      `yaml:"s3"`
	Callbacks       webhook.Config `yaml:"callbacks"`
}

// The places where finished videos can be stored.
const (
	KeepProvider = "provider"
	KeepFolder   = "folder"
	KeepS3       = "s3"
)

// Pricing converts dollar prices into rubles.
type Pricing struct {
	RubPerUSD Decimal  `yaml:"rub_per_usd" reload:"live"`
	Margin    Decimal  `yaml:"margin" reload:"live"` // as a fraction: 0.15 is 15 %
	Version   string   `yaml:"version" reload:"live"`
	VAT       rate.VAT `yaml:"vat" reload:"live"`
	// RateSource is "static", or "cbr" for the Bank of Russia's daily list at CBRURL. RubPerUSD is used until there is a list.
	RateSource string `yaml:"rate_source" reload:"restart"`
	CBRURL     string `yaml:"cbr_url" reload:"restart"`
	// A rate of the bank outside this range is not used.
	CBRLowest  Decimal `yaml:"cbr_lowest" reload:"restart"`
	CBRHighest Decimal `yaml:"cbr_highest" reload:"restart"`
}

// Sealing configures the keys that encrypt the secrets of the database. WEIR_MASTER_KEY may hold the master key itself.
type Sealing struct {
	MasterKeyFile    string   `yaml:"master_key_file"`
	PreviousKeyFiles []string `yaml:"previous_key_files"` // still used to decrypt
	KeyVariables     []string `yaml:"key_variables"`      // environment variables that the HTTP API may name as providers' keys
}

// Provider declares a server, or changes the built-in one of the same id.
type Provider struct {
	ID         string                 `yaml:"id"`
	Like       string                 `yaml:"like"` // id of a known server: its address, key variable and quirks are the defaults
	Name       string                 `yaml:"name"`
	Dialect    string                 `yaml:"dialect"` // "": openai
	BaseURL    string                 `yaml:"base_url"`
	APIKey     secret.Text            `yaml:"api_key"`
	APIKeys    []secret.Text          `yaml:"api_keys"` // the next one is used when the provider refuses one
	Headers    map[string]secret.Text `yaml:"headers"`
	DataPolicy string                 `yaml:"data_policy"`
	HTTP2      bool                   `yaml:"http2"`
	Proxy      outbound.Proxy         `yaml:"proxy"`   // the way to it; "": as upstream.proxy and upstream.no_proxy say
	CAFile     string                 `yaml:"ca_file"` // certificate authorities in PEM, trusted for this provider in addition to the system's
	Quirks     catalog.Quirks         `yaml:"quirks"`
	Facts      catalog.Facts          `yaml:"facts"` // of all its models
	Wires      map[string]Wire        `yaml:"wires"` // by model type
	Models     []Offer                `yaml:"models"`

	// With the word discover in the place of models the server is asked for them, and these are of each that it names.
	Discover      bool   `yaml:"-"`
	Vendor        string `yaml:"vendor"`         // first part of their ids; "": the provider's id
	ContextLength int64  `yaml:"context_length"` // where the server does not say how much it serves
	Prices        Prices `yaml:"prices"`         // none: they are free
	PriceUSD      Prices `yaml:"price_usd"`
}

// Wire describes how a provider serves models of one type, where that differs.
type Wire struct {
	Dialect string `yaml:"dialect"`
	BaseURL string `yaml:"base_url"`
}

// Offer is a model that a provider serves.
type Offer struct {
	ID            string        `yaml:"id"` // vendor/model
	UpstreamID    string        `yaml:"upstream_id"`
	UpstreamModel string        `yaml:"upstream_model"` // the maker's name of the model, where upstream_id is a name of the operator's own
	Prices        Prices        `yaml:"prices"`         // rubles per 1000 tokens, or per request, image and so on
	PriceUSD      Prices        `yaml:"price_usd"`      // dollars per 1,000,000 tokens, or per request, image and so on
	Thresholds    []Threshold   `yaml:"thresholds"`
	Hours         []Hours       `yaml:"hours"`
	Images        []Image       `yaml:"images"` // for image models
	Video         []Video       `yaml:"video"`  // for video models
	ContextLength int64         `yaml:"context_length"`
	MaxOutput     int64         `yaml:"max_output"`
	Params        []string      `yaml:"params"`
	Input         []string      `yaml:"input"`
	Output        []string      `yaml:"output"`
	Quantization  string        `yaml:"quantization"`
	Region        string        `yaml:"region"`
	Tier          string        `yaml:"tier"`
	Variant       string        `yaml:"variant"`
	MaxN          int64         `yaml:"max_n"`
	MaxInFlight   int64         `yaml:"max_in_flight"`
	ImplicitCache bool          `yaml:"implicit_cache"`
	Facts         catalog.Facts `yaml:"facts"` // how the model takes requests
}

// Prices are decimal texts; "": not set.
type Prices struct {
	Prompt          Decimal `yaml:"prompt"`
	Completion      Decimal `yaml:"completion"`
	CacheRead       Decimal `yaml:"cache_read"`
	CacheWrite      Decimal `yaml:"cache_write"`
	CacheWrite1h    Decimal `yaml:"cache_write_1h"`
	CacheReadAudio  Decimal `yaml:"cache_read_audio"`
	Reasoning       Decimal `yaml:"reasoning"`
	Audio           Decimal `yaml:"audio"`
	AudioOutput     Decimal `yaml:"audio_output"`
	Image           Decimal `yaml:"image"`
	ImageOutput     Decimal `yaml:"image_output"`
	Request         Decimal `yaml:"request"`
	WebSearch       Decimal `yaml:"web_search"`
	ImageOutputEach Decimal `yaml:"image_output_each"`
	WebFetch        Decimal `yaml:"web_fetch"` // these four: per call of a tool that the provider runs; 0: only its tokens are charged
	FileSearch      Decimal `yaml:"file_search"`
	CodeExecution   Decimal `yaml:"code_execution"`
	MCP             Decimal `yaml:"mcp"`
	Minute          Decimal `yaml:"minute"`     // per minute of audio, for transcription models
	Characters      Decimal `yaml:"characters"` // per 1000 or 1,000,000 characters, for speech models
}

// Image is one line of an image model's price list.
type Image struct {
	Component  string  `yaml:"component"` // "": image_output
	Unit       string  `yaml:"unit"`      // "": image
	Variant    string  `yaml:"variant"`
	Resolution string  `yaml:"resolution"`
	Basis      string  `yaml:"basis"`     // "": fixed in rubles, supplier_rate in dollars
	Price      Decimal `yaml:"price"`     // rubles per unit
	PriceUSD   Decimal `yaml:"price_usd"` // dollars per unit, or per 1,000,000 tokens
}

// Video is the price of a second of video.
type Video struct {
	Resolution string  `yaml:"resolution"` // "": any
	WithAudio  bool    `yaml:"with_audio"`
	Price      Decimal `yaml:"price"`     // rubles per second
	PriceUSD   Decimal `yaml:"price_usd"` // dollars per second
}

// Threshold contains the prices for prompts of more than Above tokens.
type Threshold struct {
	Above    int64  `yaml:"above"`
	Prices   Prices `yaml:"prices"`
	PriceUSD Prices `yaml:"price_usd"`
}

// Hours contains the prices for calls that begin in hours of the day.
type Hours struct {
	From     string   `yaml:"from"` // "09:00"
	To       string   `yaml:"to"`   // "24:00"
	Days     []string `yaml:"days"` // "mon"; none: every day
	Zone     string   `yaml:"zone"` // "": UTC
	Prices   Prices   `yaml:"prices"`
	PriceUSD Prices   `yaml:"price_usd"`
}

// Model describes a model, independent of its providers.
type Model struct {
	ID            string `yaml:"id"`
	Name          string `yaml:"name"`
	Description   string `yaml:"description"`
	Created       string `yaml:"created"` // YYYY-MM-DD
	ContextLength int64  `yaml:"context_length"`
	Type          string `yaml:"type"` // "": chat
	HubID         string `yaml:"hub_id"`
	Video         Facts  `yaml:"video"` // for video models
}

// Facts are the parameters that a video model accepts.
type Facts struct {
	Resolutions  []string `yaml:"resolutions"`
	AspectRatios []string `yaml:"aspect_ratios"`
	Sizes        []string `yaml:"sizes"`
	Durations    []int64  `yaml:"durations"` // seconds
	FrameImages  []string `yaml:"frame_images"`
	Passthrough  []string `yaml:"passthrough"`
	Audio        bool     `yaml:"audio"`
	Seed         bool     `yaml:"seed"`
}

// Log configures logging.
type Log struct {
	Level  string `yaml:"level" reload:"live"` // "debug", "info", "warn", "error"
	Access bool   `yaml:"access" reload:"restart"`
}

// Tracing configures the spans of calls for OpenTelemetry.
type Tracing struct {
	Receiver otlp.Config  `yaml:",inline"`
	Calls    trace.Config `yaml:",inline"`
}

// Runtime configures the Go runtime.
type Runtime struct {
	MemoryLimit Memory `yaml:"memory_limit"` // 0: none
	GOGC        int64  `constant:"gogc"`
}

// Off, as an address, disables a listener.
const Off = "off"

// Default returns the default configuration.
func Default() Config {
	api := httpapi.Default()
	return Config{
		Server: Server{
			Config: api, Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:9091", ShutdownDelay: 5 * time.Second, DrainTimeout: 300 * time.Second,
			TLS: TLS{ACME: ACME{DirectoryURL: "https://acme-v02.api.letsencrypt.org/directory"}},
		},
		DataDir:     "./weir-data",
		Journal:     journal.Default(),
		Ledger:      ledger.Default("", nil),
		Upstream:    Upstream{Config: upstream.Default(), HTTPClient: "own"},
		Stream:      api.Streams,
		Relay:       Relay{Config: relay.Default(), MaxInFlight: health.Default(nil).MaxInFlight},
		Shaping:     plugin.Default(),
		Health:      health.Default(nil),
		Keys:        Keys{Config: apikey.Default(), FreeModels: api.FreeRates},
		Idempotency: idempotency.Default(nil),
		SignIn:      SignIn{Config: auth.Default()},
		Mail:        mail.Default(),
		Notify:      notify.Default(),
		Alerts:      messenger.Default(),
		Payments:    Payments{Config: payment.Default(), YooKassa: yookassa.Default()},
		Invoices: Invoices{
			VAT: rate.DefaultVAT(), NumberPrefix: "W-", ActPrefix: "A-", Line: "Доступ к моделям через API, аванс", ActLine: "Доступ к моделям через API",
			Min: "1000", Max: "1000000", ExpireAfter: 10 * 24 * time.Hour, MaxOpen: 10, MaxPerDay: 20,
		},
		OwnKeys:   ownkey.Default(),
		Web:       Web{Interface: true, Docs: true, Status: true},
		Responses: history.Default(nil),
		Fetch:     Fetch{Config: fetch.Default()},
		Export:    Export{Keep: KeepFolder, S3: s3.Default("weir-exports/")},
		Batch:     Batches{Config: batch.Default(nil), Keep: KeepFolder, MinFreeBytes: 1 << 30, S3: s3.Default("weir-files/")},
		Video: VideoJobs{
			Config: video.Default(nil), Keep: KeepProvider, MaxContentBytes: 2 << 30, MinFreeBytes: 1 << 30,
			S3: s3.Default("weir/"), Callbacks: webhook.Default(),
		},
		Pricing:    Pricing{RubPerUSD: "100", Margin: "0", VAT: rate.DefaultVAT(), RateSource: "static", CBRURL: "https://www.cbr.ru/scripts/XML_daily.asp", CBRLowest: "30", CBRHighest: "300"},
		PriceLists: update.Default(),
		Builtin:    Builtin{All: true},
		Tracing:    Tracing{Receiver: otlp.Default(), Calls: trace.Default()},
		Log:        Log{Level: "info", Access: true},
		Runtime:    Runtime{MemoryLimit: AutoMemory, GOGC: 400},
	}
}
