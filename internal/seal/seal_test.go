package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/seal"
)

func key(first byte) []byte {
	k := make([]byte, 32)
	for i := range k {
		k[i] = first + byte(i)
	}
	return k
}

func ring(t testing.TB, keys ...[]byte) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A sealed secret opens only for its row and column, and only complete.
func TestSealed(t *testing.T) {
	t.Parallel()
	r := ring(t, key(1))
	rapid.Check(t, func(t *rapid.T) {
		secret, row, column := rapid.String().Draw(t, "secret"), rapid.String().Draw(t, "row"), rapid.String().Draw(t, "column")
		sealed, err := r.Seal(secret, row, column)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Open(sealed, row, column); err != nil || got != secret {
			t.Fatalf("opened %q, %v", got, err)
		}
		if len(secret) > 3 && bytes.Contains(sealed, []byte(secret)) {
			t.Fatal("the secret stands in what was sealed")
		}
		if _, err := r.Open(sealed, row+"x", column); err == nil {
			t.Fatal("it opened in another row")
		}
		if _, err := r.Open(sealed, row, column+"x"); err == nil {
			t.Fatal("it opened in another column")
		}
		i := rapid.IntRange(0, len(sealed)-1).Draw(t, "byte")
		changed := bytes.Clone(sealed)
		changed[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := r.Open(changed, row, column); err == nil {
			t.Fatalf("it opened with byte %d changed", i)
		}
		if _, err := r.Open(sealed[:i], row, column); err == nil {
			t.Fatalf("its first %d bytes opened", i)
		}
	})
}

// Moving bytes between row and column changes the associated data.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	r := ring(t, key(1))
	sealed, err := r.Seal("secret", "ab", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(sealed, "a", "bc"); err == nil {
		t.Error("it opened with the border moved")
	}
	again, err := r.Seal("secret", "ab", "c")
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("two seals of one secret are equal: %v", err)
	}
}

func TestRewrap(t *testing.T) {
	t.Parallel()
	old, fresh := ring(t, key(1)), ring(t, key(2))
	both := ring(t, key(2), key(1))
	sealed, err := old.Seal("secret", "row", "column")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Open(sealed, "row", "column"); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), seal.KeyID(sealed)) {
		t.Errorf("without its master key: %v", err)
	}
	wrapped, changed, err := both.Rewrap(sealed, "row", "column")
	if err != nil || !changed {
		t.Fatalf("rewrap: %t, %v", changed, err)
	}
	if got, err := fresh.Open(wrapped, "row", "column"); err != nil || got != "secret" {
		t.Errorf("with the new master key alone: %q, %v", got, err)
	}
	if _, err := old.Open(wrapped, "row", "column"); err == nil {
		t.Error("the old master key opens it still")
	}
	if _, changed, err := both.Rewrap(wrapped, "row", "column"); changed || err != nil {
		t.Errorf("a second rewrap: %t, %v", changed, err)
	}
	if _, _, err := both.Rewrap(sealed, "other", "column"); err == nil {
		t.Error("it was rewrapped for another row")
	}
	if seal.KeyID(sealed) == seal.KeyID(wrapped) || len(seal.KeyID(wrapped)) != 16 || seal.KeyID(nil) != "" {
		t.Errorf("key ids: %q, %q", seal.KeyID(sealed), seal.KeyID(wrapped))
	}
}

func TestWithoutMasterKey(t *testing.T) {
	t.Parallel()
	var none *seal.Ring
	_, err := none.Seal("secret", "row", "column")
	if f := fault.From(err); f == nil || f.Kind != fault.Conflict || !strings.Contains(f.Public, "secrets.master_key_file") {
		t.Errorf("seal: %v", err)
	}
	if _, _, err := none.Rewrap(nil, "row", "column"); !fault.Is(err, fault.Conflict) {
		t.Errorf("rewrap: %v", err)
	}
	if _, err := none.Open(make([]byte, 200), "row", "column"); err == nil {
		t.Error("open")
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	k := key(200)
	for _, text := range []string{hex.EncodeToString(k), strings.ToUpper(hex.EncodeToString(k)), base64.StdEncoding.EncodeToString(k), base64.RawStdEncoding.EncodeToString(k), " " + hex.EncodeToString(k) + "\n"} {
		if got, err := seal.ParseKey(text); err != nil || !bytes.Equal(got, k) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "secret", hex.EncodeToString(k[:31]), hex.EncodeToString(k) + "00", base64.StdEncoding.EncodeToString(k[:30])} {
		if _, err := seal.ParseKey(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, k := range [][]byte{nil, make([]byte, 32), bytes.Repeat([]byte{7}, 32), key(1)[:16]} {
		if _, err := seal.NewRing(k); err == nil {
			t.Errorf("a ring of %x", k)
		}
	}
}

func FuzzOpen(f *testing.F) {
	r := ring(f, key(1))
	sealed, err := r.Seal("secret", "row", "column")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealed[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := r.Open(b, "row", "column"); err == nil && got != "secret" {
			t.Errorf("%x opened as %q", b, got)
		}
	})
}
