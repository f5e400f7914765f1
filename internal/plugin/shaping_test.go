package plugin_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/plugin"
	"weir/internal/plugin/pdftext"
)

var textOnly = &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.Text}

func withFiles(n int) string {
	return `"messages":[{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(file("a.pdf", "application/pdf", page)+",", n), ",") + `]}]`
}

// scripted reads files as a test says, and remembers with which limits.
type scripted struct {
	lims []pdftext.Limits
	read func(ctx context.Context) (pdftext.Outcome, error)
}

func (s *scripted) Read(ctx context.Context, _ io.Reader, _ int, lim pdftext.Limits) (pdftext.Outcome, error) {
	s.lims = append(s.lims, lim)
	return s.read(ctx)
}

// The files of a request share its budgets, and all its attempts share what was read.
func TestOneBudgetForAllFiles(t *testing.T) {
	t.Parallel()
	s := &scripted{read: func(context.Context) (pdftext.Outcome, error) {
		return pdftext.Outcome{Text: strings.Repeat("x", 1000), Work: 100, CPU: time.Second}, nil
	}}
	cfg := plugin.Default()
	cfg.CPU = 5 * time.Second
	call := plugin.New(words{}, s.Read, cfg).Begin("usr_1")
	req := decode(t, withFiles(4))
	for range 3 {
		if _, _, err := call.Shape(t.Context(), textOnly, req); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.lims) != 4 {
		t.Fatalf("read %d files, want each once", len(s.lims))
	}
	for i := 1; i < len(s.lims); i++ {
		a, b := s.lims[i-1], s.lims[i]
		if b.PDF.Work != a.PDF.Work-100 || b.PDF.Text != a.PDF.Text-1000 || b.CPU != a.CPU-time.Second || b.Memory != a.Memory {
			t.Errorf("file %d has %+v after %+v", i, b, a)
		}
	}
	_, _, err := plugin.New(words{}, s.Read, cfg).Begin("usr_1").Shape(t.Context(), textOnly, decode(t, withFiles(6)))
	if !fault.Is(err, fault.InvalidPrompt) || !strings.Contains(err.Error(), "too much memory or time") || len(s.lims) != 4+5 {
		t.Errorf("the sixth file was read: %v", err)
	}
}

// An earlier answer's text of a file counts like text that is read.
func TestReportedTextIsBounded(t *testing.T) {
	t.Parallel()
	req := decode(t, withFiles(1))
	_, first, err := shaped(t, textOnly, req, whole("42"))
	if err != nil {
		t.Fatal(err)
	}
	reported := strings.Replace(string(first[0].Annotations), "42 rubles", strings.Repeat("42 rubles ", 300_000), 1)
	next := decode(t, strings.TrimSuffix(withFiles(1), "]")+`,{"role":"assistant","content":"42","annotations":`+reported+`},{"role":"user","content":"Sure?"}]`)
	if _, _, err = shaped(t, textOnly, next, whole("Yes")); !fault.Is(err, fault.InvalidPrompt) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func TestFailuresOfReading(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		kind fault.Kind
		next fault.Next
		want string
	}{
		{"costly", pdftext.ErrCostly, fault.InvalidPrompt, fault.NextModel, "too much memory or time"},
		{"broken", pdftext.ErrBroken, fault.InvalidPrompt, fault.NextModel, "is damaged"},
		{"no process", pdftext.ErrUnavailable, fault.Overloaded, fault.Stop, "at present"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{read: func(context.Context) (pdftext.Outcome, error) { return pdftext.Outcome{}, c.err }}
			_, _, err := plugin.New(words{}, s.Read, plugin.Default()).Begin("usr_1").Shape(t.Context(), textOnly, decode(t, withFiles(2)))
			if f := fault.From(err); f == nil || f.Kind != c.kind || f.Next != c.next || !strings.Contains(f.Public, c.want) || len(s.lims) != 1 {
				t.Errorf("read %d: %+v", len(s.lims), f)
			}
		})
	}
}

// blocked waits for the end of its context.
func blocked(ctx context.Context) (pdftext.Outcome, error) {
	<-ctx.Done()
	return pdftext.Outcome{}, ctx.Err()
}

func TestShapingTakesABoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := plugin.New(words{}, (&scripted{read: blocked}).Read, plugin.Default())
		begun := time.Now()
		_, _, err := s.Begin("usr_1").Shape(t.Context(), textOnly, decode(t, withFiles(1)))
		if !fault.Is(err, fault.InvalidPrompt) || !strings.Contains(err.Error(), "takes too long") || time.Since(begun) != plugin.Default().Time {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestShapingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := plugin.New(words{}, (&scripted{read: blocked}).Read, plugin.Default())
		ended := make(chan error)
		go func() {
			_, _, err := s.Begin("usr_1").Shape(ctx, textOnly, decode(t, withFiles(1)))
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// leaving counts texts, and ends a context with the first piece.
type leaving struct {
	words
	cancel func()
	pieces *int
}

func (l leaving) Count(text iter.Seq[[]byte]) (n int64) {
	for range text {
		*l.pieces++
		l.cancel()
	}
	return 1 << 30
}

// Counting ends with its context, too.
func TestCountingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	req := decode(t, `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"transforms":["middle-out"]`)
	req.Needs.PromptTokens = 1 << 30
	small := &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.Text, ContextLength: 100}
	_, _, err := plugin.New(leaving{words: words{}, cancel: cancel, pieces: &pieces}, inProcess, plugin.Default()).Begin("usr_1").Shape(ctx, small, req)
	if !errors.Is(err, context.Canceled) || pieces != 1 {
		t.Errorf("%d pieces were counted: %v", pieces, err)
	}
}

// Who has files read, or prompts cut, takes a place; others do not, and a user leaves places for others.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := plugin.New(words{}, (&scripted{read: blocked}).Read, plugin.Default())
		ended := make(chan error, 8)
		begin := func(user string) {
			go func() {
				_, _, err := s.Begin(user).Shape(ctx, textOnly, decode(t, withFiles(1)))
				ended <- err
			}()
			synctest.Wait()
		}
		refusedAs := func(user string, kind fault.Kind, limitedBy any) {
			t.Helper()
			begun := time.Now()
			_, _, err := s.Begin(user).Shape(ctx, textOnly, decode(t, withFiles(1)))
			f := fault.From(err)
			if f == nil || f.Kind != kind || f.Details["limited_by"] != limitedBy || f.RetryAfter <= 0 || f.Next != fault.Stop {
				t.Fatalf("%s: %+v", user, f)
			}
			if waited := time.Since(begun); waited != plugin.Default().Wait {
				t.Errorf("%s has waited for %v", user, waited)
			}
		}
		begin("usr_1")
		begin("usr_1")
		refusedAs("usr_1", fault.RateLimited, "shaping.max_concurrent_per_user")
		begin("usr_2")
		begin("usr_2")
		refusedAs("usr_3", fault.Overloaded, nil)

		req := decode(t, hello+`,"response_format":{"type":"json_object"},"plugins":[{"id":"response-healing"}]`)
		if _, _, err := s.Begin("usr_1").Shape(ctx, &catalog.Endpoint{}, req); err != nil {
			t.Errorf("a format needs a place: %v", err)
		}
		cancel()
		for range 4 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// However much text there is, and however many attempts, a bounded part of it is counted token by token.
func TestCountingIsBounded(t *testing.T) {
	t.Parallel()
	counted := &counting{}
	call := plugin.New(counted, inProcess, plugin.Default()).Begin("usr_1")
	text := strings.Repeat("a weir lets the river through ", 3000) // 90 KB
	var turns strings.Builder
	for range 100 {
		turns.WriteString(`{"role":"user","content":"` + text + `"},{"role":"assistant","content":"` + text + `"},`)
	}
	req := decode(t, `"messages":[`+turns.String()+`{"role":"user","content":"c"}],"transforms":["middle-out"]`)
	ep := &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.Text, ContextLength: 1_000_000, MaxCompletion: 1000}
	for range 3 {
		sent, _, err := call.Shape(t.Context(), ep, req)
		if err != nil {
			t.Fatal(err)
		}
		if p := promptOf(t, sent); len(p.Turns) < 30 || len(p.Turns) > 60 { // 18,000 words a turn, of 999,000
			t.Errorf("%d turns are left", len(p.Turns))
		}
	}
	if counted.bytes > 2<<20 {
		t.Errorf("counted %d bytes", counted.bytes)
	}
}

func promptOf(t *testing.T, req *completion.Request) *completion.Prompt {
	t.Helper()
	p, err := req.Prompt()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type counting struct {
	words
	bytes int
}

func (c *counting) Count(text iter.Seq[[]byte]) int64 {
	return c.words.Count(func(yield func([]byte) bool) {
		for piece := range text {
			c.bytes += len(piece)
			if !yield(piece) {
				return
			}
		}
	})
}
