package catalog

import "cmp"

// EndpointID is the id of the endpoint that Build makes of the offer.
func (o *Offer) EndpointID() string {
	_, id := tagAndID(o, &Endpoint{Tier: cmp.Or(o.Tier, "default"), Variant: cmp.Or(o.Variant, "standard")})
	return id
}
