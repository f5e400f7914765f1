package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fetch"
	"weir/internal/loop"
	"weir/internal/mail"
	"weir/internal/oidc"
)

// makePeople makes what signs people in, and what sends them mail.
func (g *Gateway) makePeople(keys auth.Keys, f *fetch.Client) (*auth.Manager, error) {
	var mailer auth.Mailer // nil without a server
	if m := &g.cfg.Mail; m.Host != "" {
		sender, err := mail.New(mailTo(*m, g.publicURL), g.slog, time.Now)
		if err != nil {
			return nil, err
		}
		sender.Start()
		g.onClose(func(context.Context) { sender.Stop() })
		mailer, g.mail = sender, sender
	}
	people := auth.NewManager(g.store.People, keys, mailer, time.Now, g.cfg.SignIn.Config)
	if all := g.cfg.SignIn.Providers; len(all) > 0 { // none is asked before somebody wants to sign in there
		people.AllowElsewhere(oidc.New(all, func(issuer string) http.RoundTripper { return f.Transport(issuer, maxProviderAnswer) }, time.Now))
	}
	g.keep(loop.Every(sweepPeopleEvery, func(ctx context.Context) {
		for more := true; more && ctx.Err() == nil; {
			n, err := people.Sweep(ctx, sweepPeopleAt)
			if err != nil {
				g.slog.Warn("sessions and links that have expired could not be deleted; it is tried again", "error", err)
			}
			more = err == nil && n >= sweepPeopleAt
		}
	}))
	return people, nil
}

const maxProviderAnswer = 1 << 20 // bytes; the largest are lists of keys

const (
	sweepPeopleEvery = 10 * time.Minute
	sweepPeopleAt    = 1000 // sessions, and links, of one transaction
)

// setupFile keeps the link that makes the first administrator, in the data directory.
const setupFile = "setup-link"

// offerSetup shows the operator the link that makes the first administrator, if there is none who can sign in. It is printed on a terminal. A log
// that others may collect gets only the path of the file in which it is.
func (g *Gateway) offerSetup(ctx context.Context) {
	path := filepath.Join(g.cfg.DataDir, setupFile)
	link, err := g.people.BeginSetup(ctx)
	if err == nil && link == "" {
		_ = os.Remove(path) // of an earlier start; it does not work any more
		return
	}
	if err == nil {
		err = os.WriteFile(path, []byte(g.publicURL()+link+"\n"), 0o600)
	}
	if err != nil {
		g.slog.Warn("there is no link for the first administrator; make one with: weir user setup", "error", err)
		return
	}
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\nNobody can administer this gateway in a browser yet. Open this link within 24 hours:\n\n  %s%s\n\n", g.publicURL(), link)
		return
	}
	g.slog.Info("nobody can administer this gateway in a browser yet; open the link in the file, which works once and for 24 hours", "file", path)
}

// people makes a manager for commands. It sends no mail: commands print their links, and may send them.
func (o *Admin) people() *auth.Manager {
	c := o.cfg.SignIn.Config
	if c.SignUp == auth.Closed {
		c.SignUp = auth.ByInvite // who runs commands decides
	}
	return auth.NewManager(o.Store.People, o.Keys, nil, time.Now, c)
}

// link makes a path of the interface a whole address.
func (o *Admin) link(path string) string {
	if url := o.cfg.Server.PublicURL; url != "" {
		return url + path
	}
	host, port, err := net.SplitHostPort(o.cfg.Server.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return "http://" + net.JoinHostPort("localhost", port) + path
	}
	return "http://" + o.cfg.Server.Listen + path
}

// SetupLink makes the link with which the first administrator signs in, "" when one can already.
func (o *Admin) SetupLink(ctx context.Context) (string, error) {
	path, err := o.people().BeginSetup(ctx)
	if err != nil || path == "" {
		return "", err
	}
	return o.link(path), nil
}

// Invite makes a link with which somebody signs up, and sends it to their address. With a link, the error is why it was not sent.
func (o *Admin) Invite(ctx context.Context, email, note string, role apikey.Role, by audit.Actor) (string, error) {
	path, _, err := o.people().Invite(ctx, email, note, role, by, "")
	if err != nil {
		return "", err
	}
	link := o.link(path)
	if email == "" || o.cfg.Mail.Host == "" {
		return link, ErrNoMail
	}
	return link, o.mail(ctx, auth.Mail{To: email, Kind: auth.MailInvited, Link: path})
}

// ErrNoMail says that an invitation was made, and that no mail was meant to be sent.
var ErrNoMail = errors.New("there is no address, or no mail.host")

// mail sends one mail for a command.
func (o *Admin) mail(ctx context.Context, m auth.Mail) error {
	if o.cfg.Mail.Password.Missing() {
		return errors.New("the password of the mail server (mail.password) is not there")
	}
	sender, err := mail.New(mailTo(o.cfg.Mail, func() string { return o.link("") }), slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return err
	}
	return sender.SendNow(ctx, m)
}

// mailTo is the configuration of a mail server for mails whose links begin with base.
func mailTo(c mail.Config, base func() string) mail.Config {
	c.BaseURL = base
	return c
}

// ResetLink makes a link with which a user chooses a new password.
func (o *Admin) ResetLink(ctx context.Context, u account.User, by audit.Actor) (string, error) {
	path, err := o.people().ResetLink(ctx, u.ID, by)
	return o.link(path), err
}

// SignOut ends all sessions of a user, and disables all keys if keys is set. It returns how many there were.
func (o *Admin) SignOut(ctx context.Context, u account.User, keys bool, by audit.Actor) (sessions, disabled int, err error) {
	sessions, err = o.people().EndAll(ctx, u.ID, by)
	if err == nil && keys {
		disabled, err = o.Keys.DisableAll(ctx, u.ID, by)
	}
	return sessions, disabled, err
}

// ReleasePasskey signs a user in again without a passkey, whose account required one that is lost.
func (o *Admin) ReleasePasskey(ctx context.Context, u account.User, by audit.Actor) error {
	return o.people().ReleaseFor(ctx, u, by)
}

// SetAddress gives a user another e-mail address.
func (o *Admin) SetAddress(ctx context.Context, u account.User, email string, by audit.Actor) error {
	return o.people().SetAddress(ctx, u.ID, email, by)
}
