package rawjson_test

import (
	"testing"

	"weir/internal/rawjson"
)

func TestAppendOneLine(t *testing.T) {
	t.Parallel()
	got := rawjson.AppendOneLine([]byte("data: "), []byte("{\n\r\n \"a\":\"b\\n\"}"))
	if string(got) != `data: {    "a":"b\n"}` {
		t.Errorf("got %q", got)
	}
}
