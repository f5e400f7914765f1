package dialect

import (
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// ours are the members that no client's extra member may set: they choose the model or the service, or are input that is not counted.
var ours = []string{"model", "models", "modeluri", "model_uri", "stream", "user", "provider", "messages", "plugins", "web_search_options", "service_tier", "tools"}

// barred reports whether an extra member must not reach a provider.
func barred(name string) bool {
	return slices.Contains(ours, strings.ToLower(name)) || completion.Diverts(name)
}

// WriteExtra writes the members of a client that have no place in the canonical form into an object that already has the members written.
// It returns the names of those that it leaves out: what is written already, what would divert the request, and what the provider refuses.
func WriteExtra(w *rawjson.Writer, list []task.Extra, q *catalog.Quirks, written ...string) (unsent []string) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		name := list[i].Name
		if other, ok := q.Rename[name]; ok {
			name = other
		}
		if barred(name) || seen[name] || slices.Contains(written, name) || slices.Contains(q.Drop, list[i].Name) {
			unsent = append(unsent, list[i].Name)
			continue
		}
		seen[name] = true
		w.Name(name).Raw(list[i].Value)
	}
	return unsent
}

// HasExtra reports whether a client's extra members include one of a name.
func HasExtra(list []task.Extra, name string) bool {
	return slices.ContainsFunc(list, func(x task.Extra) bool { return x.Name == name })
}
