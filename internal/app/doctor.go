package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/certificate"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/rate"
)

// Finding is one thing that was examined.
type Finding struct {
	Part string // "data directory", "database", "provider hut" and so on
	Is   State
	What string // a sentence
	Do   string // what the operator should do, "" where nothing is to be done
}

// State is how bad a finding is.
type State string

// States of a finding.
const (
	Good State = "ok"
	Bad  State = "error"   // calls fail, or will
	Weak State = "warning" // works, but not as a real installation should
)

// Doctor examines an installation. It changes nothing but the version of the database's tables, as every command does, and unless Keys is set it
// sends no request to a provider: it only connects.
type Doctor struct {
	Version string
	Path    string // of the configuration; "": there is no file
	Books   bool   // also recompute the ledger and the audit chain, which reads all of them
	Keys    bool   // also call each provider with each of its keys, which it bills

	cfg    config.Config
	report func(Finding)
}

// Examine passes its findings to report, one after another.
func (d Doctor) Examine(ctx context.Context, cfg config.Config, report func(Finding)) {
	d.cfg, d.report = cfg, report
	d.good("version", "weir %s, %s, %s/%s", d.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	d.configuration()
	d.clock(time.Now())
	d.memory()
	d.folder()
	d.network()
	d.operators()
	o, opening := OpenAdmin(ctx, cfg, false)
	if missing := new(noLedger); errors.As(opening, missing) {
		opening = nil
		d.say(Weak, "database", "make the first user: weir user bootstrap NAME", "there is no ledger %s yet", string(*missing))
	} else if opening != nil {
		d.say(Bad, "database", "check store.dsn, the permissions of its folder, and whether the server runs", "it cannot be opened: %v", opening)
	} else {
		defer o.Close()
		d.database(ctx, o)
		d.nodes(ctx, o)
		d.people(ctx, o)
		if d.Books {
			d.books(ctx, o)
		}
	}
	d.journal()
	d.services(ctx)
	if opening != nil { // rows of the catalog are there: no file has to be corrected for it
		return
	}
	b, err := BuildCatalog(ctx, cfg)
	if err != nil {
		d.say(Bad, "catalog", "correct the row or the file that it names", "it cannot be built: %v", err)
		return
	}
	d.catalog(b)
	d.found(b)
	for _, f := range regretted(&cfg, b.Snapshot, os.LookupEnv) {
		d.report(f)
	}
	d.providers(ctx, b.Snapshot)
	if d.Keys {
		d.keys(ctx, b.Snapshot)
	}
}

func (d *Doctor) say(is State, part, do, format string, args ...any) {
	d.report(Finding{Part: part, Is: is, What: fmt.Sprintf(format, args...), Do: do})
}

func (d *Doctor) good(part, format string, args ...any) { d.say(Good, part, "", format, args...) }

// lowDisk is how many free bytes are few: the journal and a database need room to go on.
const lowDisk = 1 << 30

func (d *Doctor) folder() {
	const part = "data directory"
	dir := d.cfg.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.say(Weak, part, "weir serve and weir user bootstrap make it", "%s does not exist yet", dir)
		return
	case err != nil:
		d.say(Bad, part, "check data_dir and who may read it", "%v", err)
		return
	case !info.IsDir():
		d.say(Bad, part, "set data_dir to a folder", "%s is not a folder", dir)
		return
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		d.say(Bad, part, "let the user who runs weir write there", "it cannot be written: %v", err)
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	if info.Mode().Perm()&0o077 != 0 {
		d.say(Weak, part, "chmod 700 "+dir, "others on this machine can read %s", dir)
	}
	switch free, err := freeDisk(dir)(); {
	case err != nil:
		d.say(Weak, part, "look with df, and watch the volume by other means", "the free space is unknown: %v", err)
	case free < lowDisk:
		d.say(Bad, part, "free space, or move data_dir: charges cannot be written to a full disk", "%d MiB are free", free>>20)
	default:
		d.good(part, "%s can be written, %d GiB are free", dir, free>>30)
	}
}

// network examines how clients and browsers reach the node.
func (d *Doctor) network() {
	const part = "network"
	s := &d.cfg.Server
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		d.say(Bad, part, "write HOST:PORT", "server.listen is %q: %v", s.Listen, err)
		return
	}
	ip := net.ParseIP(host)
	alone := host == "localhost" || ip != nil && ip.IsLoopback()
	public, err := url.Parse(s.PublicURL)
	named := err == nil && s.PublicURL != ""
	proxied, encrypted := len(s.TrustedProxies) > 0, s.TLS.On()
	d.encryption(public)
	switch {
	case named && public.Scheme == "https" && !proxied && !encrypted:
		d.say(Weak, part, "set server.trusted_proxies to the addresses of the proxy", "server.public_url is https, but no proxy is trusted: all clients seem to have the proxy's address, and share one limit")
	case encrypted && !named:
		d.say(Weak, part, "set server.public_url to the https:// address of this node", "clients' address of this node is not known: links in mails lead nowhere, and nobody can use a passkey")
	case !alone && (!named || public.Scheme != "https"):
		d.say(Weak, part, "set server.tls, or put a proxy with TLS in front, and set server.public_url to the https:// address", "%s can be reached without encryption: keys travel readable, and nobody can sign in", s.Listen)
	case alone && !named:
		d.good(part, "listens on %s, for this machine alone", s.Listen)
	default:
		d.good(part, "listens on %s", s.Listen)
	}
}

// encryption examines the certificate of the node's own listener.
func (d *Doctor) encryption(public *url.URL) {
	const part = "certificate"
	t := &d.cfg.Server.TLS
	switch {
	case !t.On():
	case t.CertFile == "":
		for _, domain := range t.ACME.Domains {
			d.fromAuthority(domain)
		}
	default:
		pair, err := certificate.Read(t.CertFile, t.KeyFile)
		if err != nil {
			d.say(Bad, part, "name a certificate and its key in server.tls", "%v", err)
			return
		}
		host := ""
		if public != nil {
			host = public.Hostname()
		}
		d.judge(pair, t.CertFile, host, "put a new certificate and its key into the files; a node reads them without a restart")
		d.readable(part, t.CertFile, t.KeyFile)
	}
}

// fromAuthority examines the certificate that a node has got for a domain.
func (d *Doctor) fromAuthority(domain string) {
	const part = "certificate"
	pair, err := certificate.Kept(acmeFolder(&d.cfg), domain)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.good(part, "the one for %s will come from %s: there is none yet", domain, d.cfg.Server.TLS.ACME.DirectoryURL)
	case err != nil:
		d.say(Bad, part, "remove "+filepath.Join(acmeFolder(&d.cfg), domain)+": a node gets a new one", "the one for %s cannot be used: %v", domain, err)
	default:
		d.judge(pair, "the one for "+domain, domain, "look in the log for \"the certificate is not renewed\": it says why the authority refuses")
	}
}

// judge says what clients think of a certificate.
func (d *Doctor) judge(pair *tls.Certificate, what, host, renew string) {
	const part = "certificate"
	now := time.Now()
	switch verdict, why := certificate.Judge(pair, host, now); verdict {
	case certificate.Refused:
		d.say(Bad, part, renew, "%s is refused by clients: %s", what, why)
		return
	case certificate.Soon:
		d.say(Weak, part, renew, "%s will soon be refused by clients: %s", what, why)
		return
	}
	if why := certificate.Unknown(pair, nil, now); why != "" {
		d.say(Weak, part, "use one of a public authority, with the certificates between in the same file; or give its authority to every client", "%s is refused by clients that do not know its authority: %s", what, why)
		return
	}
	d.good(part, "%s is good until %s", what, pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
}

// clockOff is how far the clocks of a node and of its database may be apart: leases and limits go by both.
const clockOff = 2 * time.Second

func (d *Doctor) database(ctx context.Context, o *Admin) {
	const part = "database"
	began := time.Now()
	now, err := o.Store.Jobs.Clock(ctx)
	took := time.Since(began)
	if err != nil {
		d.say(Bad, part, "check the server and its log", "it does not answer: %v", err)
		return
	}
	off := now.Sub(began.Add(took / 2))
	switch {
	case !d.cfg.Store.DSN.Postgres():
		d.good(part, "SQLite at %s can be read", d.cfg.StorePath())
	case off.Abs() > clockOff:
		d.say(Bad, "clock", "set the clocks of both machines by NTP", "the clock of the database is %s from this machine's", off.Round(time.Millisecond))
	default:
		d.good(part, "PostgreSQL answers in %s, and its clock is right", took.Round(10*time.Microsecond))
	}
	d.storage(ctx, o)
	aside, err := o.Store.Ledger.Asides(ctx)
	switch {
	case err != nil:
		d.say(Bad, "ledger", "check the database and its log, then: weir ledger aside list", "charges that wait for a decision cannot be read: %v", err)
	case len(aside) > 0:
		d.say(Bad, "ledger", "weir ledger aside list", "%d charges could not be posted and wait for a decision", len(aside))
	default:
		d.good("ledger", "no charge waits for a decision")
	}
}

func (d *Doctor) storage(ctx context.Context, o *Admin) {
	const part = "storage"
	k, err := o.Store.Ledger.Kept(ctx)
	if err != nil {
		d.say(Bad, part, "check the database and its log", "what is kept cannot be read: %v", err)
		return
	}
	text := fmt.Sprintf("tables of version %d, %d calls in %d MiB, of which %d MiB are free for new rows", k.Tables, k.Calls, k.Bytes>>20, k.Free>>20)
	if k.Dropped > 0 {
		text += fmt.Sprintf("; details of %d calls before %s were dropped", k.Dropped, k.Since.Format(time.DateOnly))
	}
	if r := d.cfg.Store.Retention; r > 0 {
		text += fmt.Sprintf("; store.retention is %d days", int(r/(24*time.Hour)))
	} else {
		text += "; all are kept for ever (store.retention)"
	}
	d.good(part, "%s", text)
}

func (d *Doctor) people(ctx context.Context, o *Admin) {
	const part = "sign-in"
	f, err := o.people().Features(ctx)
	switch {
	case err != nil:
		d.say(Bad, part, "check the database and its log", "users cannot be read: %v", err)
	case f.Setup:
		d.say(Weak, part, "weir user setup", "nobody can administer this gateway in a browser")
	default:
		d.good(part, "sign-up is %s", d.cfg.SignIn.SignUp)
	}
	if ring, err := d.cfg.Ring(os.LookupEnv); err != nil {
		d.say(Bad, "secrets", "check secrets.master_key_file, who may read it, and WEIR_MASTER_KEY", "%v", err)
	} else if ring == nil && !d.cfg.Store.DSN.Postgres() {
		d.good("secrets", "the first start of this node makes a master key, %s", d.cfg.OwnMasterKey())
	} else if ring == nil {
		d.say(Weak, "secrets", "set secrets.master_key_file (openssl rand -hex 32)", "there is no master key: providers' keys cannot be kept in the database, and webhooks are not signed")
	} else {
		d.good("secrets", "there is a master key")
		if _, err := os.Stat(d.cfg.OwnMasterKey()); err == nil {
			d.readable("secrets", d.cfg.OwnMasterKey())
		}
		if d.cfg.Sealing.MasterKeyFile != "" {
			d.readable("secrets", append([]string{d.cfg.Sealing.MasterKeyFile}, d.cfg.Sealing.PreviousKeyFiles...)...)
		}
	}
}

func (d *Doctor) books(ctx context.Context, o *Admin) {
	r, err := o.Verify(ctx, d.cfg.DataDir, ledger.Anchor{})
	switch {
	case err != nil:
		d.say(Bad, "books", "weir ledger verify", "they cannot be recomputed: %v", err)
	case !r.OK():
		var failed []string
		for _, c := range r.Checks {
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}
		d.say(Bad, "books", "weir ledger verify", "they are not balanced: %s", strings.Join(failed, ", "))
	default:
		d.good("books", "%d checks of the ledger hold", len(r.Checks))
	}
}

func (d *Doctor) journal() {
	const part = "journal"
	all, err := journal.Survey(ledger.JournalDir(d.cfg.DataDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.say(Bad, part, "let the user who runs weir read data_dir/journal; delete nothing there", "it cannot be read: %v", err)
		return
	}
	records, damaged := int64(0), []string(nil)
	for i := range all {
		records += all[i].Records
		if all[i].Damaged() {
			damaged = append(damaged, filepath.Base(all[i].Path))
		}
	}
	switch {
	case len(damaged) > 0:
		d.say(Bad, part, "weir ledger journal inspect", "damaged files: %s", strings.Join(damaged, ", "))
	case len(all) == 0:
		d.good(part, "there is none yet")
	default:
		d.good(part, "%d files with %d records are whole", len(all), records)
	}
}

// keyless are the declared providers that need a key and have none: calls to them would fail.
func keyless(b *edit.Built) (list []Finding) {
	for i := range b.Providers {
		v := &b.Providers[i]
		if variables, missing := builtin.KeyVariables(&v.Provider); missing && v.On && v.Origin == edit.FromFile {
			list = append(list, Finding{
				Part: "provider " + v.ID, What: fmt.Sprintf("it is declared at %s and has no key", v.Where),
				Do: fmt.Sprintf("set %s, or api_key in its declaration", strings.Join(variables, " or ")),
			})
		}
	}
	return list
}

// catalog examines models, prices and the rate.
func (d *Doctor) catalog(b *edit.Built) {
	models, dollars := 0, false
	for _, m := range b.Snapshot.Models() {
		models++
		dollars = dollars || slices.ContainsFunc(m.Endpoints, func(ep *catalog.Endpoint) bool { return rate.PartsOf(ep.Pricing.Rate).RubPerUSD != "" })
	}
	for _, left := range b.Left {
		d.say(Weak, "catalog", "weir catalog endpoint list", "left out: %s", left)
	}
	for _, f := range keyless(b) {
		d.say(Weak, f.Part, f.Do, "%s", f.What)
	}
	if models == 0 {
		d.say(Bad, "catalog", "connect a provider in the browser (/admin/providers), set the key of a known one, such as OPENAI_API_KEY, or declare one: docs/configuration.md", "no model is served")
		return
	}
	d.good("catalog", "%d models are served", models)
	if asks := DoubtfulMargin(b.Rate.Margin); asks != "" && dollars {
		d.say(Weak, "margin", "correct pricing.margin, or run: weir rate set --margin", "%s", asks)
	}
	if asOf := b.Snapshot.PricesAsOf; !asOf.IsZero() {
		days := int(time.Since(asOf).Hours() / 24)
		if time.Since(asOf) > d.cfg.PriceLists.StaleAfter {
			d.say(Weak, "prices", "weir catalog update", "the prices of built-in models are of %s, %d days old", asOf.Format(time.DateOnly), days)
		} else {
			d.good("prices", "of %s, %d days old", asOf.Format(time.DateOnly), days)
		}
	}
	if !dollars {
		return
	}
	r := b.Rate
	switch {
	case isDefaultRate(&d.cfg, &r):
		d.say(Weak, "rate", "weir rate set, pricing.rub_per_usd, or pricing.rate_source: cbr", "prices in dollars are charged at the default of %s rubles, which is nobody's rate", r.RubPerUSD)
	case r.Source == rate.CBR && time.Since(r.From) > 5*24*time.Hour: // holidays have no rates for some days
		d.say(Weak, "rate", "see weir_rate_failures_total and the log", "the last rate of the Bank of Russia is of %s", r.From.Format(time.DateOnly))
	default:
		d.good("rate", "%s rubles per dollar, margin %s (%s)", r.RubPerUSD, r.Margin, r.Source)
	}
}

// providersAtOnce is how many are connected to at a time.
const providersAtOnce = 8

// providers connects to each provider that serves a model.
func (d *Doctor) providers(ctx context.Context, snap *catalog.Snapshot) {
	serving := map[string]*catalog.Provider{}
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			serving[ep.Provider.ID+" "+ep.Provider.BaseURL] = ep.Provider
		}
	}
	names := make([]string, 0, len(serving))
	for name := range serving {
		names = append(names, name)
	}
	slices.Sort(names)
	found, dialer := make([]Finding, len(names)), dialerOf(&d.cfg)
	places := make(chan struct{}, providersAtOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = reach(ctx, dialer, serving[name])
		})
	}
	all.Wait()
	for _, f := range found {
		d.report(f)
	}
}

// reachFor bounds a connection.
const reachFor = 5 * time.Second

// reach connects to a provider by its way, without a request.
func reach(ctx context.Context, dialer *tunnel.Dialer, p *catalog.Provider) Finding {
	f := Finding{Part: "provider " + p.ID}
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		f.Is, f.What, f.Do = Bad, p.BaseURL+" is not an address", "correct base_url"
		return f
	}
	address := outbound.HostPort(u)
	way := dialer.Ways.To(p.Proxy, address)
	most := reachFor
	if way.Through() {
		most *= 2 // the proxy says what went wrong, where it has the time
	}
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	began := time.Now()
	conn, err := dialer.Dial(ctx, way, address)
	if err == nil && u.Scheme == "https" {
		c := &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		if p.CA != "" {
			if c.RootCAs, err = x509.SystemCertPool(); err != nil {
				c.RootCAs = x509.NewCertPool()
			}
			c.RootCAs.AppendCertsFromPEM([]byte(p.CA))
		}
		secure := tls.Client(conn, c)
		if err = secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
		}
		conn = secure
	}
	if proxy := new(outbound.Failure); errors.As(err, &proxy) {
		f.Is, f.What, f.Do = Bad, fmt.Sprintf("no connection to %s: the proxy %s %s", address, proxy.Proxy, proxy.What), proxy.Remedy+"; then: weir provider test "+p.ID
		return f
	}
	if err != nil {
		f.Is, f.What, f.Do = Bad, fmt.Sprintf("no connection to %s: %v", address, err), "check base_url, ca_file, DNS and the firewall; then: weir provider test "+p.ID
		return f
	}
	_ = conn.Close()
	f.Is, f.What = Good, fmt.Sprintf("%s answers in %s", address, time.Since(began).Round(time.Millisecond))
	if way.Through() {
		f.What += ", through " + way.String()
	}
	if p.Key == "" && len(p.Headers) == 0 && u.Scheme == "https" {
		f.Is, f.What, f.Do = Weak, f.What+", but it has no key", "set its api_key, unless it needs none"
	}
	return f
}
