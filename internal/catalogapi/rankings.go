package catalogapi

import (
	"context"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/operation"
)

// rankedMost is how many models a ranking lists.
const rankedMost = 100

// Rankings is which models are used most.
type Rankings struct {
	Range   string         `json:"range" enum:"7d,30d"`
	From    string         `json:"from" format:"date"`
	To      string         `json:"to" format:"date"` // the last day that counts
	Least   int            `json:"least"`            // how many accounts must have paid for a model before it is listed
	Models  []RankedModel  `json:"models"`
	Vendors []RankedVendor `json:"vendors"` // the same by vendor
}

// RankedModel is a model of a ranking.
type RankedModel struct {
	Place      int    `json:"place"`
	Before     *int   `json:"before"` // its place in as many days before; null when it had none
	ID         string `json:"id"`
	Name       string `json:"name"`
	Vendor     string `json:"vendor"`
	VendorName string `json:"vendor_name"`
	Share      int    `json:"share"` // whole percent of what counts; 0: less than half a percent
}

// RankedVendor is a vendor of a ranking.
type RankedVendor struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Share int    `json:"share"`
}

type rankingsInput struct {
	Range string `json:"-" query:"range" enum:"7d,30d" example:"30d"` // the period, which ends yesterday; 7d without it
}

func (p *Pages) rankings(_ context.Context, c *operation.Call, in *rankingsInput) (out Rankings, err error) {
	const op = "catalogapi.rankings"
	if !p.Deps.Rankings && c.Caller == nil {
		return out, fault.New(fault.Authentication, op, "The rankings of this gateway are for people who are signed in.")
	}
	at := 0
	switch in.Range {
	case "", listing.Periods[0].Name:
	case listing.Periods[1].Name:
		at = 1
	default:
		return out, fault.Field(op, "range", "range must be 7d or 30d.")
	}
	s := p.Ranks.Of(at)
	if s == nil {
		e := fault.New(fault.StorageUnavailable, op, "The rankings are being computed.")
		e.RetryAfter = time.Second
		return out, e
	}
	c.Header.Set("Cache-Control", "private, max-age=60")
	return rankingsOf(listing.Periods[at].Name, s, listing.Listed(p.Catalog())), nil
}

func rankingsOf(period string, s *listing.Standing, offers map[string]*catalog.Model) Rankings {
	out := Rankings{Range: period, From: s.From, To: s.To, Least: listing.RankLeast}
	shares, before := s.Now.Shares(), s.Before.Ranks()
	for i, r := range s.Now[:min(len(s.Now), rankedMost)] {
		m := offers[r.ID]
		if m == nil {
			continue // it was not served any more after the ranking was made
		}
		out.Models = append(out.Models, RankedModel{Place: i + 1, Before: count(before[r.ID]), ID: r.ID, Name: m.Name, Vendor: m.Vendor, VendorName: catalog.VendorName(m.Vendor), Share: shares[i]})
	}
	for _, v := range s.Now.Vendors() {
		out.Vendors = append(out.Vendors, RankedVendor{ID: v.Vendor, Name: catalog.VendorName(v.Vendor), Share: v.Share})
	}
	return out
}
