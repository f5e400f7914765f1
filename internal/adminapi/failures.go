package adminapi

import (
	"cmp"
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
)

// FailureSums are the figures of failures together.
type FailureSums struct {
	Errors  int64     `json:"errors"`   // attempts that failed, and calls that failed without one
	Reached int64     `json:"reached"`  // of them, clients; of the others another attempt made good, or the client went
	FirstAt time.Time `json:"first_at"` // of the period
	LastAt  time.Time `json:"last_at"`
	Call    string    `json:"call"` // id of the last call
	Said    *string   `json:"said"` // what the provider said then, redacted and without long quotes
}

func sumsOf(f *report.FailureSums) FailureSums {
	return FailureSums{Errors: f.Errors, Reached: f.Reached, FirstAt: f.First, LastAt: f.Last, Call: f.Call, Said: accountapi.OrNull(f.Said)}
}

// FailureCause is why attempts failed.
type FailureCause struct {
	Code         string  `json:"code"`          // error_type
	Provider     *string `json:"provider"`      // null: none was asked
	ProviderName *string `json:"provider_name"` // of the present catalog
	Words        string  `json:"words"`         // what the provider's texts have in common; "" for none
	FailureSums
	Accounts  int64 `json:"accounts"`  // how many it affected
	Endpoints int64 `json:"endpoints"` // likewise
}

func causeOf(f *report.Failure, snap *catalog.Snapshot) FailureCause {
	out := FailureCause{Code: f.Code, Provider: accountapi.OrNull(f.Provider), Words: f.Words, FailureSums: sumsOf(&f.FailureSums), Accounts: f.Accounts, Endpoints: f.Endpoints}
	if p := snap.Providers[f.Provider]; p != nil {
		out.ProviderName = accountapi.OrNull(p.Name)
	}
	return out
}

// Failures are the causes of failures of a period.
type Failures struct {
	From    time.Time      `json:"from"` // a full hour
	Errors  int64          `json:"errors"`
	Reached int64          `json:"reached"` // of them, clients
	Causes  []FailureCause `json:"causes"`  // those with most errors first
	More    bool           `json:"more"`    // there are further ones
}

// FailedAccount is what a cause did to an account.
type FailedAccount struct {
	Account CallAccount `json:"account"`
	FailureSums
}

// FailedEndpoint is what a cause did at an endpoint.
type FailedEndpoint struct {
	Endpoint string `json:"endpoint"`
	FailureSums
}

// FailureDetail is what a cause affected, those with most errors first, at most 50 of each.
type FailureDetail struct {
	Accounts  []FailedAccount  `json:"accounts"`
	Endpoints []FailedEndpoint `json:"endpoints"`
}

// Recently is how far back failures are looked for.
type Recently struct {
	Hours int `json:"-" query:"hours" most:"744"` // how far back, with the present hour; 24 without it
}

type causeInput struct {
	Recently
	Code     string `json:"-" query:"code" maxLength:"64"`      // error_type; left out for all causes
	Provider string `json:"-" query:"provider" maxLength:"256"` // id; left out where none was asked
	Words    string `json:"-" query:"words" maxLength:"300"`    // as in the list
}

// since is the first hour that is asked for.
func (in *Recently) since(now time.Time) (from, to time.Time) {
	to = report.Hour.Next(report.Hour.Floor(now))
	return to.Add(-time.Duration(cmp.Or(in.Hours, 24)) * time.Hour), to
}

// mostCauses bounds the list of causes, and mostAffected those of what one affected.
const (
	mostCauses   = 100
	mostAffected = 50
)

func failures(d accountapi.Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/errors", ID: "listFailures", Access: operation.Operating, Tag: "administration",
			Summary: "Why calls of everybody failed: one line for each cause; for operators", Answer: "The causes of the period",
			Description: "A cause is a code, the provider that was asked, and what its error texts have in common. Failures that another attempt made good count, too. Causes are kept for 31 days.",
		}, func(ctx context.Context, c *operation.Call, in *Recently) (out operation.Data[Failures], err error) {
			from, to := in.since(c.At)
			list, errors, reached, err := d.Reports.Causes(ctx, from, to, mostCauses+1)
			if err != nil {
				return out, err
			}
			out.Data = Failures{From: from, Errors: errors, Reached: reached, More: len(list) > mostCauses, Causes: make([]FailureCause, min(len(list), mostCauses))}
			snap := d.Catalog()
			for i := range out.Data.Causes {
				out.Data.Causes[i] = causeOf(&list[i], snap)
			}
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/errors/one", ID: "getFailure", Access: operation.Operating, Tag: "administration",
			Summary: "Which accounts and endpoints a cause of failures affected; for operators", Answer: "What it affected",
			Description: "Without code, it is what all failures of the period affected.",
		}, func(ctx context.Context, c *operation.Call, in *causeInput) (out operation.Data[FailureDetail], err error) {
			for name, v := range map[string]string{"code": in.Code, "provider": in.Provider, "words": in.Words} {
				if len(v) > 300 || record.Text(v) != v {
					return out, fault.Field("adminapi.failure", name, "%s must have at most %d bytes.", name, 300).Coded("most_bytes", "most", 300)
				}
			}
			from, to := in.since(c.At)
			accounts, endpoints, err := d.Reports.OneCause(ctx, from, to, report.Cause{Code: in.Code, Provider: in.Provider, Words: in.Words}, mostAffected)
			if err != nil {
				return out, err
			}
			wallets := make([]string, len(accounts))
			for i := range accounts {
				wallets[i] = accounts[i].Value
			}
			owners, err := d.Reports.Names(ctx, report.UsersByWallet, wallets)
			out.Data = FailureDetail{Accounts: make([]FailedAccount, len(accounts)), Endpoints: make([]FailedEndpoint, 0, len(endpoints))}
			for i := range accounts {
				o := owners[accounts[i].Value]
				out.Data.Accounts[i] = FailedAccount{CallAccount{cmp.Or(o.ID, accounts[i].Value), accountapi.OrNull(o.Name)}, sumsOf(&accounts[i].FailureSums)}
			}
			for i := range endpoints {
				if endpoints[i].Value != "" {
					out.Data.Endpoints = append(out.Data.Endpoints, FailedEndpoint{endpoints[i].Value, sumsOf(&endpoints[i].FailureSums)})
				}
			}
			return out, err
		}),
	}
}
