package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
)

// operator is the actor in the audit log for changes by the command line.
var operator = audit.Actor{Name: "operator"}

func (p *location) overlay(listen string) config.Overlay {
	o := config.Overlay{}
	if p.Data != "" {
		o["data_dir"] = p.Data
	}
	if listen != "" {
		o["server.listen"] = listen
	}
	return o
}

// again are the flags that lead another command to the same place.
func (p *location) again() (flags string) {
	if p.Config != "" && !p.found && p.Config != os.Getenv("WEIR_CONFIG") {
		flags += " -c " + quoted(p.Config)
	}
	if p.Data != "" {
		flags += " --data " + quoted(p.Data)
	}
	return flags
}

// anywhere is the same place from any folder, for who reads the log of a service.
func (p *location) anywhere() *location {
	far := *p
	for _, path := range []*string{&far.Config, &far.Data} {
		if full, err := filepath.Abs(*path); err == nil && *path != "" {
			*path = full
		}
	}
	return &far
}

// hint makes commands that a text names lead to the same place, so that they can be pasted.
func (p *location) hint(text string) string {
	return hint(text, p.again())
}

// quoted is a path as a shell reads it.
func quoted(path string) string {
	if needsNoQuotes.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

var needsNoQuotes = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,\\-]+$`)

// unread fails for variables that are meant for Weir and that nothing reads.
func unread(path string) error {
	names := []string{managementKey}
	for _, c := range grammar().Leaves(false) {
		for _, f := range c.Flags {
			names = append(names, f.Envs...)
		}
	}
	return config.Unread(os.Environ(), path, names...)
}

// load reads the configuration for a command that calls no provider.
func (p *location) load(listen string) (config.Config, error) {
	return p.loadBy(config.LoadForCommand, listen)
}

// loadAll reads the configuration with all that a node needs.
func (p *location) loadAll(listen string) (config.Config, error) {
	return p.loadBy(config.Load, listen)
}

func (p *location) loadBy(load func(string, config.Lookup, config.Overlay) (config.Config, error), listen string) (config.Config, error) {
	if err := config.TakeEnvironment(p.Config, os.LookupEnv, os.Setenv); err != nil {
		return config.Config{}, err
	}
	cfg, err := load(p.Config, os.LookupEnv, p.overlay(listen))
	return cfg, errors.Join(unread(p.Config), err)
}

// admin opens the store for one command.
func (p *location) admin(ctx context.Context, create bool) (*app.Admin, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, err
	}
	return openAdmin(ctx, cfg, create)
}

// openAdmin opens the store that cfg names, and says of a demo's that what it has was made up.
func openAdmin(ctx context.Context, cfg config.Config, create bool) (*app.Admin, error) {
	o, err := app.OpenAdmin(ctx, cfg, create)
	if err != nil {
		return nil, err
	}
	until, err := o.MadeUp(ctx)
	if err != nil {
		o.Close()
		return nil, err
	}
	if !until.IsZero() {
		fmt.Fprintln(os.Stderr, "weir: demo data: what is older than "+until.UTC().Format("2006-01-02 15:04")+" UTC was made up, and all money is play money")
	}
	return o, nil
}

// with opens the database that is there, does something with it, and closes it.
func (p *location) with(ctx context.Context, do func(o *app.Admin) error) error {
	o, err := p.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	return do(o)
}

// withUser is with for a command about one user: a user id, a wallet id, or a name that only one has.
func (p *location) withUser(ctx context.Context, user string, do func(o *app.Admin, u account.User) error) error {
	return p.with(ctx, func(o *app.Admin) error {
		u, err := o.UserNamed(ctx, user)
		if err != nil {
			return err
		}
		return do(o, u)
	})
}

// rubles parses an amount that a person wrote; named is its name in the error.
func rubles(what, text string) (money.Nano, error) {
	amount, err := money.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an amount: write rubles as digits, with at most nine behind a point and below 9223372036, such as 100 or 0.50", what, text)
	}
	return amount, nil
}

// table prints aligned columns.
func table(header string, rows func(w *tabwriter.Writer)) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	rows(w)
	return w.Flush()
}

// verb is the last word of the command: disable, enable, delete.
type verb string
