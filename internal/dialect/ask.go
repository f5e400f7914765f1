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
// several, and some a wait between them; what must be done is plain control flow over an Ask.
type Performer interface {
	// Perform does req.Task at ep and yields what it gives. The sequence ends with an event that is Done, or with one error. A task that
	// the provider cannot do is an error of Unsupported. It returns when yield does, and leaves nothing running.
	Perform(ask Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error]
}

// Ask is what a Performer or a VideoMaker reaches its provider through: each call is an attempt with its credentials, timeouts and limits. All calls
// of one Ask go out with the credential that the first was accepted with. It is safe for concurrent use.
type Ask interface {
	// Do sends one request and waits for the head of a 2xx answer, which must be closed. Whatever else comes is a fault, as the dialect's
	// Failure classifies it.
	Do(call Call) (*Answer, error)
	// Failure is the dialect's Failure, for errors inside an answer.
	Failure(status int, header http.Header, body []byte) *fault.Error
	// Wait waits, or fails when the client is gone.
	Wait(d time.Duration) error
	// Now is the time.
	Now() time.Time
	// Fetch gets what an answer names by address, at most as long as a whole answer of this kind may be.
	Fetch(address string) (data []byte, mediaType string, err error)
	// FetchForClient gets what a client names by address. allowed is false where the operator does not let clients do that.
	FetchForClient(address string) (data []byte, allowed bool, err error)
	// AfterClient is an Ask for what must still be said to the provider though the client is gone. It lasts a few seconds; done ends it.
	AfterClient() (after Ask, done context.CancelFunc)
	// Endpoint is the endpoint that is asked.
	Endpoint() *catalog.Endpoint
	// Request is the request that is answered.
	Request() *completion.Request
}

// Unsupported is the fault of a task, or of a property of it, that an endpoint cannot do: another one may.
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

// NoTask is the fault of a task that a provider does not do.
func NoTask(ep *catalog.Endpoint) *fault.Error { return Unsupported(ep, notServed) }

// NotServed is what a Performer gives for a task that its wire has nothing for.
func NotServed(ep *catalog.Endpoint) iter.Seq2[*completion.Event, error] {
	return Fails(NoTask(ep))
}

// Fails is the sequence of an attempt that comes to nothing but err.
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

// Object sends one request and reads its whole answer, which must be a JSON object. One that reports an error although its status is 2xx is
// the fault that the dialect makes of it.
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

// Each calls do for 0 to n-1, at most so many at a time, and gives the error of the lowest number that failed. After an error it begins no more.
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
		lost any // what a call panicked with
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
				if p := recover(); p != nil { // it is the handler's business, and must not end the process
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
