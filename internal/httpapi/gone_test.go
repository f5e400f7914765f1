package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/ledger"
)

// slow is a ledger whose store works on a read until it is told to stop.
type slow struct {
	ledger.Reader
	begun, ended chan struct{}
}

func (s slow) Balance(ctx context.Context, _ string) (ledger.Balance, error) {
	close(s.begun)
	<-ctx.Done()
	defer close(s.ended)
	return ledger.Balance{}, fault.New(fault.StorageUnavailable, "test", "The store cannot be reached at the moment.").Because(ctx.Err())
}

// A client that leaves during a read is no failure of the store.
func TestClientGoneDuringARead(t *testing.T) {
	t.Parallel()
	s := slow{begun: make(chan struct{}), ended: make(chan struct{})}
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { s.Reader = d.Ledger; d.Ledger = s })
	client := n.dial()
	client.send("GET /v1/credits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", n.first.KeyText)
	<-s.begun
	_ = client.Close()
	<-s.ended
	until(t, "a line of the log", func() bool { return strings.Contains(n.logged(), `"route":"/v1/credits"`) })
	if log := n.logged(); !strings.Contains(log, `"status":499`) || strings.Contains(log, `"status":503`) || strings.Contains(log, `"level":"WARN"`) {
		t.Error(log)
	}
}
