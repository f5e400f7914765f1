package app

import (
	"context"
	"io"
	"net"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/health"
	"weir/internal/httpapi"
)

// Node is a gateway in the process of a test. The program has none.
type Node struct{ *Gateway }

// OpenNode opens a gateway with additional providers and models. Its calls use the clock; nil: the system's.
func OpenNode(ctx context.Context, cfg config.Config, d catalog.Declared, l net.Listener, logTo io.Writer, clock func() time.Time) (Node, error) {
	g, err := open(ctx, cfg, extra{declared: d, logTo: logTo, listener: l, clock: clock})
	return Node{g}, err
}

// Run serves until ctx ends.
func (n Node) Run(ctx context.Context, load func() (config.Config, error)) error {
	return n.run(ctx, nil, &config.Watcher{Load: load})
}

// WrapRelay wraps the relay, before the node serves.
func (n Node) WrapRelay(wrap func(httpapi.Completer) httpapi.Completer) {
	n.api.Relay = wrap(n.api.Relay)
}

// Admin returns an Admin on the node's store.
func (n Node) Admin() *Admin {
	return &Admin{Store: n.store, Users: account.NewManager(n.store.Accounts, nil, n.api.Now), Keys: apikey.NewManager(n.store.Accounts, nil, n.api.Now, 0)}
}

// Health returns the node's registry of endpoint health.
func (n Node) Health() *health.Registry { return n.health }

// ID is the node's identity.
func (n Node) ID() string { return n.book.Node() }

// Sharing is how many nodes share limits, as far as this one knows.
func (n Node) Sharing() int64 { return n.api.Sharing() }

// Reload applies another configuration, as after a change of the file.
func (n Node) Reload(cfg config.Config) error { return n.reload(cfg) }

// Catalog returns the current snapshot.
func (n Node) Catalog() *catalog.Snapshot { return n.catalog.Load() }

// Editor returns the editor that administrators of this node use.
func (n Node) Editor() *edit.Editor { return n.editor }

// Close closes a node that does not run.
func (n Node) Close(ctx context.Context) { n.close(ctx) }

// SimDeclared returns the simulator at an address, as the demo declares it.
func SimDeclared(origin string) catalog.Declared { return simDeclared(origin) }

// CloseToOthers calls closeToOthers.
func CloseToOthers(dir string) (mended []string, err error) { return closeToOthers(dir) }
