package relay

import (
	"cmp"
	"fmt"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/task"
	"weir/internal/usage"
)

// most is the most that the task under way can consume.
func (x *run) most() usage.Usage {
	u := x.req.Task.Most()
	if !u.Prompt.Reported {
		u.Prompt = usage.Of(x.req.Needs.PromptTokens)
	}
	return u
}

// taskNeed is the most that the task can cost on ep. All of it is held: its result does not grow with time.
func (x *run) taskNeed(ep *catalog.Endpoint) (money.Nano, error) {
	u := x.most()
	x.bound, x.covered = u.Completion.N, u.Completion.N
	t := x.tariff(&ep.Pricing, u.Prompt.N)
	if image, ok := x.req.Task.(*task.Image); ok && (vague(image.Quality) || vague(image.Size)) {
		t = ep.Pricing.DearestImageTariff(u.Prompt.N)
	}
	if needs := &x.req.Needs; needs.Input&catalog.Image != 0 && !u.PromptImage.Reported {
		t.Prompt = dearest(t.Prompt, t.Image)
	}
	_, cost, err := usage.TaskCost(u, &t)
	return cost, err
}

// vague tells a setting of a picture that the model chooses itself.
func vague(s string) bool { return s == "" || s == "auto" }

// tariff is what the task is charged by: for pictures by what the upstream said it made, then by what was asked for, then by how many pixels
// they turned out to have.
func (x *run) tariff(p *catalog.Pricing, promptTokens int64) catalog.Tariff {
	image, ok := x.req.Task.(*task.Image)
	if !ok {
		return p.Tariff(promptTokens)
	}
	made := &x.meter.picture
	quality, size := cmp.Or(made.quality, image.Quality), cmp.Or(made.size, image.Size)
	if vague(size) {
		size = cmp.Or(x.meter.dimensions, image.Resolution)
	}
	return p.ImageTariff(promptTokens, quality, size)
}

// taskBill is what the task consumed and what it costs.
func (x *run) taskBill(ep *catalog.Endpoint) (usage.Usage, *catalog.Pricing, []usage.Line, money.Nano, error) {
	pricing := tierPricing(ep, cmp.Or(x.meter.usage.Tier, x.head.Tier))
	t := x.tariff(pricing, x.meter.usage.Prompt.N)
	u := x.taskConsumed(&t)
	lines, cost, err := usage.TaskCost(u, &t)
	return u, pricing, lines, cost, err
}

// taskConsumed is the usage to bill a task by.
func (x *run) taskConsumed(t *catalog.Tariff) usage.Usage {
	u, most, usual := x.meter.usage, x.most(), x.req.Task.Usual()
	if u.Tier == "" {
		u.Tier = x.head.Tier
	}
	if x.meter.images > 0 {
		u.Images = usage.Of(x.meter.images) // what was delivered, whatever was said of it
	}
	if t, ok := x.req.Task.(*task.Transcription); ok && !told(u.Millis) && !t.Measured && x.meter.length > 0 {
		u.Millis = usage.Of(x.meter.length.Milliseconds()) // who has heard it knows better than its head
	}
	if x.meter.pixels > 0 {
		u.Kilopixels = usage.Of((x.meter.pixels + 999) / 1000)
	}
	for _, c := range [...]struct{ told, usual, most *usage.Count }{
		{&u.Requests, &usual.Requests, &most.Requests}, {&u.Millis, &usual.Millis, &most.Millis},
		{&u.Characters, &usual.Characters, &most.Characters}, {&u.Images, &usual.Images, &most.Images},
		{&u.Kilopixels, &usual.Kilopixels, &most.Kilopixels},
	} {
		if !c.told.Reported || c.told.N < 0 {
			*c.told = *c.usual
		}
		if c.told.N > believable {
			*c.told, u.Source = *c.most, usage.Capped
		}
	}
	if !byTokens(&t.Prices) { // nobody needs to count them
		u.Prompt, u.Completion = usage.Of(max(u.Prompt.N, 0)), usage.Of(max(u.Completion.N, 0))
	}
	if !told(u.Prompt) {
		u.PromptAudio, u.PromptImage = usual.PromptAudio, usual.PromptImage
	}
	if !told(u.Completion) {
		u.OutputAudio, u.OutputImage = usual.OutputAudio, usual.OutputImage
	}
	if !told(u.Completion) && usual.Completion == usage.Of(0) { // what gives no tokens needs none counted
		u.Completion = usual.Completion
	}
	return u.Completed(usage.Bounds{Prompt: most.Prompt.N, Completion: most.Completion.N, Images: most.Images.N}, func() (prompt, answer int64) {
		answer = usual.Completion.N
		if !usual.Completion.Reported {
			answer = x.meter.tokens(x.relay.Tokens)
		}
		if usual.Prompt.Reported {
			return usual.Prompt.N, answer
		}
		return x.promptTokens(), answer
	})
}

func told(c usage.Count) bool { return c.Reported && c.N >= 0 }

// byTokens reports whether any token costs something.
func byTokens(p *catalog.Prices) bool {
	return p.Prompt.Nano+p.Completion.Nano+p.Audio.Nano+p.Image.Nano+p.AudioOutput.Nano+p.ImageOutput.Nano > 0
}

// believable is more of anything than one task takes or gives.
const believable = 1_000_000_000

// partial reports whether what the client has of a broken answer is charged: all of a text, of a task only what its client gave up, and never
// a picture that was not finished.
func (x *run) partial() bool {
	if x.req.Task == nil {
		return true
	}
	_, image := x.req.Task.(*task.Image)
	return x.rec.Cancelled && !image
}

// pixelSize is a picture's size as price lists write it.
func pixelSize(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", width, height)
}
