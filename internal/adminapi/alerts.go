package adminapi

import (
	"cmp"
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/operation"
)

// Alerts manages what operators are alerted of.
type Alerts interface {
	Rules(ctx context.Context) ([]alert.Rule, error)
	Rule(ctx context.Context, k alert.Kind) (alert.Rule, error)
	PutRule(ctx context.Context, r alert.Rule, only alert.Condition, by audit.Actor) (changed bool, err error)
	ResetRule(ctx context.Context, k alert.Kind, only alert.Condition, by audit.Actor) error
	Channels(ctx context.Context) ([]alert.Channel, error)
	Channel(ctx context.Context, id string) (alert.Channel, error)
	PutChannel(ctx context.Context, c alert.Channel, secret *string, only alert.Condition, by audit.Actor) (changed bool, err error)
	RemoveChannel(ctx context.Context, id string, only alert.Condition, by audit.Actor) error
	Test(ctx context.Context, id string, by audit.Actor) (alert.Answer, error)
	Incidents(ctx context.Context, before string, n int) ([]alert.Reported, error)
}

// AlertRule says when operators are alerted.
type AlertRule struct {
	Kind    string `json:"kind" enum:"provider,endpoint,ejected,money,prices,rate,certificate,disk,journal,nodes"`
	Enabled bool   `json:"enabled"`
	Limit   *int   `json:"limit"`                                 // in the unit; null where nothing can be set
	Unit    string `json:"unit" enum:",percent,days,MiB,minutes"` // of the limit
	Minutes *int   `json:"minutes"`                               // in which attempts count, 5 or 30; null for rules that count none
	Calls   *int   `json:"calls"`                                 // fewer attempts say nothing; null for rules that count none
	Changed bool   `json:"changed"`                               // it is not as the program has it
	Version int64  `json:"version"`                               // of its last change
	Open    int    `json:"open"`                                  // incidents that last
	Usual   *int   `json:"usual_limit"`                           // the limit as the program has it
}

// AlertChannel is where alerts go.
type AlertChannel struct {
	ID       string     `json:"id"`
	Way      string     `json:"way" enum:"mail,webhook,slack,telegram"`
	Address  *string    `json:"address"` // a mailbox, the URL of a webhook or the chat of Telegram
	Language string     `json:"language" enum:"en,ru"`
	Enabled  bool       `json:"enabled"`
	HasKey   bool       `json:"has_secret"`
	Last4    *string    `json:"last4"` // the last characters of the secret
	State    string     `json:"state" enum:"ok,troubled,failed,off"`
	Kinds    []string   `json:"kinds" enum:"provider,endpoint,ejected,money,prices,rate,certificate,disk,journal,nodes"` // that it gets; empty: all
	Severity string     `json:"severity" enum:"warning,critical"`                                                        // the least that it gets
	Reason   *string    `json:"reason" enum:"no_mail,forbidden,no_answer,status,no_key,bad_secret,no_way"`               // why the last message did not arrive, where the gateway knows it
	Words    *string    `json:"words"`                                                                                   // what the receiver or the network said then
	SentAt   *time.Time `json:"sent_at"`                                                                                 // the last message that arrived
	Version  int64      `json:"version"`
}

// AlertSetup is what operators are alerted of, and where.
type AlertSetup struct {
	Rules     []AlertRule    `json:"rules"`
	Channels  []AlertChannel `json:"channels"`
	MailReady bool           `json:"mail_ready"` // this gateway has a mail server
}

// AlertMessage is a message of an incident.
type AlertMessage struct {
	Channel string     `json:"channel"`
	What    string     `json:"what" enum:"began,lasts,over"`
	State   string     `json:"state" enum:"waiting,sent,in_summary,dropped"`
	At      time.Time  `json:"at"`      // when it was written
	SentAt  *time.Time `json:"sent_at"` // when it arrived
}

// AlertIncident is something that is or was not well.
type AlertIncident struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind" enum:"provider,endpoint,ejected,money,prices,rate,certificate,disk,journal,nodes"`
	Severity string         `json:"severity" enum:"warning,critical"`
	Subject  *string        `json:"subject"` // provider, endpoint, money check or node; of what an operator took out of service, its target; null where there is only one
	Name     *string        `json:"name"`    // of a provider
	BeganAt  time.Time      `json:"began_at"`
	EndedAt  *time.Time     `json:"ended_at"`                  // null: it lasts
	Why      *string        `json:"why" enum:"fine,quiet,off"` // why it ended: all is well, nothing is known any more, or its rule was switched off
	Value    int            `json:"value"`                     // in the unit of the rule, as it was found last; of an ejection, calls an hour that go elsewhere
	Limit    int            `json:"limit"`
	Failed   int64          `json:"failed"`  // attempts, of kinds that count them; of an ejection, calls an hour that nothing else takes
	Calls    int64          `json:"calls"`   // likewise; of an ejection, calls an hour before it
	Minutes  int            `json:"minutes"` // in which they were counted
	Detail   *string        `json:"detail"`
	Messages []AlertMessage `json:"messages"`
}

// AlertTest is what came of a test.
type AlertTest struct {
	Arrived bool    `json:"arrived"`
	Failed  bool    `json:"failed"`                                                                    // the receiver refuses for good
	Reason  *string `json:"reason" enum:"no_mail,forbidden,no_answer,status,no_key,bad_secret,no_way"` // why it did not arrive, where the gateway knows it
	Words   *string `json:"words"`                                                                     // what the receiver or the network said
	Address *string `json:"address"`                                                                   // the address that the channel has from now on, where the receiver named another
}

type (
	alertKind struct {
		Kind string `json:"-" path:"id" example:"provider"` // provider, endpoint, money, prices, rate, certificate, disk, journal or nodes
		Gone
	}
	alertRulePut struct {
		Kind    string `json:"-" path:"id" example:"provider"` // provider, endpoint, money, prices, rate, certificate, disk, journal or nodes
		Enabled *bool  `json:"enabled,omitempty" null:"none"`  // true without it
		Limit   *int64 `json:"limit,omitempty" null:"none"`    // as the program has it without it, likewise the others
		Minutes *int64 `json:"minutes,omitempty" null:"none"`
		Calls   *int64 `json:"calls,omitempty" null:"none"`
		Only
	}
	alertChannelID struct {
		ID string `json:"-" path:"id"` // of the channel
	}
	alertChannelGone struct {
		ID string `json:"-" path:"id"` // of the channel
		Gone
	}
	alertChannelPut struct {
		ID       string                  `json:"-" path:"id" example:"ops"` // of the channel: small letters, digits, hyphens and underscores
		Way      string                  `json:"way" enum:"mail,webhook,slack,telegram"`
		Address  string                  `json:"address,omitempty" null:"none" maxLength:"500"`
		Language string                  `json:"language,omitempty" null:"none" enum:"en,ru"`            // en without it
		Enabled  *bool                   `json:"enabled,omitempty" null:"none"`                          // true without it
		Kinds    []string                `json:"kinds,omitempty" null:"none"`                            // of alerts that it gets; all without it
		Severity string                  `json:"severity,omitempty" null:"none" enum:"warning,critical"` // the least that it gets: critical is what costs calls or money now; warning, which is all, without it
		Secret   operation.Maybe[string] `json:"secret,omitempty"`                                       // stays without it; null takes it away
		Only
	}
	incidentPage struct {
		Before string `json:"-" query:"before"`           // id of the last incident of the page before
		Limit  int    `json:"-" query:"limit" most:"100"` // 30 without it
	}
)

// AlertIncidents is a page of incidents.
type AlertIncidents struct {
	Data []AlertIncident `json:"data"`
	Next *string         `json:"next"` // value of before for the next page
}

type alertOperations struct {
	Alerts
	mailReady bool
	name      func(kind, subject string) string
}

func (o alertOperations) setup(ctx context.Context, _ *operation.Call, _ *operation.None) (out AlertSetup, err error) {
	rules, err := o.Rules(ctx)
	if err != nil {
		return out, err
	}
	channels, err := o.Channels(ctx)
	if err != nil {
		return out, err
	}
	open := map[alert.Kind]int{}
	told, err := o.Incidents(ctx, "", 100)
	for i := range told {
		if told[i].EndedAt.IsZero() {
			open[told[i].Kind]++
		}
	}
	out = AlertSetup{Rules: []AlertRule{}, Channels: []AlertChannel{}, MailReady: o.mailReady}
	for i := range rules {
		r := ruleOf(&rules[i])
		r.Open = open[rules[i].Kind]
		out.Rules = append(out.Rules, r)
	}
	for i := range channels {
		out.Channels = append(out.Channels, channelOf(&channels[i]))
	}
	return out, err
}

func ruleOf(r *alert.Rule) AlertRule {
	out := AlertRule{Kind: string(r.Kind), Enabled: r.On, Unit: r.Kind.Unit(), Changed: r.Changed, Version: r.Version}
	if out.Unit != "" {
		out.Limit, out.Usual = &r.Limit, new(r.Kind.Usual().Limit)
	}
	if r.Kind.Counted() {
		out.Minutes, out.Calls = &r.Minutes, &r.Calls
	}
	return out
}

func channelOf(c *alert.Channel) AlertChannel {
	out := AlertChannel{
		ID: c.ID, Way: string(c.Way), Address: accountapi.OrNull(c.Address), Language: c.Language, Enabled: c.On, HasKey: len(c.Sealed) > 0, Last4: accountapi.OrNull(c.Last4), State: "ok",
		Kinds: kindNames(c.Kinds), Severity: string(cmp.Or(c.Least, alert.Warning)), Reason: accountapi.OrNull(string(c.Reason)), Words: accountapi.OrNull(c.Words), SentAt: accountapi.Moment(c.SentAt), Version: c.Version,
	}
	switch {
	case !c.On:
		out.State = "off"
	case c.Failed != "":
		out.State = "failed"
	case c.Words != "" || c.Reason != "":
		out.State = "troubled"
	}
	return out
}

func kindNames(kinds []alert.Kind) []string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return out
}

func (o alertOperations) incidents(ctx context.Context, _ *operation.Call, in *incidentPage) (out AlertIncidents, err error) {
	rows := cmp.Or(in.Limit, 30)
	told, err := o.Incidents(ctx, in.Before, rows+1)
	out.Data = []AlertIncident{}
	for i := range told[:min(len(told), rows)] {
		out.Data = append(out.Data, o.incidentOf(&told[i]))
	}
	if len(told) > rows {
		out.Next = &out.Data[rows-1].ID
	}
	return out, err
}

func (o alertOperations) incidentOf(i *alert.Reported) AlertIncident {
	out := AlertIncident{
		ID: i.ID, Kind: string(i.Kind), Severity: string(i.Severity()), Subject: accountapi.OrNull(i.Subject), Name: accountapi.OrNull(o.name(string(i.Kind), i.Subject)), BeganAt: i.BeganAt, EndedAt: accountapi.Moment(i.EndedAt),
		Why: accountapi.OrNull(string(i.Why)), Value: i.Value, Limit: i.Limit, Failed: i.Failed, Calls: i.Calls, Minutes: i.Minutes, Detail: accountapi.OrNull(i.Detail), Messages: []AlertMessage{},
	}
	for j := range i.Said {
		m := &i.Said[j]
		one := AlertMessage{Channel: m.Channel, What: string(m.What), State: "waiting", At: m.At, SentAt: accountapi.Moment(m.SentAt)}
		switch {
		case m.Dropped:
			one.State = "dropped"
		case m.Summed:
			one.State = "in_summary"
		case !m.SentAt.IsZero():
			one.State = "sent"
		}
		out.Messages = append(out.Messages, one)
	}
	return out
}

func alertCondition(o *Only) alert.Condition {
	return alert.Condition{New: o.New, Version: o.Version, Dry: o.DryRun}
}

func goneCondition(g *Gone) alert.Condition {
	return alert.Condition{Version: g.Version, Dry: g.DryRun}
}

func result(changed, there bool) string {
	switch {
	case !changed:
		return "unchanged"
	case there:
		return "changed"
	}
	return "created"
}

func (o alertOperations) putRule(ctx context.Context, c *operation.Call, in *alertRulePut) (out accountapi.Put[AlertRule], err error) {
	k, err := alert.ParseKind(in.Kind)
	if err != nil {
		return out, err
	}
	r := k.Usual()
	r.On = in.Enabled == nil || *in.Enabled
	for to, v := range map[*int]*int64{&r.Limit: in.Limit, &r.Minutes: in.Minutes, &r.Calls: in.Calls} {
		if v != nil {
			*to = int(*v)
		}
	}
	was, err := o.Rule(ctx, k)
	if err != nil {
		return out, err
	}
	changed, err := o.PutRule(ctx, r, alertCondition(&in.Only), c.Actor)
	if err != nil {
		return out, err
	}
	now, err := o.Rule(ctx, k)
	return accountapi.Put[AlertRule]{Result: result(changed, was.Changed), Data: ruleOf(&now)}, err
}

func (o alertOperations) resetRule(ctx context.Context, c *operation.Call, in *alertKind) (operation.Deleted, error) {
	k, err := alert.ParseKind(in.Kind)
	if err != nil {
		return operation.Deleted{}, err
	}
	return operation.Deleted{}, o.ResetRule(ctx, k, goneCondition(&in.Gone), c.Actor)
}

func (o alertOperations) putChannel(ctx context.Context, c *operation.Call, in *alertChannelPut) (out accountapi.Put[AlertChannel], err error) {
	var secret *string
	if in.Secret.Given {
		secret = new("")
		if in.Secret.Value != nil {
			secret = in.Secret.Value
		}
	}
	_, missing := o.Channel(ctx, in.ID)
	want := alert.Channel{ID: in.ID, Way: alert.Way(in.Way), Address: in.Address, Language: cmp.Or(in.Language, "en"), On: in.Enabled == nil || *in.Enabled, Least: alert.Severity(in.Severity)}
	for _, k := range in.Kinds {
		want.Kinds = append(want.Kinds, alert.Kind(k))
	}
	changed, err := o.PutChannel(ctx, want, secret, alertCondition(&in.Only), c.Actor)
	if err != nil {
		return out, err
	}
	out.Result = result(changed, missing == nil)
	if in.DryRun {
		out.Data = channelOf(&want)
		return out, nil
	}
	now, err := o.Channel(ctx, in.ID)
	out.Data = channelOf(&now)
	return out, err
}

func (o alertOperations) test(ctx context.Context, c *operation.Call, in *alertChannelID) (AlertTest, error) {
	a, err := o.Test(ctx, in.ID, c.Actor)
	return AlertTest{Arrived: a.Sent, Failed: a.Failed, Reason: accountapi.OrNull(string(a.Reason)), Words: accountapi.OrNull(a.Words), Address: accountapi.OrNull(a.Address)}, err
}

func alertRoutes(d Deps) []operation.Operation {
	o := alertOperations{d.Alerts, d.MailReady, func(kind, subject string) string {
		if kind != string(alert.Provider) || d.Of.Catalog == nil {
			return ""
		}
		if p := d.Of.Catalog().Providers[subject]; p != nil {
			return p.Name
		}
		return ""
	}}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/alerts", ID: "getAlerts", Access: operation.Operating, Tag: "administration",
			Summary: "Show the rules and channels of alerts", Answer: "The rules, and where messages go",
		}, o.setup),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/alerts/incidents", ID: "listAlertIncidents", Access: operation.Operating, Tag: "administration",
			Summary: "List what was not well, the newest first", Answer: "One page of incidents, each with whom it was said to", Description: "Incidents are kept for 90 days after their end.",
		}, o.incidents),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/alerts/rules/{id}", ID: "putAlertRule", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Set a rule of alerts", Answer: "The rule, and whether anything changed", Example: `{"limit": 30, "minutes": 5, "calls": 20}`,
			Description: "The body is the whole rule: what is left out is as the program has it.",
		}, o.putRule),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/alerts/rules/{id}", ID: "resetAlertRule", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Make a rule of alerts as the program has it", Answer: "It is so",
		}, o.resetRule),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/alerts/channels/{id}", ID: "putAlertChannel", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Make a channel of alerts what the body says, whether or not it is there", Answer: "The channel, and whether anything changed",
			Description: "`address` is a mailbox, the URL of a webhook, or the chat of Telegram. `secret` is the URL of Slack's webhook, the token of Telegram's bot, or what signs a webhook (`whsec_...`). It is kept encrypted, and never shown. A channel that had failed is tried again.",
			Example:     `{"way": "mail", "address": "ops@example.org", "language": "en"}`,
		}, o.putChannel),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/alerts/channels/{id}", ID: "removeAlertChannel", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Remove a channel of alerts, and what waits for it", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, in *alertChannelGone) (operation.Deleted, error) {
			return operation.Deleted{}, o.RemoveChannel(ctx, in.ID, goneCondition(&in.Gone), c.Actor)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/alerts/channels/{id}/test", ID: "testAlertChannel", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Send a test to a channel of alerts", Answer: "What came of it, in the receiver's words", Description: "It is sent also when the channel is off. A test that arrives mends a channel that had failed.",
		}, o.test),
	}
}
