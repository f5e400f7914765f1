// Package mail sends e-mail through an SMTP server, in the background, as text and HTML in English and Russian. It must not know what the links in
// it do.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"weir/internal/loop"
	"weir/internal/person"
)

// The ways to reach an SMTP server.
const (
	StartTLS = "starttls" // begin in plain text, and go on encrypted or not at all
	TLS      = "tls"      // encrypted from the first byte
	Plain    = "none"     // never encrypted: only for a server on this machine
)

// Config is how the server is reached. From is an address such as "Weir <weir@example.org>".
type Config struct {
	Host, Username, Password string
	Port                     int
	Encryption               string
	From                     string
	BaseURL                  func() string  // how people reach the interface, without a slash at its end
	Roots                    *x509.CertPool // nil: the system's; tests have servers of their own
}

const (
	room     = 1000 // mails that wait
	attempts = 5
	timeout  = 30 * time.Second
)

// Sender sends mails one after another. It is a person.Mailer.
type Sender struct {
	cfg   Config
	log   *slog.Logger
	now   func() time.Time
	queue chan letter
	later []letter // that were tried; of the loop alone
	loop  *loop.Loop
}

type letter struct {
	person.Mail
	tried int
	due   time.Time
}

// New makes a Sender. Start begins its work. It fails when From is no address.
func New(c Config, log *slog.Logger, now func() time.Time) (*Sender, error) {
	if err := gomail.NewMsg().From(c.From); err != nil {
		return nil, fmt.Errorf("mail.from: %w", err)
	}
	s := &Sender{cfg: c, log: log, now: now, queue: make(chan letter, room)}
	s.loop = loop.New(loop.UntilWoken, s.round)
	return s, nil
}

// Start begins the work.
func (s *Sender) Start() { s.loop.Start() }

// Stop ends it. Mails that wait are lost: their links can be asked for again.
func (s *Sender) Stop() { s.loop.Stop() }

// Send is person.Mailer.Send.
func (s *Sender) Send(m person.Mail) bool {
	select {
	case s.queue <- letter{Mail: m}:
		s.loop.Wake()
		return true
	default:
		s.log.Error("a mail was dropped: too many wait for the mail server", "kind", string(m.Kind))
		return false
	}
}

// pause is how long a mail waits after a failure. It does not keep others waiting.
func pause(tried int) time.Duration { return time.Duration(1<<(2*tried)) * time.Second } // 4 s, 16 s, 64 s, 256 s

// round sends what waits and what is due again.
func (s *Sender) round(ctx context.Context) time.Duration {
	for again := true; again && ctx.Err() == nil; {
		select {
		case l := <-s.queue:
			s.try(ctx, l)
		default:
			again = s.retry(ctx)
		}
	}
	next := loop.UntilWoken
	for i := range s.later {
		if wait := max(s.later[i].due.Sub(s.now()), time.Millisecond); next == loop.UntilWoken || wait < next {
			next = wait
		}
	}
	return next
}

// retry tries one mail that is due, and reports whether there was one.
func (s *Sender) retry(ctx context.Context) bool {
	for i := range s.later {
		if l := s.later[i]; !s.now().Before(l.due) {
			s.later = slices.Delete(s.later, i, i+1)
			s.try(ctx, l)
			return true
		}
	}
	return false
}

// try sends a mail, or notes when it is tried again. Addresses are not logged.
func (s *Sender) try(ctx context.Context, l letter) {
	err := s.send(ctx, &l.Mail)
	if err == nil || ctx.Err() != nil {
		return
	}
	lasting, what := lasting(err)
	if l.tried++; lasting || l.tried >= attempts || len(s.later) >= room {
		s.log.Error("a mail could not be sent", "kind", string(l.Kind), "attempts", l.tried, "error", what)
		return
	}
	s.log.Warn("a mail was not taken; it is tried again", "kind", string(l.Kind), "error", what)
	l.due = s.now().Add(pause(l.tried))
	s.later = append(s.later, l)
}

// lasting reports whether another attempt is pointless, and what may be logged of an error: the server's status, but not the address.
func lasting(err error) (bool, string) {
	var refused *gomail.SendError
	if !errors.As(err, &refused) {
		return false, err.Error() // no connection
	}
	return refused.ErrorCode() >= 500, fmt.Sprintf("%s (status %d)", refused.Reason, refused.ErrorCode())
}

func (s *Sender) send(ctx context.Context, m *person.Mail) error {
	msg, err := s.compose(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var conn net.Conn // the library leaves it open when the server offers no encryption, or refuses the password
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	options := []gomail.Option{gomail.WithPort(s.cfg.Port), gomail.WithTimeout(timeout), gomail.WithTLSConfig(s.tls()), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err = s.dial(ctx, network, address)
		return conn, err
	})}
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
			gomail.WithUsername(s.cfg.Username), gomail.WithPassword(s.cfg.Password))
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

// compose writes a mail.
func (s *Sender) compose(m *person.Mail) (*gomail.Msg, error) {
	base := s.cfg.BaseURL()
	host := base
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		host = u.Host
	}
	w := wordsOf(m.Kind, m.Locale)
	link := ""
	if m.Link != "" {
		link = base + m.Link
	}
	msg := gomail.NewMsg()
	if err := msg.From(s.cfg.From); err != nil {
		return nil, err
	}
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(strings.ReplaceAll(w.subject, "{host}", host))
	msg.SetMessageID()
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	msg.SetBodyString(gomail.TypeTextPlain, plainText(w, host, link))
	msg.AddAlternativeString(gomail.TypeTextHTML, page(w, host, link))
	return msg, nil
}

func plainText(w words, host, link string) string {
	parts := []string{strings.ReplaceAll(w.text, "{host}", host)}
	if link != "" {
		parts = append(parts, link)
	}
	return strings.Join(append(parts, w.end), "\n\n") + "\n"
}

// page is the same as HTML: no images, no styles from elsewhere, readable without styles.
func page(w words, host, link string) string {
	text := html.EscapeString(strings.ReplaceAll(w.text, "{host}", host))
	button := ""
	if link != "" {
		address := html.EscapeString(link)
		button = `<p style="margin:24px 0"><a href="` + address + `" style="background:#0b6777;color:#ffffff;padding:10px 18px;border-radius:6px;text-decoration:none;display:inline-block">` +
			html.EscapeString(w.button) + `</a></p><p style="font-size:13px;color:#5f6c72;word-break:break-all">` + address + `</p>`
	}
	return `<!doctype html><html lang="` + w.lang + `"><head><meta charset="utf-8"><title>` + html.EscapeString(strings.ReplaceAll(w.subject, "{host}", host)) +
		`</title></head><body style="margin:0;background:#f6f7f7;color:#10191c;font:15px/24px system-ui,-apple-system,Segoe UI,Roboto,sans-serif">` +
		`<div style="max-width:520px;margin:0 auto;padding:32px 24px;background:#ffffff"><p>` + text + `</p>` + button +
		`<p style="font-size:13px;color:#5f6c72">` + html.EscapeString(w.end) + `</p></div></body></html>`
}
