package structure_test

// layer is the height of a package. A package may import the layers below its layer, and within the layer only what its rule lists. The
// domain is the exception: its packages import one another freely, and the compiler forbids cycles.
type layer int

const (
	foundation layer = iota // used by every package
	domain                  // rules that can be read and tested without a socket or a database
	relaying                // one call end to end, above the rest of the domain
	edge                    // technology: each imports the domain, never another edge
	wiring                  // the one place that imports all others
	command                 // the program
	apart                   // imports only its own packages of ours, and no other package imports it
)

func (l layer) String() string {
	return [...]string{"foundation", "domain", "relay", "edge", "app", "cmd", "apart"}[l]
}

// rule is the layer of a package, with exceptions to the rules of the layer.
type rule struct {
	layer    layer
	beside   []string // packages of the same layer that it may import; "x/..." is all below x
	users    []layer  // layers that may import it, if not all above its layer
	files    bool     // domain only: it may import os, because writing files is its purpose
	alone    bool     // imports none of our packages except beside, because it tests all of them
	suite    bool     // a conformance suite: its plain files may import testing, and only tests may import it
	declared bool     // set by find, so that a missing rule differs from a zero one
}

// rules has a line for each package, or for a family ("x/...") whose members may not import one another. A new package needs a line here
// and one in docs/structure.md, which makes its author choose its place.
var rules = map[string]rule{
	"internal/fault":     {layer: foundation},
	"internal/loop":      {layer: foundation},
	"internal/spelling":  {layer: foundation},
	"internal/usertext":  {layer: foundation},
	"internal/mediatype": {layer: foundation},
	"internal/encoded":   {layer: foundation},
	"internal/money":     {layer: foundation, beside: []string{"internal/fault"}},
	// The domain passes bodies on as bytes; only edges use the names of their members.
	"internal/rawjson": {layer: foundation, beside: []string{"internal/encoded", "internal/fault"}, users: []layer{edge, wiring, command}},
	"internal/redact":  {layer: foundation, users: []layer{edge, wiring, command}},
	"internal/secret":  {layer: foundation},
	"internal/seal":    {layer: foundation, beside: []string{"internal/fault"}},
	// Formats of recordings and subtitles: functions over bytes, for wires and dialects.
	"internal/tag":      {layer: foundation},
	"internal/zone":     {layer: foundation, beside: []string{"internal/fault"}},
	"internal/audio":    {layer: foundation, beside: []string{"internal/fault", "internal/mediatype"}},
	"internal/subtitle": {layer: foundation, beside: []string{"internal/fault"}},
	// Numbers of embeddings: functions over bytes, for the domain, dialects and wires.
	"internal/vector": {layer: foundation},
	// The grammar of HTTP/1.1, for the client and the server.
	"internal/http1": {layer: foundation, users: []layer{edge}},
	"internal/disk":  {layer: foundation, files: true},
	// By which way connections leave; what opens them is tunnel, which edges get as a function.
	"internal/outbound":                   {layer: foundation},
	"internal/outbound/tunnel":            {layer: edge, users: []layer{wiring, command}},
	"internal/outbound/tunnel/tunneltest": {layer: edge, alone: true, suite: true},

	"internal/completion": {layer: domain},
	// Pure functions over events, for styles and dialects.
	"internal/completion/calls": {layer: domain},
	"internal/task":             {layer: domain},
	"internal/imagefile":        {layer: domain},
	"internal/catalog":          {layer: domain},
	"internal/catalog/edit":     {layer: domain},
	"internal/catalog/listing":  {layer: domain},
	"internal/invalidate":       {layer: domain},
	"internal/rate":             {layer: domain},
	"internal/promptcache":      {layer: domain},
	"internal/routing":          {layer: domain},
	"internal/health":           {layer: domain},
	"internal/figures":          {layer: domain},
	"internal/console":          {layer: domain},
	"internal/demo":             {layer: domain},
	"internal/resource":         {layer: domain},
	"internal/usage":            {layer: domain},
	"internal/usage/o200k":      {layer: foundation},
	"internal/usage/tokenizer":  {layer: domain},
	"internal/record":           {layer: domain},
	"internal/report":           {layer: domain},
	"internal/reconcile":        {layer: domain},
	"internal/liveupdates":      {layer: domain},
	"internal/apikey":           {layer: domain},
	"internal/account":          {layer: domain},
	"internal/organization":     {layer: domain},
	"internal/auth":             {layer: domain},
	"internal/agent":            {layer: domain},
	"internal/audit":            {layer: domain},
	"internal/limit":            {layer: domain},
	"internal/limit/quota":      {layer: domain},
	"internal/idempotency":      {layer: domain},
	"internal/history":          {layer: domain},
	"internal/webhook":          {layer: domain},
	"internal/payment":          {layer: domain},
	"internal/notify":           {layer: domain},
	"internal/alert":            {layer: domain},
	"internal/voucher":          {layer: domain},
	"internal/invoice":          {layer: domain},
	"internal/preset":           {layer: domain},
	"internal/budget":           {layer: domain},
	"internal/view":             {layer: domain},
	"internal/foreign":          {layer: domain},
	"internal/chat":             {layer: domain},
	"internal/trace":            {layer: domain},
	"internal/ownkey":           {layer: domain},
	"internal/video":            {layer: domain},
	"internal/blob":             {layer: domain},
	"internal/batch":            {layer: domain},
	"internal/ledger":           {layer: domain},
	"internal/ledger/journal":   {layer: domain, files: true},
	"internal/backup":           {layer: domain, files: true},
	"internal/relay":            {layer: relaying},

	// Packages have their own types for settings, so that they can be used without the whole configuration, which is made of these types.
	"internal/config":                {layer: edge, beside: []string{"internal/blob/s3", "internal/catalog/builtin", "internal/catalog/update", "internal/fetch", "internal/httpapi", "internal/mail", "internal/messenger", "internal/oidc", "internal/payment/yookassa", "internal/plugin", "internal/trace/otlp", "internal/upstream"}, users: []layer{wiring, command}},
	"internal/catalog/builtin":       {layer: edge},
	"internal/rate/cbr":              {layer: edge},
	"internal/catalog/importer":      {layer: edge, beside: []string{"internal/catalog/builtin"}},
	"internal/catalog/discover":      {layer: edge},
	"internal/catalog/update":        {layer: edge, beside: []string{"internal/catalog/builtin", "internal/catalog/importer"}},
	"internal/accesslog":             {layer: edge},
	"internal/plugin":                {layer: edge, beside: []string{"internal/plugin/..."}},
	"internal/plugin/pdftext":        {layer: edge, beside: []string{"internal/plugin/pdf"}},
	"internal/plugin/pdf/pdftest":    {layer: edge, suite: true},
	"internal/plugin/...":            {layer: edge},
	"internal/wire":                  {layer: edge, beside: []string{"internal/wire/sse", "internal/wire/pack"}},
	"internal/wire/pack":             {layer: edge},
	"internal/wire/sse":              {layer: edge},
	"internal/wire/wiretest":         {layer: edge, suite: true},
	"internal/wire/...":              {layer: edge, beside: []string{"internal/wire", "internal/wire/pack", "internal/wire/sse"}},
	"internal/export":                {layer: edge},
	"internal/fetch":                 {layer: edge},
	"internal/certificate":           {layer: edge},
	"internal/certificate/...":       {layer: edge, alone: true, suite: true},
	"internal/gatewayimport":         {layer: edge},
	"internal/reconcile/usagefile":   {layer: edge},
	"internal/mail":                  {layer: edge},
	"internal/messenger":             {layer: edge},
	"internal/oidc":                  {layer: edge},
	"internal/oidc/oidctest":         {layer: edge, alone: true, suite: true},
	"internal/payment/yookassa":      {layer: edge},
	"internal/webui":                 {layer: edge},
	"internal/docsite":               {layer: edge, beside: []string{"internal/webui"}},
	"internal/blob/blobtest":         {layer: edge, suite: true},
	"internal/ledger/ledgertest":     {layer: domain, suite: true},
	"internal/auth/passkeytest":      {layer: domain, suite: true},
	"internal/blob/...":              {layer: edge},
	"internal/upstream":              {layer: edge, beside: []string{"internal/dialect", "internal/dialect/auth", "internal/upstream/h1", "internal/wire/sse"}},
	"internal/upstream/h1":           {layer: edge},
	"internal/upstream/upstreamtest": {layer: edge, beside: []string{"internal/dialect", "internal/upstream", "internal/wire/sse"}, suite: true},
	"internal/dialect":               {layer: edge, beside: []string{"internal/dialect/auth", "internal/wire/sse"}},
	"internal/dialect/auth":          {layer: edge},
	"internal/dialect/claude":        {layer: edge},
	"internal/dialect/embed":         {layer: edge, beside: []string{"internal/dialect"}},
	"internal/dialect/rerank":        {layer: edge, beside: []string{"internal/dialect"}},
	"internal/dialect/all":           {layer: edge, beside: []string{"internal/dialect", "internal/dialect/..."}},
	"internal/dialect/...":           {layer: edge, beside: []string{"internal/dialect", "internal/dialect/auth", "internal/dialect/claude", "internal/dialect/embed", "internal/dialect/rerank", "internal/wire/sse", "internal/wire/pack"}},
	// The store: what all aggregates share, then one package an aggregate, then what opens, migrates and copies them all, then the engines.
	"internal/store/sqldb":             {layer: edge},
	"internal/store/auditdb":           {layer: edge, beside: []string{"internal/store/sqldb"}},
	"internal/store/ledgerdb":          {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb"}},
	"internal/store/accountdb":         {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb", "internal/store/ledgerdb"}},
	"internal/store/paymentdb":         {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb", "internal/store/ledgerdb"}},
	"internal/store/noticedb":          {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb"}},
	"internal/store/jobdb":             {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb", "internal/store/ledgerdb", "internal/store/noticedb"}},
	"internal/store/pagedb":            {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb"}},
	"internal/store/nodedb":            {layer: edge, beside: []string{"internal/store/sqldb"}},
	"internal/store/catalogdb":         {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/auditdb"}},
	"internal/store":                   {layer: edge, beside: []string{"internal/store/sqldb", "internal/store/ledgerdb", "internal/store/accountdb", "internal/store/paymentdb", "internal/store/noticedb", "internal/store/jobdb", "internal/store/pagedb", "internal/store/nodedb", "internal/store/catalogdb"}},
	"internal/store/compact":           {layer: foundation, users: []layer{edge}},
	"internal/store/storetest":         {layer: edge, beside: []string{"internal/store", "internal/store/sqldb", "internal/store/ledgerdb", "internal/store/accountdb"}, suite: true},
	"internal/store/sqlite":            {layer: edge, beside: []string{"internal/store", "internal/store/sqldb", "internal/store/ledgerdb"}},
	"internal/store/postgres":          {layer: edge, beside: []string{"internal/store", "internal/store/sqldb"}},
	"internal/store/postgres/pgtest":   {layer: edge, alone: true, suite: true},
	"internal/store/sqlite/sqlitetest": {layer: edge, beside: []string{"internal/store/sqlite"}, suite: true},
	"internal/sim":                     {layer: edge, beside: []string{"internal/sim/..."}, alone: true},
	"internal/sim/kit":                 {layer: edge, alone: true},
	"internal/sim/chat":                {layer: edge, beside: []string{"internal/sim/kit"}, alone: true},
	"internal/sim/...":                 {layer: edge, beside: []string{"internal/sim/kit", "internal/sim/chat"}, alone: true},
	"internal/report/paper":            {layer: edge},
	"internal/trace/otlp":              {layer: edge},
	"internal/trace/otlp/otlptest":     {layer: edge, alone: true, suite: true},
	"internal/operation":               {layer: edge},
	"internal/operation/describe":      {layer: edge, beside: []string{"internal/operation", "internal/accountapi", "internal/adminapi", "internal/catalogapi", "internal/litellmapi"}},
	"internal/explain":                 {layer: edge, beside: []string{"internal/operation"}},
	// What is stored of a call are items of the responses style.
	"internal/accountapi": {layer: edge, beside: []string{"internal/operation", "internal/explain", "internal/gatewayimport", "internal/report/paper", "internal/wire", "internal/wire/chat", "internal/wire/responses", "internal/wire/scim"}},
	"internal/adminapi":   {layer: edge, beside: []string{"internal/operation", "internal/accountapi"}},
	"internal/litellmapi": {layer: edge, beside: []string{"internal/operation", "internal/accountapi", "internal/gatewayimport"}},
	"internal/catalogapi": {layer: edge, beside: []string{"internal/operation"}},
	// Below all styles and routes: it imports none of them.
	"internal/httpserver": {layer: edge},
	"internal/httpapi":    {layer: edge, beside: []string{"internal/httpserver", "internal/operation", "internal/explain", "internal/report/paper", "internal/wire", "internal/wire/...", "internal/accesslog"}},

	// Files of the repository that are part of the program. It is at the root, because files are embedded from below a package only.
	".": {layer: foundation, users: []layer{wiring}},

	"internal/app":         {layer: wiring},
	"internal/app/apptest": {layer: wiring, beside: []string{"internal/app"}, suite: true},
	"cmd/weir":             {layer: command},

	"internal/structure": {layer: apart},
	"bench":              {layer: apart},
}

// home is where an outside package may be imported. Elsewhere the import is refused with the reason.
type home struct {
	path string // an import path, including all packages below it
	in   []string
	why  string
}

var homes = []home{
	{"encoding/json", []string{"internal/app/apptest", "internal/operation/describe"}, "tests of whole nodes read answers as clients do; elsewhere it matches names in any case and takes the last of two equal ones: read with internal/rawjson, write by appending"},
	{"github.com/go-json-experiment/json", []string{"internal/rawjson", "internal/operation", "internal/sim/kit"}, "two places decide how strict we read: internal/rawjson for what is forwarded, internal/operation for our own forms. The simulator shares no code with them"},
	{"modernc.org/sqlite", []string{"internal/store/sqlite"}, "only the SQLite store knows which engine it is"},
	{"github.com/jackc/pgx/v5", []string{"internal/store/postgres", "internal/store/postgres/pgtest"}, "only the PostgreSQL store knows which engine it is"},
	{"github.com/pressly/goose/v3", []string{"internal/store", "internal/store/..."}, "migrations belong to the stores"},
	{"github.com/wneessen/go-mail", []string{"internal/mail"}, "only the mail package knows how mail is sent"},
	{"golang.org/x/net", []string{"internal/config", "internal/mail", "internal/outbound", "internal/outbound/tunnel"}, "only mail servers and the settings that name hosts need names in other letters (idna), and only these two know proxies (httpproxy, proxy)"},
	{"google.golang.org/protobuf", []string{"internal/trace/otlp", "internal/trace/otlp/otlptest", "internal/wire/otlp"}, "only OpenTelemetry is protobuf"},
	{"go.opentelemetry.io", []string{"internal/trace/otlp", "internal/trace/otlp/otlptest"}, "only spans have the messages of OpenTelemetry"},
	{"codeberg.org/go-pdf/fpdf", []string{"internal/report/paper"}, "only what is printed is a PDF document"},
	{"github.com/boombuler/barcode", []string{"internal/report/paper"}, "only what is printed has a code to scan"},
	{"golang.org/x/text", []string{"internal/invoice"}, "only the statements of banks are in the alphabets of old programs"},
	{"github.com/coreos/go-oidc/v3", []string{"internal/oidc"}, "only this package knows how other sign-in providers are spoken to"},
	{"golang.org/x/oauth2", []string{"internal/oidc"}, "likewise"},
	{"github.com/elimity-com/scim", []string{"internal/wire/scim"}, "only this package knows how directories of organizations speak"},
	{"github.com/scim2/filter-parser", []string{"internal/wire/scim"}, "likewise"},
	{"golang.org/x/crypto/argon2", []string{"internal/auth"}, "passwords are hashed in one place"},
	{"golang.org/x/crypto/acme", []string{"internal/certificate"}, "only this package knows how certificates are got"},
	{"github.com/go-webauthn/webauthn", []string{"internal/auth"}, "answers of passkeys are checked in one place"},
	{"github.com/minio/minio-go/v7", []string{"internal/blob/s3"}, "only the blob store in S3 knows how it is spoken to"},
	{"github.com/klauspost/compress", []string{"internal/upstream", "internal/upstream/upstreamtest"}, "only the transport reads compressed answers; elsewhere gzip of the standard library does"},
	{"github.com/andybalholm/brotli", []string{"internal/upstream", "internal/upstream/upstreamtest"}, "likewise"},
	{"github.com/coder/websocket", []string{"internal/httpserver", "internal/app/apptest"}, "how messages travel is known where connections are: use httpserver.Socket"},
	{"github.com/prometheus/client_golang", []string{"internal/httpapi"}, "only the edge counts for Prometheus: declare an interface next to its use"},
	{"github.com/alecthomas/kong", []string{"cmd/weir"}, "only the program has a command line"},
	{"github.com/prometheus/common", []string{"internal/figures", "cmd/weir"}, "figures are computed from metrics in one place; weir top and weir doctor print them"},
	{"github.com/prometheus/client_model", []string{"internal/figures", "internal/httpapi"}, "what one gathers is what the other reads"},
	{"database/sql", []string{"internal/store", "internal/store/..."}, "declare an interface next to its use and let a store satisfy it"},
	{"github.com/tiktoken-go/tokenizer", nil, "a hostile prompt takes it minutes: tests compare internal/usage/o200k with it, which counts in linear time"},
	{"golang.org/x/sys", []string{"internal/sim/kit", "internal/httpserver", "internal/rawjson"}, "only the simulator looks into sockets, to reset them, and the server, to lose none when it ends; only the JSON scanner asks what the processor can do"},
	{"github.com/danielgtaylor/huma", []string{"internal/operation/describe"}, "it describes types when the description is generated; requests are read by internal/operation"},
	{"go.yaml.in/yaml/v3", []string{"internal/operation/describe", "internal/config", "internal/docsite", "internal/gatewayimport", "internal/app", "cmd/weir"}, "only configurations, ours and others', and the description of the API are YAML"},
	{"github.com/yuin/goldmark", []string{"internal/docsite"}, "only the documentation is Markdown"},
	{"regexp", []string{"internal/config", "internal/redact", "internal/store/...", "internal/plugin/schema", "internal/app", "cmd/weir"}, "walk the bytes: a pattern costs microseconds in a request"},
	{"unsafe", nil, "nothing here is worth it"},
	{"C", nil, "the binary is built without cgo"},
}

// domainMayNot lists packages that the domain may not import: an edge passes their function in, as an interface or a value.
var domainMayNot = []string{"net/http", "database/sql", "net", "os", "flag"}

// call is a function that only some packages may use, even if they may import its package.
type call struct {
	pkg, name string
	in        []string // packages that may use it
	all       bool     // refused in every layer; else only in the domain and below
	why       string
}

var calls = []call{
	{pkg: "os", name: "Getenv", in: []string{"internal/config", "internal/app", "cmd/weir"}, all: true, why: "a variable read down here is a hidden parameter: take the value from the caller"},
	{pkg: "os", name: "LookupEnv", in: []string{"internal/config", "internal/app", "cmd/weir"}, all: true, why: "a variable read down here is a hidden parameter: take the value from the caller"},
	{pkg: "os", name: "Exit", in: []string{"cmd/weir"}, all: true, why: "return an error: only the command ends the program"},
	{pkg: "time", name: "Now", why: "take the time, or a func() time.Time, from the caller"},
	{pkg: "time", name: "Since", why: "subtract times that the caller gave"},
	{pkg: "time", name: "Until", why: "subtract times that the caller gave"},
	{pkg: "time", name: "NewTimer", in: []string{"internal/loop"}, why: "wait with loop.Wait, work in rounds with loop.New: they end with their context"},
	{pkg: "time", name: "NewTicker", in: []string{"internal/loop"}, why: "work in rounds with loop.Every: it is stopped and waited for"},
	{pkg: "time", name: "AfterFunc", in: []string{"internal/loop"}, why: "work in rounds with loop.New: it is stopped and waited for"},
	{pkg: "time", name: "After", in: []string{"internal/loop"}, why: "wait with loop.Wait, which ends with its context"},
	{pkg: "time", name: "Tick", in: []string{"internal/loop"}, why: "work in rounds with loop.Every: it is stopped and waited for"},
	{pkg: "time", name: "Sleep", all: true, why: "wait for what you wait for, with a timer that a context can end"},
}
