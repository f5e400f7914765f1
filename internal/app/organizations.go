package app

import (
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/organization"
)

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
