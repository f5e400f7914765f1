package dialect

import (
	"maps"
	"slices"

	"weir/internal/completion"
)

// Settings lists the members in the table of a style that a provider has to obey; those of an object of settings are written a.b.
func Settings(s completion.Style) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(asked[s])) {
		switch x := asked[s][name]; {
		case x.fields == fieldHere:
		case x.inside == nil:
			list = append(list, name)
		default:
			for _, inner := range slices.Sorted(maps.Keys(x.inside)) {
				list = append(list, name+"."+inner)
			}
		}
	}
	return list
}

// Here lists the members of a style that no provider has to obey.
func Here(s completion.Style) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(asked[s])) {
		if asked[s][name].fields == fieldHere {
			list = append(list, name)
		}
	}
	return list
}
