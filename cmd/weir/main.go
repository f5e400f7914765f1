// Command weir runs the gateway, its demo and its simulator, and manages users, keys, money and the catalog.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"weir/internal/config"

	"github.com/alecthomas/kong"

	"weir/internal/app"
	"weir/internal/fault"
	"weir/internal/plugin/pdftext"
)

// location holds the flags for the configuration file and the data directory.
type location struct {
	Config string `short:"c" help:"Configuration file (see weir.example.yaml). Without it /etc/weir/weir.yaml, if that is there and no data directory is given." placeholder:"FILE" env:"WEIR_CONFIG"`
	Data   string `help:"Data directory; overrides data_dir of the configuration." placeholder:"DIR"`

	found bool // the file was not named
}

// service is the configuration that a package or an image has.
const service = "/etc/weir/weir.yaml"

var packaged = service // of tests: another file

// AfterApply finds the file that nothing names. Who names a data directory means another node than the service of this machine.
func (p *location) AfterApply() error {
	if p.Config != "" || p.Data != "" || os.Getenv(config.Variable("data_dir")) != "" {
		return nil
	}
	if _, err := os.Stat(packaged); err == nil {
		p.Config, p.found = packaged, true
	}
	return nil
}

type commands struct {
	Serve      serveCmd      `cmd:"" group:"run" help:"Run the gateway with a configuration."`
	Demo       demoCmd       `cmd:"" group:"run" help:"Run gateway and provider simulator in one process, with a ready key and balance."`
	Sim        simCmd        `cmd:"" group:"run" help:"Run the provider simulator alone, to test programs against it."`
	Ready      readyCmd      `cmd:"" group:"run" help:"Ask the node of this machine whether it takes calls; exit with 1 when it does not."`
	Top        topCmd        `cmd:"" group:"run" help:"Watch calls, money and endpoints of a running node in the terminal."`
	Doctor     doctorCmd     `cmd:"" group:"run" help:"Examine the installation, and say what to do about each finding."`
	Version    versionCmd    `cmd:"" group:"run" help:"Print the version."`
	Completion completionCmd `cmd:"" group:"run" help:"Print what makes a shell complete commands and flags."`
	User       userCmd       `cmd:"" group:"people" help:"Add, list, disable and enable users."`
	Key        keyCmd        `cmd:"" group:"people" help:"Create, list, disable, enable and delete API keys."`
	Org        orgCmd        `cmd:"" group:"people" help:"List, show and make organizations, with their members, teams and directories."`
	Budget     budgetCmd     `cmd:"" group:"people" help:"List, set and delete the budgets of an account."`
	Agent      agentCmd      `cmd:"" group:"people" help:"Sign programs such as Codex in to a gateway with a browser, and print keys for them."`
	Topup      topupCmd      `cmd:"" group:"money" help:"Add rubles to a user's wallet."`
	Payments   paymentsCmd   `cmd:"" group:"money" help:"List payments, compare them with the provider's, refund them."`
	Vouchers   vouchersCmd   `cmd:"" group:"money" help:"Make codes that put money into wallets, list and revoke them."`
	Invoice    invoiceCmd    `cmd:"" group:"money" help:"Credit transfers of organizations, read statements of the bank, make acts."`
	Ledger     ledgerCmd     `cmd:"" group:"money" help:"Check and correct the ledger, explain charges."`
	Reconcile  reconcileCmd  `cmd:"" group:"money" help:"Compare what a provider exported of its usage with the calls of the gateway."`
	Sales      salesCmd      `cmd:"" group:"money" help:"Show what calls brought and cost, by model, provider, account or day."`
	Catalog    catalogCmd    `cmd:"" group:"models" help:"Show and change models, providers and prices, or import open price lists."`
	Provider   providersCmd  `cmd:"" group:"models" help:"Test whether a provider works as it is configured."`
	Service    serviceCmd    `cmd:"" group:"models" help:"Take endpoints, models and providers out of service, and bring them back."`
	Price      priceCmd      `cmd:"" group:"models" help:"Change prices together, in a draft: raise, publish, revert."`
	Rate       rateCmd       `cmd:"" group:"models" help:"Show and set the dollar rate and the margin."`
	Route      routeCmd      `cmd:"" group:"models" help:"Explain which providers a request would be sent to, and why."`
	Alert      alertCmd      `cmd:"" group:"work" help:"What operators are alerted of, and where that goes."`
	Calls      callsCmd      `cmd:"" group:"work" help:"List calls of everybody, with what providers ask for and the margin."`
	Batch      batchCmd      `cmd:"" group:"work" help:"List and cancel batches."`
	Job        jobCmd        `cmd:"" group:"work" help:"List, retry and end videos, batches, webhooks and notices."`
	Audit      auditCmd      `cmd:"" group:"work" help:"Check the audit log."`
	Import     importCmd     `cmd:"" group:"keep" help:"Make keys and presets from the exports of other gateways."`
	Setting    settingCmd    `cmd:"" group:"keep" help:"Change settings for a while, on all nodes."`
	State      stateCmd      `cmd:"" group:"keep" help:"Keep what operators set as files: export, plan, apply."`
	Secrets    secretsCmd    `cmd:"" group:"keep" help:"Manage the secrets of the database."`
	Export     exportCmd     `cmd:"" group:"keep" help:"Write the calls of finished days as files, into a folder or bucket."`
	Backup     backupCmd     `cmd:"" group:"keep" help:"Copy what a node keeps to a folder, while it runs."`
	Restore    restoreCmd    `cmd:"" group:"keep" help:"Put a backup where a node will find it, and check its ledger."`
	Migrate    migrateCmd    `cmd:"" group:"keep" help:"Copy the database to another one: from SQLite to PostgreSQL, or back."`

	Complete completeCmd `cmd:"" hidden:"" help:"Print what may come next on a command line, for shells."`
}

// AfterApply refuses flags that are given twice: one of the values would be lost.
func (*commands) AfterApply(ctx *kong.Context) error {
	seen := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && seen[p.Flag] && !p.Flag.IsSlice() {
			return fmt.Errorf("--%s is given twice", p.Flag.Name)
		}
		seen[p.Flag] = true
	}
	return nil
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if pdftext.IsChild(args) { // internal, so it is not listed as a command
		return pdftext.Main(args, os.Stdin, os.Stdout)
	}
	program := newProgram()
	ctx, err := program.Parse(usual(args))
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		fmt.Fprintf(os.Stderr, "weir: %v\n\n", err)
		program.Stdout = os.Stderr
		_ = wrong.Context.PrintUsage(false) // the error was said
		return wrongUsage
	}
	base, stop := context.WithCancel(context.Background())
	defer stop()
	ctx.BindTo(base, (*context.Context)(nil))
	if err := ctx.Run(verb(ctx.Selected().Name)); errors.As(err, new(differs)) {
		return foundDifferences
	} else if err != nil {
		said := sentence(err)
		if at, ok := target(ctx.Selected()).(located); ok {
			said = at.hint(said)
		}
		fmt.Fprintln(os.Stderr, "weir: "+said)
		return 1
	}
	return 0
}

// usual are arguments in which what other programs take stands for the command that does it here.
func usual(args []string) []string {
	if len(args) == 0 {
		return args
	}
	switch args[0] {
	case "--version":
		return []string{"version"}
	case "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// located is a command that has flags for the place of what it works on.
type located interface {
	hint(text string) string
}

// target is the struct of a command.
func target(c *kong.Node) any { return c.Target.Addr().Interface() }

// wrongUsage is the exit code for a command line that says nothing that can be done.
const wrongUsage = 2

// foundDifferences is the exit code of a comparison that found some.
const foundDifferences = 2

// groups are the parts in which help and documentation list the commands: each page of docs/commands is one of them.
var groups = []kong.Group{
	{Key: "run", Title: "Run a gateway"},
	{Key: "people", Title: "People, keys and budgets"},
	{Key: "money", Title: "Money"},
	{Key: "models", Title: "Models, providers and prices"},
	{Key: "work", Title: "Calls, jobs and alerts"},
	{Key: "keep", Title: "Settings, copies and moves"},
}

func newProgram() *kong.Kong {
	return kong.Must(new(commands), kong.Name("weir"),
		kong.Description("A model gateway: one HTTP API in front of many providers, metered in rubles. To try it: weir demo"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 80}), kong.Help(printHelp),
		kong.WithHyphenPrefixedParameters(true), // values such as -5
		kong.ExplicitGroups(groups))
}

// grammar is the program for those who only ask what commands and flags there are: making it takes milliseconds.
var grammar = sync.OnceValue(func() *kong.Node { return newProgram().Model.Node })

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
	fmt.Println("weir " + app.Version)
	return nil
}

type serveCmd struct {
	location
	Listen string `help:"Address to serve on; overrides server.listen." placeholder:"HOST:PORT"`
}

func (c *serveCmd) Run(ctx context.Context) error {
	cfg, err := c.loadAll(c.Listen)
	if err != nil {
		return err
	}
	return app.Serve(ctx, cfg, app.Options{Version: app.Version, Path: c.Config, Overlay: c.overlay(c.Listen), Signals: signals(), Hint: c.anywhere().hint})
}

type demoCmd struct {
	Listen  string `help:"Address to serve on. Without it 127.0.0.1:8080, or any free port when that is taken." placeholder:"HOST:PORT"`
	Data    string `help:"Data directory (${default})." default:"weir-demo" placeholder:"DIR"`
	JSON    bool   `name:"json" help:"Print addresses and keys as one JSON line, for scripts."`
	Balance string `help:"Rubles to top the demo user up to (${default})." default:"1000" placeholder:"RUBLES"`
	Empty   bool   `help:"Begin without the month of demo data, and without the models that it has."`
	Shapes  int64  `help:"Seed by which the simulator dresses its answers as real providers do; 0: not at all." default:"0" placeholder:"SEED"`
}

func (c *demoCmd) Run(ctx context.Context) error {
	if err := unread(""); err != nil {
		return err
	}
	return app.Demo(ctx, app.DemoOptions{
		Version: app.Version, Listen: c.Listen, Data: c.Data, JSON: c.JSON, Balance: c.Balance, Shapes: uint64(c.Shapes), Empty: c.Empty, Out: os.Stdout, Signals: signals(),
	})
}

type simCmd struct {
	Listen string `help:"Address to serve on (${default})." default:"127.0.0.1:8081" placeholder:"HOST:PORT"`
	Key    string `help:"API key that clients must present; none by default." placeholder:"KEY"`
	Shapes int64  `help:"Seed by which answers are dressed as those of real providers; 0: not at all." default:"0" placeholder:"SEED"`
}

func (c *simCmd) Run(ctx context.Context) error {
	return app.Simulate(ctx, app.SimOptions{Listen: c.Listen, Key: c.Key, Shapes: uint64(c.Shapes), Out: os.Stdout, Signals: signals()})
}

// signals delivers the signals that a running node handles: TERM and INT drain, HUP reloads.
func signals() <-chan os.Signal {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return c
}
