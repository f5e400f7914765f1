package main

import (
	"context"

	"weir/internal/gatewayimport"
)

// importingTables has what the commands for databases of one-api and new-api have.
type importingTables struct {
	importing
	Credentials bool `help:"Also give the keys of providers in channels to the providers of this installation. They are never printed."`
}

type importNewAPICmd struct{ importingTables }

func (c *importNewAPICmd) Run(ctx context.Context) error {
	return c.run(ctx, gatewayimport.NewAPI, c.Credentials)
}

type importOneAPICmd struct{ importingTables }

func (c *importOneAPICmd) Run(ctx context.Context) error {
	return c.run(ctx, gatewayimport.OneAPI, c.Credentials)
}
