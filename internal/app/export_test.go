package app

import (
	"context"
	"io"
	"net"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/health"
	"weir/internal/httpapi"
)

// Node is a gateway in the test's own process.
type Node struct{ *Gateway }

// OpenNode opens a gateway with further providers and models. Its calls go by the clock, nil: the system's.
func OpenNode(ctx context.Context, cfg config.Config, d catalog.Declared, l net.Listener, logTo io.Writer, clock func() time.Time) (Node, error) {
	g, err := open(ctx, cfg, extra{declared: d, logTo: logTo, listener: l, clock: clock})
	return Node{g}, err
}

// Run serves until ctx ends.
func (n Node) Run(ctx context.Context, load func() (config.Config, error)) error {
	return n.run(ctx, nil, &config.Watcher{Load: load})
}

// WrapRelay puts something between the front door and the relay, before the node serves.
func (n Node) WrapRelay(wrap func(httpapi.Completer) httpapi.Completer) {
	n.api.Relay = wrap(n.api.Relay)
}

// Office works on the node's own store.
func (n Node) Office() *Office {
	return &Office{Store: n.store, Users: account.NewManager(n.store, nil, n.api.Now), Keys: apikey.NewManager(n.store, nil, n.api.Now, 0)}
}

// Health is what the node knows of its endpoints.
func (n Node) Health() *health.Registry { return n.health }

// Reload takes another configuration over, as a changed file does.
func (n Node) Reload(cfg config.Config) error { return n.reload(cfg) }

// Catalog is the snapshot that calls begin with.
func (n Node) Catalog() *catalog.Snapshot { return n.catalog.Load() }

// Editor changes the catalog as administrators do on this node.
func (n Node) Editor() httpapi.Editor { return n.api.Editor }

// Close ends a node that does not run.
func (n Node) Close(ctx context.Context) { n.close(ctx) }

// SimDeclared is the simulator at an address, as the demo declares it.
func SimDeclared(origin string) catalog.Declared { return simDeclared(origin) }

// CloseToOthers closes a data directory.
func CloseToOthers(dir string) (mended []string, err error) { return closeToOthers(dir) }
