package gatewayimport

import (
	"math/big"
	"strings"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/tag"
)

// GroupKind is what a group is.
type GroupKind string

// The kinds.
const (
	TeamGroup GroupKind = "team"
	UserGroup GroupKind = "user" // a person, who is invited, or a service
	TagGroup  GroupKind = "tag"
)

// Group is a team, a user or a tag of LiteLLM, with its budget: what an organization has here.
type Group struct {
	Kind    GroupKind
	Theirs  string // its id there
	Name    string
	Email   string         // of a person
	Role    apikey.OrgRole // of a person
	Team    string         // id there, of a user
	Others  []string       // ids there of further teams: a user is in one here
	Limit   *apikey.Limit  // nil: none
	Models  []string       // patterns of slugs; none: all
	Refused Reason
	Dropped []string
}

// Reasons of groups.
const (
	NoOrganization Reason = "no_organization" // teams, users and tags with budgets are an organization's
	NoTag          Reason = "no_tag"          // its name cannot be a tag here
)

// maxGroups bounds teams, users and tags together.
const maxGroups = 2000

// groupsOf are the lists of groups of a document: what GET /team/list, /user/list and /tag/list answer.
func groupsOf(body []byte) (kind GroupKind, list []byte) {
	for _, name := range []string{"teams", "users", "tags"} {
		if v := rawjson.Find(body, name); rawjson.KindOf(body) == rawjson.Object && rawjson.KindOf(v) == rawjson.Array {
			return GroupKind(strings.TrimSuffix(name, "s")), v
		}
	}
	if rawjson.KindOf(body) != rawjson.Array {
		return "", nil
	}
	if e := rawjson.ElementsOf(body); e.Next() { // the first says what all are
		switch {
		case rawjson.Find(e.Value, "team_alias") != nil || rawjson.Find(e.Value, "members_with_roles") != nil:
			return TeamGroup, body
		case rawjson.Find(e.Value, "user_role") != nil || rawjson.Find(e.Value, "user_email") != nil:
			return UserGroup, body
		case rawjson.Find(e.Value, "name") != nil:
			return TagGroup, body
		}
	}
	return "", nil
}

func (r *reader) liteLLMGroups(d *document, c *config) error {
	kind, list := groupsOf(d.body)
	for e := rawjson.ElementsOf(list); e.Next(); {
		if len(r.plan.Groups) == maxGroups {
			return tooMany(d, "teams, users and tags", maxGroups)
		}
		if rawjson.KindOf(e.Value) != rawjson.Object {
			return fault.Newf(fault.Invalid, "gatewayimport.liteLLM", "%s has an entry that is no %s.", d.name, kind)
		}
		r.liteLLMGroup(kind, e.Value, c)
	}
	return nil
}

func (r *reader) liteLLMGroup(kind GroupKind, o []byte, c *config) {
	r.walk(string(kind)+"s", o)
	g := Group{Kind: kind}
	switch kind {
	case TeamGroup:
		g.Theirs, g.Name = plain(text(o, "team_id"), 128), plain(text(o, "team_alias"), 100)
	case UserGroup:
		g.person(o)
	case TagGroup:
		g.Name = plain(text(o, "name"), tag.MaxLength)
	}
	if g.Name == "" {
		g.Name = g.Theirs
	}
	table := rawjson.Find(o, "litellm_budget_table")
	own := func(name string) []byte {
		if v := rawjson.Find(o, name); !rawjson.IsNull(v) {
			return v
		}
		return rawjson.Find(table, name)
	}
	limit, ok := number(own("max_budget"))
	reset, okReset := resetOf(textOf(own("budget_duration")))
	if spent, known := number(rawjson.Find(o, "spend")); limit != nil && reset == apikey.Never && known && spent != nil && spent.Sign() > 0 {
		if limit = new(big.Rat).Sub(limit, spent); limit.Sign() < 0 {
			limit = new(big.Rat)
		}
	}
	if limit != nil && ok && okReset {
		g.Limit = &apikey.Limit{Reset: reset}
		g.Limit.Amount, ok = rubles(limit, r.world.Rate)
	}
	k := Key{}
	r.allowed(&k, texts(rawjson.Find(o, "models")), c)
	g.Models, g.Dropped = k.Models, k.Dropped
	switch {
	case g.Name == "":
		g.Refused = NoName
	case kind == TagGroup && tag.Wrong(g.Name) != "":
		g.Refused = NoTag
	case !ok || !okReset:
		g.Refused, g.Limit = WrongLimit, nil
	case k.Refused != "":
		g.Refused = k.Refused
	}
	r.plan.Groups = append(r.plan.Groups, g)
}

// person reads who a user is.
func (g *Group) person(o []byte) {
	g.Theirs, g.Name, g.Email = plain(text(o, "user_id"), 128), plain(text(o, "user_alias"), 100), plain(text(o, "user_email"), 254)
	if g.Email != "" {
		g.Name = g.Email
	}
	// Administrators of their gateway are members here: owners say who manages.
	if g.Role = apikey.OrgMember; text(o, "user_role") == "proxy_admin_viewer" {
		g.Role = apikey.OrgBilling
	}
	if teams := texts(rawjson.Find(o, "teams")); len(teams) > 0 {
		if g.Team = teams[0]; len(teams) > 1 {
			g.Others = teams[1:min(len(teams), 1+maxDropped)]
		}
	}
}
