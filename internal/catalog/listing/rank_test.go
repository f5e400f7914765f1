package listing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func all(string) bool { return true }

func TestRanking(t *testing.T) {
	t.Parallel()
	type row struct {
		wallet, slug string
		tokens       int64
	}
	five := func(slug string, tokens ...int64) (rows []row) {
		for i, n := range tokens {
			rows = append(rows, row{fmt.Sprint("w", i), slug, n})
		}
		return rows
	}
	for name, c := range map[string]struct {
		rows []row
		want Ranking
	}{
		"four accounts are too few":             {five("v/m", 9, 9, 9, 9), nil},
		"five are enough":                       {five("v/m", 9, 9, 9, 9, 9), Ranking{{"v/m", 45}}},
		"nobody counts for more than the fifth": {five("v/m", 1e15, 7, 3, 2, 2, 1), Ranking{{"v/m", 11}}},
		"nothing is no use":                     {append(five("v/m", 1, 1, 1, 1), row{"w9", "v/m", 0}), nil},
		"an account is one whatever the variant": {
			slices.Concat(five("v/m", 1, 1, 1, 1), []row{{"w4", "v/m", 1}, {"w4", "v/m:nitro", 1}}), Ranking{{"v/m", 5}},
		},
		"variants of one account do not make two": {
			slices.Concat(five("v/m", 1, 1, 1), []row{{"w3", "v/m", 1}, {"w3", "v/m:nitro", 1}}), nil,
		},
		"free is a model of its own": {
			slices.Concat(five("v/m", 1, 1, 1, 1), []row{{"w4", "v/m:free", 1}}), nil,
		},
	} {
		slices.SortStableFunc(c.rows, func(a, b row) int { return strings.Compare(a.wallet, b.wallet) })
		var p Popularity
		for _, r := range c.rows {
			p.Add(r.wallet, r.slug, r.tokens)
		}
		if diff := cmp.Diff(c.want, p.Ranking(all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSharesAndVendors(t *testing.T) {
	t.Parallel()
	r := Ranking{{"a/one", 600}, {"b/two", 297}, {"a/three", 100}, {"b/four", 3}}
	if diff := cmp.Diff([]int{60, 30, 10, 0}, r.Shares()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]VendorShare{{"a", 70}, {"b", 30}}, r.Vendors()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Ranks{"a/one": 1, "b/two": 2, "a/three": 3, "b/four": 4}, r.Ranks()); diff != "" {
		t.Error(diff)
	}
	if got := (Ranking)(nil); len(got.Shares())+len(got.Vendors())+len(got.Ranks()) != 0 {
		t.Error("nothing has shares")
	}
}

// What counts is what a plain sum of capped uses says; and an account that is above the cap changes nothing by using more.
func TestOneAccountCannotPush(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		uses := rapid.SliceOfN(rapid.Int64Range(1, 1_000_000_000_000), 0, 12).Draw(t, "uses")
		of := func(uses []int64) Ranking {
			var p Popularity
			for i, n := range uses {
				p.Add(fmt.Sprint(i), "v/m", n)
			}
			return p.Ranking(all)
		}
		got := of(uses)
		if len(uses) < RankLeast {
			if got != nil {
				t.Fatalf("%d accounts are listed: %v", len(uses), got)
			}
			return
		}
		sorted := slices.Clone(uses)
		slices.Sort(sorted)
		limit, want := sorted[len(sorted)-RankLeast], int64(0)
		for _, n := range uses {
			want += min(n, limit)
		}
		if len(got) != 1 || got[0].Counted != want {
			t.Fatalf("%v, want %d", got, want)
		}
		who := rapid.IntRange(0, len(uses)-1).Draw(t, "who")
		if uses[who] > limit {
			uses[who] += rapid.Int64Range(0, 1<<50).Draw(t, "more")
			if pushed := of(uses)[0].Counted; pushed != want {
				t.Fatalf("one account makes %d of %d", pushed, want)
			}
		}
	})
}
