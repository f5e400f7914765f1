package record_test

import (
	"testing"
	"time"

	"weir/internal/record"
)

func TestRequestIDsHaveTheirSecond(t *testing.T) {
	t.Parallel()
	for _, second := range []int64{0, 61, 62, 1_772_625_600, 1<<35 - 1} {
		id := string(record.AppendRequest(nil, time.Unix(second, 999))) + "0123456789abcdefgh"
		if got, ok := record.RequestSecond(id); !ok || got.Unix() != second || len(id) != 28 {
			t.Errorf("%d: %q gives %v, %v", second, id, got, ok)
		}
	}
	for _, id := range []string{"", "req_", "req_12345", "req_12345-", "gen-1772625600-0123456789abcdefghij"} {
		if at, ok := record.RequestSecond(id); ok {
			t.Errorf("%q gives %v", id, at)
		}
	}
}
