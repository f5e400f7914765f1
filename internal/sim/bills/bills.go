// Package bills writes what the simulator served as providers export it, with errors that are asked for: calls that are lost, left out, doubled, repriced,
// or have other tokens. So a program that checks bills can be checked. It knows the formats from the providers' documents alone.
package bills

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// Formats are the names of the formats.
var Formats = []string{"openai-usage", "openai-costs", "anthropic-usage", "anthropic-costs", "openrouter", "openrouter-csv", "anthropic-csv", "csv"}

// Errors are the names of errors, as those who check bills call them.
var Errors = []string{"lost", "extra", "doubled", "tokens", "repriced"}

// Order asks for an export.
type Order struct {
	Format             string
	Days               []string // of UTC; nil: all
	ByEnd              bool     // a call is booked on the day on which it ended
	Prompt, Completion int64    // price in billionths of a dollar for a token
	Errors             map[string]int
	Seed               uint64
	Keys               []string // only calls with these keys; nil: all
}

// Seeded is an error that was put into an export.
type Seeded struct{ Kind, Day, Model, Key, ID string }

// line is a call as it is billed.
type line struct {
	kit.Served
	day                string
	prompt, completion int64
	nanos              int64
}

// keyed are the formats that have sums by key.
var keyed = []string{"openai-usage", "anthropic-usage", "anthropic-csv"}

// group is what the sums of a format are of.
func (l *line) group(format string) string {
	if slices.Contains(keyed, format) {
		return l.day + " " + l.Model + " " + l.Key
	}
	return l.day + " " + l.Model
}

// Export writes what was served. It fails when there are too few calls for the errors: where a format has sums, a day, model and key has errors of one kind alone.
func Export(served []kit.Served, o *Order) ([]byte, []Seeded, error) {
	write := writers[o.Format]
	if write == nil {
		return nil, nil, fmt.Errorf("format must be one of %s", strings.Join(Formats, ", "))
	}
	var lines []line
	for i := range served {
		s := &served[i]
		at := s.Began
		if o.ByEnd {
			at = s.Ended
		}
		l := line{Served: *s, day: at.UTC().Format(time.DateOnly), prompt: int64(s.Usage.Prompt), completion: int64(s.Usage.Completion)}
		if o.Days != nil && !slices.Contains(o.Days, l.day) || o.Keys != nil && !slices.Contains(o.Keys, s.Key) {
			continue
		}
		l.nanos = l.prompt*o.Prompt + l.completion*o.Completion
		lines = append(lines, l)
	}
	lines, seeded, err := seed(lines, o)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(strings.Compare(a.day, b.day), strings.Compare(a.Model, b.Model), strings.Compare(a.Key, b.Key))
	})
	return write(lines), seeded, nil
}

// seed puts errors in.
func seed(lines []line, o *Order) ([]line, []Seeded, error) {
	var seeded []Seeded
	random := rand.New(rand.NewPCG(o.Seed, 1))
	order := random.Perm(len(lines))
	used, kindOf := map[int]bool{}, map[string]string{}
	singly := o.Format == "csv" || o.Format == "openrouter-csv"
	gone := map[int]bool{}
	var more []line
	for _, kind := range Errors {
		for range o.Errors[kind] {
			at := slices.IndexFunc(order, func(i int) bool {
				is := kindOf[lines[i].group(o.Format)]
				return !used[i] && (singly || is == "" || is == kind && kind != "lost" && kind != "tokens")
			})
			if at < 0 {
				return nil, nil, fmt.Errorf("there are too few calls for the errors")
			}
			i := order[at]
			used[i], kindOf[lines[i].group(o.Format)] = true, kind
			l := lines[i]
			seeded = append(seeded, Seeded{kind, l.day, l.Model, l.Key, l.ID})
			switch kind {
			case "lost": // a call that no client made through the gateway
				l.ID = fmt.Sprintf("%s-lost%d", l.ID, len(seeded))
				l.prompt, l.completion = 100_003+random.Int64N(1000), 50_021+random.Int64N(1000)
				l.nanos = l.prompt*o.Prompt + l.completion*o.Completion
				more = append(more, l)
			case "extra":
				gone[i] = true
			case "doubled":
				more = append(more, l)
			case "tokens":
				lines[i].completion += 100_003
				lines[i].nanos += 100_003 * o.Completion
			case "repriced":
				lines[i].nanos += lines[i].nanos/3 + 7919
			}
		}
	}
	var out []line
	for i := range lines {
		if !gone[i] {
			out = append(out, lines[i])
		}
	}
	return append(out, more...), seeded, nil
}

// Serve answers GET /sim/bill?format=...&prompt=...&completion=...&doubled=1&seed=7.
func Serve(h *kit.Host) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		o := Order{Format: q.Get("format"), Days: q["day"], Keys: q["key"], ByEnd: q.Get("by_end") == "1", Errors: map[string]int{}}
		var wrong error
		number := func(name string, least int64) int64 {
			if q.Get(name) == "" {
				return least
			}
			n, err := strconv.ParseInt(q.Get(name), 10, 64)
			if err != nil || n < 0 || n > 1_000_000_000 {
				wrong = fmt.Errorf("%s must be a whole number", name)
			}
			return n
		}
		o.Prompt, o.Completion, o.Seed = number("prompt", 1000), number("completion", 1000), uint64(number("seed", 0))
		for _, kind := range Errors {
			o.Errors[kind] = int(number(kind, 0))
		}
		file, seeded, err := Export(h.Served(), &o)
		if wrong != nil || err != nil {
			http.Error(w, fmt.Sprint(cmp.Or(wrong, err)), http.StatusBadRequest)
			return
		}
		for _, s := range seeded {
			w.Header().Add("Sim-Seeded", strings.Join([]string{s.Kind, s.Day, s.Model, s.ID}, " "))
		}
		if w.Header().Set("Content-Type", "application/json"); strings.HasSuffix(o.Format, "csv") {
			w.Header().Set("Content-Type", "text/csv")
		}
		w.Write(file) //nolint:errcheck // a client that has gone needs no answer
	}
}
