package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/operation"
	"weir/internal/resource"
)

type stateCmd struct {
	Export stateExportCmd `cmd:"" help:"Write what operators have set as files, without secrets."`
	Plan   statePlanCmd   `cmd:"" help:"Say how a gateway differs from files; exit with 2 when it does."`
	Apply  stateApplyCmd  `cmd:"" help:"Make a gateway what files say, after showing the plan."`
}

// managementKey is the variable with the key for --url. A flag could be seen by other users of the machine.
const managementKey = "WEIR_MANAGEMENT_KEY"

// gatewayAt says which gateway is meant: that of the configuration, or one far away.
type gatewayAt struct {
	location
	User string `help:"Name or id of the user whose presets are meant; with --url they are those of the key's user." placeholder:"USER"`
	URL  string `name:"url" help:"Address of another gateway's API for operators, asked with the management key in WEIR_MANAGEMENT_KEY; without it, the database of the configuration." placeholder:"URL"`
}

func (g *gatewayAt) open(ctx context.Context, create bool) (gateway resource.Gateway, done func(), err error) {
	if g.URL != "" {
		if g.User != "" {
			return nil, nil, errors.New("with --url presets are those of the key's user: leave --user out")
		}
		key := os.Getenv(managementKey)
		if key == "" {
			return nil, nil, errors.New("--url needs the management key of an administrator in " + managementKey)
		}
		gateway, err = app.RemoteState(g.URL, key)
		return gateway, func() {}, err
	}
	o, e, err := g.editor(ctx, create)
	if err != nil {
		return nil, nil, err
	}
	var user account.User
	if g.User != "" {
		if user, err = o.UserNamed(ctx, g.User); err != nil {
			o.Close()
			return nil, nil, err
		}
	}
	return app.LocalState(o, e, user.ID, operator), o.Close, nil
}

type stateExportCmd struct {
	gatewayAt
	Only []string `help:"Kinds that are written; without it all, presets with --user or --url." placeholder:"KIND"`
	To   string   `arg:"" help:"Folder for one file of each kind, or - for standard output. What the files there say of secrets stays." placeholder:"DIR"`
}

func (c *stateExportCmd) Run(ctx context.Context) error {
	kinds, err := c.kinds()
	if err != nil {
		return err
	}
	gateway, done, err := c.open(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	refs, err := c.references()
	if err != nil {
		return err
	}
	for _, k := range kinds {
		listing, err := gateway.List(ctx, &k)
		if err != nil {
			return err
		}
		text, err := app.StateFile(&k, &listing, refs)
		if err != nil {
			return err
		}
		if c.To == "-" {
			if _, err := os.Stdout.Write(text); err != nil {
				return err
			}
			continue
		}
		name := filepath.Join(c.To, k.Name+".yaml")
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// kinds are those that are written.
func (c *stateExportCmd) kinds() ([]resource.Kind, error) {
	all := app.StateKinds()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	for _, name := range c.Only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%q is no kind of resources; there are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(k resource.Kind) bool {
		if len(c.Only) > 0 {
			return !slices.Contains(c.Only, k.Name)
		}
		return k.Lists != "" && c.User == "" && c.URL == ""
	}), nil
}

// references are what the files that are there say of secrets.
func (c *stateExportCmd) references() (map[string]string, error) {
	if c.To == "-" {
		return nil, nil
	}
	if err := os.MkdirAll(c.To, 0o755); err != nil {
		return nil, err
	}
	there, err := filepath.Glob(filepath.Join(c.To, "*.y*ml"))
	if err != nil || len(there) == 0 {
		return nil, err
	}
	files := app.StateFiles{Kinds: app.StateKinds()}
	if _, err := files.Read(c.To); err != nil {
		return nil, fmt.Errorf("the files that are there cannot be read, and their references to secrets would be lost: %w", err)
	}
	return files.References(), nil
}

// wanted reads what files say.
func (g *gatewayAt) wanted(from string) ([]resource.Set, error) {
	files := app.StateFiles{Kinds: app.StateKinds(), Env: os.LookupEnv, Stdin: os.Stdin}
	return files.Read(from)
}

type statePlanCmd struct {
	gatewayAt
	From string `arg:"" help:"Folder with YAML files, one file, or - for standard input." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the plan as JSON."`
}

func (c *statePlanCmd) Run(ctx context.Context) error {
	sets, err := c.wanted(c.From)
	if err != nil {
		return err
	}
	gateway, done, err := c.open(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	plan, err := resource.Make(ctx, gateway, sets)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printPlanJSON(os.Stdout, plan)
	} else {
		printSteps(os.Stdout, plan)
	}
	if err == nil && len(plan.Steps) > 0 {
		return differs{}
	}
	return err
}

// differs ends weir state plan with its own exit code. The plan says the rest.
type differs struct{}

func (differs) Error() string { return "the gateway differs from the files" }

type planJSON struct {
	Plan    string     `json:"plan"`
	Changes []stepJSON `json:"changes"`
}

type stepJSON struct {
	Action  resource.Action `json:"action"`
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	At      string          `json:"at"`
	Builtin bool            `json:"builtin"`
	Fields  []fieldJSON     `json:"fields"`
}

type fieldJSON struct {
	Name   string  `json:"name"`
	Before *string `json:"before"`
	After  *string `json:"after"`
}

func printPlanJSON(w io.Writer, p *resource.Plan) error {
	out := planJSON{Plan: p.Digest, Changes: make([]stepJSON, len(p.Steps))}
	for i := range p.Steps {
		s := &p.Steps[i]
		out.Changes[i] = stepJSON{Action: s.Action, Kind: s.Kind.Name, ID: s.ID, At: s.At, Builtin: s.Builtin, Fields: make([]fieldJSON, len(s.Fields))}
		for j, f := range s.Fields {
			out.Changes[i].Fields[j] = fieldJSON(f)
		}
	}
	b, err := operation.JSON(out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

var signs = map[resource.Action]string{resource.Create: "+", resource.Change: "~", resource.Delete: "-"}

func printSteps(w io.Writer, p *resource.Plan) {
	count := map[resource.Action]int{}
	for i := range p.Steps {
		s := &p.Steps[i]
		count[s.Action]++
		switch {
		case s.Action != resource.Delete:
			fmt.Fprintf(w, "%s %s %s  (%s)\n", signs[s.Action], s.Kind.One, s.ID, s.At)
		case s.Builtin:
			fmt.Fprintf(w, "- %s %s  (not in the files; it would be as built in)\n", s.Kind.One, s.ID)
		default:
			fmt.Fprintf(w, "- %s %s  (not in the files)\n", s.Kind.One, s.ID)
		}
		for _, f := range s.Fields {
			switch {
			case s.Action == resource.Delete:
				fmt.Fprintf(w, "    %s: %s\n", f.Name, fieldText(f.Before))
			case f.Before == nil:
				fmt.Fprintf(w, "    %s: %s\n", f.Name, fieldText(f.After))
			default:
				fmt.Fprintf(w, "    %s: %s -> %s\n", f.Name, fieldText(f.Before), fieldText(f.After))
			}
		}
	}
	if len(p.Steps) == 0 {
		fmt.Fprintln(w, "No differences.")
		return
	}
	only := ""
	if count[resource.Delete] > 0 {
		only = " (weir state apply --prune)"
	}
	fmt.Fprintf(w, "%d to create, %d to change, %d to delete%s. Plan %s\n", count[resource.Create], count[resource.Change], count[resource.Delete], only, p.Digest)
}

// fieldText is a value for a terminal: what it has of control characters must not move the cursor.
func fieldText(v *string) string {
	if v == nil {
		return "(not set)"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, *v)
}

type stateApplyCmd struct {
	gatewayAt
	From  string `arg:"" help:"Folder with YAML files, one file, or - for standard input." placeholder:"DIR"`
	Prune bool   `help:"Delete what the files do not have, of the kinds that they name."`
	Yes   bool   `help:"Do not ask."`
	Plan  string `help:"Only if the plan is still this one, which weir state plan printed." placeholder:"PLAN"`
}

func (c *stateApplyCmd) Run(ctx context.Context) error {
	if c.From == "-" && !c.Yes {
		return errors.New("standard input has the files, so that nothing can be asked: give --yes")
	}
	sets, err := c.wanted(c.From)
	if err != nil {
		return err
	}
	gateway, done, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	plan, err := resource.Make(ctx, gateway, sets)
	if err != nil {
		return err
	}
	if c.Plan != "" && c.Plan != plan.Digest {
		return fmt.Errorf("the plan is %s now, not %s: look at it again with: weir state plan %s", plan.Digest, c.Plan, c.From)
	}
	printSteps(os.Stdout, plan)
	steps := plan
	if !c.Prune {
		steps = plan.WithoutDeletes()
	}
	if len(steps.Steps) == 0 {
		return nil
	}
	if !c.Yes {
		if err := agree(); err != nil {
			return err
		}
		again, err := resource.Make(ctx, gateway, sets)
		if err != nil {
			return err
		}
		if again.Digest != plan.Digest {
			return errors.New("the gateway was changed since this plan was made, and nothing was applied: run the command again")
		}
	}
	return apply(ctx, gateway, steps)
}

// agree asks the person at the terminal.
func agree() error {
	fmt.Print("Type yes to apply this plan: ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if strings.TrimSpace(answer) == "yes" {
		return nil
	}
	if err != nil {
		fmt.Println()
		return errors.New("nobody answered, and nothing was applied; without a terminal give --yes")
	}
	return errors.New("nothing was applied")
}

func apply(ctx context.Context, gateway resource.Gateway, p *resource.Plan) error {
	made := 0
	err := p.Apply(ctx, gateway, func(s *resource.Step, done resource.Outcome) {
		made++
		fmt.Printf("%s %s %s\n", done, s.Kind.One, s.ID)
	})
	if err != nil {
		return fmt.Errorf("%s Applied %d of %d; run the command again for the rest", strings.TrimSuffix(sentence(err), ".")+".", made, len(p.Steps))
	}
	fmt.Printf("Applied %d of %d; %s\n", made, len(p.Steps), soon)
	return nil
}
