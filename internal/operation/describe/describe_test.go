package describe_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/catalogapi"
	"weir/internal/litellmapi"
	"weir/internal/operation/describe"
)

var update = flag.Bool("update", false, "write internal/httpapi/openapi.yaml")

// The description that is served is what openapi.base.yaml and the declarations of operations say.
func TestDescriptionIsCurrent(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile("../../httpapi/openapi.base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := describe.Document(base, slices.Concat(accountapi.Operations(accountapi.Deps{}), adminapi.Operations(adminapi.Deps{}), catalogapi.New(catalogapi.Deps{}).Operations(), litellmapi.Operations(litellmapi.Deps{})), "../../accountapi", "../../adminapi", "../../catalogapi", "../../litellmapi", "../../explain")
	if err != nil {
		t.Fatal(err)
	}
	const path = "../../httpapi/openapi.yaml"
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/httpapi/openapi.yaml is not current: go test ./internal/operation/describe -update, and npm run types in web")
	}
}
