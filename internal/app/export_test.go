package app

import (
	"context"
	"io"
	"net"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/httpapi"
)

// Node is a gateway in the test's own process.
type Node struct{ *Gateway }

// OpenNode opens a gateway with further providers and models.
func OpenNode(ctx context.Context, cfg config.Config, d catalog.Declared, l net.Listener, logTo io.Writer) (Node, error) {
	g, err := open(ctx, cfg, extra{declared: d, logTo: logTo, listener: l})
	return Node{g}, err
}

// Run serves until ctx ends.
func (n Node) Run(ctx context.Context, d catalog.Declared, load func() (config.Config, error)) error {
	return n.run(ctx, nil, &config.Watcher{Load: load}, d)
}

// WrapRelay puts something between the front door and the relay, before the node serves.
func (n Node) WrapRelay(wrap func(httpapi.Completer) httpapi.Completer) {
	n.api.Relay = wrap(n.api.Relay)
}

// Office works on the node's own store.
func (n Node) Office() *Office {
	return &Office{Store: n.store, Users: account.NewManager(n.store, nil, n.api.Now), Keys: apikey.NewManager(n.store, nil, n.api.Now, 0)}
}
