package pdftext_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdf/pdftest"
	"weir/internal/plugin/pdftext"
)

// TestMain lets the test binary be the child, and a parent that is killed.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case pdftext.IsChild(args):
		os.Exit(pdftext.Main(args, os.Stdin, os.Stdout))
	case len(args) > 0 && args[0] == "parent":
		_, _ = pdftext.Read(context.Background(), os.Stdin, 1<<20, limits())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func limits(change ...func(*pdftext.Limits)) pdftext.Limits {
	l := pdftext.Limits{Memory: 256 << 20, CPU: 10 * time.Second, PDF: pdf.Default()}
	for _, f := range change {
		f(&l)
	}
	return l
}

// page is a file of one page that draws content, with one form, X.
func page(content, form string) string {
	return "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 2 0 obj <</Type/Pages/Kids[3 0 R]>> endobj 3 0 obj <</Type/Page/Contents 4 0 R" +
		"/Resources<</Font<</F<</Subtype/Type1>>>>/XObject<</X 5 0 R>>>>>> endobj\n" +
		fmt.Sprintf("4 0 obj <</Length %d>>\nstream\n%s\nendstream endobj\n", len(content), content) +
		fmt.Sprintf("5 0 obj <</Subtype/Form/Length %d>>\nstream\n%s\nendstream endobj\n", len(form), form)
}

// endless takes for ever to read where the reader's own bounds are off.
var endless = page("/X Do", strings.Repeat("/X Do ", 1000))

func unbound(l *pdftext.Limits) { l.PDF.Work, l.PDF.Memory = 1<<60, 1<<60 }

func TestRead(t *testing.T) {
	t.Parallel()
	said := page("BT /F 12 Tf (The total is 42.) Tj ET", "")
	for _, c := range []struct {
		name, file string
		lim        pdftext.Limits
		want       string
		err        error
	}{
		{"text", said, limits(), "The total is 42.", nil},
		{"a limit of text", said, limits(func(l *pdftext.Limits) { l.PDF.Text = 9 }), "The total", nil},
		{"no PDF file", "PK", limits(), "", pdf.ErrNoPDF},
		{"nothing", "", limits(), "", pdf.ErrNoPDF},
		{"encrypted", said + "trailer <</Encrypt 1 0 R>>", limits(), "", pdf.ErrEncrypted},
		{"no text", page("", ""), limits(), "", pdf.ErrNoText},
		{"too many bytes", said, limits(func(l *pdftext.Limits) { l.PDF.Bytes = 9 }), "", pdf.ErrTooLarge},
		{"too much time", endless, limits(unbound, func(l *pdftext.Limits) { l.CPU = time.Second }), "", pdftext.ErrCostly},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := pdftext.Read(t.Context(), strings.NewReader(c.file), len(c.file), c.lim)
			if !errors.Is(err, c.err) || got.Text != c.want || got.Cut != (c.want == "The total") {
				t.Errorf("got %+v, %v; want %q, %v", got, err, c.want, c.err)
			}
			if c.want != "" && (got.Work == 0 || got.CPU == 0) {
				t.Errorf("spent %+v", got)
			}
		})
	}
}

// The reader's own bounds hold before those of the system do: a hostile file is refused with a reason, or its text is cut.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("costs forty seconds with the race detector")
	}
	for _, f := range pdftest.Files() {
		lim := limits(func(l *pdftext.Limits) { l.PDF.Work = 50_000_000 })
		got, err := pdftext.Read(t.Context(), bytes.NewReader(f.Data), len(f.Data), lim)
		if errors.Is(err, pdftext.ErrCostly) || errors.Is(err, pdftext.ErrBroken) || errors.Is(err, pdftext.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", f.Name, got.Work, err)
		}
	}
}

// The child ends with its call, and its reader ends, too.
func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	file := &watched{Reader: strings.NewReader(endless), left: len(endless), at: cancel}
	_, err := pdftext.Read(ctx, file, len(endless), limits(unbound))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// watched does something when the last byte was read.
type watched struct {
	io.Reader
	left int
	at   func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.left -= n; w.left == 0 {
		w.at()
	}
	return n, err
}

// A file that ends early is not read: its sender is gone.
func TestShortFile(t *testing.T) {
	t.Parallel()
	said := page("BT /F 12 Tf (text) Tj ET", "")
	if _, err := pdftext.Read(t.Context(), strings.NewReader(said), len(said)+1, limits()); !errors.Is(err, pdftext.ErrUnavailable) {
		t.Error(err)
	}
}

func TestMainRefusesOtherArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"serve"}, {"pdftext"}, {"pdftext", "1"}, {"pdftext", "1", "2", "3", "4", "5", "6", "7", "-8"}, {"pdftext", "1", "2", "3", "4", "5", "6", "7", "x"}} {
		var out bytes.Buffer
		if code := pdftext.Main(args, strings.NewReader(""), &out); code != 74 || out.Len() > 0 {
			t.Errorf("%q: code %d, %q", args, code, out.String())
		}
	}
}
