package config

import (
	"reflect"
	"slices"
	"testing"
)

// A key that is not classified would be changed without effect and without a word.
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

// Each key that needs a restart is named when it changes, and no other.
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
	b.Video.Retention, b.Fetch.AllowCallbacks, b.Responses.Retention = a.Video.Retention+1, []string{"10.0.0.0/8"}, a.Responses.Retention+1
	if got := NeedRestart(&a, &b); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// change gives a plain value another one, and reports whether it could.
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
