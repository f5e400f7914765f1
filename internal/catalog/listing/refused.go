package listing

import (
	"weir/internal/catalog"
	"weir/internal/routing"
)

// Refused lists the models for which a query finds no endpoint, whatever is asked of them: each call of it would be refused.
func Refused(s *catalog.Snapshot, q routing.Query) []string {
	ids := []string{}
	for _, m := range s.Models() {
		for _, o := range Offers(m) {
			if len(o.Endpoints) == 0 {
				continue
			}
			q.Models, q.Type = []string{o.ID}, m.Type
			if _, err := routing.Choose(q, s); err != nil {
				ids = append(ids, o.ID)
			}
		}
	}
	return ids
}
