package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// The rules that the prices of every known provider keep. A list that breaks one is wrong, or means something else: its import fails,
// unless an exception names the offer, the rule and the page that confirms the price.
const (
	ruleCached   = "cached tokens cost at most what others do"
	ruleWrites   = "writing to a cache costs at least what the prompt does"
	ruleLong     = "long prompts cost at least what short ones do"
	ruleFlex     = "the flex tier costs at most what the usual one does"
	rulePriority = "the priority tier costs at least what the usual one does"
	ruleBatch    = "a batch costs at most what single calls do"
	ruleBounds   = "a price is below the highest that is plausible"
)

// highest is above any known price: dollars per million tokens, and per unit of what is charged by the unit.
const (
	highestTokens = "2000"
	highestEach   = "100"
)

// most is how many broken rules an error lists.
const most = 20

// sane fails with fault.Invalid when offers break rules that no exception covers.
func (im *importer) sane() error {
	var broken []string
	for _, p := range im.offers {
		for i := range p.offers {
			o := &p.offers[i]
			for _, rule := range o.broken() {
				if !slices.ContainsFunc(im.book.Excepted, func(x Exception) bool {
					return x.Provider == p.provider && x.ID == o.id && strings.HasPrefix(rule, x.Rule) && x.Source != ""
				}) {
					broken = append(broken, p.provider+" "+o.id+": "+rule)
				}
			}
		}
	}
	if len(broken) == 0 {
		return nil
	}
	text := strings.Join(broken[:min(len(broken), most)], "\n")
	return fault.Newf(fault.Invalid, "importer.Import", "%d prices are implausible; nothing is imported. Correct the list, or name the exception and its source in names.json.\n%s", len(broken), text)
}

// broken lists the rules that an offer breaks, each followed by the prices.
func (o *offer) broken() []string {
	var out []string
	note := func(rule, what, a, b string) {
		out = append(out, fmt.Sprintf("%s (%s: %s against %s)", rule, what, a, b))
	}
	q := &o.quote
	q.check("", note)
	for _, above := range slices.Sorted(maps.Keys(q.above)) {
		t := quote{base: maps.Clone(q.base)}
		maps.Copy(t.base, q.above[above]) // prices that it does not set are inherited
		t.check(fmt.Sprintf("above %d, ", above), note)
		compare(q.base, t.base, func(name, base, long string) {
			if dearer(base, long) {
				note(ruleLong, name, long, base)
			}
		})
	}
	if t := o.batch; t != nil {
		t.check(batch+", ", note)
		compare(q.base, t.base, func(price, usual, tier string) {
			if dearer(tier, usual) {
				note(ruleBatch, price, tier, usual)
			}
		})
		for _, above := range slices.Sorted(maps.Keys(t.above)) {
			compare(q.above[above], t.above[above], func(price, usual, tier string) {
				if dearer(tier, usual) {
					note(ruleBatch, fmt.Sprintf("above %d, %s", above, price), tier, usual)
				}
			})
		}
	}
	for name, rule := range map[string]string{"flex": ruleFlex, "priority": rulePriority, batch: ruleBatch} {
		t := q.tiers[name]
		if t == nil {
			continue
		}
		t.check(name+", ", note)
		compare(q.base, t.base, func(price, usual, tier string) {
			if name == batch && price != "prompt" && price != "completion" {
				return // the lists have few others of batches, so that they would fall to that of the prompt
			}
			if name == "priority" && dearer(usual, tier) || name != "priority" && dearer(tier, usual) {
				note(rule, price, tier, usual)
			}
		})
	}
	slices.Sort(out)
	return out
}

// check notes the rules that one list of prices breaks.
func (q *quote) check(where string, note func(rule, what, a, b string)) {
	p := q.base
	for _, x := range []struct{ rule, less, more string }{
		{ruleCached, "cache_read", "prompt"}, {ruleWrites, "prompt", "cache_write"}, {ruleWrites, "cache_write", "cache_write_1h"},
	} {
		if dearer(p[x.less], p[x.more]) && p[x.more] != "" {
			note(x.rule, where+x.less, p[x.less], p[x.more])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		limit := highestTokens
		if !perMillion(name) {
			limit = highestEach
		}
		if dearer(p[name], limit) {
			note(ruleBounds, where+name, p[name], limit)
		}
	}
	for e := rawjson.ElementsOf(q.hours); e.Next(); {
		h := quote{base: maps.Clone(p)}
		maps.Copy(h.base, texts(rawjson.Find(e.Value, "usd")))
		h.check(where+"from "+rawjson.TextAt(e.Value, "from")+", ", note)
	}
	for _, prices := range []map[string]string{q.video, each(q.images)} {
		for _, name := range slices.Sorted(maps.Keys(prices)) {
			if dearer(prices[name], highestEach) {
				note(ruleBounds, where+name, prices[name], highestEach)
			}
		}
	}
}

func each(images map[image]string) map[string]string {
	out := map[string]string{}
	for line, price := range images {
		out["image "+line.variant+" "+line.resolution] = price
	}
	return out
}

// compare calls f with the prices that both lists charge for the same kind of tokens. A price that one of them lacks is the one that its
// tokens fall back to.
func compare(a, b prices, f func(name, a, b string)) {
	for i := range sourceNames {
		name := sourceNames[i].ours
		if a[name] != "" || b[name] != "" {
			f(name, a.effective(name), b.effective(name))
		}
	}
}

// effective is the price by which tokens of a kind are charged.
func (p prices) effective(name string) string {
	for ; p[name] == "" && name != ""; name = elseOf(name) {
	}
	return p[name]
}
