package demo

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
	"weir/internal/video"
)

// VideoModel is the model of the month's videos.
const VideoModel = "sim/video"

// clip is one video of the month.
type clip struct {
	ago     time.Duration // before the end of the month
	seconds int64
	prompt  string
	fails   string // why, "" not
}

var clips = []clip{
	{11*24*time.Hour + 3*time.Hour, 8, "A grey heron over a mill pond, early morning", ""},
	{4*24*time.Hour + 6*time.Hour, 4, "The same pond at night, from above", "The provider refused the prompt."},
	{26 * time.Hour, 12, "Water over a wooden weir, slowly", ""},
}

// keepVideos is how long the videos of the month were kept: less than it is since, so that none has to be stored.
const keepVideos = 24 * time.Hour

// jobs makes the videos and the batches, which the owner has had made.
func (x *month) jobs(ctx context.Context) error {
	for i := range clips {
		if err := x.clip(ctx, x.cast[0], &clips[i]); err != nil {
			return err
		}
	}
	for _, b := range batches {
		if err := x.batch(ctx, x.cast[0], b); err != nil {
			return err
		}
	}
	return nil
}

// clip makes a video job and ends it. Its content is gone, as that of real ones is after a day.
func (x *month) clip(ctx context.Context, p *person, f *clip) error {
	m, _, ok := x.Catalog.Resolve(VideoModel)
	if !ok || len(m.Endpoints) == 0 {
		return nil
	}
	ep := m.Endpoints[0]
	at := x.Now.Add(-f.ago).Truncate(time.Second)
	const took = 74 * time.Second
	done := at.Add(took)
	var second money.Price
	for _, r := range ep.Pricing.Video {
		if r.Resolution == "720p" && !r.WithAudio {
			second = r.PerSecond
		}
	}
	silent := false
	j := &video.Job{
		ID: x.id("vj_", 24), User: p.user.ID, Wallet: p.user.Wallet, Key: p.keys[0].ID, Generation: x.generation(at), Model: VideoModel, State: video.InProgress, Accepted: true,
		Request: video.Request{Model: VideoModel, Prompt: f.prompt, Seconds: f.seconds, Resolution: "720p", AspectRatio: "16:9", Size: "1280x720", Audio: &silent, Outputs: 1},
		Offers:  []video.Offer{{Endpoint: ep.ID, Provider: ep.Provider.ID, ProviderName: ep.Provider.Name, UpstreamModel: ep.UpstreamID, Second: second, List: ep.Pricing.List}},
		Videos:  1, Seconds: f.seconds, Size: "1280x720", UpstreamID: x.id("video_", 16), Polls: 9, CreatedAt: at, UpdatedAt: at, DeadlineAt: at.Add(time.Hour),
	}
	c := &j.Call
	*c = record.Call{
		Generation: j.Generation, Request: x.id("req_", 24), User: j.User, Wallet: j.Wallet, Key: j.Key, API: video.API, At: at, ModelAsked: VideoModel, Model: VideoModel, Status: video.StatusAccepted,
		Provider: ep.Provider.ID, ProviderName: ep.Provider.Name, Endpoint: ep.ID, UpstreamModel: ep.UpstreamID, UpstreamID: j.UpstreamID, PriceList: ep.Pricing.List, UserAgent: "OpenAI/Python 1.99.9",
		Catalog: x.Catalog.Version, Duration: took,
		Candidates: []record.Candidate{{Endpoint: ep.ID, Order: 1, Reason: "price", Slug: VideoModel}},
		Attempts:   []record.Attempt{{Endpoint: ep.ID, Provider: ep.Provider.ID, Status: 200, Started: 3 * time.Millisecond, Ended: 260 * time.Millisecond}},
	}
	lines, cost, err := usage.TaskCost(&usage.Usage{Seconds: usage.Of(f.seconds)}, &catalog.Tariff{Rates: catalog.Rates{Second: second}})
	if err != nil {
		return err
	}
	hold := cost
	if f.fails != "" {
		lines, cost, c.Error = nil, 0, fault.ContentPolicy.String()
	}
	if err := x.fund(ctx, p, Days-1, cost); err != nil {
		return err
	}
	if err := x.into.Videos.AddJob(ctx, j, ledger.Handover{}, len(clips)); err != nil {
		return err
	}
	j.Progress, j.CompletedAt, j.UpdatedAt, c.Hold = 100, done, done, hold
	if f.fails != "" {
		j.State, j.Ended, j.Error, j.Reason, j.Progress = video.Failed, video.Voided, f.fails, c.Error, 0
	} else {
		j.State, j.Ended, j.Cost, j.ExpiresAt = video.Expired, video.Settled, cost, done.Add(keepVideos)
		c.Usage, c.Lines, c.Cost, c.Settled, c.Generating = usage.Usage{Seconds: usage.Of(f.seconds)}, lines, cost, true, took
		c.Finish, c.NativeFinish = "stop", string(video.Completed)
	}
	x.made.Calls++
	if c.Error != "" {
		x.made.Failed++
	}
	return x.into.Videos.EndJob(ctx, j, video.End{Item: ledger.Encode(ledger.Item{Call: *c, WalletLease: ledger.EscrowWalletLease, KeyLease: ledger.EscrowKeyLease}), Now: done})
}

// sheet is one batch of the month.
type sheet struct {
	day   int // from the first
	name  string
	lines int
	ask   string
}

var batches = []sheet{
	{Days - 15, "reviews.jsonl", 60, "Summarise this review in one sentence"},
	{Days - 3, "tickets.jsonl", 40, "Name the topic of this ticket"},
}

// keepFiles is how long files are kept.
const keepFiles = 30 * 24 * time.Hour

// batch makes a batch that has ended: each of its lines is a call of the night, and its files can be read.
func (x *month) batch(ctx context.Context, p *person, s sheet) error {
	at := x.first.AddDate(0, 0, s.day).Add(21*time.Hour + 12*time.Minute)
	h := &habit{key: 2, models: []choice{{"sim/deepseek-v3.2", 1}}, api: "completions", agent: "OpenAI/Python 1.99.9", prompt: span{300, 900}, answer: span{30, 120}}
	b := &batch.Batch{
		ID: x.id(batch.BatchPrefix, 24), User: p.user.ID, Wallet: p.user.Wallet, Key: p.keys[h.key].ID, Generation: x.generation(at), Shape: batch.Requests, Endpoint: "/v1/chat/completions",
		State: batch.Completed, Input: x.id(batch.FilePrefix, 24), Output: x.id(batch.FilePrefix, 24), Total: int64(s.lines), CreatedAt: at, StartedAt: at.Add(4 * time.Second), ExpiresAt: at.Add(24 * time.Hour), KeepFor: keepFiles,
	}
	var items []ledger.Item
	var in, out bytes.Buffer
	for line := range s.lines {
		began := at.Add(6*time.Second + time.Duration(line)*1700*time.Millisecond)
		it, ok := x.call(p, h, began)
		for tries := 0; ok && !it.Call.Settled && tries < 5; tries++ { // a line is tried until it is answered
			it, ok = x.call(p, h, began)
		}
		if !ok || !it.Call.Settled {
			continue
		}
		c := &it.Call
		c.Generation = batch.GenerationOf(b.ID, b.CreatedAt, int64(line+1), 0)
		items = append(items, it)
		id := strconv.Itoa(line + 1)
		in.WriteString(`{"custom_id":"line-` + id + `","method":"POST","url":"/v1/chat/completions","body":{"model":"` + c.ModelAsked + `","messages":[{"role":"user","content":"` + s.ask + ` (` + id + `)."}]}}` + "\n")
		out.WriteString(`{"id":"` + c.Generation + `","custom_id":"line-` + id + `","response":{"status_code":200,"request_id":"` + c.Request + `","body":{"id":"` + c.Generation + `","object":"chat.completion","created":` + strconv.FormatInt(began.Unix(), 10) + `,"model":"` + c.Model +
			`","choices":[{"index":0,"message":{"role":"assistant","content":"Demo data: no model was asked."},"finish_reason":"stop"}],"usage":{"prompt_tokens":` + strconv.FormatInt(c.Usage.Prompt.N, 10) + `,"completion_tokens":` + strconv.FormatInt(c.Usage.Completion.N, 10) + `,"cost":` + c.Cost.String() + `}}},"error":null}` + "\n")
		b.Cost += c.Cost
		b.Succeeded++
		b.Prompt += c.Usage.Prompt.N
		b.Completion += c.Usage.Completion.N
		b.EndedAt = c.At.Add(c.Duration).Truncate(time.Microsecond)
	}
	if b.Succeeded == 0 {
		return nil
	}
	b.Total, b.FinalizingAt = b.Succeeded, b.EndedAt
	if err := x.fund(ctx, p, Days-1, b.Cost); err != nil {
		return err
	}
	for _, f := range []struct {
		id, name, purpose string
		content           []byte
		made              time.Time
	}{{b.Input, s.name, batch.PurposeInput, in.Bytes(), at.Add(-time.Minute)}, {b.Output, b.ID + "_output.jsonl", batch.PurposeOutput, out.Bytes(), b.EndedAt}} {
		if _, _, err := x.into.Contents.Put(ctx, f.id, "application/jsonl", bytes.NewReader(f.content)); err != nil {
			return err
		}
		file := &batch.File{ID: f.id, User: b.User, Key: b.Key, Purpose: f.purpose, Name: f.name, Bytes: int64(len(f.content)), CreatedAt: f.made, ExpiresAt: f.made.Add(keepFiles)}
		if err := x.into.Batches.AddFile(ctx, file, batch.FileBounds{Files: 100, Bytes: 1 << 30}); err != nil {
			return err
		}
	}
	if err := x.into.Batches.AddBatch(ctx, b, nil, 1); err != nil {
		return err
	}
	return x.apply(ctx, items, b.EndedAt)
}
