package app

import (
	"log/slog"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/organization"
)

// Organizations makes a manager for commands. It sends no mail: commands print their links.
func (o *Admin) Organizations() *organization.Manager {
	m := organization.NewManager(o.Store.Organizations, o.Keys, nil, nil, time.Now)
	m.Grants(o.cfg.Orgs, slog.New(slog.DiscardHandler))
	return m
}

// Link makes a path of the interface a whole address.
func (o *Admin) Link(path string) string { return o.link(path) }

// makeOrganizations makes what lets several people act in one account.
func (g *Gateway) makeOrganizations(keys *apikey.Manager, verifier *apikey.Verifier) *organization.Manager {
	var send organization.Mail
	if g.mail != nil {
		send = func(to, locale, link string) {
			g.mail.Send(auth.Mail{To: to, Kind: auth.MailJoin, Link: link, Locale: locale})
		}
	}
	m := organization.NewManager(g.store.Organizations, keys, verifier, send, time.Now)
	m.Grants(g.cfg.Orgs, g.slog)
	g.people.FollowGroups(m.Arrive)
	return m
}
