package mail_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/auth"
	weirfault "weir/internal/fault"
	"weir/internal/mail"
	"weir/internal/notify"
	"weir/internal/secret"
)

// fault is what a connection suffers.
type fault int

const (
	well fault = iota
	cut        // ended in the middle of DATA
	hang       // no word after the mail
	mute       // no word at all
	busy       // 451 after the mail
)

// server is an SMTP server: it takes mails as RFC 5321 says, or refuses them as the test says.
type server struct {
	t    *testing.T
	host string
	port int

	mu       sync.Mutex
	greeted  string  // what the client calls itself
	to       string  // of the last RCPT
	refuse   []int   // statuses of the next RCPT commands; 0 takes it
	faults   []fault // of the next connections
	received chan string
	tried    chan int      // the status of each RCPT
	ended    chan struct{} // a connection has ended
	silent   chan struct{} // a connection hangs
	tls      *tls.Config   // nil: plain text

	authenticated chan string
}

func serve(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &server{t: t, host: "127.0.0.1", port: l.Addr().(*net.TCPAddr).Port, received: make(chan string, 100), tried: make(chan int, 100), ended: make(chan struct{}, 100), silent: make(chan struct{}, 100), authenticated: make(chan string, 100)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(c)
		}
	}()
	return s
}

func (s *server) talk(c net.Conn) {
	defer func() { _ = c.Close(); s.ended <- struct{}{} }()
	s.mu.Lock()
	suffers := well
	if len(s.faults) > 0 {
		suffers, s.faults = s.faults[0], s.faults[1:]
	}
	if s.tls != nil {
		c = tls.Server(c, s.tls)
	}
	s.mu.Unlock()
	r := bufio.NewReader(c)
	if suffers == mute {
		s.silent <- struct{}{}
		_, _ = io.Copy(io.Discard, r)
		return
	}
	say := func(format string, args ...any) { fmt.Fprintf(c, format+"\r\n", args...) }
	say("220 test ESMTP")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " "); verb {
		case "EHLO", "HELO":
			s.mu.Lock()
			_, s.greeted, _ = strings.Cut(strings.TrimSpace(line), " ")
			s.mu.Unlock()
			say("250-test")
			say("250-8BITMIME")
			say("250 AUTH PLAIN")
		case "AUTH":
			_, secret, _ := strings.Cut(strings.TrimSpace(line), "PLAIN ")
			who, _ := base64.StdEncoding.DecodeString(secret)
			s.authenticated <- string(who)
			say("235 welcome")
		case "RCPT":
			s.mu.Lock()
			s.to = strings.TrimSpace(line)
			status := 0
			if len(s.refuse) > 0 {
				status, s.refuse = s.refuse[0], s.refuse[1:]
			}
			s.mu.Unlock()
			s.tried <- status
			if status != 0 {
				say("%d no", status)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				if b.WriteString(strings.TrimPrefix(line, ".")); suffers == cut {
					return
				}
			}
			switch suffers {
			case hang:
				s.silent <- struct{}{}
				_, _ = io.Copy(io.Discard, r)
				return
			case busy:
				say("451 later")
				continue
			}
			say("250 taken")
			s.received <- b.String()
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// sender is a Sender to a server, with a log and a clock of the test's.
func (s *server) sender(edit func(*mail.Config)) (*mail.Sender, *strings.Builder) {
	s.t.Helper()
	c := mail.Config{Host: s.host, Port: s.port, Encryption: mail.Plain, From: "Weir <weir@example.org>", BaseURL: func() string { return "https://weir.example.org" }}
	if edit != nil {
		edit(&c)
	}
	logged := &strings.Builder{}
	m, err := mail.New(c, slog.New(slog.NewTextHandler(&locked{w: logged}, nil)), time.Now)
	if err != nil {
		s.t.Fatal(err)
	}
	m.Start()
	s.t.Cleanup(m.Stop)
	return m, logged
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func got[T any](t *testing.T, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(3 * time.Minute):
		t.Fatal("nothing arrived")
		panic("not reached")
	}
}

// read takes a mail apart: its headers, its text, its HTML.
func read(t *testing.T, raw string) (netmail.Header, string, string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	var texts []string
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if len(texts) != 2 {
		t.Fatalf("%d parts: %s", len(texts), raw)
	}
	return m.Header, texts[0], texts[1]
}

var kinds = []auth.MailKind{auth.MailConfirm, auth.MailExists, auth.MailReset, auth.MailInvited, auth.MailJoin, auth.MailPassword,
	auth.MailMove, auth.MailTaken, auth.MailMoving, auth.MailMoved, auth.MailPasswordRemoved, auth.MailPasskeyAdded, auth.MailPasskeyRemoved, auth.MailIdentityAdded, auth.MailIdentityRemoved, auth.MailSecondStepOn, auth.MailSecondStepOff}

// linked are those with a link.
var linked = []auth.MailKind{auth.MailConfirm, auth.MailExists, auth.MailReset, auth.MailInvited, auth.MailJoin, auth.MailMove, auth.MailMoving, auth.MailMoved}

func linkedKind(k auth.MailKind) bool { return slices.Contains(linked, k) }

// Every kind of mail, in both languages, arrives as text and HTML with its link.
func TestMails(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, _ := s.sender(nil)
	for _, kind := range kinds {
		for _, locale := range []string{"en", "ru"} {
			link := "/x#tok"
			if !slices.Contains(linked, kind) {
				link = ""
			}
			if !m.Send(auth.Mail{To: "anna@example.org", Kind: kind, Link: link, Locale: locale}) {
				t.Fatal("there was no room")
			}
			head, text, html := read(t, got(t, s.received))
			decoded, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject"))
			if err != nil || !strings.Contains(decoded, "weir.example.org") || strings.Contains(decoded+text+html, "{host}") {
				t.Errorf("%s %s: subject %q, %v\n%s", kind, locale, decoded, err, text)
			}
			if head.Get("Auto-Submitted") != "auto-generated" || head.Get("Message-Id") == "" || !strings.Contains(head.Get("To"), "anna@example.org") {
				t.Errorf("%s: %v", kind, head)
			}
			for _, part := range []string{text, html} {
				if link != "" != strings.Contains(part, "https://weir.example.org/x#tok") {
					t.Errorf("%s %s: the link is missing, or there is one too many:\n%s", kind, locale, part)
				}
				if cyrillic := strings.ContainsFunc(part, func(r rune) bool { return r >= 'А' && r <= 'я' }); cyrillic != (locale == "ru") {
					t.Errorf("%s: not in %s:\n%s", kind, locale, part)
				}
			}
			if !strings.Contains(html, `<html lang="`+locale+`">`) || strings.Contains(html, "<img") || strings.Contains(html, "<script") {
				t.Errorf("%s: %s", kind, html)
			}
		}
	}
}

// EHLO and Message-ID have the public host name, and internationalized names are sent as punycode, also in links.
func TestNamesOfTheNet(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ base, from, to, greeted, rcpt, id, link string }{
		{"https://weir.example.org:8443", "Weir <weir@example.org>", "anna@example.org", "weir.example.org", "<anna@example.org>", "@weir.example.org>", "https://weir.example.org:8443"},
		{"https://шлюз.рф", "Шлюз <weir@шлюз.рф>", "anna@почта.рф", "xn--g1ah2bza.xn--p1ai", "<anna@xn--80a1acny.xn--p1ai>", "@xn--g1ah2bza.xn--p1ai>", "https://xn--g1ah2bza.xn--p1ai"},
		{"https://xn--g1ah2bza.xn--p1ai", "weir@xn--g1ah2bza.xn--p1ai", "anna@Почта.РФ", "xn--g1ah2bza.xn--p1ai", "<anna@xn--80a1acny.xn--p1ai>", "@xn--g1ah2bza.xn--p1ai>", "https://xn--g1ah2bza.xn--p1ai"},
		{"http://127.0.0.1:8080", "weir@example.org", "anna@example.org", "", "<anna@example.org>", "@weir>", "http://127.0.0.1:8080"},
	} {
		s := serve(t)
		m, _ := s.sender(func(c *mail.Config) { c.From, c.BaseURL = x.from, func() string { return x.base } })
		if !m.Send(auth.Mail{To: x.to, Kind: auth.MailReset, Link: "/reset#tok", Locale: "ru"}) {
			t.Fatal("there was no room")
		}
		head, text, html := read(t, got(t, s.received))
		if !strings.Contains(html, `href="`+x.link+`/reset#tok"`) || !strings.Contains(html, ">"+x.base+"/reset#tok<") || !strings.Contains(text, x.base+"/reset#tok") {
			t.Errorf("%s: its link is not %s: %s", x.base, x.link, html)
		}
		s.mu.Lock()
		if x.greeted != "" && s.greeted != x.greeted || !strings.Contains(s.to, x.rcpt) || !strings.HasSuffix(head.Get("Message-Id"), x.id) {
			t.Errorf("%s: it calls itself %s, sends to %s, Message-ID %s", x.base, s.greeted, s.to, head.Get("Message-Id"))
		}
		if from := head.Get("From"); strings.ContainsFunc(from, func(r rune) bool { return r > 127 }) {
			t.Errorf("%s: from %s", x.base, from)
		}
		s.mu.Unlock()
	}
}

// A command sends a mail at once and hears what came of it, without the address.
func TestSendNow(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, _ := s.sender(nil)
	invitation := auth.Mail{To: "anna@example.org", Kind: auth.MailInvited, Link: "/invite#tok"}
	if err := m.SendNow(t.Context(), invitation); err != nil {
		t.Fatal(err)
	}
	if _, text, _ := read(t, got(t, s.received)); !strings.Contains(text, "https://weir.example.org/invite#tok") {
		t.Errorf("the link is missing: %s", text)
	}
	s.mu.Lock()
	s.refuse = []int{550}
	s.mu.Unlock()
	if err := m.SendNow(t.Context(), invitation); err == nil || !strings.Contains(err.Error(), "550") || strings.Contains(err.Error(), "anna") {
		t.Errorf("refused: %v", err)
	}
}

// A refusal for now is tried again, later than other mails; a refusal for good is not. No address gets into the log.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.refuse = []int{450, 550}
	m, logged := s.sender(nil)
	m.Send(auth.Mail{To: "later@example.org", Kind: auth.MailReset, Link: "/a"})
	m.Send(auth.Mail{To: "never@example.org", Kind: auth.MailReset, Link: "/b"})
	m.Send(auth.Mail{To: "now@example.org", Kind: auth.MailReset, Link: "/c"})
	for _, want := range []int{450, 550, 0} {
		if status := got(t, s.tried); status != want {
			t.Fatalf("status %d, want %d", status, want)
		}
	}
	for _, want := range []string{"now@example.org", "later@example.org"} {
		if head, _, _ := read(t, got(t, s.received)); !strings.Contains(head.Get("To"), want) {
			t.Fatalf("%v, want %s", head, want)
		}
	}
	m.Stop()
	if text := logged.String(); strings.Contains(text, "@example.org") || strings.Count(text, "could not be sent") != 1 || strings.Count(text, "tried again") != 1 {
		t.Errorf("%s", text)
	}
}

// A server without encryption gets neither mail nor password where encryption is asked for.
func TestEncryptionIsNotOptional(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, logged := s.sender(func(c *mail.Config) {
		c.Encryption, c.Username, c.Password = mail.StartTLS, "weir", secret.New("hunter2hunter2")
	})
	m.Send(auth.Mail{To: "anna@example.org", Kind: auth.MailReset, Link: "/a"})
	m.Send(auth.Mail{To: "boris@example.org", Kind: auth.MailReset, Link: "/a"})
	got(t, s.ended)
	got(t, s.ended)
	m.Stop()
	if len(s.received) != 0 || len(s.tried) != 0 || strings.Contains(logged.String(), "hunter2") {
		t.Errorf("%d mails; %s", len(s.received), logged)
	}
}

// An encrypted server gets the mail and the password, one whose certificate is not trusted neither.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(web.Close)
	s := serve(t)
	s.mu.Lock()
	s.tls = web.TLS
	s.mu.Unlock()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	m, _ := s.sender(func(c *mail.Config) {
		c.Encryption, c.Username, c.Password, c.Roots = mail.TLS, "weir", secret.New("hunter2hunter2"), roots
	})
	m.Send(auth.Mail{To: "anna@example.org", Kind: auth.MailReset, Link: "/a"})
	got(t, s.received)
	if who := got(t, s.authenticated); who != "\x00weir\x00hunter2hunter2" {
		t.Errorf("%q", who)
	}
	m, logged := s.sender(func(c *mail.Config) { c.Encryption = mail.TLS })
	m.Send(auth.Mail{To: "anna@example.org", Kind: auth.MailReset, Link: "/a"})
	got(t, s.ended)
	got(t, s.ended)
	m.Stop()
	if len(s.received) != 0 || strings.Contains(logged.String(), "anna") {
		t.Errorf("%d mails; %s", len(s.received), logged)
	}
}

// What a server does in the middle of a mail decides whether it is tried again; a server that says nothing holds up nobody who leaves.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault  fault
		refuse int
		kind   weirfault.Kind
	}{
		"well":          {fault: well},
		"cut in DATA":   {fault: cut, kind: weirfault.ProviderUnavailable},
		"busy":          {fault: busy, kind: weirfault.ProviderUnavailable},
		"greylisted":    {refuse: 450, kind: weirfault.ProviderUnavailable},
		"refused":       {refuse: 550, kind: weirfault.Unprocessable},
		"hangs":         {fault: hang, kind: weirfault.ProviderUnavailable},
		"says no hello": {fault: mute, kind: weirfault.ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.mu.Lock()
			s.faults, s.refuse = []fault{row.fault}, []int{row.refuse}
			s.mu.Unlock()
			m, _ := s.sender(nil)
			x := &notify.Mail{ID: "ntf-7", To: "anna@example.org", Cause: notify.Payment, Facts: notices[12].facts}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if row.fault == hang || row.fault == mute {
				go func() { <-s.silent; leave() }()
			}
			err := m.Deliver(ctx, x)
			if row.kind == 0 {
				if err != nil {
					t.Fatal(err)
				}
				got(t, s.received)
				return
			}
			if !weirfault.Is(err, row.kind) || strings.Contains(err.Error(), "anna") {
				t.Fatalf("%v", err)
			}
			if err := m.Deliver(t.Context(), x); err != nil { // the next connection is well
				t.Error(err)
			}
		})
	}
}

// An address that is none is given up at once, and not written anywhere.
func TestNoAddress(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, _ := s.sender(nil)
	for _, to := range []string{"", "anna", "anna@example.org\r\nBcc: eve@example.org", "a@b@c", "anna@example.org, eve@example.org"} {
		if err := m.Deliver(t.Context(), &notify.Mail{To: to}); !weirfault.Is(err, weirfault.Unprocessable) || strings.Contains(err.Error(), "anna") {
			t.Errorf("%q: %v", to, err)
		}
	}
	if len(s.received) > 0 {
		t.Error("a mail was sent")
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	if _, err := mail.New(mail.Config{From: "nobody"}, slog.Default(), time.Now); err == nil {
		t.Error("it takes a sender without an address")
	}
}

// However many mails wait for addresses that strangers have written down, those of accounts have room, and go first.
func TestStrangersCrowdNobodyOut(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, err := mail.New(mail.Config{Host: s.host, Port: s.port, Encryption: mail.Plain, From: "Weir <weir@example.org>", BaseURL: func() string { return "https://weir.example.org" }},
		slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	strange := []auth.MailKind{auth.MailConfirm, auth.MailExists, auth.MailMove, auth.MailTaken}
	for i := 0; m.Send(auth.Mail{To: "stranger@example.org", Kind: strange[i%len(strange)], Link: "/x"}); i++ {
		if i > 10000 {
			t.Fatal("the queue has no end")
		}
	}
	sent := map[string]bool{}
	for _, kind := range kinds {
		if slices.Contains(strange, kind) {
			continue
		}
		sent[string(kind)+"@example.org"] = true
		if !m.Send(auth.Mail{To: string(kind) + "@example.org", Kind: kind, Link: "/x"}) {
			t.Errorf("there is no room for %s", kind)
		}
	}
	if !m.SendTest(&notify.Mail{To: "notice@example.org"}) {
		t.Error("there is no room for a notice")
	}
	m.Start()
	t.Cleanup(m.Stop)
	for range len(sent) + 1 {
		if head, _, _ := read(t, got(t, s.received)); strings.Contains(head.Get("To"), "stranger") {
			t.Fatal("a stranger's mail went before one of an account")
		}
	}
}
