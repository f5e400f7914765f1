package notify

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/webhook"
)

// Config says how a Manager works. Its values are in package config, which has the defaults.
type Config struct {
	Enabled        bool          `yaml:"enabled"`
	Email          []string      `yaml:"email"`                  // causes that are on by mail, until a person switches them
	Webhook        []string      `yaml:"webhook"`                // likewise by webhook
	Threshold      money.Nano    `yaml:"threshold" as:"kopecks"` // of a low balance without a choice of the person's; 0: only the days that it lasts count
	CheckEvery     time.Duration `yaml:"check_every"`
	MailsPerMinute int64         `yaml:"mails_per_minute"`  // of this node
	TestsPerDay    int           `constant:"tests_per_day"` // of an account

	Now    func() time.Time
	Encode func(*Fact) []byte                                               // the data of a webhook's event, JSON
	Report func(what string, account string, cause Cause, n int, err error) // an event that the operator should know about; account and cause may be ""
	Wake   func()                                                           // there is a new delivery in the outbox
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{Enabled: true, Email: CauseNames(), Webhook: CauseNames(), CheckEvery: 5 * time.Minute, MailsPerMinute: 60, TestsPerDay: 5}
}

// pollEvery is the longest pause between looks for accounts to check and mails to send.
const pollEvery = 5 * time.Second

func (c *Config) poll() time.Duration { return min(pollEvery, c.CheckEvery) }

// Recipient is who gets the mails of an account.
type Recipient struct {
	auth.Person
	Role apikey.OrgRole // in the organization; "": the account is their own
}

// switches reports whether a link in the mail may switch the cause off, as the settings of the account are theirs.
func (r *Recipient) switches() bool { return r.Role == "" || r.Role == apikey.OrgOwner }

// People knows addresses.
type People interface {
	// RecipientsOf are who get the mails of an account, those alone who have a confirmed address and may sign in: its person, or the owners and billing people of
	// an organization, by id, at most MostRecipients.
	RecipientsOf(ctx context.Context, account string) ([]Recipient, error)
	PersonOf(ctx context.Context, user string) (auth.Person, error)
}

// MostRecipients is how many people of an organization get its mails.
const MostRecipients = 50

// Mailer sends mails.
type Mailer interface {
	// Deliver makes one attempt to send a mail. It fails with fault.Unprocessable when another is pointless. Its errors have no address.
	Deliver(ctx context.Context, m *Mail) error
	// SendTest takes a mail to be sent in the background, and reports whether there was room for it.
	SendTest(m *Mail) bool
}

// Manager keeps what accounts chose, and makes links that switch a cause off. It is safe for concurrent use.
type Manager struct {
	store  Store
	people People
	mail   Mailer // nil: no mail is sent
	cfg    Config
	usual  Choices // without a choice of the person's

	mu  sync.Mutex
	key []byte // of links; nil: not read yet
}

// NewManager makes a Manager. mail may be nil.
func NewManager(s Store, p People, mail Mailer, c Config) *Manager {
	return &Manager{store: s, people: p, mail: mail, cfg: c, usual: NewChoices(causes(c.Email), causes(c.Webhook))}
}

// View is what the page of the settings shows.
type View struct {
	Threshold money.Nano
	Webhook   string
	Tags      []string
	On        Choices // what holds
	Mail      bool    // this gateway sends mails
	Address   string  // of the person, "" none
	Confirmed bool    // mails go only to a confirmed address
}

// Settings is what holds for an account.
func (m *Manager) Settings(ctx context.Context, account string) (v View, err error) {
	s, err := m.store.NotifySettings(ctx, account)
	if err != nil {
		return v, err
	}
	p, err := m.people.PersonOf(ctx, account)
	if err != nil {
		return v, err
	}
	v = View{Threshold: m.threshold(&s), Webhook: s.Webhook, Tags: s.Tags, On: m.usual.With(s.Own), Mail: m.mail != nil, Address: p.Email, Confirmed: p.Confirmed}
	if p.Email == "" { // an organization has the addresses of its people
		to, err := m.people.RecipientsOf(ctx, account)
		if err != nil {
			return v, err
		}
		addresses := make([]string, len(to))
		for i := range to {
			addresses[i] = to[i].Email
		}
		v.Address, v.Confirmed = strings.Join(addresses, ", "), len(to) > 0
	}
	return v, nil
}

func (m *Manager) threshold(s *Settings) money.Nano {
	if s.ThresholdSet {
		return s.Threshold
	}
	return m.cfg.Threshold
}

// Chosen is the low balance that holds for an account, and the tags that it has watched by themselves.
func (m *Manager) Chosen(ctx context.Context, account string) (threshold money.Nano, tags []string, err error) {
	s, err := m.store.NotifySettings(ctx, account)
	return m.threshold(&s), s.Tags, err
}

// Change is what a person changes; nil stays as it is.
type Change struct {
	Threshold *money.Nano
	Webhook   *string // checked by the rules for addresses
	Tags      *[]string
	Switches  Choices
}

// maxThreshold keeps sums far from an overflow.
const maxThreshold money.Nano = 1_000_000_000 * money.Ruble

// Save changes the settings of an account. It fails with fault.Invalid.
func (m *Manager) Save(ctx context.Context, account string, c Change, by audit.Actor) error {
	if c.Threshold != nil && (*c.Threshold < 0 || *c.Threshold > maxThreshold) {
		return fault.Field("notify.Save", "threshold", "threshold must be from 0 to %s rubles.", maxThreshold).Coded("threshold_range", "most", maxThreshold)
	}
	if c.Tags != nil {
		if why := WrongTags(*c.Tags); why != "" {
			return fault.Field("notify.Save", "watched_tags", "watched_tags must be at most %d different tags, such as project=atlas, or names for each of their values; %s.", MostTags, why).Coded("watched_tags", "most", MostTags)
		}
	}
	return m.store.SaveNotifySettings(ctx, account, m.cfg.Now(), func(s *Settings) (e audit.Event, err error) {
		was := *s
		c.over(s)
		if s.Threshold == was.Threshold && s.ThresholdSet == was.ThresholdSet && s.Webhook == was.Webhook && slices.Equal(s.Tags, was.Tags) && len(s.Own) == 0 {
			return e, nil
		}
		return audit.Event{Actor: by, Action: audit.NoticesChanged, Target: account, Before: was.words(nil), After: s.words(&was)}, nil
	})
}

// over lays a change over settings, of whose switches those are left that change.
func (c *Change) over(s *Settings) {
	was := s.Own
	if c.Threshold != nil {
		s.Threshold, s.ThresholdSet = *c.Threshold, true
	}
	if c.Webhook != nil {
		s.Webhook = *c.Webhook
	}
	if c.Tags != nil {
		s.Tags = *c.Tags
	}
	s.Own = Choices{}
	for cause, of := range c.Switches {
		for by, on := range of {
			if is, said := was[cause][by]; said && is == on {
				continue
			}
			if s.Own[cause] == nil {
				s.Own[cause] = map[Channel]bool{}
			}
			s.Own[cause][by] = on
		}
	}
}

// words are the threshold, what became of the address, the tags, and the switches that are set, for the audit log. The address itself may be a secret.
func (s *Settings) words(was *Settings) string {
	var all []string
	if s.ThresholdSet {
		all = append(all, "threshold "+s.Threshold.String())
	}
	switch {
	case s.Webhook == "":
	case was != nil && was.Webhook != "" && was.Webhook != s.Webhook:
		all = append(all, "another webhook")
	default:
		all = append(all, "a webhook")
	}
	if len(s.Tags) > 0 {
		all = append(all, "tags "+strings.Join(s.Tags, " "))
	}
	if was == nil {
		return strings.Join(all, ", ")
	}
	for _, cause := range Causes {
		for _, by := range Channels {
			if on, said := s.Own[cause][by]; said {
				to := " off"
				if on {
					to = " on"
				}
				all = append(all, string(cause)+" "+string(by)+to)
			}
		}
	}
	return strings.Join(all, ", ")
}

// Tested says where a test went.
type Tested struct{ Mail, Webhook bool }

// Test sends a test to each channel that an account has. It fails with fault.RateLimited when the account had enough tests today, and with
// fault.Conflict when there is nowhere to send one.
func (m *Manager) Test(ctx context.Context, account string) (t Tested, err error) {
	const op = "notify.Test"
	s, err := m.store.NotifySettings(ctx, account)
	if err != nil {
		return t, err
	}
	to, err := m.people.RecipientsOf(ctx, account)
	if err != nil {
		return t, err
	}
	mail := m.mail != nil && len(to) > 0
	if !mail && s.Webhook == "" {
		return t, fault.New(fault.Conflict, op, "There is nowhere to send a test: this account has no confirmed e-mail address and no webhook.")
	}
	now := m.cfg.Now()
	room, err := m.store.TakeNoticeTest(ctx, account, now.UTC().Format(time.DateOnly), m.cfg.TestsPerDay)
	if err != nil {
		return t, err
	}
	if !room {
		wait := now.UTC().Truncate(aDay).Add(aDay).Sub(now)
		return t, &fault.Error{Kind: fault.RateLimited, Op: op, Public: "This account has sent all its tests of today. Try again tomorrow.", RetryAfter: wait}
	}
	id := "ntf-" + randomID()
	for i := range to {
		if mail {
			t.Mail = m.mail.SendTest(&Mail{ID: id, To: to[i].Email, Locale: to[i].Language}) || t.Mail
		}
	}
	if s.Webhook != "" {
		f := Fact{Kind: TestNotice, Days: -1}
		if err := m.store.AddDelivery(ctx, webhook.NewDelivery(id, account, s.Webhook, eventOf(f.Kind), m.cfg.Encode(&f), now)); err != nil {
			return t, err
		}
		t.Webhook = true
		m.cfg.Wake()
	}
	return t, nil
}

// eventOf is the type of a webhook's event.
func eventOf(k Kind) string { return "notification." + string(k) }

func randomID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}

// signingKey is the key of links. All nodes of a store have the same.
func (m *Manager) signingKey(ctx context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != nil {
		return m.key, nil
	}
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh)
	key, err := m.store.NoticeKey(ctx, fresh)
	if err == nil {
		m.key = key
	}
	return key, err
}

func sign(key []byte, account string, cause Cause) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("unsubscribe\n" + account + "\n" + string(cause)))
	return mac.Sum(nil)[:24]
}

var tokens = base64.RawURLEncoding

// Token is the text that switches the mails of one cause off, and does nothing else. It does not expire: mails are read late.
func (m *Manager) Token(ctx context.Context, account string, cause Cause) (string, error) {
	key, err := m.signingKey(ctx)
	if err != nil {
		return "", err
	}
	return tokenOf(key, account, cause), nil
}

func tokenOf(key []byte, account string, cause Cause) string {
	return tokens.EncodeToString([]byte(account+"\n"+string(cause))) + "." + tokens.EncodeToString(sign(key, account, cause))
}

const longestToken = 300 // bytes

// CauseOf reads a token. It fails with fault.NotFound for whatever this gateway has not made.
func (m *Manager) CauseOf(ctx context.Context, token string) (account string, cause Cause, err error) {
	unknown := fault.New(fault.NotFound, "notify.CauseOf", "This link is not valid. Change what is sent on the page of the settings.")
	first, _, _ := strings.Cut(token, ".")
	named, err := tokens.DecodeString(first)
	if len(token) > longestToken || err != nil {
		return "", "", unknown
	}
	at := strings.LastIndexByte(string(named), '\n')
	if at < 0 {
		return "", "", unknown
	}
	account, name := string(named[:at]), string(named[at+1:])
	key, err := m.signingKey(ctx)
	if err != nil {
		return "", "", err
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(tokenOf(key, account, Cause(name)))) != 1 { // as a whole: base64 has more than one text for the same bytes
		return "", "", unknown
	}
	cause, err = ParseCause("token", name)
	if err != nil {
		return "", "", unknown // of a cause that a later version had
	}
	return account, cause, nil
}

// Unsubscribe switches the mails of the token's cause off. It may be repeated.
func (m *Manager) Unsubscribe(ctx context.Context, token string) (Cause, error) {
	account, cause, err := m.CauseOf(ctx, token)
	if err != nil {
		return "", err
	}
	return cause, m.store.SwitchNotice(ctx, account, cause, Email, false, m.cfg.Now(),
		audit.Event{Actor: audit.Actor{Name: "link in a mail"}, Action: audit.NoticesChanged, Target: account, After: string(cause) + " email off"})
}
