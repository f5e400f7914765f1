// Package rerank is the common part of dialects that rerank: it reads ranked documents and checks them. It must not know models, or where
// a wire has its usage.
package rerank

import (
	"cmp"
	"errors"
	"slices"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/task"
)

var errRanks = errors.New("the ranks are not those of the documents")

// Read reads [{"index":0,"relevance_score":0.9}], or "score" as some servers name it, best first and at most as many as the task requests. An invalid list is a fault of the
// provider.
func Read(ep *catalog.Endpoint, list []byte, t *task.Rerank) ([]task.Rank, error) {
	var out []task.Rank
	seen := make([]bool, len(t.Documents))
	for e := rawjson.ElementsOf(list); e.Next(); {
		i, ok := rawjson.Int(rawjson.Find(e.Value, "index"))
		score, reported := rawjson.Float(rawjson.Find(e.Value, "relevance_score"))
		if !reported {
			score, reported = rawjson.Float(rawjson.Find(e.Value, "score"))
		}
		if !ok || !reported || i < 0 || i >= int64(len(seen)) || seen[i] {
			return nil, dialect.Broken(ep, errRanks)
		}
		seen[i] = true
		out = append(out, task.Rank{Index: int(i), Score: score})
	}
	want := len(t.Documents)
	if t.TopN > 0 {
		want = min(want, t.TopN)
	}
	switch {
	case out == nil:
		return nil, dialect.Empty(ep)
	case len(out) < want:
		return nil, dialect.Broken(ep, errRanks)
	}
	slices.SortStableFunc(out, func(a, b task.Rank) int { return cmp.Compare(b.Score, a.Score) })
	return out[:want], nil
}

// WriteQuery writes the members query and documents, which are the same on all wires.
func WriteQuery(w *rawjson.Writer, t *task.Rerank) {
	w.Name("query").Text(t.Query)
	w.Name("documents").Texts(t.Documents)
}

// Size is the approximate length of a request in bytes.
func Size(t *task.Rerank) int {
	n := 256 + len(t.Query)
	for _, document := range t.Documents {
		n += len(document) + 8
	}
	return n
}
