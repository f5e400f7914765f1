package httpapi

import (
	"context"
	"net/http"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/loop"
)

// Popularity reports how much models are used. The store is one.
type Popularity interface {
	// PaidTokens gives each the tokens that wallets paid for, by the slug that served, variant suffix kept, over the UTC days from..to
	// (YYYY-MM-DD, both included): all of a wallet one after the other.
	PaidTokens(ctx context.Context, from, to string, each func(wallet, model string, tokens int64)) error
}

// rankRanges are the periods of rankings, in days; the first is what the lists of models are sorted by.
var rankRanges = [...]struct {
	name string
	days int
}{{"7d", 7}, {"30d", 30}}

// rankedMost is how many models a ranking lists.
const rankedMost = 100

// standings is a ranking of whole days, and the one of as many days before.
type standings struct {
	from, to    string // YYYY-MM-DD, both included
	now, before listing.Ranking
}

// Ranks ranks models by how much each was used lately: at once, and then each time every has passed. Days that are not over do not count, so
// that the effect of a single call cannot be observed. While the store cannot be read, the ranks stay as they are.
func (a *API) Ranks(from Popularity, every time.Duration) *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		all, err := a.rank(ctx, from)
		if err == nil {
			a.rankings.Store(all)
			a.models.Rank(all[0].now.Ranks(), a.Catalog())
		} else if ctx.Err() == nil {
			a.Slog.Warn("the ranks of models could not be read", "cause", err)
		}
		return every
	})
}

func (a *API) rank(ctx context.Context, from Popularity) (*[len(rankRanges)]standings, error) {
	today, offers := a.Now().UTC(), listedOffers(a.Catalog())
	ago := func(days int) string { return today.AddDate(0, 0, -days).Format(day) }
	read := func(first, last string) (listing.Ranking, error) {
		var p listing.Popularity
		err := from.PaidTokens(ctx, first, last, p.Add)
		return p.Ranking(func(id string) bool { return offers[id] != nil }), err
	}
	var all [len(rankRanges)]standings
	for i, r := range rankRanges {
		s := &all[i]
		s.from, s.to = ago(r.days), ago(1)
		var err error
		if s.now, err = read(s.from, s.to); err != nil {
			return nil, err
		}
		if s.before, err = read(ago(2*r.days), ago(r.days+1)); err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// listedOffers are the models that some endpoint serves, by the id under which they are listed.
func listedOffers(s *catalog.Snapshot) map[string]*catalog.Model {
	all := map[string]*catalog.Model{}
	for _, m := range s.Models() {
		for _, o := range listing.Offers(m) {
			if len(o.Endpoints) > 0 {
				all[o.ID] = m
			}
		}
	}
	return all
}

// showsRankings reports whether the client may see the rankings: people with an account always.
func (x *request) showsRankings() bool { return x.api.cfg.Rankings || x.caller != nil }

// getRankings serves GET /api/rankings.
func (x *request) getRankings() error {
	if !x.showsRankings() {
		return fault.New(fault.Authentication, "httpapi.getRankings", "The rankings of this gateway are for people who are signed in.")
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	at := 0
	switch q.Get("range") {
	case "", rankRanges[0].name:
	case rankRanges[1].name:
		at = 1
	default:
		return fault.Field("httpapi.getRankings", "range", "range must be 7d or 30d.")
	}
	all := x.api.rankings.Load()
	if all == nil {
		e := fault.New(fault.StorageUnavailable, "httpapi.getRankings", "The rankings are being computed.")
		e.RetryAfter = time.Second
		return e
	}
	o := newObject(4 << 10)
	appendRanking(&o, rankRanges[at].name, &all[at], listedOffers(x.api.Catalog()))
	x.w.Header().Set("Cache-Control", "private, max-age=60")
	x.writeBody(http.StatusOK, jsonType, o.B)
	return nil
}

func appendRanking(o *object, name string, s *standings, offers map[string]*catalog.Model) {
	shares, before := s.now.Shares(), s.before.Ranks()
	o.Object()
	o.text("range", name)
	o.text("from", s.from)
	o.text("to", s.to)
	o.integer("least", listing.RankLeast)
	o.Name("models").Array()
	for i, r := range s.now[:min(len(s.now), rankedMost)] {
		m := offers[r.ID]
		if m == nil {
			continue // it was not served any more after the ranking was made
		}
		o.Object()
		o.integer("place", int64(i+1))
		o.integerOrNull("before", int64(before[r.ID]))
		o.text("id", r.ID)
		o.text("name", m.Name)
		o.text("vendor", m.Vendor)
		o.text("vendor_name", catalog.VendorName(m.Vendor))
		o.integer("share", int64(shares[i]))
		o.EndObject()
	}
	o.EndArray()
	o.Name("vendors").Array()
	for _, v := range s.now.Vendors() {
		o.Object()
		o.text("id", v.Vendor)
		o.text("name", catalog.VendorName(v.Vendor))
		o.integer("share", int64(v.Share))
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
}
