package apikey_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/apikey"
)

func TestMint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		management bool
		prefix     string
	}{
		"API key":        {false, "sk-weir-v1-"},
		"management key": {true, "sk-weir-mgmt-v1-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			for range 200 {
				text := apikey.Mint(c.management)
				if !strings.HasPrefix(text, c.prefix) || len(text) != len(c.prefix)+49 {
					t.Fatalf("%q has not the form of a key", text)
				}
				if management, ok := apikey.Check(text); !ok || management != c.management {
					t.Fatalf("Check(%q) = %v, %v", text, management, ok)
				}
				if seen[text] {
					t.Fatal("the same key twice")
				}
				seen[text] = true
			}
		})
	}
}

// The checksum is part of the format: a key made elsewhere from the same description must be accepted.
func TestCheckKnownKey(t *testing.T) {
	t.Parallel()
	// CRC-32 (IEEE) of 43 times "a" is 0xF3540F52, in base 62 with digits 0-9A-Za-z "4SHDYg".
	secret := strings.Repeat("a", 43)
	if _, ok := apikey.Check(apikey.Prefix + secret + "4SHDYg"); !ok {
		t.Fatal("a key with the right checksum is refused")
	}
}

// One wrong or exchanged character is found without the store.
func TestCheckReportsTypos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(apikey.Mint(rapid.Bool().Draw(t, "management")))
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		typo := rapid.Byte().Draw(t, "typo")
		if typo == text[at] {
			t.Skip("no typo")
		}
		text[at] = typo
		if _, ok := apikey.Check(string(text)); ok {
			t.Fatalf("%q passes", text)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(apikey.Mint(false))
	f.Add("sk-weir-v1-")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := apikey.Check(text); ok && !apikey.Ours(text) {
			t.Fatalf("%q passes without our prefix", text)
		}
	})
}

func TestHashAndLabel(t *testing.T) {
	t.Parallel()
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, example 1
	if got := apikey.Hash("abc"); got != abc {
		t.Errorf("Hash = %s", got)
	}
	if got, want := apikey.Label("sk-weir-v1-ABCDEFGHIJKLxyz"), "sk-weir-v1-A...xyz"; got != want {
		t.Errorf("Label = %s; want %s", got, want)
	}
	if got := apikey.Label("short"); got != "" {
		t.Errorf("Label of what is no key = %q", got)
	}
}

func TestResetStart(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2026, 3, 1, 23, 59, 0, 0, time.FixedZone("", 3*3600)) // 20:59 UTC
	for name, c := range map[string]struct {
		reset apikey.Reset
		want  string
	}{
		"daily":   {apikey.Daily, "2026-03-01"},
		"weekly":  {apikey.Weekly, "2026-02-23"},
		"monthly": {apikey.Monthly, "2026-03-01"},
		"never":   {apikey.Never, "0001-01-01"},
	} {
		if got := c.reset.Start(sunday).Format("2006-01-02"); got != c.want {
			t.Errorf("%s begins at %s; want %s", name, got, c.want)
		}
	}
}
