package pdf_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdf/pdftest"
)

// small are limits that every hostile file would break if it could.
func small() pdf.Limits {
	return pdf.Limits{Bytes: 16 << 20, Pages: 50, Memory: 16 << 20, Text: 1 << 16, Work: 10_000_000}
}

// allocated is how many bytes a function allocates. Nothing else may run at the same time.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// perStep is the most bytes that a step may allocate in the long run. What is not paid for, in loops that the file decides on, breaks it.
const perStep = 16

// Whatever a file does, it ends within its budget, and what it allocates is paid for. Not parallel, for it looks at the memory of the process.
func TestHostileDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("costs twenty seconds with the race detector")
	}
	files := pdftest.Files()
	if len(files) < 40 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		lim := small()
		var got pdf.Outcome
		var err error
		n := allocated(func() { got, err = pdf.Text(f.Data, lim) })
		check(t, f.Name, lim, got, err)
		if most := uint64(perStep*got.Work + 4<<20); n > most {
			t.Errorf("%s: allocates %d bytes in %d steps", f.Name, n, got.Work)
		}
	}
}

func check(t *testing.T, name string, lim pdf.Limits, got pdf.Outcome, err error) {
	t.Helper()
	if got.Work > lim.Work || len(got.Text) > lim.Text || (err == nil) != (got.Text != "") || strings.ToValidUTF8(got.Text, "") != got.Text {
		t.Errorf("%s: %d steps, %d bytes of text, %v", name, got.Work, len(got.Text), err)
	}
	known := false
	for _, e := range []error{nil, pdf.ErrNoPDF, pdf.ErrEncrypted, pdf.ErrNoText, pdf.ErrTooLarge} {
		known = known || errors.Is(err, e)
	}
	if !known {
		t.Errorf("%s: %v", name, err)
	}
}

// FuzzText also watches the steps and the memory.
func FuzzText(f *testing.F) {
	f.Add([]byte("%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 2 0 obj <</Kids[3 0 R]>> endobj 3 0 obj <</Type/Page/Contents 4 0 R/Resources<</Font<</F<<>>>>>>>>"))
	f.Add(one(helvetica, deflated("", "BT /F 12 Tf [(a) -300 <62>] TJ ET")))
	f.Add(one("/F<</Subtype/Type0/ToUnicode 5 0 R/DescendantFonts[<</DW 1/W[1[2 3]4 5 6]>>]>>", stream("", "BT /F 10 Tf <0001> Tj ET /X Do"), stream("", "1 beginbfrange <0000> <ffff> <0041> endbfrange")))
	f.Add(file("/Encrypt 1 0 R", "<</Type/Catalog/Pages 2 0 R>>", "[[[<<<</A(()\\7)/B<4"))
	f.Add([]byte("%PDF-1.5\n5 0 obj " + deflated("/Type/ObjStm/N 9/First 8", "7 0 8 2 [1 0 R]") + " endobj"))
	for _, hostile := range pdftest.Files() {
		if len(hostile.Data) <= 4<<10 {
			f.Add(hostile.Data)
		}
	}
	lim := pdf.Limits{Bytes: 1 << 20, Pages: 50, Memory: 1 << 20, Text: 1 << 14, Work: 2_000_000}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got pdf.Outcome
		var err error
		n := allocated(func() { got, err = pdf.Text(in, lim) })
		check(t, "fuzz", lim, got, err)
		if most := uint64(perStep*got.Work + 4<<20); n > most {
			t.Errorf("allocates %d bytes in %d steps", n, got.Work)
		}
	})
}
