package listing

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"weir/internal/catalog"
)

// Ranks are places by popularity, from 1, by the id under which a model is listed.
type Ranks map[string]int

// RankLeast is how many accounts must have used a model before a ranking lists it. It is also a cap: no account counts for more than the one
// with the fifth most.
const RankLeast = 5

// Popularity counts how much models were used by accounts. Nothing can be learned from it about one account, and no account can push a model
// alone. The zero value is ready. It is not safe for concurrent use.
type Popularity struct {
	models map[string]*use
	wallet string
	mine   map[string]int64 // of the wallet, by the id under which a model is listed
}

// use is how much accounts used one model: how many they are, the most that single ones used, and what the others did.
type use struct {
	accounts int
	most     [RankLeast]int64 // the largest first
	others   int64
}

func (u *use) add(n int64) {
	u.accounts++
	for i := range u.most {
		if n > u.most[i] {
			n, u.most[i] = u.most[i], n
		}
	}
	u.others += n
}

// counted is what counts of the use: of each account, at most as much as of the one with the fifth most.
func (u *use) counted() int64 { return u.others + RankLeast*u.most[RankLeast-1] }

// Add adds tokens that a wallet paid for, by the slug that served, variant suffix kept: what a suffix other than ":free" brought counts for
// the model. All tokens of a wallet are added one after the other.
func (p *Popularity) Add(wallet, slug string, tokens int64) {
	if tokens <= 0 || slug == "" {
		return
	}
	if p.mine == nil || wallet != p.wallet {
		p.flush()
		p.wallet, p.mine = wallet, map[string]int64{}
	}
	if base, variant := catalog.SplitVariant(slug); variant != catalog.Free {
		slug = base
	}
	p.mine[slug] += tokens
}

func (p *Popularity) flush() {
	if p.models == nil {
		p.models = map[string]*use{}
	}
	for id, n := range p.mine {
		u := p.models[id]
		if u == nil {
			u = &use{}
			p.models[id] = u
		}
		u.add(n)
	}
	p.mine = nil
}

// Ranked is a model of a ranking.
type Ranked struct {
	ID      string
	Counted int64 // tokens; never shown: they may give away what one account used
}

// Ranking orders models by use: the most used first, equals by id.
type Ranking []Ranked

// Ranking ranks those models that listed accepts, and that enough accounts used.
func (p *Popularity) Ranking(listed func(id string) bool) Ranking {
	p.flush()
	var r Ranking
	for id, u := range p.models {
		if u.accounts >= RankLeast && listed(id) {
			r = append(r, Ranked{id, u.counted()})
		}
	}
	slices.SortFunc(r, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Counted, a.Counted), strings.Compare(a.ID, b.ID)) })
	return r
}

// Ranks are the places of a ranking.
func (r Ranking) Ranks() Ranks {
	places := make(Ranks, len(r))
	for i := range r {
		places[r[i].ID] = i + 1
	}
	return places
}

// Shares are how many percent of what counts each model has, rounded, in the order of the ranking: no more is shown of what was counted.
func (r Ranking) Shares() []int { return shares(r) }

// VendorShare is how many percent of what counts the models of a vendor have, rounded.
type VendorShare struct {
	Vendor string
	Share  int
}

// Vendors sums up the ranking by vendor, the most used first.
func (r Ranking) Vendors() []VendorShare {
	sums := map[string]int64{}
	for _, m := range r {
		vendor, _, _ := strings.Cut(m.ID, "/")
		sums[vendor] += m.Counted
	}
	var all Ranking
	for _, vendor := range slices.Collect(maps.Keys(sums)) {
		all = append(all, Ranked{vendor, sums[vendor]})
	}
	slices.SortFunc(all, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Counted, a.Counted), strings.Compare(a.ID, b.ID)) })
	out := make([]VendorShare, len(all))
	for i, n := range shares(all) {
		out[i] = VendorShare{all[i].ID, n}
	}
	return out
}

func shares(r Ranking) []int {
	var total float64
	for i := range r {
		total += float64(r[i].Counted)
	}
	all := make([]int, len(r))
	for i := range r {
		all[i] = int(100*float64(r[i].Counted)/total + 0.5)
	}
	return all
}
