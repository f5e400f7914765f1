package dialect

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Performer is a Dialect that performs tasks: requests whose completion.Request.Task is set. Some need one call of the provider, some
// several, and some a wait between them. All of it is plain control flow over an Ask.
type Performer interface {
	// Perform does req.Task at ep and yields what it gives. The sequence ends with an event that is Done, or with one error. A task that
	// the provider cannot do is an error of Unsupported. It returns when yield does, and leaves nothing running.
	Perform(ask Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error]
}

// Ask gives a Performer or a VideoMaker access to its provider: each call is an attempt with its credentials, timeouts and limits. All
// calls of one Ask use the credential with which the first was accepted. It is safe for concurrent use.
type Ask interface {
	// Do sends one request and waits for the head of a 2xx answer, which the caller must close. Any other answer is a fault, as the
	// dialect's Failure classifies it.
	Do(call Call) (*Answer, error)
	// Failure is the dialect's Failure, for errors inside an answer.
	Failure(status int, header http.Header, body []byte) *fault.Error
	// Wait waits, or fails when the client is gone.
	Wait(d time.Duration) error
	// Now is the time.
	Now() time.Time
	// Fetch reads the file at an address in an answer, up to the limit for whole answers of this kind.
	Fetch(address string) (data []byte, mediaType string, err error)
	// FetchForClient reads the file at an address in the client's request. allowed is false where the operator does not let clients name
	// addresses.
	FetchForClient(address string) (data []byte, allowed bool, err error)
	// AfterClient is an Ask for requests that the provider must still get after the client has gone, such as a cancellation. It lasts a
	// few seconds; done ends it.
	AfterClient() (after Ask, done context.CancelFunc)
	// Endpoint is the endpoint of the attempt.
	Endpoint() *catalog.Endpoint
	// Request is the client's request.
	Request() *completion.Request
}

// Unsupported is the fault of a task, or of a property of it, that this endpoint cannot do. Another endpoint may be able to.
func Unsupported(ep *catalog.Endpoint, public string) *fault.Error {
	f := fault.New(fault.Invalid, "upstream.Perform", public)
	f.Next = fault.NextEndpoint
	f.Upstream = &fault.Upstream{Provider: ep.Provider.Name}
	return f
}

const (
	noText    = "The provider of this model does not serve requests for text."
	notServed = "The provider of this model does not serve requests of this kind."
)

// NoText is the fault of a request for text to a provider that completes none.
func NoText(ep *catalog.Endpoint) *fault.Error { return Unsupported(ep, noText) }

// NoTask is the fault of a task that a provider does not support.
func NoTask(ep *catalog.Endpoint) *fault.Error { return Unsupported(ep, notServed) }

// NotServed is the sequence that a Performer returns for a task that its wire does not have.
func NotServed(ep *catalog.Endpoint) iter.Seq2[*completion.Event, error] {
	return Fails(NoTask(ep))
}

// Fails is the sequence of an attempt that yields only err.
func Fails(err error) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) { yield(nil, err) }
}

// Whole sends one request and reads its whole answer.
func Whole(ask Ask, call Call) ([]byte, error) {
	answer, err := ask.Do(call)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return answer.ReadAll(nil)
}

// Object sends one request and reads its whole answer, which must be a JSON object. An object that reports an error although its status
// is 2xx becomes the fault that the dialect makes of it.
func Object(ask Ask, call Call) ([]byte, error) {
	body, _, err := Look(ask, call)
	if err != nil {
		return nil, err
	}
	if !rawjson.IsNull(rawjson.Find(body, "error")) {
		return nil, ask.Failure(http.StatusOK, http.Header{}, body)
	}
	return body, nil
}

// Each calls do for 0 to n-1, with at most parallel calls at a time, and returns the error of the lowest number that failed. After an
// error it starts no further calls.
func Each(n, parallel int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	var (
		mu   sync.Mutex
		next int
		at   = n
		errs error
		wg   sync.WaitGroup
		lost any // panic value of a call
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= n || errs != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(n, parallel) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil { // raised again in the handler's goroutine: here it would end the process
					mu.Lock()
					lost, next = p, n
					mu.Unlock()
				}
			}()
			for i, more := take(); more; i, more = take() {
				if err := do(i); err != nil {
					mu.Lock()
					if i < at {
						at, errs = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if lost != nil {
		panic(lost)
	}
	return errs
}
