package apptest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/money"
)

// Owner is an account with its management key.
type Owner struct {
	*Account          // with an API key
	Pages    *Account // with a management key
	User     string
}

// NewOwner makes a user with keys and rubles.
func (gw *Gateway) NewOwner(t *testing.T, rubles int64, n apikey.NewKey) *Owner {
	t.Helper()
	admin, by := gw.Node.Admin(), audit.Actor{Name: "test"}
	u, err := admin.Users.Create(t.Context(), fmt.Sprint("owner ", gw.users.Add(1)), by)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.TopUp(t.Context(), u, money.Nano(rubles)*money.Ruble, "", by); err != nil {
		t.Fatal(err)
	}
	o := &Owner{User: u.ID}
	for _, management := range []bool{false, true} {
		k := n
		if management {
			k = apikey.NewKey{}
		}
		k.Name, k.User, k.Creator, k.Management = "test", u.ID, u.ID, management
		_, text, err := admin.Keys.Create(t.Context(), k, by)
		if err != nil {
			t.Fatal(err)
		}
		if management {
			o.Pages = &Account{Gw: gw, Key: text}
		} else {
			o.Account = &Account{Gw: gw, Key: text}
		}
	}
	return o
}

// Page reads a page as JSON.
func (o *Owner) Page(t *testing.T, path string) map[string]any {
	t.Helper()
	got := o.Pages.Do(t, http.MethodGet, path, nil)
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(got.Body))
	d.UseNumber()
	if err := d.Decode(&m); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%s: %d %.500s", path, got.Status, got.Body)
	}
	if data, ok := m["data"].(map[string]any); ok {
		return data
	}
	return m
}

// Table reads a file as rows by the names of their columns.
func (o *Owner) Table(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	got := o.Pages.Do(t, http.MethodGet, path, nil)
	all, err := csv.NewReader(bytes.NewReader(got.Body)).ReadAll()
	if err != nil || got.Status != http.StatusOK || len(all) == 0 {
		t.Fatalf("%s: %d %v %.500s", path, got.Status, err, got.Body)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// MakePreset saves a preset and returns it as the answer has it.
func (o *Owner) MakePreset(t *testing.T, body map[string]any) map[string]any {
	t.Helper()
	got := o.Pages.Do(t, http.MethodPost, "/api/presets", body)
	if got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return Decode[struct{ Data map[string]any }](t, got.Body).Data
}
