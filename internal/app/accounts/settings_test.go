package accounts_test

import (
	"log/slog"
	"net/http"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog/edit"
)

type settingsPage struct {
	Data []struct {
		Key, From      string
		Value          *string
		Set            *bool
		Count          *int
		Secret, Live   bool
		Pending        bool
		Section, Means string
	}
	Nodes []struct {
		Self    bool
		Differs *string
	}
}

// Operators read the settings that are in use; what the file says otherwise, and needs a restart, waits.
func TestSettingsAreShown(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	read := func() map[string]string {
		t.Helper()
		got := d.operator.Do(t, http.MethodGet, "/api/admin/settings", nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		page := apptest.Decode[settingsPage](t, got.Body)
		if len(page.Nodes) != 1 || !page.Nodes[0].Self || page.Nodes[0].Differs != nil || len(page.Data) < 100 {
			t.Fatalf("%+v, %d settings", page.Nodes, len(page.Data))
		}
		values := map[string]string{}
		for _, s := range page.Data {
			switch {
			case s.Secret:
				if s.Set == nil || s.Value != nil {
					t.Errorf("%+v", s)
				}
			case s.Value != nil:
				values[s.Key] = *s.Value
			case s.Count == nil:
				t.Errorf("%+v", s)
			}
			if s.Pending {
				values["pending"] += s.Key
			}
		}
		return values
	}
	values := read()
	if values["video.max_active_per_user"] != "2" || values["pending"] != "" {
		t.Errorf("%q waits", values["pending"])
	}
	const level = "/api/admin/settings/log.level"
	was := values["log.level"]
	for _, value := range edit.Settable("log.level") {
		if err := new(slog.Level).UnmarshalText([]byte(value)); err != nil {
			t.Errorf("the log has no level %q", value)
		}
		if got := d.operator.Do(t, http.MethodPut, level, map[string]any{"value": value, "seconds": 60}); got.Status != http.StatusOK || read()["log.level"] != value {
			t.Errorf("%s: %d %s", value, got.Status, got.Body)
		}
	}
	if got := d.operator.Do(t, http.MethodDelete, level, nil); got.Status != http.StatusOK || read()["log.level"] != was {
		t.Errorf("%d %s, and the level is %q, was %q", got.Status, got.Body, read()["log.level"], was)
	}
	user := &apptest.Account{Gw: d.operator.Gw, Key: d.gw.NewAccount(t).Key}
	if got := user.Do(t, http.MethodPut, level, map[string]any{"value": "debug", "seconds": 60}); got.Status != http.StatusForbidden {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := user.Do(t, http.MethodGet, "/api/admin/settings", nil); got.Status != http.StatusForbidden {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
