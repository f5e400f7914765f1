package adminapi

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/figures"
	"weir/internal/operation"
)

// Goals of the figures.
const (
	mostFailed = 0.001 // of requests
	mostAdded  = 5.0   // milliseconds
)

// NowFigure is one figure, of the time that is asked for.
type NowFigure struct {
	Node   *float64 `json:"node"`   // of the node that answers; null when there was nothing to measure
	All    *float64 `json:"all"`    // of all nodes
	Goal   *float64 `json:"goal"`   // the most that is well; null without a goal
	Count  *float64 `json:"count"`  // how many calls of all nodes a share is of them; null for no share
	Metric string   `json:"metric"` // of /metrics, that it is computed from
}

// NowFigures are the five figures that say whether all is well.
type NowFigures struct {
	Requests NowFigure `json:"requests_per_second"` // for models: pages do not count
	Failed   NowFigure `json:"failed_share"`        // of these requests, that clients got a 5xx for
	Saved    NowFigure `json:"saved_share"`         // of answered calls, that another endpoint had failed before
	Added    NowFigure `json:"added_p99_ms"`        // what the node itself adds to 99 of 100 calls at most, in milliseconds
	Sales    NowFigure `json:"sales_per_minute"`    // rubles that calls were charged; for a look: the ledger is exact
}

// NowPoint is half a minute of all nodes.
type NowPoint struct {
	At             time.Time `json:"at"` // its beginning
	Requests       float64   `json:"requests"`
	Failed         float64   `json:"failed"`          // that clients got a 5xx for
	Attempts       float64   `json:"attempts"`        // at providers
	FailedAttempts float64   `json:"failed_attempts"` // which others made good, mostly
}

// MoneyCheck is a law about money, and whether it holds.
type MoneyCheck struct {
	Kind   string     `json:"kind" enum:"ledger,journal,aside,prices,rate,audit"`
	OK     bool       `json:"ok"`
	At     *time.Time `json:"at"`     // when it was found out, or since when a rate holds; null: it is not known yet
	Value  float64    `json:"value"`  // ledger: entries; journal: bytes that the database has not taken; aside: charges; prices and rate: days; audit: rows
	Detail *string    `json:"detail"` // what is wrong; or the day of the prices, or the version of the rate
}

// NowEndpoint is an endpoint with how it stands at all nodes.
type NowEndpoint struct {
	ID       string  `json:"id"`
	Provider string  `json:"provider"` // name
	Model    string  `json:"model"`
	Region   *string `json:"region"`
	EndpointHealth
}

// EndpointHealth is how an endpoint stands at all nodes.
type EndpointHealth struct {
	State     string         `json:"state" enum:"healthy,slow,ejected,draining,off"`
	Since     *time.Time     `json:"since"`               // when an ejection or an absence began; null: neither, or not known yet
	Until     *time.Time     `json:"until"`               // when an ejection or an absence ends
	OK        *float64       `json:"ok_percent"`          // of the attempts of the last day; null without any
	First     *int64         `json:"first_token_ms"`      // median of late
	SlowFirst *int64         `json:"slow_first_token_ms"` // 19 of 20 calls of late
	InFlight  int64          `json:"in_flight"`
	Limited   float64        `json:"limited_per_minute"` // attempts that its rate limit refused
	PerHour   float64        `json:"calls_per_hour"`
	Ticks     []EndpointTick `json:"ticks"` // the last 24 hours, oldest first
}

// EndpointTick is an hour of an endpoint.
type EndpointTick struct {
	Served int64 `json:"served"`
	Failed int64 `json:"failed"`
}

func healthOf(s *console.Standing) EndpointHealth {
	h := EndpointHealth{State: string(s.State), Since: accountapi.Moment(s.Since), Until: accountapi.Moment(s.Until), First: milliseconds(s.First), SlowFirst: milliseconds(s.SlowFirst), InFlight: s.InFlight, Limited: rounded(s.Limited), PerHour: rounded(s.PerHour)}
	if s.Tried {
		h.OK = &s.OK
	}
	h.Ticks = make([]EndpointTick, len(s.Ticks))
	for i, t := range s.Ticks {
		h.Ticks[i] = EndpointTick{t.Served, t.Failed}
	}
	return h
}

func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

func rounded(f float64) float64 { return math.Round(f*10) / 10 }

// NowEvent is something that happened, with its effect. Members that do not belong to its kind are null.
type NowEvent struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind" enum:"ejected,returned,prices,publication,rate,provider,endpoint,absence,alias,order,setting"`
	ID     *string   `json:"id"`         // of the endpoint or provider
	Node   *string   `json:"node"`       // that saw it
	Actor  *string   `json:"actor"`      // who did it
	Name   *string   `json:"actor_name"` // of that user, or of the owner of that key
	Action *string   `json:"action"`     // of the audit log
	Before *string   `json:"before"`     // version of the price list, or rubles per dollar; of a publication, how many endpoints it changes
	After  *string   `json:"after"`
	Margin *string   `json:"margin"` // of a rate, where that was set

	Calls   *float64 `json:"calls"`   // ejected: that it had served in the half hour before, and that go to others now
	Seconds *float64 `json:"seconds"` // returned: how long it got no calls
	Saved   *float64 `json:"saved"`   // returned: calls that this node had answered meanwhile although an attempt failed
	Failed  *float64 `json:"failed"`  // returned: requests that failed for clients of this node meanwhile
}

// NowNode is a node.
type NowNode struct {
	ID       string    `json:"id"`
	Self     bool      `json:"self"` // it answers this request
	Seen     time.Time `json:"seen"` // its last sign of life
	Version  string    `json:"version"`
	Prices   *string   `json:"prices"` // version of the price list; null for that of the program
	Rate     *string   `json:"rate"`   // version of the rate
	InFlight float64   `json:"in_flight"`
	Requests float64   `json:"requests_per_second"`
	Ahead    *float64  `json:"ahead_ms"` // how far its clock is ahead of the database's
	Differs  *string   `json:"differs"`  // in which respects it serves something else than the node that answers
}

// Now is what operators look at first: whether all is well, and what is not.
type Now struct {
	At        time.Time     `json:"at"`
	Over      string        `json:"over" enum:"1m,5m,1h,24h"` // of what time the figures are
	Seconds   float64       `json:"seconds"`                  // for how long of it the node that answers has counted: less after its start
	Figures   NowFigures    `json:"figures"`
	Points    []NowPoint    `json:"points"` // the last half hour, oldest first; the last is not over
	Checks    []MoneyCheck  `json:"checks"`
	Endpoints []NowEndpoint `json:"endpoints"` // those that are not well, and then the busiest
	Counts    EndpointCount `json:"counts"`
	Events    []NowEvent    `json:"events"` // newest first
	Nodes     []NowNode     `json:"nodes"`
	Rate      RateInForce   `json:"rate"` // of the node that answers
}

// EndpointCount is how many endpoints stand how.
type EndpointCount struct {
	Healthy  int `json:"healthy"`
	Slow     int `json:"slow"`
	Ejected  int `json:"ejected"`
	Draining int `json:"draining"`
	Off      int `json:"off"`
}

func (c *EndpointCount) add(state string) {
	switch console.State(state) {
	case console.Slow:
		c.Slow++
	case console.Ejected:
		c.Ejected++
	case console.Draining:
		c.Draining++
	case console.Off:
		c.Off++
	default:
		c.Healthy++
	}
}

const (
	busiest    = 3  // endpoints that are shown beside those that are not well
	mostUnwell = 20 // endpoints that are shown
	mostEvents = 20
)

type nowInput struct {
	Over string `json:"-" query:"over" enum:"1m,5m,1h,24h"` // of what time figures are; 1m without it
}

// overs are the times that may be asked for: the first is figures.Window, the others are figures.Ranges.
var overs = []string{"1m", "5m", "1h", "24h"}

type nowOperations struct {
	Editor
	*console.Console
	log AuditLog
}

func (o nowOperations) now(ctx context.Context, c *operation.Call, in *nowInput) (out Now, err error) {
	over := cmp.Or(in.Over, overs[0])
	if !slices.Contains(overs, over) {
		list := strings.Join(overs, ", ")
		return out, fault.Field("adminapi.now", "over", "over must be one of %s.", list).Coded("one_of", "allowed", list)
	}
	built, nodes := o.Console.Built(), o.Nodes()
	counted := countedBy(nodes, slices.Index(overs, over))
	out = Now{At: c.At, Over: over, Seconds: counted[0].Seconds, Figures: figuresOf(counted), Points: pointsOf(nodes), Nodes: make([]NowNode, len(nodes)), Checks: []MoneyCheck{}, Rate: rateInForceOf(&built.Rate)}
	for i := range nodes {
		out.Nodes[i] = nodeOf(&nodes[i], i == 0)
	}
	for _, k := range o.Checks(nodes, &built.Rate, built.Snapshot.PricesAsOf) {
		out.Checks = append(out.Checks, MoneyCheck{Kind: k.Kind, OK: k.OK, At: accountapi.Moment(k.At), Value: k.Value, Detail: accountapi.OrNull(k.Detail)})
	}
	all, err := o.endpoints(ctx, built, nodes)
	if err != nil {
		return out, err
	}
	for i := range all {
		out.Counts.add(all[i].State)
	}
	slices.SortStableFunc(all, func(a, b NowEndpoint) int {
		return cmp.Or(cmp.Compare(unwell(a.State), unwell(b.State)), cmp.Compare(b.PerHour, a.PerHour))
	})
	n := slices.IndexFunc(all, func(e NowEndpoint) bool { return unwell(e.State) == wellRank })
	if n < 0 {
		n = len(all)
	}
	out.Endpoints = all[:min(n+busiest, len(all), mostUnwell)]
	out.Events, err = o.events(ctx, nodes)
	return out, err
}

// wellRank is the rank of endpoints that need no look.
const wellRank = 3

func unwell(state string) int {
	switch console.State(state) {
	case console.Ejected:
		return 0
	case console.Slow:
		return 1
	case console.Draining:
		return 2
	case console.Off:
		return wellRank + 1
	}
	return wellRank
}

// countedBy is what each node has counted in one of overs.
func countedBy(nodes []console.Node, over int) []figures.Grown {
	counted := make([]figures.Grown, len(nodes))
	for i := range nodes {
		if n := &nodes[i]; over == 0 {
			counted[i] = n.Now
		} else if over <= len(n.Over) {
			counted[i] = n.Over[over-1]
		}
	}
	return counted
}

// figuresOf computes the figures of what nodes have counted, that of the node that answers first.
func figuresOf(nodes []figures.Grown) NowFigures {
	self := nodes[0]
	var all figures.Grown
	for i := range nodes {
		all.Add(&nodes[i])
	}
	of := func(metric string, goal, count *float64, f func(*figures.Grown) float64) NowFigure {
		return NowFigure{Node: known(f(&self)), All: known(f(&all)), Goal: goal, Count: count, Metric: metric}
	}
	added := func(g *figures.Grown) float64 { return 1000 * g.AddedP99() }
	share := func(whole func(*figures.Grown) float64, f func(*figures.Grown) float64) func(*figures.Grown) float64 {
		return func(g *figures.Grown) float64 {
			if whole(g) == 0 {
				return math.NaN()
			}
			return f(g)
		}
	}
	measured := func(f func(*figures.Grown) float64) func(*figures.Grown) float64 {
		return share(func(g *figures.Grown) float64 { return g.Seconds }, f)
	}
	failed, goal := mostFailed, mostAdded
	return NowFigures{
		Requests: of(figures.RequestsMetric, nil, nil, measured((*figures.Grown).PerSecond)),
		Failed:   of(figures.RequestsMetric, &failed, known(math.Round(all.Failed)), share(func(g *figures.Grown) float64 { return g.Requests }, (*figures.Grown).FailedShare)),
		Saved:    of(figures.SavedMetric, nil, known(math.Round(all.Saved)), share(func(g *figures.Grown) float64 { return g.Calls }, (*figures.Grown).SavedShare)),
		Added:    of(figures.AddedMetric, &goal, nil, added),
		Sales:    of(figures.SalesMetric, nil, nil, measured((*figures.Grown).RublesPerMinute)),
	}
}

func known(f float64) *float64 {
	if math.IsNaN(f) {
		return nil
	}
	return &f
}

// pointsOf adds up the half hours of the nodes.
func pointsOf(nodes []console.Node) []NowPoint {
	newest := nodes[0].Newest
	out := make([]NowPoint, figures.Slots)
	for i := range out {
		out[i].At = time.Unix(0, (newest-int64(len(out))+1+int64(i))*int64(figures.Slot)).UTC()
	}
	for i := range nodes {
		first := nodes[i].Newest - int64(len(nodes[i].Points)) + 1
		for k, p := range nodes[i].Points {
			at := first + int64(k) - (newest - int64(len(out)) + 1)
			if at < 0 || at >= int64(len(out)) {
				continue
			}
			to := &out[at]
			to.Requests += p.Requests
			to.Failed += p.Failed
			to.Attempts += p.Attempts
			to.FailedAttempts += p.FailedAttempts
		}
	}
	return out
}

func nodeOf(n *console.Node, self bool) NowNode {
	out := NowNode{
		ID: n.ID, Self: self, Seen: n.Seen, Version: n.Version, Prices: accountapi.OrNull(n.Prices), Rate: accountapi.OrNull(n.Rate), InFlight: n.InFlight, Requests: n.Now.PerSecond(),
		Differs: accountapi.OrNull(n.Differs),
	}
	if n.Known {
		ahead := float64(n.Ahead.Microseconds()) / 1000
		out.Ahead = &ahead
	}
	return out
}

// endpoints are all endpoints of the catalog with how they stand, by id.
func (o nowOperations) endpoints(ctx context.Context, b *edit.Built, nodes []console.Node) ([]NowEndpoint, error) {
	all, err := standing(ctx, o.Console, b, nodes, func(*edit.EndpointView) bool { return true })
	if err != nil {
		return nil, err
	}
	out := make([]NowEndpoint, len(all))
	for i := range all {
		v := &all[i]
		out[i] = NowEndpoint{ID: v.ID, Provider: v.Provider, Model: v.Model, Region: accountapi.OrNull(v.Region), EndpointHealth: healthOf(&v.Standing)}
		if p := b.Provider(v.Provider); p != nil {
			out[i].Provider = cmp.Or(p.Name, p.ID)
		}
	}
	return out, nil
}

// events are what nodes have seen, and what was changed.
func (o nowOperations) events(ctx context.Context, nodes []console.Node) ([]NowEvent, error) {
	entries, err := o.Editor.History(ctx, 0, mostEvents)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(ctx, o.log, entries, func(e *edit.Entry) string { return actorID(e.Name) })
	if err != nil {
		return nil, err
	}
	out := []NowEvent{}
	for i := range nodes {
		for _, e := range nodes[i].Events {
			one := NowEvent{At: e.At, Kind: "ejected", ID: &e.Endpoint, Node: &nodes[i].ID, Calls: &e.Calls}
			if e.Returned {
				took := e.Took.Seconds()
				one.Kind, one.Calls, one.Seconds, one.Saved, one.Failed = "returned", nil, &took, &e.Saved, &e.Failed
			}
			out = append(out, one)
		}
	}
	for i := range entries {
		one := changeOf(&entries[i])
		one.Name = accountapi.OrNull(names[actorID(entries[i].Name)])
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b NowEvent) int { return b.At.Compare(a.At) })
	return out[:min(len(out), mostEvents)], nil
}

func changeOf(e *edit.Entry) NowEvent {
	one := NowEvent{At: e.At, Kind: string(e.Kind), ID: accountapi.OrNull(e.ID), Actor: accountapi.OrNull(e.Name), Action: accountapi.OrNull(e.Action)}
	switch e.Action {
	case audit.RateSet:
		r := e.Rate()
		one.After, one.Margin = accountapi.OrNull(r.RubPerUSD), accountapi.OrNull(r.Margin)
	case audit.PricesPublished, audit.PricesScheduled, audit.PricesCancelled:
		if e.Kind == edit.Publication {
			one.After = accountapi.OrNull(e.After["endpoints"])
			break
		}
		one.Before, one.After = accountapi.OrNull(strings.TrimSpace(e.Before["list"])), accountapi.OrNull(e.After["list"])
	}
	return one
}

func nowRoutes(d Deps) []operation.Operation {
	o := nowOperations{d.Editor, d.Console, d.Audit}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/now", ID: "getAdminNow", Access: operation.Operating, Tag: "administration",
			Summary: "Show whether all is well: figures of the last minute or another time, what is not well, and what happened", Answer: "How the gateway does, all nodes of it",
			Description: "Figures are computed from the same metrics as `weir top` and `/metrics`. Nodes other than the one that answers say theirs every few seconds. A node counts since its start.",
		}, o.now),
	}
}
