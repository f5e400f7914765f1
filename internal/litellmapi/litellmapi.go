// Package litellmapi serves LiteLLM's routes for keys, teams, users and spending, as far as official clients and the Terraform providers use them, over
// the keys, teams, members and budgets that an account has here. A field that would change what a call may do, and has no counterpart, is refused. What
// has no effect is kept, and shown again.
package litellmapi

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/gatewayimport"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/rawjson"
)

// Deps are what the operations work with.
type Deps struct {
	Of    accountapi.Deps
	Names foreign.Store
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return slices.Concat(keys(d), teams(d), members(d), users(d), spend(d))
}

// route makes an operation one of LiteLLM's.
func route(o operation.Operation, roles operation.OrgRoles) operation.Operation {
	o.Access, o.Org, o.Tag, o.LiteLLM = operation.Management, roles, "litellm", true
	o.Fresh = o.Method != "GET"
	o.Form = rawjson.Limits{Depth: 12, Keys: 500, Values: 4000}
	return o
}

// number shows rubles as a number, as these clients read them.
func number(n money.Nano) operation.Raw { return n.Append(nil) }

func numberOrNull(n *money.Nano) operation.Raw {
	if n == nil {
		return nil
	}
	return number(*n)
}

// object is JSON that is shown as it was written, {} for none.
func object(v operation.Raw) operation.Raw {
	if rawjson.KindOf(v) != rawjson.Object {
		return operation.Raw("{}")
	}
	return v
}

// durations are the words for intervals, and those that mean the same.
var durations = []struct {
	reset apikey.Reset
	words []string // the first is shown where another was not kept
}{
	{apikey.Daily, []string{"1d", "24h", "daily"}}, {apikey.Weekly, []string{"7d", "1w", "weekly"}}, {apikey.Monthly, []string{"30d", "1mo", "monthly"}},
}

// resetOf reads an interval.
func resetOf(word string) (apikey.Reset, error) {
	for _, d := range durations {
		if slices.Contains(d.words, word) {
			return d.reset, nil
		}
	}
	return "", fault.Field("litellmapi.resetOf", "budget_duration", "budget_duration must be 1d, 7d or 30d: a budget renews at midnight, on Mondays, or on the first of a month. Without it, it never does.")
}

// durationOf is the word for an interval: the one that was kept, where it means the same. nil: it never begins again.
func durationOf(r apikey.Reset, kept string) *string {
	for _, d := range durations {
		if d.reset != r {
			continue
		}
		if slices.Contains(d.words, kept) {
			return &kept
		}
		return &d.words[0]
	}
	return nil
}

// lengthOf reads a length of time such as 30s, 12h, 30d or 1mo from a moment.
func lengthOf(param, text string, from time.Time) (time.Time, error) {
	wrong := fault.Field("litellmapi.lengthOf", param, "%s must be a length of time such as 30s, 15m, 12h, 30d, 2w or 1mo, of at most 100 years.", param)
	digits := strings.TrimRight(text, "smhdwo")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 {
		return from, wrong
	}
	unit := text[len(digits):]
	if unit == "mo" {
		if n > 1200 {
			return from, wrong
		}
		return from.AddDate(0, int(n), 0), nil
	}
	of, known := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[unit]
	if !known || n > math.MaxInt64/int64(of) || time.Duration(n)*of > 100*365*24*time.Hour {
		return from, wrong
	}
	return from.Add(time.Duration(n) * of), nil
}

// everything are the words for no restriction of models. A team's own is above its keys here anyway.
var everything = []string{"*", "all-proxy-models", "all-team-models"}

// patterns are the models that a list allows, none for all. A name that nothing has here is refused: it would allow nothing, and not say why.
func (d *Deps) patterns(list []string) ([]string, error) {
	const op = "litellmapi.patterns"
	var out []string
	var find func(string) (string, bool)
	for _, name := range list {
		if slices.Contains(everything, name) {
			return nil, nil
		}
		if name == "no-default-models" {
			return nil, fault.Field(op, "models", "models: no-default-models has no counterpart. Leave models out, or name those that may be called.")
		}
		if !strings.Contains(name, "*") {
			if find == nil {
				find = gatewayimport.Models(d.Of.Catalog())
			}
			switch slug, ok := find(name); {
			case !ok:
				return nil, fault.Field(op, "models", "models: there is no model %q here. GET /v1/models lists them, and a pattern such as acme/* means all of a vendor.", clip(name))
			case slug != name:
				return nil, fault.Field(op, "models", "models: %q is called %s here.", clip(name), slug)
			}
		}
		out = append(out, name)
	}
	return out, nil
}

func clip(s string) string { return s[:min(len(s), 64)] }

// notHere refuses what has no meaning in a personal account.
func notHere(op, param string) error {
	return fault.Field(op, param, "%s is for an organization: put its id behind the address of this gateway, as in https://weir.example.com/org_..., and use that as base URL.", param)
}

// in is the membership of who acts. It fails with fault.Invalid in a personal account.
func in(op, param string, c *operation.Call) (*organization.Membership, error) {
	if c.Org == nil {
		return nil, notHere(op, param)
	}
	return c.Org, nil
}

// inAccount refuses an organization other than the one in which somebody acts.
func inAccount(c *operation.Call, organizations ...string) error {
	for _, id := range organizations {
		if id != "" && id != c.User {
			return fault.Field("litellmapi.inAccount", "organization_id", "organization_id is not the organization that the base URL names. Leave it out, or put this id behind the address of this gateway.")
		}
	}
	return nil
}

func value[T any](m operation.Maybe[T]) (v T) {
	if m.Value != nil {
		v = *m.Value
	}
	return v
}

// roster is who and what is in an account, by ids, with the names that other programs gave them.
type roster struct {
	account     string
	members     []organization.Member
	services    []organization.Service
	invitations []organization.Invitation
	teams       []organization.Team
	records     map[string]foreign.Record // by our id
	named       map[foreign.Kind]map[string]string
}

// roster reads the account of a caller. A personal one has only what other programs have named.
func (d *Deps) roster(ctx context.Context, c *operation.Call) (r roster, err error) {
	r.account = c.User
	r.records, r.named = map[string]foreign.Record{}, map[foreign.Kind]map[string]string{}
	for _, k := range []foreign.Kind{foreign.Key, foreign.Team, foreign.User} {
		list, err := d.Names.ForeignRecords(ctx, c.User, k)
		if err != nil {
			return r, err
		}
		r.named[k] = map[string]string{}
		for _, x := range list {
			r.records[x.ID], r.named[k][x.Name] = x, x.ID
		}
	}
	if c.Org == nil {
		return r, nil
	}
	o := d.Of.Organizations
	if r.members, err = o.Members(ctx, c.User); err != nil {
		return r, err
	}
	if r.services, err = o.Services(ctx, c.User); err != nil {
		return r, err
	}
	if r.teams, err = o.Teams(ctx, c.User); err != nil {
		return r, err
	}
	if r.invitations, err = o.Invitations(ctx, c.User); err != nil {
		return r, err
	}
	return r, d.accepted(ctx, &r)
}

// accepted gives who has accepted an invitation the name that it had, once.
func (d *Deps) accepted(ctx context.Context, r *roster) error {
	for id, x := range r.records {
		if x.Kind != foreign.User || !strings.HasPrefix(id, organization.InvitationPrefix) || r.invitation(id) != nil {
			continue
		}
		email := keptOf(x.Fields).Email
		i := slices.IndexFunc(r.members, func(m organization.Member) bool { return email != "" && m.Email == email })
		if i < 0 {
			continue
		}
		user := r.members[i].User
		if _, named := r.records[user]; named {
			continue
		}
		if err := d.Names.DeleteForeign(ctx, r.account, id); err != nil {
			return err
		}
		x.ID = user
		if err := d.Names.SaveForeign(ctx, x); err != nil && !fault.Is(err, fault.Conflict) { // another request has done it
			return err
		}
		delete(r.records, id)
		r.records[user], r.named[foreign.User][x.Name] = x, user
	}
	return nil
}

// nameOf is what other programs call a thing; "" for none.
func (r *roster) nameOf(id string) string {
	if x, known := r.records[id]; known {
		return x.Name
	}
	return id
}

// idOf is our id of a thing that other programs name.
func (r *roster) idOf(k foreign.Kind, name string) string {
	if id := r.named[k][name]; id != "" {
		return id
	}
	return name
}

// fields are what was kept of a thing.
func (r *roster) fields(id string) kept { return keptOf(r.records[id].Fields) }

func (r *roster) member(id string) *organization.Member {
	if i := slices.IndexFunc(r.members, func(m organization.Member) bool { return m.User == id }); i >= 0 {
		return &r.members[i]
	}
	return nil
}

func (r *roster) service(id string) *organization.Service {
	if i := slices.IndexFunc(r.services, func(s organization.Service) bool { return s.ID == id }); i >= 0 {
		return &r.services[i]
	}
	return nil
}

func (r *roster) invitation(id string) *organization.Invitation {
	if i := slices.IndexFunc(r.invitations, func(i organization.Invitation) bool { return i.ID == id }); i >= 0 {
		return &r.invitations[i]
	}
	return nil
}

// team finds a team by its id or the name that other programs gave it.
func (r *roster) team(op, name string) (*organization.Team, error) {
	id := r.idOf(foreign.Team, name)
	if i := slices.IndexFunc(r.teams, func(t organization.Team) bool { return t.ID == id }); i >= 0 {
		return &r.teams[i], nil
	}
	return nil, fault.New(fault.NotFound, op, "There is no such team: team_id is not found.")
}

// teamOf is the team of a member or service, "" none.
func (r *roster) teamOf(id string) string {
	if m := r.member(id); m != nil {
		return m.Team
	}
	if s := r.service(id); s != nil {
		return s.Team
	}
	return ""
}

// names gives a list of ids the names of other programs.
func (r *roster) names(ids ...string) []string {
	out := []string{}
	for _, id := range ids {
		if id != "" {
			out = append(out, r.nameOf(id))
		}
	}
	return out
}

// note keeps what another program calls a thing, and says of it. A thing that has neither is not kept.
func (d *Deps) note(ctx context.Context, c *operation.Call, k foreign.Kind, id, name string, f kept) error {
	if name == "" {
		name = id
	}
	text := f.text()
	switch {
	case len(name) > foreign.MaxName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		param := string(k) + "_id"
		return fault.Field("litellmapi.note", param, "%s must be at most %d characters without spaces.", param, foreign.MaxName)
	case len(text) > foreign.MaxFields:
		return fault.Field("litellmapi.note", "metadata", "metadata must have at most %d bytes.", foreign.MaxFields)
	case name == id && text == "{}":
		return d.Names.DeleteForeign(ctx, c.User, id)
	}
	return d.Names.SaveForeign(ctx, foreign.Record{Account: c.User, Kind: k, Name: name, ID: id, Fields: text, UpdatedAt: c.At.UTC().Truncate(time.Microsecond)})
}

// free refuses a name that another thing has already, before anything is made.
func (r *roster) free(k foreign.Kind, name string) error {
	if name != "" && r.named[k][name] != "" {
		return fault.Newf(fault.Conflict, "litellmapi.free", "There is a %s with the id %s already.", k, clip(name))
	}
	if len(name) > foreign.MaxName {
		param := string(k) + "_id"
		return fault.Field("litellmapi.free", param, "%s must be at most %d characters without spaces.", param, foreign.MaxName)
	}
	return nil
}

// paged is one page of n things, from the first one.
func paged(n, page, size, usual int) (from, to, pages, number int) {
	if size == 0 {
		size = usual
	}
	number = max(page, 1)
	from = min((number-1)*size, n)
	return from, min(from+size, n), (n + size - 1) / size, number
}
