package catalog

// BatchTier is the tier of endpoints whose provider takes requests only as a part of its own batches, at prices of their own. They serve the
// requests of batches, and no others.
const BatchTier = "batch"

// Endpoint is the endpoint with that id, nil without one.
func (s *Snapshot) Endpoint(id string) *Endpoint {
	for _, m := range s.ordered {
		for _, ep := range m.Endpoints {
			if ep.ID == id {
				return ep
			}
		}
	}
	return nil
}
