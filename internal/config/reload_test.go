package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Without a tag, a changed key would silently have no effect.
func TestEverySettingIsLiveOrNeedsARestart(t *testing.T) {
	t.Parallel()
	n := 0
	settings(reflect.TypeFor[Config](), func(s option) {
		if n++; s.reload != "live" && s.reload != "restart" {
			t.Errorf("%s: give its field, or the section that it is in, the tag reload:\"live\" when a running node takes a change over, else reload:\"restart\"", s.key)
		}
	})
	if n < 100 {
		t.Errorf("only %d settings were found", n)
	}
}

// Exactly the keys that need a restart are listed when they change.
func TestNeedRestart(t *testing.T) {
	t.Parallel()
	settings(reflect.TypeFor[Config](), func(s option) {
		before, after := Default(), Default()
		v := reflect.ValueOf(&after).Elem().FieldByIndex(s.index)
		if !change(v) {
			return
		}
		want := []string{s.key}
		if s.reload == "live" {
			want = nil
		}
		if got := NeedRestart(&before, &after); !slices.Equal(got, want) {
			t.Errorf("%s changed: %v", s.key, got)
		}
	})
	a, b := Default(), Default()
	b.Video.KeepFor, b.Fetch.AllowCallbacks, b.Responses.KeepFor = a.Video.KeepFor+1, []string{"10.0.0.0/8"}, a.Responses.KeepFor+1
	if got := NeedRestart(&a, &b); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// The manual lists the settings that a running node applies, in the order of the configuration.
func TestReloadIsDescribed(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	settings(reflect.TypeFor[Config](), func(s option) {
		if s.reload == "live" {
			live = append(live, "`"+s.key+"`")
		}
	})
	last := len(live) - 1
	if want := "A running node applies changes of " + strings.Join(live[:last], ", ") + " and " + live[last] + "."; !strings.Contains(string(manual), want) {
		t.Errorf("docs/configuration.md lacks: %s", want)
	}
}

// change changes a plain value, and reports whether it could.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	default:
		return false
	}
	return true
}
