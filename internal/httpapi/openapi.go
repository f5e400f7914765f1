package httpapi

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI is the OpenAPI 3.1 document of the API, as YAML.
func OpenAPI() []byte { return openAPI }

var yamlType = []string{"application/yaml; charset=utf-8"}

func (x *request) getOpenAPI() error {
	x.w.Header().Set("Cache-Control", "public, max-age=60")
	x.writeBody(http.StatusOK, yamlType, openAPI)
	return nil
}
