package edit_test

import (
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

func TestSettingForAWhile(t *testing.T) {
	t.Parallel()
	s := open(t)
	b, err := s.SetFor(t.Context(), "log.level", "debug", time.Hour, admin)
	if err != nil {
		t.Fatal(err)
	}
	now := s.world.now
	if is := b.Temporary("log.level", now); is == nil || is.Value != "debug" || !is.Until.Equal(now.Add(time.Hour)) || is.By != admin.Name {
		t.Errorf("%+v", is)
	}
	if is := b.Temporary("log.level", now.Add(time.Hour)); is != nil {
		t.Errorf("after its end it is %+v", is)
	}
	if e := s.store.events[len(s.store.events)-1]; e.Action != audit.SettingSet || e.Target != "setting:log.level" {
		t.Errorf("the audit says %+v", e)
	}
	if b, err = s.Reset(t.Context(), "log.level", admin); err != nil || b.Temporary("log.level", now) != nil {
		t.Errorf("%v, %+v", err, b)
	}
	if e := s.store.events[len(s.store.events)-1]; e.Action != audit.SettingReset {
		t.Errorf("the audit says %+v", e)
	}
	version := s.store.state.Version
	for name, c := range map[string]struct {
		key, value string
		long       time.Duration
		kind       fault.Kind
		param      string
	}{
		"another setting": {"server.listen", ":80", time.Hour, fault.NotFound, ""},
		"no such setting": {"", "debug", time.Hour, fault.NotFound, ""},
		"another value":   {"log.level", "loud", time.Hour, fault.Invalid, "value"},
		"no time":         {"log.level", "warn", 0, fault.Invalid, "seconds"},
		"too long":        {"log.level", "warn", 25 * time.Hour, fault.Invalid, "seconds"},
	} {
		_, err := s.SetFor(t.Context(), c.key, c.value, c.long, admin)
		if f := fault.From(err); err == nil || f.Kind != c.kind || f.Param != c.param {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Reset(t.Context(), "log.level", admin); fault.From(err).Kind != fault.NotFound || s.store.state.Version != version {
		t.Errorf("reset twice: %v", err)
	}
}
