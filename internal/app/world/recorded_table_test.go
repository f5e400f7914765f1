package world_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the table of recordings in docs/conformance.md anew")

// tally counts calls by the provider's wire and the client's style.
type tally struct {
	mu         sync.Mutex
	cells      map[string]*[noStyle]cell
	recordings int // whose calls have all been counted
}

// cell has the calls of which the provider was asked, those of them with the right answer, and those that Weir refused.
type cell struct{ tried, right, refused int }

func (y *tally) add(wire string, s style, asked, right bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.cells == nil {
		y.cells = map[string]*[noStyle]cell{}
	}
	row := y.cells[wire]
	if row == nil {
		row = &[noStyle]cell{}
		y.cells[wire] = row
	}
	switch c := &row[s]; {
	case !asked:
		c.refused++
	default:
		if c.tried++; right {
			c.right++
		}
	}
}

func (y *tally) ran() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.recordings++
}

const tableHead = "\n## Recorded traffic\n"

// table is the section of docs/conformance.md.
func (y *tally) table() []byte {
	var b bytes.Buffer
	b.WriteString(tableHead + `
Live traffic of about thirty vendors that public projects recorded is played to Weir, and each recorded answer is asked for in every style, whole and streamed (TestRecordings in internal/app/world). A call is right when the text, the reasoning, the calls, the reason for the end, the sources, the tokens and the cost are those of the recording. Cells are right calls of all calls. A call in a style whose provider speaks it is the recorded request itself; some of these are refused before a provider is asked, because they name files, stores or conversations of the account that recorded. The test writes this table. Recorded embeddings are asked for by TestRecordedVectors, in both styles that have them: the numbers are the recorded ones.

| provider's API | recordings |`)
	for s := range noStyle {
		b.WriteString(" " + styleNames[s] + " |")
	}
	b.WriteString(" refused |\n|---|--:|" + strings.Repeat("--:|", int(noStyle)+1) + "\n")
	count := map[string]int{}
	for _, is := range recordings() {
		count[is.Wire]++
	}
	for _, wire := range slices.Sorted(maps.Keys(y.cells)) {
		fmt.Fprintf(&b, "| %s | %d |", wire, count[wire])
		refused := 0
		for _, c := range y.cells[wire] {
			fmt.Fprintf(&b, " %d of %d |", c.right, c.tried)
			refused += c.refused
		}
		fmt.Fprintf(&b, " %d |\n", refused)
	}
	return b.Bytes()
}

// check compares the table with the page, once all recordings have been tried.
func (y *tally) check(t *testing.T, all []*recording) {
	want := 0
	for _, is := range all {
		if !strings.Contains(is.Wire, "embed") {
			want++
		}
	}
	if y.recordings < want { // the test was asked for some of them
		return
	}
	const path = "../../../docs/conformance.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	above, _, _ := bytes.Cut(page, []byte(tableHead))
	right := append(slices.Clone(above), y.table()...)
	if *update {
		if err := os.WriteFile(path, right, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(page, right) {
		t.Errorf("docs/conformance.md differs from the recordings that are right; update it with: go test ./internal/app/world -run TestRecordings -update\n%s", y.table())
	}
}
