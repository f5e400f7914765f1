// Command weir runs the gateway, its demo and its simulator, and manages users, keys, money and the catalog.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"weir/internal/app"
	"weir/internal/fault"
	"weir/internal/plugin/pdftext"
)

// version is set by the build.
var version = "dev"

// place holds the flags for the configuration file and the data directory.
type place struct {
	Config string `short:"c" help:"Configuration file (see weir.example.yaml). Without it, defaults and WEIR_* variables apply." placeholder:"FILE" env:"WEIR_CONFIG"`
	Data   string `help:"Data directory; overrides data_dir of the configuration." placeholder:"DIR"`
}

type commands struct {
	Serve   serveCmd   `cmd:"" help:"Run the gateway with a configuration."`
	Demo    demoCmd    `cmd:"" help:"Run gateway and provider simulator in one process, with a ready key and balance."`
	Sim     simCmd     `cmd:"" help:"Run the provider simulator alone, to test programs against it."`
	User    userCmd    `cmd:"" help:"Add, list, disable and enable users."`
	Key     keyCmd     `cmd:"" help:"Create, list, disable, enable and delete API keys."`
	Topup   topupCmd   `cmd:"" help:"Add rubles to a user's wallet."`
	Ledger  ledgerCmd  `cmd:"" help:"Check and correct the ledger, explain charges."`
	Audit   auditCmd   `cmd:"" help:"Check the audit log."`
	Catalog catalogCmd `cmd:"" help:"Show and change models, providers and prices, or import open price lists."`
	Rate    rateCmd    `cmd:"" help:"Show and set the dollar rate and the margin."`
	Secrets secretsCmd `cmd:"" help:"Manage the secrets of the database."`
	Route   routeCmd   `cmd:"" help:"Explain which providers a request would be sent to, and why."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if pdftext.IsChild(args) { // internal, so it is not listed as a command
		return pdftext.Main(args, os.Stdin, os.Stdout)
	}
	var c commands
	parser := newParser(&c)
	ctx, err := parser.Parse(args)
	if err != nil {
		parser.FatalIfErrorf(err)
	}
	base, stop := context.WithCancel(context.Background())
	defer stop()
	ctx.BindTo(base, (*context.Context)(nil))
	ctx.Bind(verb(ctx.Selected().Name))
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "weir: "+sentence(err))
		return 1
	}
	return 0
}

func newParser(c *commands) *kong.Kong {
	return kong.Must(c, kong.Name("weir"),
		kong.Description("A model gateway: one HTTP API in front of many providers, metered in rubles. To try it: weir demo"),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.Help(printHelp),
		kong.Vars{"version": version})
}

// sentence returns the message of an error for a person: the public text, and the cause if it says more.
func sentence(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	s := f.Public
	if f.Cause != nil && f.Kind != fault.NotFound && !strings.Contains(s, f.Cause.Error()) {
		if s != "" {
			s += " "
		}
		s += "(" + f.Cause.Error() + ")"
	}
	if s == "" {
		return err.Error()
	}
	return s
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println("weir " + version)
	return nil
}

type serveCmd struct {
	place
	Listen string `help:"Address to serve on; overrides server.listen." placeholder:"HOST:PORT"`
}

func (c *serveCmd) Run(ctx context.Context) error {
	cfg, err := c.load(c.Listen)
	if err != nil {
		return err
	}
	return app.Serve(ctx, cfg, app.Options{Version: version, Path: c.Config, Overlay: c.overlay(c.Listen), Signals: signals()})
}

type demoCmd struct {
	Listen  string `help:"Address to serve on. Without it 127.0.0.1:8080, or any free port when that is taken." placeholder:"HOST:PORT"`
	Data    string `help:"Data directory (${default})." default:"weir-data" placeholder:"DIR"`
	JSON    bool   `name:"json" help:"Print addresses and keys as one JSON line, for scripts."`
	Balance string `help:"Rubles to top the demo user up to (${default})." default:"1000" placeholder:"RUBLES"`
}

func (c *demoCmd) Run(ctx context.Context) error {
	return app.Demo(ctx, app.DemoOptions{
		Version: version, Listen: c.Listen, Data: c.Data, JSON: c.JSON, Balance: c.Balance, Out: os.Stdout, Signals: signals(),
	})
}

type simCmd struct {
	Listen string `help:"Address to serve on (${default})." default:"127.0.0.1:8081" placeholder:"HOST:PORT"`
	Key    string `help:"API key that clients must present; none by default." placeholder:"KEY"`
}

func (c *simCmd) Run(ctx context.Context) error {
	return app.Simulate(ctx, app.SimOptions{Listen: c.Listen, Key: c.Key, Out: os.Stdout, Signals: signals()})
}

// signals delivers the signals that a running node handles: TERM and INT drain, HUP reloads.
func signals() <-chan os.Signal {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return c
}
