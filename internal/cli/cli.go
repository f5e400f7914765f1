// Package cli reads a command line into structs whose fields have tags, and prints help. Commands are nested structs:
//
//	cmd:""            a command of its own; its name is that of the field, in small letters with dashes
//	arg:""            a positional argument; any other field is a flag
//	help:"..."        one sentence; ${default} in it is the default
//	name:"..."        another name, aliases:"a,b" further ones of a command, short:"c" a flag's letter
//	default:"..."     a value; of a command, it is the one meant when none is named
//	env:"..."         the environment variable that sets a flag which is not given
//	enum:"a,b"        the values that are allowed
//	optional:""       of an argument, required:"" of a flag
//	placeholder:"X"   what help shows for the value
//
// It finds methods by interfaces alone, never by name: looking methods up by name makes the linker keep every method of every type, which
// is half of this program.
package cli

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Command is a command, or a group of them.
type Command struct {
	Name    string
	Aliases []string
	Help    string
	Parent  *Command // nil of the program
	Within  []*Command

	value    reflect.Value // struct
	flags    []*value
	args     []*value
	fallback *Command // meant when none is named
}

// value is a flag or an argument.
type value struct {
	name, short, help, placeholder, env string
	initial                             string
	hasInitial, required                bool
	allowed                             []string
	to                                  reflect.Value
	given                               bool
}

// ErrHelp is what Parse fails with when help was asked for.
var ErrHelp = errors.New("help was asked for")

// New describes a program by a pointer to a struct with tags. It panics for tags that make no sense.
func New(name, help string, root any) *Command {
	return describe(&Command{Name: name, Help: help}, reflect.ValueOf(root).Elem())
}

func describe(c *Command, v reflect.Value) *Command {
	c.value = v
	c.fields(v)
	for i, a := range c.args {
		if i > 0 && a.required && !c.args[i-1].required || i < len(c.args)-1 && a.list() {
			panic("cli: " + c.Path() + ": no argument after " + c.args[max(i-1, 0)].name + " can be told from it")
		}
	}
	return c
}

func (c *Command) fields(v reflect.Value) {
	for i := range v.NumField() {
		field, tag := v.Type().Field(i), v.Type().Field(i).Tag
		name := tag.Get("name")
		if name == "" {
			name = dashed(field.Name)
		}
		_, isCommand := tag.Lookup("cmd")
		_, isArg := tag.Lookup("arg")
		switch {
		case field.Anonymous:
			c.fields(v.Field(i))
		case !field.IsExported():
		case isCommand:
			sub := describe(&Command{Name: name, Help: tag.Get("help"), Parent: c, Aliases: list(tag.Get("aliases"))}, v.Field(i))
			c.Within = append(c.Within, sub)
			if tag.Get("default") != "" {
				c.fallback = sub
			}
		default:
			a := &value{name: name, short: tag.Get("short"), placeholder: tag.Get("placeholder"), env: tag.Get("env"), to: v.Field(i)}
			a.initial, a.hasInitial = tag.Lookup("default")
			a.help = strings.ReplaceAll(tag.Get("help"), "${default}", a.initial)
			if enum, ok := tag.Lookup("enum"); ok {
				a.allowed = strings.Split(enum, ",")
			}
			_, a.required = tag.Lookup("required")
			if isArg {
				_, optional := tag.Lookup("optional")
				a.required = !optional
				c.args = append(c.args, a)
			} else {
				c.flags = append(c.flags, a)
			}
		}
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// dashed makes "api-key" of APIKey and of ApiKey.
func dashed(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		starts := unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Path is the command as it is written, without the program's name.
func (c *Command) Path() string {
	if c.Parent == nil {
		return ""
	}
	name := c.Name
	if len(c.Aliases) > 0 {
		name += " (" + strings.Join(c.Aliases, ", ") + ")"
	}
	return strings.TrimSpace(c.Parent.Path() + " " + name)
}

// Leaves are the commands that are not groups.
func (c *Command) Leaves() []*Command {
	if len(c.Within) == 0 {
		return []*Command{c}
	}
	var all []*Command
	for _, sub := range c.Within {
		all = append(all, sub.Leaves()...)
	}
	return all
}

// Variables are the environment variables that set flags.
func (c *Command) Variables() (names []string) {
	for _, leaf := range c.Leaves() {
		for _, f := range leaf.flags {
			if f.env != "" && !slices.Contains(names, f.env) {
				names = append(names, f.env)
			}
		}
	}
	return names
}

// Target is the pointer to the struct of the command.
func (c *Command) Target() any { return c.value.Addr().Interface() }

// Parse reads the arguments after the program's name and returns the command that they select, whose struct is then filled. It fails with
// ErrHelp, or with a sentence for the person; the command is then the one whose help explains it. env looks up a variable.
func (c *Command) Parse(args []string, env func(name string) (string, bool)) (*Command, error) {
	at, rest := c, []string(nil)
	flagsEnd := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case flagsEnd || arg == "-" || !strings.HasPrefix(arg, "-") || number(arg):
			if sub := at.named(arg); len(at.Within) > 0 && len(rest) == 0 && sub != nil {
				at = sub
			} else {
				rest = append(rest, arg)
			}
		case arg == "--":
			flagsEnd = true
		case arg == "--help" || arg == "-h":
			return at, ErrHelp
		default:
			if at.fallback != nil && at.flag(arg) == nil {
				at = at.fallback
			}
			var err error
			if args, err = at.setFlag(arg, args); err != nil {
				return at, err
			}
		}
	}
	if len(at.Within) > 0 {
		if at.fallback == nil || len(rest) > 0 {
			return at, at.unknown(rest)
		}
		at = at.fallback
	}
	return at, at.finish(rest, env)
}

// number reports whether an argument that begins with a dash is an amount.
func number(arg string) bool {
	_, err := strconv.ParseFloat(arg, 64)
	return err == nil
}

func (c *Command) named(name string) *Command {
	for _, sub := range c.Within {
		if sub.Name == name || slices.Contains(sub.Aliases, name) {
			return sub
		}
	}
	return nil
}

// unknown is the error for a group without one of its commands.
func (c *Command) unknown(rest []string) error {
	if len(rest) == 0 {
		var names []string
		for _, sub := range c.Within {
			names = append(names, strconv.Quote(sub.Name))
		}
		return fmt.Errorf("a command is missing: one of %s", strings.Join(names, ", "))
	}
	var names []string
	for _, sub := range c.Within {
		names = append(append(names, sub.Name), sub.Aliases...)
	}
	return fmt.Errorf("unknown command %s%s", rest[0], meant(rest[0], names))
}

// flag finds a flag as it is written: --name, --name=value or -n.
func (c *Command) flag(arg string) *value {
	name, _, _ := strings.Cut(arg, "=")
	for _, f := range c.flags {
		if name == "--"+f.name || f.short != "" && name == "-"+f.short {
			return f
		}
	}
	return nil
}

// setFlag sets a flag, and returns the arguments after its value.
func (c *Command) setFlag(arg string, args []string) ([]string, error) {
	f := c.flag(arg)
	if f == nil {
		var names []string
		for _, f := range c.flags {
			names = append(names, "--"+f.name)
		}
		name, _, _ := strings.Cut(arg, "=")
		return nil, fmt.Errorf("unknown flag %s%s", name, meant(name, names))
	}
	_, text, has := strings.Cut(arg, "=")
	switch {
	case !has && f.to.Kind() == reflect.Bool:
		text = "true"
	case !has && len(args) == 0:
		return nil, fmt.Errorf("--%s needs a value", f.name)
	case !has:
		text, args = args[0], args[1:]
	}
	return args, f.set("--"+f.name, text)
}

// finish sets the arguments, and the flags that are not given.
func (c *Command) finish(rest []string, env func(string) (string, bool)) error {
	for _, a := range c.args {
		switch {
		case len(rest) == 0 && a.required:
			return fmt.Errorf("%s is missing", a.shown())
		case len(rest) == 0:
		case a.list():
			for _, text := range rest {
				if err := a.set(a.shown(), text); err != nil {
					return err
				}
			}
			rest = nil
		default:
			if err := a.set(a.shown(), rest[0]); err != nil {
				return err
			}
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %s", rest[0])
	}
	for _, f := range c.flags {
		text, has := env(f.env)
		switch {
		case f.given:
		case f.env != "" && has && text != "":
			if err := f.set("$"+f.env, text); err != nil {
				return err
			}
		case f.required:
			return fmt.Errorf("--%s is missing", f.name)
		case f.hasInitial && f.initial != "":
			if err := f.set("--"+f.name, f.initial); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *value) list() bool { return a.to.Kind() == reflect.Slice }

// shown is an argument in help and errors.
func (a *value) shown() string { return "<" + a.name + ">" }

var unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// set converts text; name is what its error calls it.
func (a *value) set(name, text string) error {
	if a.given && !a.list() {
		return fmt.Errorf("%s is given twice", name)
	}
	a.given = true
	if len(a.allowed) > 0 && !slices.Contains(a.allowed, text) {
		return fmt.Errorf("%s must be one of %s, and it is %q", name, strings.Join(slices.DeleteFunc(slices.Clone(a.allowed), func(s string) bool { return s == "" }), ", "), text)
	}
	to := a.to
	if a.list() {
		to = reflect.New(to.Type().Elem()).Elem()
	} else if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if err := convert(to, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if a.list() {
		a.to.Set(reflect.Append(a.to, to))
	}
	return nil
}

func convert(to reflect.Value, text string) error {
	wrong := func(what string) error { return fmt.Errorf("%q is not %s", text, what) }
	if to.Addr().Type().Implements(unmarshaler) {
		return to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	if to.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return wrong("a duration, such as 720h or 90m")
		}
		to.SetInt(int64(d))
		return nil
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return wrong("true or false")
		}
		to.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, to.Type().Bits())
		if err != nil {
			return wrong("an integer")
		}
		to.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return wrong("a number")
		}
		to.SetFloat(n)
	default:
		panic("cli: no values of type " + to.Type().String())
	}
	return nil
}
