package nodes_test

import (
	"strings"
	"testing"

	"weir/internal/apikey"
)

// TestChangesToTheSameAreNotWritten: who sets a thing to what it is already changes nothing, and the audit log has no second line.
func TestChangesToTheSameAreNotWritten(t *testing.T) {
	t.Parallel()
	d := openActsDesk(t)
	lines := func() (all []string) {
		t.Helper()
		for row, err := range d.nodes[0].Node.Admin().Store.Accounts.AuditRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row.Action+": "+row.Before+" > "+row.After)
		}
		return all
	}
	for _, x := range d.settings() {
		t.Run(x.method+" "+strings.ReplaceAll(x.path, "/", " "), func(t *testing.T) {
			had := len(lines())
			for n := range 2 {
				if got := x.by.Do(t, x.method, x.path, x.body); got.Status/100 != 2 {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				if all := lines()[had:]; len(all) != 1 {
					t.Fatalf("after %d of these there are %d lines: %q", n+1, len(all), all)
				}
			}
		})
	}
}

// settings are changes of what can be set, each to something new.
func (d *actsDesk) settings() []request {
	d.Helper()
	boss, payer := d.bosses[0], d.payer.Pages
	type o = map[string]any
	org := d.made(payer, "POST", "/api/organizations", o{"name": "River"})["id"].(string)
	team := d.made(payer, "POST", "/api/organizations/"+org+"/teams", o{"name": "Search"})["id"].(string)
	service := d.made(payer, "POST", "/api/organizations/"+org+"/services", o{"name": "Nightly"})["id"].(string)
	budget := d.made(payer, "POST", "/api/budgets", o{"scope": o{"kind": "tag", "id": "a"}, "period": "month", "amount": "100"})["id"].(string)
	key := "/api/keys/" + apikey.Hash(d.payer.Key)
	d.made(boss, "PUT", "/api/admin/providers/hut", o{"base_url": "https://hut.example/v1"})
	d.made(boss, "PUT", "/api/admin/endpoints/hut%2Facme%2Ftiny", o{"provider": "hut", "model": "acme/tiny", "prices": o{"prompt": "0.10", "completion": "0.2"}})
	users := "/api/admin/users/" + d.payer.User
	return []request{
		{payer, "PATCH", "/api/budgets/" + budget, o{"amount": "200", "name": "Atlas", "alarms": []int{80}, "hard": false, "rules": o{"models": []string{"test/*"}}}},
		{payer, "PUT", "/api/budgets", o{"scope": o{"kind": "tag", "id": "b"}, "period": "month", "amount": "100"}},
		{payer, "PATCH", key, o{"name": "robot", "limit": "500"}},
		{payer, "PATCH", key, o{"disabled": true}},
		{payer, "PATCH", key, o{"disabled": false}},
		{payer, "PUT", "/api/invoices/buyer", o{"name": "ООО «Ромашка и сын»", "inn": "0076543215", "kpp": "007601001", "address": "Москва"}},
		{payer, "PUT", "/api/presets/tone", o{"model": "test/next", "description": "Polite answers", "parameters": o{"temperature": 0.3}}},
		{payer, "PUT", "/api/account/timezone", o{"timezone": "Europe/Moscow"}},
		{payer, "PUT", "/api/account/data", o{"responses": "on_request", "chats": false, "days": 7}},
		{payer, "PUT", "/api/account/preferences", o{"provider": o{"sort": "price"}}},
		{payer, "PUT", "/api/notifications", o{"threshold": "500"}},
		{payer, "PATCH", "/api/organizations/" + org, o{"name": "River and sons"}},
		{payer, "PATCH", "/api/organizations/" + org + "/teams/" + team, o{"name": "Search and ranking"}},
		{payer, "PATCH", "/api/organizations/" + org + "/services/" + service, o{"name": "Daily"}},
		{payer, "PATCH", "/api/organizations/" + org + "/members/" + d.payer.User, o{"team": team}},
		{boss, "PATCH", users, o{"role": "operator"}},
		{boss, "PATCH", users + "/keys/" + apikey.Hash(d.payer.Key), o{"disabled": true}},
		{boss, "POST", users + "/block", nil},
		{boss, "POST", users + "/unblock", nil},
		{boss, "PATCH", "/api/admin/providers/hut", o{"name": "Hut"}},
		{boss, "PATCH", "/api/admin/endpoints/hut%2Facme%2Ftiny", o{"prices": o{"prompt": "0.3"}}},
		{boss, "PUT", "/api/admin/rates/current", o{"rate": "81.50", "margin": "0.15"}},
		{boss, "PUT", "/api/admin/aliases/acme%2Fold", o{"model": "acme/tiny"}},
		{boss, "PUT", "/api/admin/orders/acme%2Ftiny", o{"endpoints": []o{{"id": "hut/acme/tiny", "place": 1}}}},
		{boss, "PUT", "/api/admin/absences/provider:hut", o{"mode": "drain"}},
		{boss, "PUT", "/api/admin/alerts/rules/provider", o{"calls": 20, "limit": 30, "minutes": 5}},
	}
}
