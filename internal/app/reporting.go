package app

import (
	"math"
	"strconv"
	"time"

	"weir/internal/console"
	"weir/internal/figures"
	"weir/internal/rawjson"
)

// A node reports to others its figures as a list of numbers and lists, within its row of the database. Their order is that of reportText; more may follow.

// maxReport is how many bytes of what another node reports are read.
const maxReport = 256 << 10

// reportText is what a node reports, as text.
func reportText(t *console.Report) string {
	var w rawjson.Writer
	number := func(f float64) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0
		}
		w.Literal(strconv.FormatFloat(f, 'g', 8, 64))
	}
	numbers := func(list ...float64) {
		w.Array()
		for _, f := range list {
			number(f)
		}
		w.EndArray()
	}
	w.Object()
	w.Name("at").Int(t.At.UnixMicro())
	if t.Known {
		w.Name("ahead").Int(t.Ahead.Microseconds())
	}
	w.Name("gauges")
	numbers(t.InFlight, t.LagBytes, t.Aside, t.DiskFull)
	if !t.CertificateEnds.IsZero() {
		w.Name("certificate_from").Int(t.CertificateFrom.UnixMicro())
		w.Name("certificate_ends").Int(t.CertificateEnds.UnixMicro())
	}
	g := &t.Now
	w.Name("now")
	numbers(g.Seconds, g.Requests, g.Failed, g.Calls, g.Saved, g.Attempts, g.FailedAttempts, g.Rubles)
	w.Name("added")
	numbers(g.Added...)
	w.Name("over").Array()
	for i := range t.Over {
		g := &t.Over[i]
		numbers(append([]float64{g.Seconds, g.Requests, g.Failed, g.Calls, g.Saved, g.Attempts, g.FailedAttempts, g.Rubles}, g.Added...)...)
	}
	w.EndArray()
	w.Name("newest").Int(t.Newest)
	w.Name("points").Array()
	for _, p := range t.Points {
		numbers(p.Requests, p.Failed, p.Attempts, p.FailedAttempts)
	}
	w.EndArray()
	w.Name("endpoints").Array()
	for _, e := range t.Endpoints {
		w.Object()
		w.Name("id").Text(e.ID)
		w.Name("in_flight").Int(e.InFlight)
		w.Name("limited").Int(e.Limited)
		w.Name("slow").Bool(e.Slow)
		w.Name("attempts")
		numbers(float64(e.Served), float64(e.Failed), float64(e.ServedLong), float64(e.FailedLong))
		if e.Ejected {
			w.Name("until").Int(e.Until.UnixMicro())
			if !e.Since.IsZero() {
				w.Name("since").Int(e.Since.UnixMicro())
			}
		}
		w.EndObject()
	}
	w.EndArray()
	w.Name("events").Array()
	for _, e := range t.Events {
		w.Object()
		w.Name("at").Int(e.At.UnixMicro())
		w.Name("endpoint").Text(e.Endpoint)
		w.Name("returned").Bool(e.Returned)
		w.Name("took").Int(e.Took.Microseconds())
		w.Name("effect")
		numbers(e.Calls, e.Saved, e.Failed)
		w.EndObject()
	}
	w.EndArray()
	w.Name("keys").Array()
	for i := range t.Keys {
		writeKeyUse(&w, &t.Keys[i])
	}
	w.EndArray()
	w.EndObject()
	return string(w.B)
}

func writeKeyUse(w *rawjson.Writer, k *console.KeyUse) {
	w.Object()
	w.Name("provider").Text(k.Provider)
	w.Name("tag").Text(k.Tag)
	w.Name("calls").Int(k.Calls)
	w.Name("failed").Int(k.Failed)
	w.Name("limited").Int(k.Limited)
	w.Name("running").Int(k.Running)
	if !k.Until.IsZero() {
		w.Name("until").Int(k.Until.UnixMicro())
		w.Name("model").Text(k.Model)
	}
	if !k.RefusedAt.IsZero() {
		w.Name("refused").Int(k.RefusedAt.UnixMicro())
		w.Name("status").Int(int64(k.Status))
		w.Name("words").Text(k.Words)
	}
	w.EndObject()
}

func readKeyUse(v []byte) console.KeyUse {
	integer := func(name string) int64 { n, _ := rawjson.Int(rawjson.Find(v, name)); return n }
	return console.KeyUse{
		Provider: rawjson.TextAt(v, "provider"), Tag: rawjson.TextAt(v, "tag"), Calls: integer("calls"), Failed: integer("failed"), Limited: integer("limited"), Running: integer("running"),
		Until: moment(integer("until")), Model: rawjson.TextAt(v, "model"), RefusedAt: moment(integer("refused")), Status: int(integer("status")), Words: rawjson.TextAt(v, "words"),
	}
}

// readReport reads what reportText wrote, of this version or another: what it does not know stays zero.
func readReport(text string) (t console.Report) {
	if len(text) > maxReport {
		return t
	}
	v := []byte(text)
	integer := func(v []byte, name string) int64 { n, _ := rawjson.Int(rawjson.Find(v, name)); return n }
	t.At = moment(integer(v, "at"))
	if ahead, known := rawjson.Int(rawjson.Find(v, "ahead")); known {
		t.Ahead, t.Known = time.Duration(ahead)*time.Microsecond, true
	}
	into(numbersOf(rawjson.Find(v, "gauges")), &t.InFlight, &t.LagBytes, &t.Aside, &t.DiskFull)
	t.CertificateFrom, t.CertificateEnds = moment(integer(v, "certificate_from")), moment(integer(v, "certificate_ends"))
	g := &t.Now
	into(numbersOf(rawjson.Find(v, "now")), &g.Seconds, &g.Requests, &g.Failed, &g.Calls, &g.Saved, &g.Attempts, &g.FailedAttempts, &g.Rubles)
	if g.Added = numbersOf(rawjson.Find(v, "added")); len(g.Added) != len(figures.AddedBounds)+1 {
		g.Added = make([]float64, len(figures.AddedBounds)+1) // of a version with other bounds
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "over")); e.Next() && len(t.Over) < len(figures.Ranges); {
		var g figures.Grown
		list := numbersOf(e.Value)
		into(list, &g.Seconds, &g.Requests, &g.Failed, &g.Calls, &g.Saved, &g.Attempts, &g.FailedAttempts, &g.Rubles)
		if g.Added = make([]float64, len(figures.AddedBounds)+1); len(list) == 8+len(g.Added) {
			copy(g.Added, list[8:])
		}
		t.Over = append(t.Over, g)
	}
	t.Newest = integer(v, "newest")
	for e := rawjson.ElementsOf(rawjson.Find(v, "points")); e.Next() && len(t.Points) < figures.Slots; {
		var p figures.Point
		into(numbersOf(e.Value), &p.Requests, &p.Failed, &p.Attempts, &p.FailedAttempts)
		t.Points = append(t.Points, p)
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "endpoints")); e.Next() && len(t.Endpoints) < console.MaxReported; {
		until, ejected := rawjson.Int(rawjson.Find(e.Value, "until"))
		var attempts [4]float64
		into(numbersOf(rawjson.Find(e.Value, "attempts")), &attempts[0], &attempts[1], &attempts[2], &attempts[3])
		t.Endpoints = append(t.Endpoints, console.Endpoint{
			Served: int64(attempts[0]), Failed: int64(attempts[1]), ServedLong: int64(attempts[2]), FailedLong: int64(attempts[3]),
			ID: rawjson.TextAt(e.Value, "id"), InFlight: integer(e.Value, "in_flight"), Limited: integer(e.Value, "limited"), Slow: string(rawjson.Find(e.Value, "slow")) == "true",
			Ejected: ejected, Until: moment(until), Since: moment(integer(e.Value, "since")),
		})
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "events")); e.Next() && len(t.Events) < console.MaxEvents; {
		one := console.Event{
			At: moment(integer(e.Value, "at")), Endpoint: rawjson.TextAt(e.Value, "endpoint"), Returned: string(rawjson.Find(e.Value, "returned")) == "true",
			Took: time.Duration(integer(e.Value, "took")) * time.Microsecond,
		}
		into(numbersOf(rawjson.Find(e.Value, "effect")), &one.Calls, &one.Saved, &one.Failed)
		t.Events = append(t.Events, one)
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "keys")); e.Next() && len(t.Keys) < console.MaxKeys; {
		t.Keys = append(t.Keys, readKeyUse(e.Value))
	}
	return t
}

func moment(micro int64) time.Time {
	if micro == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micro).UTC()
}

func numbersOf(list []byte) (out []float64) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		f, _ := rawjson.Float(e.Value)
		out = append(out, f)
	}
	return out
}

func into(list []float64, to ...*float64) {
	for i := range min(len(list), len(to)) {
		*to[i] = list[i]
	}
}
