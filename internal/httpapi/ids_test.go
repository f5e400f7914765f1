package httpapi_test

import (
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/httpapi"
)

// Ids are in the order in which their calls began, to the microsecond, and no two are the same.
func TestGenerationsInOrder(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^gen-[0-9]{10}-[0-9A-Za-z]{20}$`)
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(1e15, 9999999999_999_999).Draw(t, "at"))
		id, same := httpapi.NewGeneration(at), httpapi.NewGeneration(at)
		if !form.MatchString(id) || id == same {
			t.Fatalf("%s, %s", id, same)
		}
		then := at.Add(time.Duration(rapid.Int64Range(1, 2e6).Draw(t, "later")) * time.Microsecond)
		if next := httpapi.NewGeneration(then); then.Unix() < 1e10 && next <= id {
			t.Fatalf("%s of %v is not after %s of %v", next, then, id, at)
		}
	})
}
