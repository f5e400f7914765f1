package config_test

import (
	"maps"
	"strings"
	"testing"

	"weir/internal/config"
)

// What the file has is set, unless the environment has it already; the values are in no error.
func TestTakeEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string // want is part of the error
		set        map[string]string
	}{
		{"", "", map[string]string{}},
		{"# a comment\n; another\n\nA_KEY=sk-1\n  B = two words  \n", "", map[string]string{"A_KEY": "sk-1", "B": "two words"}},
		{"A=\"quoted # text\"\r\nB='x=y'\nC=\n", "", map[string]string{"A": "quoted # text", "B": "x=y", "C": ""}},
		{"THERE=other\nA=1", "", map[string]string{"A": "1"}},
		{"A=1\nexport B=geheim", "line 2 is not NAME=value", nil},
		{"geheim", "line 1 is not NAME=value", nil},
		{"1A=geheim", "line 1 is not NAME=value", nil},
		{"=geheim", "line 1 is not NAME=value", nil},
		{"A=geheim\\\nB", "line 1, A: backslashes", nil},
		{"A=\"geheim", "line 1, A: quotes", nil},
		{"A=ge\"heim\"", "line 1, A: quotes", nil},
	} {
		file := writeFile(t, "environment", c.text, 0o600)
		set := map[string]string{}
		err := config.TakeEnvironment(writeFile(t, "weir.yaml", "environment_file: "+file+"\n", 0o600), lookup("THERE", "1"), func(name, value string) error {
			set[name] = value
			return nil
		})
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim")):
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		case c.want == "" && (err != nil || !maps.Equal(set, c.set)):
			t.Errorf("%q: %v, %q", c.text, err, set)
		}
	}
}

func TestTakeEnvironmentFromWhere(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "environment", "A=1", 0o600)
	for _, c := range []struct {
		what, path string
		env        config.Lookup
		want       string // "A", or part of the error
	}{
		{"no configuration", "", lookup(), ""},
		{"a variable names it", "", lookup("WEIR_ENVIRONMENT_FILE", file), "A"},
		{"a configuration without it", writeFile(t, "weir.yaml", "data_dir: x", 0o600), lookup(), ""},
		{"the name spelled with escapes", writeFile(t, "weir.yaml", `"environment\u005ffile": `+file, 0o600), lookup(), "A"},
		{"a configuration in UTF-16", writeFile(t, "weir.yaml", utf16("environment_file: "+file), 0o600), lookup(), "A"},
		{"a broken configuration", writeFile(t, "weir.yaml", "data_dir: [", 0o600), lookup(), ""},
		{"a file that is not there", writeFile(t, "weir.yaml", "environment_file: /nowhere/environment", 0o600), lookup(), "environment_file: open /nowhere/environment: no such file"},
	} {
		got := ""
		if err := config.TakeEnvironment(c.path, c.env, func(name, _ string) error { got += name; return nil }); err != nil {
			got = err.Error()
		}
		if got != c.want && (len(c.want) < 2 || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// utf16 is ASCII text in UTF-16, the lower byte first.
func utf16(s string) string {
	b := []byte{0xff, 0xfe}
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return string(b)
}

func lookup(pairs ...string) config.Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func FuzzTakeEnvironment(f *testing.F) {
	f.Add("A=1\n# b\nC=\"d\"")
	f.Fuzz(func(t *testing.T, text string) {
		file := writeFile(t, "environment", text, 0o600)
		_ = config.TakeEnvironment("", lookup("WEIR_ENVIRONMENT_FILE", file), func(name, value string) error {
			if name == "" || strings.ContainsAny(name, "= \n") || strings.ContainsAny(value, "\n\x00") {
				t.Errorf("%q=%q", name, value)
			}
			return nil
		})
	})
}
