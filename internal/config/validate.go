package config

import (
	"fmt"
	"math/big"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/update"
	"weir/internal/fault"
	"weir/internal/mail"
	"weir/internal/money"
	"weir/internal/oidc"
	"weir/internal/organization"
	"weir/internal/outbound"
	"weir/internal/rate"
)

// leastRetention is longer than any batch runs, and any usual failure of a node whose calls then come late.
const leastRetention = 7 * 24 * time.Hour

// dialects are the wires that declared providers may use.
var dialects = catalog.Dialects()

// checker collects errors, each with the position of the value.
type checker struct {
	c      *Config
	errs   []error
	unread []string // paths that could not be read: their values are defaults, of which nothing is said
	failed []string // paths of which something was wrong
}

func (k *checker) fail(path, format string, args ...any) {
	err := fmt.Errorf(path+": "+format, args...)
	k.failed = append(k.failed, path)
	if slices.ContainsFunc(k.unread, func(other string) bool { return follows(path, err.Error(), other) }) {
		return
	}
	if at := k.c.places.of(path); at != "" {
		err = fmt.Errorf("%s: %w", at, err)
	}
	k.errs = append(k.errs, err)
}

// follows reports whether an error at a path may only be there because something else could not be read: that is in the same place, or the error
// compares with it.
func follows(path, message, unread string) bool {
	if within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}; within(path, unread) || within(unread, path) {
		return true
	}
	section, name := unread[:max(strings.LastIndexByte(unread, '.'), 0)], unread[strings.LastIndexByte(unread, '.')+1:]
	if !strings.Contains(name, "_") && !strings.HasPrefix(path, section+".") { // a word such as id is in many messages
		return false
	}
	words := strings.FieldsFunc(message, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.Contains(words, name)
}

// Validate checks rules over several values, and the declared catalog. It joins the errors that it finds, at most thirty.
func (c *Config) Validate() error {
	k := checker{c: c}
	k.values()
	return joined(k.errs)
}

func (k *checker) values() {
	c := k.c
	k.server()
	k.durations()
	k.oneOf("upstream.http_client", c.Upstream.HTTPClient, "own", "standard")
	for i, entry := range c.Upstream.NoProxy {
		if err := outbound.CheckException(entry); err != nil {
			k.fail("upstream.no_proxy["+strconv.Itoa(i)+"]", "%w", err)
		}
	}
	k.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	k.oneOf("pricing.rate_source", c.Pricing.RateSource, rate.Static, rate.CBR)
	if _, err := c.Pricing.Band(); err != nil {
		k.fail("pricing.cbr_lowest", "it must be rubles per dollar above 0, and below cbr_highest")
	}
	if err := rate.CheckURL(c.Pricing.CBRURL); err != nil {
		k.fail("pricing.cbr_url", "%w", err)
	}
	if c.DataDir == "" {
		k.fail("data_dir", "it must name a folder")
	}
	if scheme := c.Store.DSN.scheme(); scheme != "" && !c.Store.DSN.Postgres() {
		k.fail("store.dsn", "the store %q is not supported; write postgres://user:password@host/database, the path of a SQLite file, or nothing", scheme)
	}
	if r := c.Store.Retention; r != 0 && r < leastRetention {
		k.fail("store.retention", "it must be at least %s, or 0s to keep all calls", leastRetention)
	}
	k.positive("relay.max_attempts", int64(c.Relay.MaxAttempts))
	k.positive("relay.max_in_flight_per_endpoint", c.Relay.MaxInFlight)
	k.positive("relay.slice_tokens", c.Relay.SliceTokens)
	k.shaping()
	if wrong := k.c.Keys.Problem(); wrong != "" {
		k.fail("keys.max_per_user", wrong)
	}
	k.positive("idempotency.keep_for", int64(c.Idempotency.KeepFor))
	k.positive("idempotency.max_bytes_per_user", c.Idempotency.Bounds.Bytes)
	if c.Responses.KeepFor < 0 {
		k.fail("responses.retention", "must not be negative")
	}
	k.positive("responses.max_bytes_per_user", c.Responses.Bounds.Bytes)
	k.positive("responses.max_background_per_user", int64(c.Responses.MaxRuns))
	k.signIn()
	k.fetch()
	k.video()
	k.batch()
	if longest := max(c.Upstream.FirstByte, c.Upstream.StreamFirstByte); c.Relay.AttemptBudget <= longest {
		k.fail("relay.attempt_budget", "it must be longer than upstream.first_byte_timeout and stream_first_byte_timeout (%s), or no other provider is asked after one that is silent", longest)
	}
	if len(c.Pricing.Version) > maxVersion {
		k.fail("pricing.version", "must have at most %d bytes", maxVersion)
	}
	if _, err := money.NewRate(string(c.Pricing.RubPerUSD), string(c.Pricing.Margin)); err != nil {
		k.fail("pricing.rub_per_usd", "rub_per_usd must be a number above 0 and margin a number of 0 or more")
	}
	k.oneOf("pricing.vat.mode", c.Pricing.VAT.Mode, rate.NoVAT, rate.Included, rate.OnTop)
	if err := c.Pricing.VAT.Applied().Check(); err != nil {
		k.fail("pricing.vat.percent", "%s", fault.From(err).Public)
	}
	k.priceLists()
	k.payments()
	k.invoices()
	k.notify()
	k.ownKeys()
	k.tracing()
	for _, id := range c.Builtin.Only {
		if _, known := builtin.Named(id); !known {
			k.fail("builtin", "there is no built-in provider %q%s", id, suggestion(id, builtinIDs()))
		}
	}
	k.catalog()
}

func (k *checker) signIn() {
	s, m := &k.c.SignIn, &k.c.Mail
	k.oneOf("sign_in.sign_up", string(s.SignUp), string(auth.Closed), string(auth.ByInvite), string(auth.Open))
	k.positive("sign_in.session_idle", int64(s.Idle))
	if s.Longest < s.Idle {
		k.fail("sign_in.session_max", "it must be at least session_idle (%s)", s.Idle)
	}
	for i, a := range s.ClaudeCodes {
		at := fmt.Sprintf("sign_in.claude_code_settings_for[%d]", i)
		if a.File == "" {
			k.fail(at+".file", "it is missing")
		}
		if len(a.Who) == 0 {
			k.fail(at+".who", "it is missing: write addresses, @ and a domain, ids of users, or role: and a role")
		}
		for _, who := range a.Who {
			role, isRole := strings.CutPrefix(who, "role:")
			switch {
			case isRole && role != string(apikey.User) && !apikey.Role(role).Operates():
				k.fail(at+".who", "%q is not a role; the roles are user, operator and administrator", role)
			case !isRole && !strings.HasPrefix(who, "usr_") && !strings.Contains(who, "@"):
				k.fail(at+".who", "%q is nobody; write an address, @ and a domain, the id of a user, or role: and a role", who)
			}
		}
	}
	k.signInProviders()
	k.organizations()
	k.oneOf("mail.encryption", m.Encryption, mail.StartTLS, mail.TLS, mail.Plain)
	if m.Port < 1 || m.Port > 65535 {
		k.fail("mail.port", "it must be a port, from 1 to 65535")
	}
	switch {
	case m.Host == "":
		if s.SignUp == auth.Open {
			k.fail("sign_in.sign_up", "open sign-up needs mail.host: without mail nobody shows that an address is theirs, and anybody could make accounts without end")
		}
		return
	case strings.ContainsAny(m.Host, ":/ "):
		k.fail("mail.host", "%q is not a host; write a name such as smtp.example.org, and the port in mail.port", m.Host)
	case m.Encryption == mail.Plain && m.Host != "localhost" && m.Host != "127.0.0.1" && m.Host != "::1":
		k.fail("mail.encryption", "only a mail server on this machine can be used without encryption: links in mails let people in")
	}
	if _, err := netmail.ParseAddress(m.From); err != nil {
		k.fail("mail.from", "%q is not an address; write one such as \"Weir <weir@example.org>\"", m.From)
	}
	if k.c.Server.PublicURL == "" {
		k.fail("server.public_url", "mails contain links, so the gateway must know its address; write it, such as https://weir.example.org")
	}
}

// organizations checks what directories may do.
func (k *checker) organizations() {
	seen := map[string]bool{}
	for i := range k.c.Orgs {
		g, at := &k.c.Orgs[i], fmt.Sprintf("organizations[%d]", i)
		if !strings.HasPrefix(g.ID, organization.Prefix) {
			k.fail(at+".id", "%q is no id of an organization; write it, as org_... in the address of its page", g.ID)
		}
		if seen[g.ID] {
			k.fail(at+".id", "%q is there already", g.ID)
		}
		seen[g.ID] = true
		k.domains(at+".domains", g.Domains)
		if g.Provider != "" {
			j := slices.IndexFunc(k.c.SignIn.Providers, func(p oidc.Provider) bool { return p.ID == g.Provider })
			switch {
			case j < 0:
				k.fail(at+".provider", "%q is no id in sign_in.providers", g.Provider)
			case k.c.SignIn.Providers[j].GroupsClaim == "":
				k.fail(at+".provider", "%q says no groups: set its groups_claim, such as groups", g.Provider)
			case len(g.Groups) == 0:
				k.fail(at+".groups", "it is missing: nobody would be put into the organization")
			}
		}
		groups := map[string]bool{}
		for j, r := range g.Groups {
			at := fmt.Sprintf("%s.groups[%d]", at, j)
			if r.Group == "" || groups[r.Group] {
				k.fail(at+".group", "%q must be the name of a group that no other rule has", r.Group)
			}
			groups[r.Group] = true
			if r.Role != "" && !slices.Contains(apikey.OrgRoles(), r.Role) {
				k.fail(at+".role", "%q is not a role; the roles are owner, manager, member and billing", r.Role)
			}
			if r.Team != "" && organization.CheckName(r.Team) != nil {
				k.fail(at+".team", "%q is no name of a team: 1 to 256 bytes that do not begin as an id does", r.Team)
			}
		}
	}
}

// domains checks domains of addresses, and writes them in small letters.
func (k *checker) domains(at string, all []string) {
	for n, d := range all {
		if d = strings.ToLower(d); !strings.Contains(d, ".") || strings.ContainsAny(d, "@ /") {
			k.fail(at, "%q is no domain; write one such as example.org", d)
		}
		all[n] = d
	}
}

func (k *checker) signInProviders() {
	all := k.c.SignIn.Providers
	for i := range all {
		p, at := &all[i], fmt.Sprintf("sign_in.providers[%d]", i)
		if p.ID == "" || len(p.ID) > 32 || strings.Trim(p.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			k.fail(at+".id", "%q must be 1 to 32 small letters, digits and hyphens, such as google", p.ID)
		}
		if p.Name == "" {
			p.Name = p.ID
		}
		if len(p.Name) > 64 {
			k.fail(at+".name", "it must have at most 64 bytes")
		}
		for j := range i {
			if all[j].ID == p.ID {
				k.fail(at+".id", "%q is the id of another provider already", p.ID)
			}
			if all[j].Issuer == p.Issuer {
				k.fail(at+".issuer", "%s is another provider's already", p.Issuer)
			}
		}
		k.issuer(at+".issuer", p.Issuer)
		if p.ClientID == "" {
			k.fail(at+".client_id", "it is missing: the provider gives one to who registers this gateway there")
		}
		if p.Scopes == nil {
			p.Scopes = []string{"email", "profile"}
		}
		if p.EmailClaim == "" {
			p.EmailClaim = "email"
		}
		if len(p.EmailClaim) > 64 || strings.ContainsAny(p.EmailClaim, " \t\"") {
			k.fail(at+".email_claim", "%q is no name of a claim; write one such as email or preferred_username", p.EmailClaim)
		}
		k.domains(at+".domains", p.Domains)
	}
	if len(all) > 20 {
		k.fail("sign_in.providers", "there may be 20 providers")
	}
}

// issuer checks the address of a sign-in provider. Only one on this machine may do without TLS.
func (k *checker) issuer(at, address string) {
	u, err := url.Parse(address)
	local := err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		k.fail(at, "%q must be the provider's https address, such as https://accounts.google.com", address)
	}
}

func (k *checker) payments() {
	p := &k.c.Payments
	k.oneOf("payments.provider", p.Provider, "", "yookassa")
	if p.Min <= 0 || p.Max < p.Min {
		k.fail("payments.max", "payments must be from min, above 0, to max, at least min")
	}
	for i, n := range p.Amounts {
		if n < p.Min || n > p.Max {
			k.fail(fmt.Sprintf("payments.amounts[%d]", i), "it must be from min to max")
		}
	}
	if p.Auto.MaxCap < p.Min {
		k.fail("payments.auto_top_up.max_monthly_cap", "it must be at least min")
	}
	y := &p.YooKassa
	if _, err := Networks(y.NotifyFrom); err != nil {
		k.fail("payments.yookassa.notify_from", "%s", err)
	}
	if r := &y.Receipt; r.VATCode < 1 || r.VATCode > 12 || r.TaxSystem < 0 || r.TaxSystem > 6 {
		k.fail("payments.yookassa.receipt", "vat_code must be from 1 to 12, and tax_system from 1 to 6, or 0 for the shop's own; see the provider's list")
	} else if r.Send && (r.Description == "" || r.PaymentSubject == "" || r.PaymentMode == "") {
		k.fail("payments.yookassa.receipt", "a receipt needs description, payment_subject and payment_mode")
	}
	if p.Provider == "" {
		return
	}
	if err := rate.CheckURL(y.BaseURL); err != nil {
		k.fail("payments.yookassa.base_url", "%w", err)
	}
	if y.ShopID == "" || y.SecretKey.Reveal() == "" {
		k.fail("payments.yookassa.shop_id", "payments need shop_id and secret_key; write the latter as env:NAME or file:PATH")
	}
	if strings.HasPrefix(y.SecretKey.Reveal(), "test_") && !y.Test {
		k.fail("payments.yookassa.test", "the secret key is of a test shop, whose payments are play money; set test: true to credit it, or use the key of the real shop")
	}
	if k.c.Server.PublicURL == "" {
		k.fail("server.public_url", "payers come back from the provider's pages, so the gateway must know its address; write it, such as https://weir.example.org")
	}
}

func (k *checker) rubles(path string, d Decimal) money.Nano {
	n, err := money.Parse(string(d))
	if err != nil || n < 0 || n%(money.Ruble/100) != 0 || n > 1_000_000_000*money.Ruble {
		k.fail(path, "it must be rubles with at most two decimals, such as \"500\"")
	}
	return n
}

func (k *checker) priceLists() {
	p := &k.c.PriceLists
	k.oneOf("price_lists.publish", p.Publish, update.Rising, update.ByHand, update.WithinBounds, update.Off)
	for path, d := range map[string]string{"max_drop": p.Drop, "max_rise": p.Rise} {
		if x := update.Fraction(d); x.Sign() < 0 || path != "max_rise" && x.Cmp(big.NewRat(1, 1)) > 0 {
			k.fail("price_lists."+path, "it must be a fraction of the price: \"0.2\" is a fifth")
		}
	}
	if p.Every != 0 && p.Every < minUpdate {
		k.fail("price_lists.every", "it must be 0 for updates by hand, or at least %s: the lists are free, and change about once a day", minUpdate)
	}
	for path, text := range map[string]string{"models_dev_url": p.ModelsDev, "litellm_url": p.LiteLLM, "portkey_url": strings.ReplaceAll(p.Portkey, "{file}", "file"), "genai_prices_url": p.GenAIPrices} {
		if err := rate.CheckURL(text); err != nil {
			k.fail("price_lists."+path, "%w", err)
		}
	}
	if !strings.Contains(p.Portkey, "{file}") {
		k.fail("price_lists.portkey_url", "it must contain {file}, which stands for the name of a provider's file")
	}
}

// minUpdate is how often price lists may be fetched.
const minUpdate = 15 * time.Minute

func builtinIDs() []string {
	var ids []string
	for _, p := range builtin.Providers() {
		ids = append(ids, p.ID)
	}
	return ids
}

func (k *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		k.fail(path, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

func (k *checker) positive(path string, n int64) {
	if n <= 0 {
		k.fail(path, "it must be above 0")
	}
}

// tls checks where the certificate comes from. With names from an authority the first one is where clients find the node, unless public_url says
// otherwise.
func (k *checker) tls() {
	s := &k.c.Server
	t := &s.TLS
	files, auto := t.CertFile != "" || t.KeyFile != "", len(t.ACME.Domains) > 0
	switch {
	case files && auto:
		k.fail("server.tls.acme.domains", "a certificate comes from cert_file or from an authority, not from both: leave one out")
	case files && t.CertFile == "":
		k.fail("server.tls.cert_file", "it must name the certificate of key_file")
	case files && t.KeyFile == "":
		k.fail("server.tls.key_file", "it must name the key of cert_file")
	}
	for i, d := range t.ACME.Domains {
		if name, err := asNetWrites(d); err == nil {
			d = name // what is no name is refused below
		}
		if !isHost(d) || !strings.Contains(d, ".") || strings.Contains(d, "_") {
			k.fail(fmt.Sprintf("server.tls.acme.domains[%d]", i), "%q is not a name that an authority gives certificates for; write one like weir.example.com", d)
		}
		t.ACME.Domains[i] = strings.ToLower(d)
	}
	if u, err := url.Parse(t.ACME.DirectoryURL); err != nil || u.Scheme != "https" || u.Host == "" {
		k.fail("server.tls.acme.directory_url", "it must be an https:// address")
	}
	if e := t.ACME.Email; e != "" {
		if a, err := netmail.ParseAddress(e); err != nil || a.Address != e {
			k.fail("server.tls.acme.email", "%q is not an e-mail address", e)
		}
	}
	if _, err := t.ACME.Roots(); err != nil {
		k.fail("server.tls.acme.ca_file", "%w", err)
	}
	if auto && s.PublicURL == "" {
		s.PublicURL = "https://" + t.ACME.Domains[0]
	}
	if t.RedirectListen == "" {
		return
	}
	k.address("server.tls.redirect_listen", t.RedirectListen)
	switch {
	case !t.On():
		k.fail("server.tls.redirect_listen", "there is no https:// address to redirect to: set cert_file and key_file, or acme.domains")
	case !strings.HasPrefix(s.PublicURL, "https://"):
		k.fail("server.public_url", "redirect_listen redirects to it: it must be the https:// address of this node")
	}
}

func (k *checker) server() {
	s := &k.c.Server
	k.address("server.listen", s.Listen)
	k.tls()
	if s.PublicURL = strings.TrimRight(s.PublicURL, "/"); s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			k.fail("server.public_url", "it must be an address like https://api.example.com, without credentials, query and fragment")
		} else if u.Path != "" {
			k.fail("server.public_url", "it must have no path (%s): pages, cookies and the API begin at the root; give the gateway a host name of its own, such as https://weir.example.com", clip(u.Path))
		} else if host, err := asNetWrites(u.Host); err != nil {
			k.fail("server.public_url", "%q is no name of a host: %w", clip(u.Host), err)
		} else if host != u.Host {
			s.PublicURL = u.Scheme + "://" + host
		}
	}
	if v := s.ModerationVendor; v == "" || strings.ContainsAny(v, "/ ") {
		k.fail("server.moderation_vendor", "%q is not a vendor: write the first part of a model's name, such as openai", v)
	}
	for _, beta := range s.Betas {
		if name, _, _ := strings.Cut(beta, "="); strings.TrimSpace(name) == "" || strings.ContainsAny(strings.TrimSpace(name), ", *[]") {
			k.fail("server.betas", "%q is not a feature: write feature, or feature=member,tools[].member", beta)
		}
	}
	if s.AdminListen != Off {
		k.address("server.admin_listen", s.AdminListen)
		if s.AdminListen == s.Listen && !strings.HasSuffix(s.Listen, ":0") {
			k.fail("server.admin_listen", "it must differ from listen: metrics and profiles are not for clients")
		}
	}
	if _, err := Networks(s.TrustedProxies); err != nil {
		k.fail("server.trusted_proxies", "%w", err)
	}
	l := &s.Limits
	for _, x := range []struct {
		name string
		n    int64
	}{
		{"max_body_bytes", l.MaxBody}, {"body_budget_bytes", l.BodyBudget},
		{"spool_budget_bytes", l.SpoolBudget},
		{"max_in_flight_requests", l.MaxInFlight},
		{"max_connections", int64(l.MaxConns)}, {"max_connections_per_address", int64(l.MaxConnsByAddress)},
		{"failed_auth_per_minute", int64(l.FailedAuthPerMinute)}, {"user_calls_per_minute", l.UserCallsPerMinute},
		{"max_user_share", l.MaxUserShare}, {"max_streams_per_key", l.MaxStreamsByKey}, {"max_sockets_per_user", l.MaxSocketsByUser},
	} {
		k.positive("server.limits."+x.name, x.n)
	}
	if l.MaxUserShare > 100 {
		k.fail("server.limits.max_user_share", "it is a percentage: at most 100")
	}
	if l.SpoolBudget < largestUpload {
		k.fail("server.limits.spool_budget_bytes", "it is less than %d bytes, so that the largest recording could never be taken", largestUpload)
	}
	if l.BodyBudget < l.MaxBody {
		k.fail("server.limits.body_budget_bytes", "it is less than max_body_bytes, so that the largest request could never be served")
	}
}

// largestUpload fits the largest recording that is accepted.
const largestUpload = 27 << 20

func (k *checker) shaping() {
	s := &k.c.Shaping
	if s.Concurrent < 2 {
		k.fail("shaping.max_concurrent", "it must be 2 or more, or one user could keep all others waiting")
	}
	if s.Memory < 64<<20 {
		k.fail("shaping.max_memory_bytes", "it must be 64MiB or more: the file and its text have to fit")
	}
}

func (k *checker) address(path, address string) {
	_, port, err := net.SplitHostPort(address)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || strconv.FormatUint(n, 10) != port {
		k.fail(path, "%q is not an address; write host:port, such as 127.0.0.1:8080 or :8080", address)
	}
}

// Networks are a list of addresses and prefixes. A bare address is a prefix with only that address.
func Networks(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := prefixOf(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func prefixOf(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err == nil {
		return p, nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return p, fmt.Errorf("%q is neither an address nor a prefix such as 10.0.0.0/8", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// durations lists all durations except those that may be zero: shutdown_delay and drain_timeout.
func (k *checker) durations() {
	c := k.c
	for _, x := range []struct {
		path string
		n    int64
	}{
		{"server.timeouts.body_total", int64(c.Server.Timeouts.BodyTotal)}, {"server.timeouts.keep_alive", int64(c.Server.IdleConn)},
		{"ledger.store_for", int64(c.Ledger.StoreFor)}, {"ledger.apply_every", int64(c.Ledger.ApplyEvery)},
		{"upstream.connect_timeout", int64(c.Upstream.Connect)},
		{"upstream.first_byte_timeout", int64(c.Upstream.FirstByte)}, {"upstream.stream_first_byte_timeout", int64(c.Upstream.StreamFirstByte)},
		{"upstream.idle_timeout", int64(c.Upstream.Idle)}, {"upstream.total_timeout", int64(c.Upstream.Total)},
		{"upstream.stream_total_timeout", int64(c.Upstream.StreamTotal)}, {"upstream.max_response_bytes", c.Upstream.Limits.Whole},
		{"stream.keepalive_interval", int64(c.Stream.KeepAliveEvery)},
		{"relay.attempt_budget", int64(c.Relay.AttemptBudget)},
	} {
		k.positive(x.path, x.n)
	}
}

// catalog builds the declared catalog, so that errors in it are found before it is used.
func (k *checker) catalog() {
	d := declaring{checker: k}
	d.all()
	if slices.ContainsFunc(k.unread, func(path string) bool {
		return path == "" || path == "models" || strings.HasPrefix(path, "models[") && (strings.HasSuffix(path, "]") || strings.HasSuffix(path, ".id"))
	}) {
		return // it is not known of which type the models are that the offers name
	}
	// The whole is built of what is right in itself, so that nothing is said of it twice.
	d.out.Offers = slices.DeleteFunc(d.out.Offers, func(o catalog.Offer) bool { return slices.Contains(d.unclear, o.Model) })
	_, err := catalog.Build(d.out)
	k.errs = append(k.errs, listed(err)...)
}

// broken reports whether anything in a part of the configuration is wrong or could not be read.
func (k *checker) broken(part string) bool {
	in := func(path string) bool {
		rest, ok := strings.CutPrefix(path, part)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(k.failed, in) || slices.ContainsFunc(k.unread, in)
}

// StorePath returns the path of the SQLite file, unless the DSN names another database.
func (c *Config) StorePath() string {
	if c.Store.DSN == "" {
		return filepath.Join(c.DataDir, "weir.db")
	}
	return c.Store.DSN.Reveal()
}

// asNetWrites is a host with letters of other alphabets in the form in which browsers send it: шлюз.рф becomes xn--g1ah2bza.xn--p1ai. Of any other
// it changes nothing.
func asNetWrites(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return host, nil
	}
	name, port, found := strings.Cut(host, ":")
	name, err := idna.Lookup.ToASCII(name)
	if found {
		name += ":" + port
	}
	return name, err
}
