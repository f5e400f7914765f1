// Package httpapi is the inference API, /v1 and /v1beta: its routes and handlers, and what every request passes on its way to one, those of the
// operations under /api as well: it finds the route, identifies the caller, admits the request and answers faults in the style of the route.
// Package httpserver is below it. It decides nothing about models, money or providers.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/accesslog"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/operation"
	"weir/internal/ownkey"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/report"
	"weir/internal/usertext"
	"weir/internal/wire/messages"
	"weir/internal/wire/scim"
)

// Completer carries text requests. *relay.Relay is one.
type Completer interface {
	// Complete answers one request into sink; see relay.Relay.
	Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error
}

// Verifier finds the owner of a key. *apikey.Verifier is one.
type Verifier interface {
	// Verify fails with fault.Authentication, fault.Overloaded or fault.StorageUnavailable, and with what by says.
	Verify(ctx context.Context, text string, by apikey.Stranger) (*apikey.Caller, error)
}

// Keys manages keys. *apikey.Manager is one.
type Keys interface {
	Create(ctx context.Context, n apikey.NewKey, by Actor) (apikey.Key, string, error)
	List(ctx context.Context, f apikey.Filter) ([]apikey.Key, error)
	ByHash(ctx context.Context, user, hash string) (apikey.Key, error)
	Seen(ctx context.Context, c *apikey.Caller, hash string) (apikey.Key, error)
	// Sees reports whether a caller sees what was made with a key of their account, by its id.
	Sees(ctx context.Context, c *apikey.Caller, key string) (bool, error)
	Change(ctx context.Context, user, hash string, c apikey.Change, by Actor) (apikey.Key, error)
	Delete(ctx context.Context, user, hash string, by Actor) error
}

// Idempotency remembers the answers of requests that their clients have named. *idempotency.Manager is one.
type Idempotency interface {
	// Begin claims a name; see idempotency.Manager.
	Begin(ctx context.Context, r idempotency.Request) (*idempotency.Run, *idempotency.Entry, error)
}

// Events are the streams that pages follow. *accountapi.Events are some.
type Events interface {
	Followers() int64
	// Close ends all of them: they would not end by themselves.
	Close()
}

// Deps are the parts that an API works with. Log, Slog, Metrics, Ready, Redact, Idempotency and Heap may be nil.
type Deps struct {
	Relay     Completer
	Verifier  Verifier
	Keys      Keys
	Ledger    ledger.Reader // the methods of Book, which flush before they read
	Catalog   func() *catalog.Snapshot
	Tokens    relay.Tokens  // counts a prompt for who asks
	Stats     listing.Stats // nil: nothing is known of any endpoint
	Explainer Explainer
	Counter   Counter // asks providers how long a prompt is; nil: none is asked
	Log       *accesslog.Log
	Slog      *slog.Logger
	Metrics   *Metrics
	Ready     func(context.Context) error // asked by /readyz; an error means not ready
	Peers     func() []string             // of the database that is away, and of nodes that differ; shown to operators by /readyz; nil: nothing
	Aside     func() int64                // charges that wait for a decision, shown by /readyz; nil: not shown
	Redact    func([]byte) []byte         // takes configured secrets out of error bodies; what looks like a secret goes out anyway
	Now       func() time.Time

	// People signs browsers in; nil: there is no sign-in. CallerOf finds the caller of a key by its id, for their calls.
	People   *auth.Manager
	CallerOf func(ctx context.Context, id string) (*apikey.Caller, error)

	Organizations Organizations // nil: there are none
	Directories   Directories   // nil: no directory is let in

	Reports *report.Reporter // nil only where there are no organizations

	Agents        Agents         // nil: programs cannot be signed in
	AgentReports  AgentReports   // nil: what programs report of themselves is not kept
	AgentSettings *AgentSettings // for Claude Code; nil: none

	Idempotency Idempotency           // nil: Idempotency-Key is ignored
	Heap        func() int64          // bytes in use; nil asks the runtime
	FreeDisk    func() (int64, error) // bytes free on the volume of Config.SpoolDir; nil: not known
	History     History               // nil only where the routes of responses are not used
	Videos      Videos                // nil only where the routes of videos are not used
	Batches     Batches               // nil only where the routes of files and batches are not used

	// Language and Theme are those that a browser asks for; nil: English, and the system's theme.
	Language, Theme func(*http.Request) string

	Pages []Pages // asked in order for what is no route of the API; none: all else is 404

	Presets Presets // nil: absent

	MadeUp func() bool // this gateway is a demo whose data was made up in part: names of files say so; nil: it is not

	Operations []operation.Operation // of accounts and operators
	Events     Events                // nil: nothing is followed

	ProviderKeys *ownkey.Manager // nil only where its routes are not used

	Traces Traces // nil: nothing is traced

	CheckCallback func(param, address string) error // refuses addresses that must not be called; nil: none is refused

	Sealer Sealer // nil only where responses are not used
}

// API answers requests. It is safe for concurrent use.
type API struct {
	Deps
	cfg    Config
	served httpserver.Config // of listeners, of cfg

	features *messages.Features
	routes   []*Route
	table    *routeTable // of the public listener
	inner    *routeTable // what administrators use on the operators' listener
	quotas   *quota.Quotas
	disk     *httpserver.Disk
	peers    httpserver.HiddenProxy
	models   *listing.Cache

	exports *limit.Count // of users' files that are being read

	pageRoute, fileRoute *Route // of what Pages answer

	socketRoute *Route
	sockets     *limit.Count // open, by user
	openSockets atomic.Int64
	socketBytes *limit.Budget // what they keep of their responses

	standings standings // of programs that are signed in

	draining atomic.Bool
}

// New makes an API.
func New(d Deps, c Config) *API {
	if d.Metrics == nil {
		d.Metrics = NewMetrics()
	}
	if d.Redact == nil {
		d.Redact = func(b []byte) []byte { return b }
	}
	if d.Slog == nil {
		d.Slog = slog.New(slog.DiscardHandler)
	}
	if d.Language == nil {
		d.Language = func(*http.Request) string { return "en" }
	}
	if d.Theme == nil {
		d.Theme = func(*http.Request) string { return "system" }
	}
	a := &API{Deps: d, cfg: c, served: c.listener(), features: messages.NewFeatures(c.Betas), exports: limit.NewCount(), models: listing.NewCache(listing.Encoders{Model: appendModel, Embedding: appendEmbeddingModel, Video: appendVideoModel})}
	a.routes = a.declare()
	for _, r := range a.routes {
		r.roles = orgRoles(r)
	}
	for i := range d.Operations {
		a.routes = append(a.routes, mount(&d.Operations[i]))
	}
	a.quotas = quota.New(quotaConfig(&a.cfg, d.Heap, largestBody(a.routes, &a.cfg)), d.Ledger, d.Now())
	a.disk = httpserver.NewDisk(httpserver.DiskConfig{SpoolLimits: c.SpoolLimits, Dir: c.SpoolDir, Share: c.MaxUserShare, Largest: maxRecording, Free: d.FreeDisk})
	a.table, a.inner = newRouteTable(a.routes), newRouteTable(slices.DeleteFunc(slices.Clone(a.routes), func(r *Route) bool { return !r.inner() }))
	for _, r := range a.routes {
		r.metrics = d.Metrics.route(r.Method + " " + r.Pattern)
	}
	a.pageRoute = &Route{Method: http.MethodGet, Pattern: "/{page}", access: public, metrics: d.Metrics.route("GET page")}
	a.fileRoute = &Route{Method: http.MethodGet, Pattern: "/{file}", access: unlimited, metrics: d.Metrics.route("GET file")}
	a.socketRoute = &Route{Method: http.MethodGet, Pattern: responsesPath, access: inference, metrics: d.Metrics.route("GET " + responsesPath)}
	a.sockets, a.socketBytes = limit.NewCount(), limit.NewBudget(c.BodyBudget/socketShare, quota.Share(c.BodyBudget/socketShare, c.MaxUserShare, 1))
	d.Metrics.watch(a)
	return a
}

// NewServer makes the server of an API.
func NewServer(a *API) *httpserver.Server {
	return httpserver.New(httpserver.Deps{Handler: a, Slog: a.Slog, Now: a.Now, Refused: a.Metrics.connectionRefused, Draining: a.drain}, a.served)
}

// drain makes readiness fail, and ends what would not end by itself.
func (a *API) drain() {
	a.draining.Store(true)
	if a.Events != nil {
		a.Events.Close()
	}
}

// Rank sorts the lists of models by popularity.
func (a *API) Rank(r listing.Ranks) { a.models.Rank(r, a.Catalog()) }

// Routes lists the operations that are served.
func (a *API) Routes() []*Route { return a.routes }

// largestBody is the largest body that any route takes into memory.
func largestBody(routes []*Route, c *Config) (most int64) {
	for _, r := range routes {
		if r.body != nil && !r.spooled {
			most = max(most, r.body(c))
		}
	}
	return most
}

func textBody(c *Config) int64       { return c.MaxBody }
func managementBody(c *Config) int64 { return c.MaxManagementBody }

// uploadBody is the largest form that uploads a file. It goes to disk, not to memory.
func uploadBody(c *Config) int64 { return c.MaxFile + formRoom }

func (a *API) declare() []*Route {
	return []*Route{
		{Method: "POST", Pattern: "/v1/chat/completions", access: inference, body: textBody, handle: (*request).postChatCompletions},
		{Method: "POST", Pattern: "/v1/completions", access: inference, body: textBody, handle: (*request).postCompletions},
		{Method: "POST", Pattern: messagesPath, access: inference, envelope: messagesEnvelope, body: textBody, handle: (*request).postMessages},
		{Method: "POST", Pattern: messagesPath + "/count_tokens", access: anyKey, envelope: messagesEnvelope, body: textBody, handle: (*request).countTokens},
		{Method: "POST", Pattern: geminiModel + ":generateContent", access: inference, envelope: geminiEnvelope, body: textBody, handle: (*request).postGenerate},
		{Method: "POST", Pattern: geminiBare + ":generateContent", access: inference, envelope: geminiEnvelope, body: textBody, handle: (*request).postGenerate},
		{Method: "POST", Pattern: geminiModel + ":streamGenerateContent", access: inference, envelope: geminiEnvelope, body: textBody, handle: (*request).postStreamGenerate},
		{Method: "POST", Pattern: geminiBare + ":streamGenerateContent", access: inference, envelope: geminiEnvelope, body: textBody, handle: (*request).postStreamGenerate},
		{Method: "POST", Pattern: geminiModel + ":countTokens", access: anyKey, envelope: geminiEnvelope, body: textBody, handle: (*request).countContents},
		{Method: "POST", Pattern: geminiBare + ":countTokens", access: anyKey, envelope: geminiEnvelope, body: textBody, handle: (*request).countContents},
		{Method: "POST", Pattern: geminiModel + ":embedContent", access: inference, envelope: geminiEnvelope, body: atMost(maxEmbeddingsBody), handle: embedContents(false)},
		{Method: "POST", Pattern: geminiBare + ":embedContent", access: inference, envelope: geminiEnvelope, body: atMost(maxEmbeddingsBody), handle: embedContents(false)},
		{Method: "POST", Pattern: geminiModel + ":batchEmbedContents", access: inference, envelope: geminiEnvelope, body: atMost(maxEmbeddingsBody), handle: embedContents(true)},
		{Method: "POST", Pattern: geminiBare + ":batchEmbedContents", access: inference, envelope: geminiEnvelope, body: atMost(maxEmbeddingsBody), handle: embedContents(true)},
		{Method: "GET", Pattern: geminiRoot + "/models", access: public, envelope: geminiEnvelope, handle: (*request).getGeminiModels},
		{Method: "GET", Pattern: geminiModel, access: public, envelope: geminiEnvelope, handle: (*request).getGeminiModel},
		{Method: "GET", Pattern: geminiBare, access: public, envelope: geminiEnvelope, handle: (*request).getGeminiModel},
		{Method: "POST", Pattern: responsesPath, access: inference, body: textBody, handle: (*request).postResponses},
		{Method: "POST", Pattern: "/v1/responses/compact", access: inference, body: textBody, handle: (*request).postCompact},
		{Method: "POST", Pattern: "/v1/responses/input_tokens", access: anyKey, body: textBody, handle: (*request).countInput},
		{Method: "GET", Pattern: "/v1/responses/{id}", access: anyKey, private: true, handle: (*request).getResponse},
		{Method: "DELETE", Pattern: "/v1/responses/{id}", access: anyKey, handle: (*request).deleteResponse},
		{Method: "POST", Pattern: "/v1/responses/{id}/cancel", access: anyKey, handle: (*request).cancelResponse},
		{Method: "GET", Pattern: "/v1/responses/{id}/input_items", access: anyKey, private: true, handle: (*request).getInputItems},
		{Method: "POST", Pattern: "/v1/embeddings", access: inference, body: atMost(maxEmbeddingsBody), handle: postEmbeddings},
		{Method: "POST", Pattern: "/v1/audio/transcriptions", access: inference, body: atMost(maxRecordingForm), handle: (*request).postTranscriptions},
		{Method: "POST", Pattern: "/v1/audio/translations", access: inference, body: atMost(maxRecordingForm), handle: (*request).postTranslations},
		{Method: "POST", Pattern: "/v1/audio/speech", access: inference, body: atMost(maxSpeechBody), handle: (*request).postSpeech},
		{Method: "POST", Pattern: "/v1/moderations", access: inference, body: atMost(maxModerationBody), handle: postModerations},
		{Method: "POST", Pattern: rerankV2, access: inference, body: atMost(maxRerankBody), handle: postRerank}, // Cohere's clients
		{Method: "POST", Pattern: "/v1/rerank", access: inference, body: atMost(maxRerankBody), handle: postRerank},
		{Method: "GET", Pattern: "/v1/models", access: public, handle: (*request).getModels},
		{Method: "GET", Pattern: "/v1/models/count", access: public, handle: (*request).getModelsCount},
		{Method: "GET", Pattern: "/v1/endpoints/zdr", access: public, handle: (*request).getEndpointsZDR},
		{Method: "GET", Pattern: "/v1/models/{vendor}/{model}", access: public, handle: (*request).getModel},
		{Method: "GET", Pattern: "/v1/models/{slug}", access: public, handle: (*request).getModel},
		{Method: "GET", Pattern: "/v1/models/{vendor}/{model}/providers", access: public, handle: (*request).getProviders},
		{Method: "GET", Pattern: "/v1/embeddings/models", access: public, handle: (*request).getEmbeddingModels},
		{Method: "GET", Pattern: "/v1/videos/models", access: public, handle: (*request).getVideoModels},
		{Method: "POST", Pattern: "/v1/images", access: inference, body: atMost(maxMediaBody), handle: (*request).postImages},
		{Method: "POST", Pattern: "/v1/images/generations", access: inference, body: atMost(maxMediaBody), handle: (*request).postImages},
		{Method: "POST", Pattern: "/v1/images/edits", access: inference, body: atMost(maxMediaBody), handle: (*request).postImageEdits},
		{Method: "POST", Pattern: "/v1/images/variations", access: inference, body: atMost(maxMediaBody), handle: (*request).postImageVariations},
		{Method: "GET", Pattern: "/v1/images/models", access: public, handle: (*request).getImageModels},
		{Method: "POST", Pattern: "/v1/videos", access: inference, body: atMost(maxMediaBody), handle: (*request).postVideo},
		{Method: "GET", Pattern: "/v1/videos", access: anyKey, handle: (*request).listVideos},
		{Method: "GET", Pattern: "/v1/videos/{id}", access: anyKey, handle: (*request).getVideo},
		{Method: "DELETE", Pattern: "/v1/videos/{id}", access: anyKey, handle: (*request).deleteVideo},
		{Method: "GET", Pattern: "/v1/videos/{id}/content", access: anyKey, asks: true, handle: (*request).getVideoContent},
		{Method: "POST", Pattern: "/v1/files", access: inference, body: uploadBody, spooled: true, handle: (*request).postFile},
		{Method: "GET", Pattern: "/v1/files", access: anyKey, handle: (*request).listFiles},
		{Method: "GET", Pattern: "/v1/files/{id}", access: anyKey, handle: (*request).getFile},
		{Method: "DELETE", Pattern: "/v1/files/{id}", access: anyKey, handle: (*request).deleteFile},
		{Method: "GET", Pattern: "/v1/files/{id}/content", access: anyKey, asks: true, handle: (*request).getFileContent},
		{Method: "POST", Pattern: "/v1/batches", access: inference, body: managementBody, handle: (*request).postBatch},
		{Method: "GET", Pattern: "/v1/batches", access: anyKey, handle: (*request).listBatches},
		{Method: "GET", Pattern: "/v1/batches/{id}", access: anyKey, handle: (*request).getBatch},
		{Method: "POST", Pattern: "/v1/batches/{id}/cancel", access: anyKey, handle: (*request).cancelBatch},
		{Method: "POST", Pattern: messagesPath + "/batches", access: inference, envelope: messagesEnvelope, body: textBody, handle: (*request).postMessageBatch},
		{Method: "GET", Pattern: messagesPath + "/batches", access: anyKey, envelope: messagesEnvelope, handle: (*request).listMessageBatches},
		{Method: "GET", Pattern: messagesPath + "/batches/{id}", access: anyKey, envelope: messagesEnvelope, handle: (*request).getMessageBatch},
		{Method: "DELETE", Pattern: messagesPath + "/batches/{id}", access: anyKey, envelope: messagesEnvelope, handle: (*request).deleteMessageBatch},
		{Method: "POST", Pattern: messagesPath + "/batches/{id}/cancel", access: anyKey, envelope: messagesEnvelope, handle: (*request).cancelMessageBatch},
		{Method: "GET", Pattern: messagesPath + "/batches/{id}/results", access: anyKey, asks: true, envelope: messagesEnvelope, handle: (*request).getMessageBatchResults},
		{Method: "POST", Pattern: "/v1/route/explain", access: anyKey, body: textBody, handle: (*request).postRouteExplain},
		{Method: "GET", Pattern: "/v1/credits", access: anyKey, handle: (*request).getCredits},
		{Method: "GET", Pattern: "/v1/activity", access: anyKey, handle: (*request).getActivity},
		{Method: "GET", Pattern: "/v1/generation", access: anyKey, handle: (*request).getGeneration},
		{Method: "GET", Pattern: "/v1/key", access: anyKey, handle: (*request).getKey},
		{Method: "GET", Pattern: "/v1/keys", access: management, handle: (*request).listKeys},
		{Method: "POST", Pattern: "/v1/keys", access: management, fresh: true, body: managementBody, handle: (*request).postKey},
		{Method: "GET", Pattern: "/v1/keys/{hash}", access: management, handle: (*request).getKeyByHash},
		{Method: "PATCH", Pattern: "/v1/keys/{hash}", access: management, fresh: true, body: managementBody, handle: (*request).patchKey},
		{Method: "DELETE", Pattern: "/v1/keys/{hash}", access: management, fresh: true, handle: (*request).deleteKey},
		{Method: "GET", Pattern: metadataPath, access: public, envelope: oauthEnvelope, handle: (*request).getOAuthMetadata},
		{Method: "POST", Pattern: devicePath, access: linked, envelope: oauthEnvelope, body: atMost(maxOAuthForm), handle: (*request).postDeviceAuthorization},
		{Method: "POST", Pattern: tokenPath, access: linked, envelope: oauthEnvelope, body: atMost(maxOAuthForm), handle: (*request).postOAuthToken},
		{Method: "POST", Pattern: revokePath, access: linked, envelope: oauthEnvelope, body: atMost(maxOAuthForm), handle: (*request).postOAuthRevoke},
		{Method: "GET", Pattern: "/managed/settings", access: anyKey, envelope: messagesEnvelope, handle: (*request).getManagedSettings},
		{Method: "POST", Pattern: "/v1/metrics", access: anyKey, envelope: messagesEnvelope, body: managementBody, aside: true, handle: (*request).postMetrics},
		{Method: "POST", Pattern: "/v1/logs", access: anyKey, envelope: messagesEnvelope, body: managementBody, aside: true, handle: (*request).postLogs},
		{Method: "POST", Pattern: "/v1/traces", access: anyKey, envelope: messagesEnvelope, body: managementBody, aside: true, handle: (*request).postTraces},
		{Method: "GET", Pattern: usagePath, access: anyKey, envelope: messagesEnvelope, handle: (*request).getOAuthUsage},
		{Method: "GET", Pattern: scim.Root + "/ServiceProviderConfig", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/ResourceTypes", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/ResourceTypes/{name}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Schemas", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Schemas/{id}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Users", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "POST", Pattern: scim.Root + "/Users", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Users/{id}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "PUT", Pattern: scim.Root + "/Users/{id}", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "PATCH", Pattern: scim.Root + "/Users/{id}", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "DELETE", Pattern: scim.Root + "/Users/{id}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Groups", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "POST", Pattern: scim.Root + "/Groups", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "GET", Pattern: scim.Root + "/Groups/{id}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "PUT", Pattern: scim.Root + "/Groups/{id}", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "PATCH", Pattern: scim.Root + "/Groups/{id}", access: provisioning, envelope: scimEnvelope, body: managementBody, handle: (*request).provision},
		{Method: "DELETE", Pattern: scim.Root + "/Groups/{id}", access: provisioning, envelope: scimEnvelope, handle: (*request).provision},
		{Method: "GET", Pattern: "/openapi.yaml", access: public, handle: (*request).getOpenAPI},
		{Method: "GET", Pattern: "/healthz", access: unlimited, handle: (*request).getHealth},
		{Method: "GET", Pattern: "/readyz", access: unlimited, handle: (*request).getReady},
	}
}

// ServeHTTP answers one request, whatever happens in a handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.answer(w, r, a.table) }

func (a *API) newRequest(w http.ResponseWriter, r *http.Request, table *routeTable) *request {
	r = ofAccount(r)
	x := &request{api: a, r: r, table: table, at: a.Now(), memory: memory{quotas: a.quotas}}
	x.body.Open(w, r, &a.cfg.Timeouts, &x.memory)
	x.w.Open(w, &x.body, a.cfg.WriteStall, x.at, a.Now)
	return x
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, table *routeTable) {
	a.newRequest(w, r, table).answer()
}

func (x *request) answer() {
	x.begin()
	defer x.finish() // also when the answer must be cut by a panic that net/http recovers
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}
	}()
	if err := x.serve(); err != nil && !errors.Is(err, errReplayed) {
		x.fail(x.gone(fault.From(err)))
	}
}

// gone makes the failure of a read whose client has left what it is: the store did not fail, it was stopped. The end of a drain leaves the
// context another cause.
func (x *request) gone(e *fault.Error) *fault.Error {
	if e.Kind == fault.StorageUnavailable && context.Cause(x.context()) == context.Canceled {
		return fault.New(fault.Canceled, e.Op, "The client closed the connection.").Because(e.Cause)
	}
	return e
}

// serve runs the checks in the order that the specification's completions fix: route, method, body size, authentication, rate
// limit; the body's syntax and all that follows are the handler's.
func (x *request) serve() error {
	if err := x.api.cfg.CheckHead(x.r); err != nil {
		return err
	}
	if x.r.Method == http.MethodOptions {
		if err := x.api.quotas.Anonymous(x.at, x.addressName()); err != nil {
			return err
		}
		return x.preflight()
	}
	if httpserver.IsSocket(x.r) {
		if x.servesSocket() {
			return x.openSocket()
		}
		if err := x.admitStray(); err != nil {
			return err
		}
		return x.refuseSocket()
	}
	route, values, allow := x.table.find(x.r.Method, x.r.URL)
	if x.concealed(route) {
		route, allow = nil, nil
	}
	if route != nil && route.envelope == messagesEnvelope || route == nil && ofMessages(x.r) {
		x.w.Header()["Request-Id"] = x.idHeader[:] // the name that SDKs of this style read
	}
	if route == nil {
		if h, cheap := x.openPage(); h != nil {
			return x.servePage(h, cheap)
		}
		if err := x.admitStray(); err != nil {
			return err
		}
		return x.noRoute(allow)
	}
	x.route, x.values = route, values
	if route.access == inference {
		x.startGeneration()
	}
	if err := x.checkBodySize(); err != nil {
		return err
	}
	if err := x.authorize(); err != nil {
		return err
	}
	if t := x.api.Traces; t != nil && route.access == inference {
		x.trace = t.Begin(x.r.Header["Traceparent"], x.traceTrusted())
	}
	if route.admitted() {
		if err := x.admit(); err != nil {
			return err
		}
		defer x.visit.Leave()
	}
	return route.handle(x)
}

// concealed reports whether a route is not there for this request: on the public listener, those who run the gateway use their browsers, and their
// keys only where that is configured. No stranger learns which of these routes exist.
func (x *request) concealed(route *Route) bool {
	inner := route != nil && route.inner() || route == nil && strings.HasPrefix(x.r.URL.Path, "/api/admin/")
	return inner && x.table == x.api.table && !x.api.cfg.AdminAPI && x.sessionToken() == ""
}

// refuseSocket says with the one status on which clients fall back to HTTP at once that there are no sockets. On others, 405 among them, Codex tries
// again five times and longer each time (openai/codex#43353). The connection ends, because some clients send frames without waiting.
func (x *request) refuseSocket() error {
	h := x.w.Header()
	h.Set("Connection", "close")
	h.Set("Upgrade", "HTTP/1.1")
	return fault.New(fault.UpgradeRefused, "httpapi.refuseSocket", "There is no WebSocket at "+x.askedFor()+": send the request over HTTP.")
}

// checkBodySize refuses by Content-Length, before a byte of the body was read.
func (x *request) checkBodySize() error {
	if x.route.body == nil {
		return nil
	}
	return x.body.CheckSize(x.route.body(&x.api.cfg))
}

func (x *request) noRoute(allow []string) error {
	if path := x.r.URL.Path; x.r.Method == http.MethodPost && ofGemini(path) && strings.Contains(path, ":") {
		return noMethod(path)
	}
	if allow == nil {
		return fault.New(fault.NotFound, "httpapi.route", "There is no route "+x.askedFor()+". "+x.meant()+"The API lives under /v1; its description is at /openapi.yaml.")
	}
	list := strings.Join(allow, ", ")
	x.w.Header().Set("Allow", list)
	return fault.New(fault.MethodNotAllowed, "httpapi.route", x.askedFor()+" is not known: this route knows "+list+".")
}

// Bounds of what an error repeats of a request's head.
const (
	shownMethod  = 16
	shownSegment = 40
	shownPath    = 120
)

// askedFor is the method and path of the request, as an error may show them: without what looks like a key, and without what only a key or an id
// would be so long for. The query is left out, since keys travel there, too.
func (x *request) askedFor() string {
	segments := strings.Split(x.r.URL.Path, "/")
	for i, s := range segments {
		if segments[i] = string(redact.Redact([]byte(s))); len(segments[i]) > shownSegment {
			segments[i] = "..."
		}
	}
	return usertext.Cut(x.r.Method, shownMethod) + " " + usertext.Cut(strings.Join(segments, "/"), shownPath)
}

// meant suggests the route that a base URL without /v1, or with two of them, was to lead to.
func (x *request) meant() string {
	path := x.r.URL.Path
	for _, other := range [...]string{"/v1" + path, strings.TrimPrefix(path, "/v1")} {
		if !strings.HasPrefix(other, "/v1/") || strings.HasPrefix(other, "/v1/v1/") {
			continue
		}
		if route, _, _ := x.table.find(x.r.Method, &url.URL{Path: other}); route != nil {
			return "The base URL of your client should be such that it asks for " + route.Method + " " + route.Pattern + ". "
		}
	}
	return ""
}

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsExpose  = "X-Request-Id, Request-Id, X-Generation-Id, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Idempotent-Replayed, X-Total-Count, Link"
)

// cors reports whether pages of other origins may make this request: those of the API for programs, where no cookie is read. The interface has
// its routes for itself.
func (x *request) cors() bool {
	if !x.api.cfg.CORS || x.table == x.api.inner {
		return false
	}
	for _, root := range [...]string{"/v1", geminiRoot} {
		if rest, ok := strings.CutPrefix(x.r.URL.Path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// preflight answers OPTIONS: which methods a route knows, and to a browser of another origin what it may send. No credentials mode: keys travel in
// a header that scripts set.
func (x *request) preflight() error {
	_, _, allow := x.table.find(http.MethodOptions, x.r.URL)
	if allow == nil {
		return x.noRoute(nil)
	}
	h := x.w.Header()
	h.Set("Allow", strings.Join(allow, ", "))
	x.body.Refuse()
	if !x.cors() {
		x.writeBody(http.StatusNoContent, nil, nil)
		return nil
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	if want := x.r.Header["Access-Control-Request-Headers"]; len(want) > 0 {
		h.Set("Access-Control-Allow-Headers", want[0])
		h.Set("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Max-Age", "86400")
	x.writeBody(http.StatusNoContent, nil, nil)
	return nil
}
