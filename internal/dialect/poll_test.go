package dialect_test

import (
	"errors"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
)

// patient is an Ask whose waits pass at once.
type patient struct {
	dialect.Ask
	now   time.Time
	waits []time.Duration
}

func (p *patient) Now() time.Time { return p.now }
func (p *patient) Endpoint() *catalog.Endpoint {
	return &catalog.Endpoint{Provider: &catalog.Provider{}}
}
func (p *patient) Wait(d time.Duration) error {
	p.waits, p.now = append(p.waits, d), p.now.Add(d)
	return nil
}

// A look that fails for a reason that passes does not end a task, which is paid; any other does, and so do many.
func TestPollUntil(t *testing.T) {
	t.Parallel()
	ep := &catalog.Endpoint{Provider: &catalog.Provider{}}
	limited := dialect.Refusal{Status: 429}.Fault(ep)
	limited.RetryAfter = time.Hour
	down, failed := dialect.Refusal{Status: 502}.Fault(ep), dialect.Refusal{Status: 200, Code: "13"}.Fault(ep)
	gone, broken := dialect.Refusal{Status: 404}.Fault(ep), errors.New("not JSON")
	for name, tt := range map[string]struct {
		looks []error // nil: not yet
		want  error
	}{
		"a rate limit and a failure":  {[]error{nil, limited, down, nil}, nil},
		"failures with looks between": {[]error{down, down, down, down, down, nil, down, down, down, down, down}, nil},
		"a server that is down":       {[]error{down, down, down, down, down, down}, down},
		"a task that failed":          {[]error{nil, failed}, failed},
		"a task that is unknown":      {[]error{gone}, gone},
		"an answer that is none":      {[]error{broken}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask, i := &patient{}, 0
			err := dialect.PollUntil(ask, func() (bool, error) {
				if i == len(tt.looks) {
					return true, nil
				}
				i++
				return false, tt.looks[i-1]
			})
			if !errors.Is(err, tt.want) || i != len(tt.looks) {
				t.Errorf("%v after %d looks", err, i)
			}
			for _, w := range ask.waits {
				if w > 30*time.Second {
					t.Errorf("waits %s", w)
				}
			}
		})
	}
}
