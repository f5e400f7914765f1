package video

import (
	"time"

	"weir/internal/catalog"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// API is what records of video jobs name as their API.
const API = "video"

// StatusAccepted is the status that the client of a job saw when it was admitted.
const StatusAccepted = 202

// cost returns the cost of that number of videos of that length.
func (o *Offer) cost(seconds, videos int64) ([]usage.Line, money.Nano, error) {
	length, err := money.Nano(seconds).Mul(videos)
	if err != nil {
		return nil, 0, err
	}
	return usage.TaskCost(&usage.Usage{Seconds: usage.Of(int64(length))}, &catalog.Tariff{Prices: catalog.Prices{Request: o.Request}, Rates: catalog.Rates{Second: o.Second}})
}

// consumed returns what the job is charged for: what the provider reports, but never more than was requested and held.
func (j *Job) consumed(p *Progress) (seconds, videos int64, from usage.Source) {
	seconds, videos = j.Seconds, min(int64(len(p.Outputs)), j.Videos)
	switch reported := int64((p.Length + time.Second - 1) / time.Second); {
	case reported <= 0:
		return seconds, videos, usage.Estimated
	case reported > seconds:
		return seconds, videos, usage.Capped
	default:
		return reported, videos, usage.Reported
	}
}

// settle fills in the cost of a completed job.
func (j *Job) settle(p *Progress) error {
	seconds, videos, from := j.consumed(p)
	lines, cost, err := j.Serving().cost(seconds, videos)
	if err != nil {
		return err
	}
	j.Seconds, j.Cost, j.Ended = seconds, cost, Settled
	c := &j.Call
	c.Usage = usage.Usage{Seconds: usage.Of(seconds * videos), UpstreamCost: p.Cost, Source: from}
	c.Lines, c.Cost, c.Settled = lines, cost, true
	c.Finish, c.NativeFinish = "stop", string(Completed)
	return nil
}

// closed completes the record of a job at its end and returns it for the ledger.
func (j *Job) closed(now time.Time) ledger.Recorded {
	c := &j.Call
	if c.Duration = now.Sub(c.At); j.Ended == Settled {
		c.Generating = c.Duration // all of it comes at the end
	}
	c.Error, c.Cancelled, c.Notice = j.Reason, j.State == Cancelled, j.Notice
	if o := j.Serving(); o != nil && j.UpstreamID != "" {
		c.Model, c.Provider, c.ProviderName, c.Endpoint, c.UpstreamModel = j.Model, o.Provider, o.ProviderName, o.Endpoint, o.UpstreamModel
		_, c.UpstreamID = catalog.Untagged(j.UpstreamID)
		c.PriceList, c.Rate, c.SourcePrice, c.OwnKey = o.List, o.Rate, o.Source, o.OwnKey
	}
	// nothing is taken from a lease that the escrow does not have
	return ledger.Encode(ledger.Item{Call: *c, WalletLease: ledger.EscrowWalletLease, KeyLease: ledger.EscrowKeyLease})
}

// tried notes an attempt at an offer, with a key of the provider.
func (j *Job) tried(started, ended time.Time, status int, reason, key string) {
	o := j.Serving()
	j.Call.Attempts = append(j.Call.Attempts, record.Attempt{Endpoint: o.Endpoint, Provider: o.Provider, Status: status, Reason: reason, OwnKey: o.OwnKey, ProviderKey: key,
		Started: started.Sub(j.Call.At), Ended: ended.Sub(j.Call.At)})
}

// snapshotted returns the endpoint of an offer in the present catalog, nil when it is no longer there.
func snapshotted(snap *catalog.Snapshot, model, endpoint string) *catalog.Endpoint {
	m, _, ok := snap.Resolve(model)
	if !ok {
		return nil
	}
	for _, ep := range m.Endpoints {
		if ep.ID == endpoint {
			return ep
		}
	}
	return nil
}
