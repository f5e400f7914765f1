// Package mail sends e-mail through an SMTP server, in the background, as text and HTML in English and Russian. It must not know what the links in
// it do.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"weir/internal/alert"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/notify"
	"weir/internal/secret"
)

// The ways to reach an SMTP server.
const (
	StartTLS = "starttls" // begin in plain text, and go on encrypted or not at all
	TLS      = "tls"      // encrypted from the first byte
	Plain    = "none"     // never encrypted: only for a server on this machine
)

// Config is how the server is reached. From is an address such as "Weir <weir@example.org>".
type Config struct {
	Host       string      `yaml:"host"` // "": no mail is sent
	Port       int         `yaml:"port"`
	Encryption string      `yaml:"encryption"` // StartTLS, TLS, Plain
	Username   string      `yaml:"username"`
	Password   secret.Text `yaml:"password"`
	From       string      `yaml:"from"`

	BaseURL func() string  // how people reach the interface, without a slash at its end
	Roots   *x509.CertPool // nil: the system's; tests have servers of their own
}

// Default is the configuration of a server without a name.
func Default() Config { return Config{Port: 587, Encryption: StartTLS} }

const (
	room     = 1000 // mails that wait in one lane
	attempts = 5
	timeout  = 30 * time.Second
)

// Sender sends mails one after another. It is a person.Mailer.
type Sender struct {
	cfg   Config
	log   *slog.Logger
	now   func() time.Time
	lanes [2]lane // the first goes first
	loop  *loop.Loop
}

// lane is a queue with room of its own, so that mails of one kind do not take that of others.
type lane struct {
	queue chan letter
	later []letter // that were tried; of the loop alone
}

// The lanes. Anybody can have mails sent to addresses that have no account, and must not keep a lost password from its owner with them.
const (
	toAccounts = iota
	toStrangers
)

// strangers are the kinds of mails that go to whatever address somebody has written down.
var strangers = []auth.MailKind{auth.MailConfirm, auth.MailExists, auth.MailMove, auth.MailTaken}

type letter struct {
	post
	tried int
	due   time.Time
}

// New makes a Sender. Start begins its work. It fails when From is no address.
func New(c Config, log *slog.Logger, now func() time.Time) (*Sender, error) {
	c.From, c.Host = asciiAddress(c.From), ascii(c.Host)
	if err := gomail.NewMsg().From(c.From); err != nil {
		return nil, fmt.Errorf("mail.from: %w", err)
	}
	s := &Sender{cfg: c, log: log, now: now}
	for i := range s.lanes {
		s.lanes[i].queue = make(chan letter, room)
	}
	s.loop = loop.New(loop.UntilWoken, s.round)
	return s, nil
}

// Start begins the work.
func (s *Sender) Start() { s.loop.Start() }

// Stop ends it. Mails that wait are lost: their links can be asked for again.
func (s *Sender) Stop() { s.loop.Stop() }

// Send is person.Mailer.Send.
func (s *Sender) Send(m auth.Mail) bool { return s.enqueue(signInPost(m)) }

// SendTest takes a mail of a notification, and reports whether there was room for it.
func (s *Sender) SendTest(m *notify.Mail) bool { return s.enqueue(noticePost(m)) }

func (s *Sender) enqueue(p post) bool {
	select {
	case s.lanes[p.lane].queue <- letter{post: p}:
		s.loop.Wake()
		return true
	default:
		s.log.Error("a mail was dropped: too many wait for the mail server", "kind", p.kind)
		return false
	}
}

// SendNow makes one attempt to send a mail, apart from the queue, for commands: they end, and say themselves what went wrong.
func (s *Sender) SendNow(ctx context.Context, m auth.Mail) error {
	p := signInPost(m)
	if err := s.send(ctx, &p); err != nil {
		_, what := lasting(err)
		return fault.New(fault.ProviderUnavailable, "mail.SendNow", what)
	}
	return nil
}

// Deliver is notify.Mailer.Deliver: it makes one attempt, apart from the queue.
func (s *Sender) Deliver(ctx context.Context, m *notify.Mail) error {
	p := noticePost(m)
	return delivered("mail.Deliver", s.send(ctx, &p))
}

// delivered says what may be said of a failure, and whether another attempt is pointless.
func delivered(op string, err error) error {
	if err == nil {
		return nil
	}
	over, what := lasting(err)
	kind := fault.ProviderUnavailable
	if over {
		kind = fault.Unprocessable
	}
	return fault.New(kind, op, what)
}

// DeliverAlert makes one attempt to send an operator an alert. It fails with fault.Unprocessable when another is pointless. Its errors have no address.
func (s *Sender) DeliverAlert(ctx context.Context, to, language string, p *alert.Post) error {
	return delivered("mail.DeliverAlert", s.send(ctx, &post{to: to, kind: "alert", id: p.ID, content: func(string, string) *content {
		c := &content{Lang: language, Subject: p.Title, Button: p.Button, Link: p.Link}
		lines := strings.Split(p.Text, "\n")
		c.Lead = lines[0]
		for _, line := range lines[1:] {
			c.Items = append(c.Items, item{Title: strings.TrimPrefix(line, "• ")})
		}
		return c
	}}))
}

// pause is how long a mail waits after a failure. It does not keep others waiting.
func pause(tried int) time.Duration { return time.Duration(1<<(2*tried)) * time.Second } // 4 s, 16 s, 64 s, 256 s

// round sends what waits and what is due again.
func (s *Sender) round(ctx context.Context) time.Duration {
	for again := true; again && ctx.Err() == nil; {
		again = slices.ContainsFunc([]int{toAccounts, toStrangers}, func(i int) bool { return s.next(ctx, &s.lanes[i]) })
	}
	next := loop.UntilWoken
	for i := range s.lanes {
		for _, l := range s.lanes[i].later {
			if wait := max(l.due.Sub(s.now()), time.Millisecond); next == loop.UntilWoken || wait < next {
				next = wait
			}
		}
	}
	return next
}

// next tries one mail of a lane that waits or is due again, and reports whether there was one.
func (s *Sender) next(ctx context.Context, l *lane) bool {
	select {
	case one := <-l.queue:
		s.try(ctx, l, one)
		return true
	default:
	}
	i := slices.IndexFunc(l.later, func(one letter) bool { return !s.now().Before(one.due) })
	if i < 0 {
		return false
	}
	one := l.later[i]
	l.later = slices.Delete(l.later, i, i+1)
	s.try(ctx, l, one)
	return true
}

// try sends a mail, or notes when it is tried again. Addresses are not logged.
func (s *Sender) try(ctx context.Context, in *lane, l letter) {
	err := s.send(ctx, &l.post)
	if err == nil || ctx.Err() != nil {
		return
	}
	lasting, what := lasting(err)
	if l.tried++; lasting || l.tried >= attempts || len(in.later) >= room {
		s.log.Error("a mail could not be sent", "kind", l.kind, "attempts", l.tried, "error", what)
		return
	}
	s.log.Warn("a mail was not taken; it is tried again", "kind", l.kind, "error", what)
	l.due = s.now().Add(pause(l.tried))
	in.later = append(in.later, l)
}

// lasting reports whether another attempt is pointless, and what may be logged of an error: the server's status, but not the address.
func lasting(err error) (bool, string) {
	if fault.Is(err, fault.Unprocessable) {
		return true, err.Error()
	}
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		return false, err.Error() // no connection
	}
	return refused.ErrorCode() >= 500, fmt.Sprintf("%s (status %d)", refused.Reason, refused.ErrorCode())
}

func (s *Sender) send(ctx context.Context, p *post) error {
	msg, err := s.compose(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var conn net.Conn // the library leaves it open when the server offers no encryption, or refuses the password
	sending, quit := ctx, func() bool { return true }
	defer func() {
		if quit(); conn != nil {
			_ = conn.Close()
		}
	}()
	options := []gomail.Option{gomail.WithPort(s.cfg.Port), gomail.WithTimeout(timeout), gomail.WithTLSConfig(s.tls()), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err = s.dial(ctx, network, address)
		if err == nil {
			quit = context.AfterFunc(sending, func() { _ = conn.Close() }) // the library does not look at it between commands
		}
		return conn, err
	})}
	if name := ownName(s.cfg.BaseURL()); name != "" {
		options = append(options, gomail.WithHELO(name))
	}
	switch s.cfg.Encryption {
	case TLS:
		options = append(options, gomail.WithSSL())
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.cfg.Username != "" {
		// The connection is encrypted by now, or to this machine: the library cannot know that of a connection of ours.
		options = append(options, gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc),
			gomail.WithUsername(s.cfg.Username), gomail.WithPassword(s.cfg.Password.Reveal()))
	}
	client, err := gomail.NewClient(s.cfg.Host, options...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, msg)
}

func (s *Sender) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.cfg.Host, RootCAs: s.cfg.Roots}
}

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.cfg.Encryption != TLS {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return (&tls.Dialer{Config: s.tls()}).DialContext(ctx, network, address)
}

// post is a mail before it has words.
type post struct {
	to, kind string // kind is for the log
	lane     int
	id       string // of the message; "" a random one
	stop     string // path that switches mails of its kind off, "" none
	content  func(base, host string) *content
}

func signInPost(m auth.Mail) post {
	lane := toAccounts
	if slices.Contains(strangers, m.Kind) {
		lane = toStrangers
	}
	return post{to: m.To, kind: string(m.Kind), lane: lane, content: func(base, host string) *content { return signInOf(&m, base, host) }}
}

func noticePost(m *notify.Mail) post {
	p := post{to: m.To, kind: cmp.Or(string(m.Cause), string(notify.TestNotice)), id: m.ID, content: func(base, host string) *content { return noticeOf(m, base, host) }}
	if m.Unsubscribe != "" {
		p.stop = "/api/unsubscribe/" + m.Unsubscribe
	}
	return p
}

// compose writes a mail.
func (s *Sender) compose(p *post) (*gomail.Msg, error) {
	base := s.cfg.BaseURL()
	host := base
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		host = u.Host
	}
	c := p.content(base, host)
	msg := gomail.NewMsg()
	if err := msg.From(s.cfg.From); err != nil {
		return nil, err
	}
	if err := msg.To(asciiAddress(p.to)); err != nil {
		return nil, errAddress // and not the address
	}
	msg.Subject(subjectOf(c.Subject))
	msg.SetMessageIDWithValue(cmp.Or(p.id, newID()) + "@" + cmp.Or(ownName(base), "weir"))
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	if p.stop != "" { // RFC 8058
		msg.SetGenHeaderPreformatted("List-Unsubscribe", "<"+base+p.stop+">")
		msg.SetGenHeaderPreformatted("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	if err := msg.SetBodyTextTemplate(textLayout, c); err != nil {
		return nil, err
	}
	return msg, msg.AddAlternativeHTMLTemplate(htmlLayout, c)
}

var errAddress = fault.New(fault.Unprocessable, "mail.compose", "this is no address that a mail can be sent to")
