package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/cli"
)

type shared struct {
	Config string `short:"c" help:"A file." placeholder:"FILE" env:"CLI_TEST_CONFIG"`
}

type level string

func (l *level) UnmarshalText(b []byte) error {
	if len(b) > 3 {
		return errors.New("too long")
	}
	*l = level(b)
	return nil
}

type add struct {
	shared
	Name    string        `arg:"" help:"What it is called."`
	Fields  []string      `arg:"" optional:"" help:"NAME=VALUE."`
	PerDay  int64         `help:"How many." default:"7"`
	Limit   *json.Number  `help:"Rubles." placeholder:"RUBLES"`
	Reset   string        `enum:",daily,weekly" default:""`
	Expires time.Duration `help:"How long."`
	Share   float64       `help:"A share."`
	JSON    bool          `short:"j" help:"As JSON."`
	Level   level         `help:"A level."`
	Why     string        `required:"" help:"The reason."`
}

type show struct {
	shared
	ID string `arg:"" optional:""`
}

type group struct {
	List show `cmd:"" default:"withargs" help:"List."`
	Drop show `cmd:"" aliases:"remove,rm" help:"Drop."`
}

type program struct {
	Add   add   `cmd:"" help:"Add one, with a sentence of help that is so long that it has to be broken into more than a single line."`
	Group group `cmd:"" help:"Several."`
}

func none(string) (string, bool) { return "", false }

func TestParse(t *testing.T) {
	t.Parallel()
	five := json.Number("5")
	for line, want := range map[string]any{
		"add x --why w": &add{Name: "x", PerDay: 7, Why: "w"},
		"add --why=w -c f x a=1 b=2 --limit 5 -j": &add{shared: shared{"f"}, Name: "x", Fields: []string{"a=1", "b=2"}, PerDay: 7, Limit: &five, JSON: true, Why: "w"},
		"add --why w -- -x --y":                   &add{Name: "-x", Fields: []string{"--y"}, PerDay: 7, Why: "w"},
		"add --why w --expires 90m --share 0.5 --per-day -3 --reset daily --level abc -1.5 -": &add{Name: "-1.5", Fields: []string{"-"}, PerDay: -3, Reset: "daily", Expires: 90 * time.Minute,
			Share: 0.5, Level: "abc", Why: "w"},
		"group":               &show{},
		"group -c f":          &show{shared: shared{"f"}},
		"group list 5":        &show{ID: "5"},
		"group remove 5":      &show{ID: "5"},
		"group rm --config=f": &show{shared: shared{"f"}},
	} {
		c, err := cli.New("prog", "A program.", new(program)).Parse(strings.Fields(line), none)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if d := cmp.Diff(want, c.Target(), cmp.AllowUnexported(add{}, shared{}, show{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) { return "of the environment", name == "CLI_TEST_CONFIG" }
	for line, want := range map[string]string{"group": "of the environment", "group -c own": "own"} {
		c, err := cli.New("prog", "A program.", new(program)).Parse(strings.Fields(line), env)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Target().(*show).Config; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                             `a command is missing: one of "add", "group"`,
		"ad":                           "unknown command ad, did you mean add?",
		"zzzzz":                        "unknown command zzzzz",
		"group remov":                  "unknown command remov, did you mean remove?",
		"add":                          "<name> is missing",
		"add x":                        "--why is missing",
		"add x --why":                  "--why needs a value",
		"add x --why w --why v":        "--why is given twice",
		"add x --wy w":                 "unknown flag --wy, did you mean --why?",
		"add x -z":                     "unknown flag -z",
		"add x --why w --per-day x":    `--per-day: "x" is not an integer`,
		"add x --why w --share x":      `--share: "x" is not a number`,
		"add x --why w --expires soon": `--expires: "soon" is not a duration, such as 720h or 90m`,
		"add x --why w --json=maybe":   `--json: "maybe" is not true or false`,
		"add x --why w --reset yearly": `--reset must be one of daily, weekly, and it is "yearly"`,
		"add x --why w --level long":   "--level: too long",
		"group list a b":               "unexpected argument b",
		"add x --why w --per-day 99999999999999999999": `--per-day: "99999999999999999999" is not an integer`,
	} {
		_, err := cli.New("prog", "A program.", new(program)).Parse(strings.Fields(line), none)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--help": `Usage: prog <command>

A program.

Flags:
  -h, --help    Show help of a command.

Commands:
  add      Add one, with a sentence of help that is so long that it has to be
           broken into more than a single line.
  group    Several.

Run "prog <command> --help" for more information on a command.
`,
		"group rm -h": `Usage: prog group drop (remove, rm) [<id>] [flags]

Drop.

Arguments:
  [<id>]

Flags:
  -h, --help           Show help of a command.
  -c, --config=FILE    A file. [$CLI_TEST_CONFIG]
`,
	} {
		c, err := cli.New("prog", "A program.", new(program)).Parse(strings.Fields(line), none)
		if !errors.Is(err, cli.ErrHelp) {
			t.Fatalf("%s: %v", line, err)
		}
		var b strings.Builder
		if err := c.WriteHelp(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}

// A struct from whose fields an argument could not be told from another is refused when the program starts.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, root := range map[string]any{
		"required after optional": &struct {
			A string `arg:"" optional:""`
			B string `arg:""`
		}{},
		"after a list": &struct {
			A []string `arg:"" optional:""`
			B string   `arg:"" optional:""`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			cli.New("prog", "", root)
		}()
	}
}
