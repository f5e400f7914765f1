package plugin

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdftext"
	"weir/internal/relay"
)

// Config bounds what the shaping of requests may cost. The zero value is not usable: see Default.
type Config struct {
	Concurrent        int           `yaml:"max_concurrent"`              // shapings at a time that are real work
	ConcurrentPerUser int           `constant:"max_concurrent_per_user"` // of one user; at least one place is left to the others
	Wait              time.Duration `constant:"max_wait"`                // for one of these places
	Time              time.Duration `constant:"max_time"`                // for the shaping of one attempt
	CPU               time.Duration `constant:"max_cpu"`                 // of the processes that read the files of one call
	Memory            int64         `yaml:"max_memory_bytes" as:"size"`  // of such a process
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{Concurrent: 4, ConcurrentPerUser: 2, Wait: 2 * time.Second, Time: 20 * time.Second, CPU: 10 * time.Second, Memory: 256 << 20}
}

// Read reads a PDF file of the given size. Package pdftext does it in a child process.
type Read func(ctx context.Context, file io.Reader, size int, lim pdftext.Limits) (pdftext.Outcome, error)

// shaping is the shaping of one call: its budgets hold for all files and all attempts. One goroutine uses it.
type shaping struct {
	*Shaper
	user  string
	files *reader       // texts of the files; nil: they were not read
	left  pdf.Limits    // that are left for files
	cpu   time.Duration // that is left for files
	exact int64         // bytes of text that may still be counted token by token
	bytes int64         // counted so
	found int64         // tokens in them
}

// Begin is a relay.Shaper's.
func (s *Shaper) Begin(user string) relay.Shaping {
	return &shaping{Shaper: s, user: user, left: pdf.Default(), cpu: s.cfg.CPU, exact: exactBytes}
}

const (
	// exactBytes is how much text is counted token by token for one call, at 3 to 9 MB a second; the rest counts in proportion.
	exactBytes = 2 << 20
	// exactPerCount is the same for one count: the tokenizer itself counts the rest in proportion.
	exactPerCount = 256 << 10
	// largeSchema is the size from which compiling a schema waits for a place.
	largeSchema = 16 << 10
)

// enter waits for a place. Formats and small schemas cost no more than reading the request did, and need none.
func (s *shaping) enter(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (leave func(), err error) {
	if !req.Needs.Unread(ep) && !req.Needs.TooLong(ep) && (req.Format == nil || len(req.Format.Schema) <= largeSchema) {
		return func() {}, nil
	}
	wait, done := context.WithTimeout(ctx, s.cfg.Wait)
	defer done()
	switch s.slots.Enter(wait, s.user) {
	case limit.NoneFree:
		f := fault.New(fault.Overloaded, "plugin.enter", "The gateway is processing too many long prompts and files. Try again later.")
		f.RetryAfter = s.cfg.Wait
		return nil, f
	case limit.ShareTaken:
		f := fault.Newf(fault.RateLimited, "plugin.enter", "You have %d requests whose files or long prompts are being processed. Wait for one to end.", s.cfg.ConcurrentPerUser)
		f.RetryAfter, f.Details = s.cfg.Wait, map[string]any{"limited_by": "shaping.max_concurrent_per_user"}
		return nil, f
	}
	return func() { s.slots.Leave(s.user) }, nil
}

// count is how many tokens a text has. It ends soon after ctx does, with a number that means nothing.
func (s *shaping) count(ctx context.Context, text iter.Seq[[]byte]) int64 {
	exact, beyond := min(s.exact, exactPerCount), int64(0)
	left := exact
	n := s.tokens.Count(func(yield func([]byte) bool) {
		for piece := range text {
			if ctx.Err() != nil {
				return
			}
			head := piece[:min(int64(len(piece)), left)]
			left -= int64(len(head))
			beyond += int64(len(piece) - len(head))
			if len(head) > 0 && !yield(head) {
				return
			}
		}
	})
	s.exact -= exact - left
	s.bytes += exact - left
	s.found += n
	if beyond > 0 && exact > left { // in the proportion of this text
		return n + (beyond*n+exact-left-1)/(exact-left)
	}
	if beyond > 0 && s.bytes > 0 {
		return n + (beyond*s.found+s.bytes-1)/s.bytes
	}
	return n
}

// overdue is the error of a request whose shaping took too long, nil while there is time. For a client that has gone it is relay's error.
func overdue(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errTime) {
		return refused(fault.InvalidPrompt, "Reading the files or shortening the prompt takes too long. Send shorter texts or fewer files.")
	}
	return ctx.Err()
}

var errTime = errors.New("plugin: the time is over")
