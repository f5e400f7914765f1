package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// ofOthers are variables with our prefix that are for others: clients, the file for Docker Compose, tests.
var ofOthers = []string{"WEIR_API_KEY", "WEIR_KEY", "WEIR_URL", "WEIR_BIN", "WEIR_DATABASE_PASSWORD", "WEIR_NEIGHBOURS", "WEIR_UPLOADS"}

// ofService are the variables that Kubernetes and Docker make for services whose names begin with weir.
var ofService = regexp.MustCompile(`^WEIR(_[A-Z0-9_]+)?(_SERVICE_HOST|_SERVICE_PORT(_[A-Z0-9_]+)?|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|^WEIR(_[A-Z0-9_]+)?_PORT=[a-z]+://`)

// Unread fails for variables of an environment that begin with WEIR_ and that nothing reads: who misspells one has a node that runs on a default.
// Names that the file at path ("": none) or another of these variables writes somewhere are read, and so are those in also.
func Unread(environ []string, path string, also ...string) error {
	known := append(slices.Clone(also), masterKeyVariable)
	eachVariable(reflect.ValueOf(new(Config)).Elem(), "", func(path string, _ reflect.Value) { known = append(known, Variable(path)) })
	for path := range replaced {
		known = append(known, Variable(path)) // Load says more of these
	}
	eachConstant(reflect.ValueOf(new(Config)).Elem(), func(path string, _ reflect.Value) { known = append(known, Variable(path)) })
	var file []byte
	if path != "" {
		file, _, _ = readFile(path) // Load says why it cannot be read
	}
	values := strings.Join(environ, "\n")
	var errs []error
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "WEIR_") || text == "" || slices.Contains(known, name) || slices.Contains(ofOthers, name) || ofService.MatchString(entry) ||
			bytes.Contains(file, []byte(name)) || strings.Contains(values, "=env:"+name) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: nothing reads this variable%s", name, nearest(name, known)))
	}
	return errors.Join(errs...)
}

// nearest suggests the name that was meant: one that lacks its section, or one with other letters.
func nearest(name string, known []string) string {
	name = strings.TrimPrefix(name, "WEIR_")
	best, lower := "", make([]string, len(known))
	for i := range known {
		lower[i] = strings.ToLower(strings.TrimPrefix(known[i], "WEIR_"))
		if strings.HasSuffix(known[i], "_"+name) && (best == "" || len(known[i]) < len(best)) {
			best = known[i]
		}
	}
	if best != "" {
		return "; did you mean " + best + "?"
	}
	if meant, found := strings.CutPrefix(suggestion(name, lower), "; did you mean "); found {
		return "; did you mean WEIR_" + strings.ToUpper(meant)
	}
	return "; unset it, or give it a name without WEIR_"
}
