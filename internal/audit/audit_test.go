package audit_test

import (
	"slices"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

func chain(n int) []audit.Row {
	var rows []audit.Row
	var seq int64
	prev := ""
	for i := range n {
		e := audit.Event{Actor: audit.Actor{Name: "operator", From: "::1"}, Action: audit.KeyCreated, Target: "key_1", Before: "a", After: "b"}
		r := audit.Link(e, seq, prev, time.Unix(int64(i), 0))
		rows, seq, prev = append(rows, r), r.Seq, r.Hash
	}
	return rows
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func([]audit.Row) []audit.Row
		want int64 // rows that are good
		ok   bool
	}{
		"whole":            {func(r []audit.Row) []audit.Row { return r }, 4, true},
		"empty":            {func([]audit.Row) []audit.Row { return nil }, 0, true},
		"changed text":     {func(r []audit.Row) []audit.Row { r[2].After = "c"; return r }, 2, false},
		"changed time":     {func(r []audit.Row) []audit.Row { r[1].At = r[1].At.Add(time.Hour); return r }, 1, false},
		"moved text":       {func(r []audit.Row) []audit.Row { r[0].Before, r[0].After = "", "ab"; return r }, 0, false},
		"removed row":      {func(r []audit.Row) []audit.Row { return slices.Delete(r, 1, 2) }, 1, false},
		"removed first":    {func(r []audit.Row) []audit.Row { return r[1:] }, 0, false},
		"exchanged rows":   {func(r []audit.Row) []audit.Row { r[1], r[2] = r[2], r[1]; return r }, 1, false},
		"rehashed in part": {func(r []audit.Row) []audit.Row { r[1] = audit.Link(audit.Event{}, 1, r[0].Hash, r[1].At); return r }, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := c.edit(chain(4))
			n, err := audit.Verify(func(yield func(audit.Row, error) bool) {
				for _, r := range rows {
					if !yield(r, nil) {
						return
					}
				}
			})
			if n != c.want || (err == nil) != c.ok || !c.ok && !fault.Is(err, fault.Conflict) {
				t.Fatalf("Verify = %d, %v; want %d, ok %v", n, err, c.want, c.ok)
			}
		})
	}
}

// A mark noted elsewhere finds what the chain itself cannot show: rows cut from its end, and a rewritten chain.
func TestCheckAgainstAMark(t *testing.T) {
	t.Parallel()
	whole := chain(4)
	anew := chain(3)
	last := audit.Link(audit.Event{Action: audit.KeyRevoked}, 3, anew[2].Hash, time.Unix(9, 0))
	for name, c := range map[string]struct {
		rows []audit.Row
		mark audit.Mark
		ok   bool
	}{
		"none":         {whole, audit.Mark{}, true},
		"the last":     {whole, audit.Mark{Seq: 4, Hash: whole[3].Hash}, true},
		"an early one": {whole, audit.Mark{Seq: 2, Hash: whole[1].Hash}, true},
		"cut":          {whole[:3], audit.Mark{Seq: 4, Hash: whole[3].Hash}, false},
		"emptied":      {nil, audit.Mark{Seq: 1, Hash: whole[0].Hash}, false},
		"written anew": {append(anew, last), audit.Mark{Seq: 4, Hash: whole[3].Hash}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := audit.ParseMark(c.mark.String())
			if (err == nil) != (c.mark.Seq > 0) || err == nil && read != c.mark {
				t.Fatalf("the mark is read as %v, %v", read, err)
			}
			_, err = audit.Check(func(yield func(audit.Row, error) bool) {
				for _, r := range c.rows {
					if !yield(r, nil) {
						return
					}
				}
			}, c.mark)
			if (err == nil) != c.ok || !c.ok && !fault.Is(err, fault.Conflict) {
				t.Fatalf("Check: %v; want ok %v", err, c.ok)
			}
		})
	}
	for _, text := range []string{"", "4", "4:", "0:" + whole[0].Hash, "-1:" + whole[0].Hash, "4:xyz", whole[0].Hash} {
		if m, err := audit.ParseMark(text); err == nil {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}

// Rows from which personal data were erased verify by the row that says what is left, and by no other.
func TestErased(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func([]audit.Row)
		good int64
		ok   bool
	}{
		"as it was left":       {func([]audit.Row) {}, 5, true},
		"another text":         {func(r []audit.Row) { r[1].After = "x" }, 3, false},
		"another time":         {func(r []audit.Row) { r[1].At = r[1].At.Add(time.Hour) }, 3, false},
		"an address put back":  {func(r []audit.Row) { r[1].From = "192.0.2.1" }, 1, false},
		"one more":             {func(r []audit.Row) { r[2].From, r[2].Salt, r[2].Erased = "", "", 4 }, 3, false},
		"one without a word":   {func(r []audit.Row) { r[2].From, r[2].Salt, r[2].Erased = "", "", 5 }, 4, false},
		"one for no row":       {func(r []audit.Row) { r[2].From, r[2].Salt, r[2].Erased = "", "", 6 }, 5, false},
		"one that is no later": {func(r []audit.Row) { r[2].From, r[2].Salt, r[2].Erased = "", "", 3 }, 2, false},
		"the word changed":     {func(r []audit.Row) { r[3].After += " " }, 3, false},
		"claimed to be whole":  {func(r []audit.Row) { r[1].Erased = 0 }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := chain(3)
			rows[1].From, rows[1].Before, rows[1].After, rows[1].Salt, rows[1].Erased = "", "", "", "", 4
			var rest audit.Rest
			rest.Add(&rows[1])
			for _, e := range []audit.Event{{Action: audit.UserForgotten, After: rest.String()}, {Action: audit.TopUp}} {
				last := rows[len(rows)-1]
				rows = append(rows, audit.Link(e, last.Seq, last.Hash, last.At))
			}
			c.edit(rows)
			n, err := audit.Verify(func(yield func(audit.Row, error) bool) {
				for _, r := range rows {
					if !yield(r, nil) {
						return
					}
				}
			})
			if n != c.good || (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Conflict) {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}
