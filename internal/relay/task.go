package relay

import (
	"cmp"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/task"
	"weir/internal/usage"
)

// What a provider's own measure of a task may be above ours, and is believed.
const (
	longerThanHeard = 1000 // milliseconds
	dearerThanUsual = 2    // times the tokens
	instructed      = 1024 // tokens of the task's own
)

// taskNeed is the most that the task can cost on ep. All of it is held: its result does not grow with time.
func (x *run) taskNeed(ep *catalog.Endpoint) (money.Nano, error) {
	needs := &x.req.Needs
	u := x.req.Task.Most()
	if !u.Prompt.Reported {
		u.Prompt = usage.Of(needs.PromptMost())
		if x.promptMost > 0 {
			u.Prompt.N = min(u.Prompt.N, x.promptMost)
		}
	}
	if needs.Input&(catalog.Image|catalog.Video) != 0 && !u.PromptImage.Reported {
		u.PromptImage = u.Prompt
	}
	if needs.Input&catalog.Audio != 0 && !u.PromptAudio.Reported {
		u.PromptAudio = u.Prompt
	}
	if !u.Requests.Reported {
		u.Requests = usage.Of(1)
	}
	longest := ep.Provider.Quirks.BilledAudio(u.Millis.N + longerThanHeard)
	u.Millis.N = ep.Provider.Quirks.BilledAudio(u.Millis.N)
	x.held, x.most = u, u
	for _, c := range [...]*usage.Count{&x.most.Prompt, &x.most.PromptAudio, &x.most.PromptImage, &x.most.Completion, &x.most.OutputAudio, &x.most.OutputImage} {
		if c.N > 0 {
			c.N = c.N*dearerThanUsual + instructed
		}
	}
	x.most.Millis.N = longest
	x.most.AnyPart()
	x.bound, x.covered = u.Completion.N, u.Completion.N
	t := x.heldTariff(ep)
	return usage.Most(&u, &t)
}

// heldTariff is the tariff for the hold of a task: no possible outcome is dearer.
func (x *run) heldTariff(ep *catalog.Endpoint) catalog.Tariff {
	return x.req.Task.Tariff(ep.Pricing.Dearest(x.held.Prompt.N), x.held.Prompt.N, nil)
}

// made is the delivered part of the task's result.
func (x *run) made() *task.Made {
	m := &x.meter.made
	m.Images, m.Done, m.Left = x.meter.images, x.meter.done, x.rec.Cancelled
	return m
}

// taskBill sets u to the usage of the task, and returns its cost and the prices. What the balance does not cover beyond the hold is not charged.
func (x *run) taskBill(ep *catalog.Endpoint, u *usage.Usage) (*catalog.Pricing, []usage.Line, money.Nano, error) {
	pricing := tierPricing(ep, cmp.Or(x.meter.usage.Tier, x.head.Tier)).At(x.begun())
	t := x.req.Task.Tariff(pricing, x.meter.usage.Prompt.N, x.made())
	x.taskConsumed(ep, &t, u)
	lines, cost, err := usage.TaskCost(u, &t)
	if err == nil && x.affords(cost) {
		return pricing, lines, cost, nil
	}
	u.Cut(&x.held, &x.held)
	pricing = ep.Pricing.At(x.begun())
	t = x.req.Task.Tariff(pricing.Dearest(x.held.Prompt.N), x.held.Prompt.N, nil)
	lines, cost, err = usage.TaskCost(u, &t)
	return pricing, lines, cost, err
}

// taskConsumed sets u to the usage to bill a task by.
func (x *run) taskConsumed(ep *catalog.Endpoint, t *catalog.Tariff, u *usage.Usage) {
	m := &x.meter
	*u = m.usage
	usual, counted := x.req.Task.Consumed(x.made())
	if u.Tier == "" {
		u.Tier = x.head.Tier
	}
	most, to := x.most, x.held
	for _, c := range [...]struct{ counted, u, most *usage.Count }{
		{&counted.Images, &u.Images, &most.Images}, {&counted.Kilopixels, &u.Kilopixels, &most.Kilopixels},
	} {
		if c.counted.Reported { // even if the upstream reported another number
			*c.u = *c.counted
			c.most.N = max(c.most.N, c.counted.N)
		}
	}
	for _, c := range [...]struct{ reported, usual *usage.Count }{
		{&u.Requests, &usual.Requests}, {&u.Millis, &usual.Millis}, {&u.Characters, &usual.Characters}, {&u.Images, &usual.Images},
		{&u.Kilopixels, &usual.Kilopixels},
	} {
		if !c.reported.Valid() {
			*c.reported = *c.usual
		}
	}
	if t.Minute.Set {
		u.Millis.N = ep.Provider.Quirks.BilledAudio(u.Millis.N)
	}
	if byTokens(&t.Prices) {
		if x.held.Prompt.N > 0 && u.Prompt.N == 0 {
			u.Prompt.Reported = false // every prompt has at least one token
		}
	} else { // no count is needed
		u.Prompt, u.Completion = usage.Of(max(u.Prompt.N, 0)), usage.Of(max(u.Completion.N, 0))
		usual.Completion = usage.Count{}
	}
	if !u.Prompt.Valid() {
		u.PromptAudio, u.PromptImage = usual.PromptAudio, usual.PromptImage
	}
	if !u.Completion.Valid() && usual.Completion == usage.Of(0) { // a result without tokens needs no count of them
		u.Completion = usual.Completion
	}
	rough := usage.Delivered{Text: m.likely()}
	if m.images > 0 && usual.Completion.N > 0 {
		rough.Image = usual.Completion.N
	}
	if !byTokens(&t.Prices) {
		rough = usage.Delivered{}
	}
	if u.Completion.N == 0 && rough.Tokens() > 0 {
		u.Completion.Reported = false
	}
	if !u.Completion.Valid() {
		u.OutputAudio, u.OutputImage = usual.OutputAudio, usual.OutputImage
	}
	u.Complete(&most, &to, m.done, &rough, func() int64 {
		if usual.Prompt.Reported {
			return usual.Prompt.N
		}
		return x.promptTokens()
	}, func() usage.Delivered {
		if usual.Completion.Reported {
			return usage.Delivered{Text: usual.Completion.N}
		}
		return usage.Delivered{Text: m.tokens(x.relay.Tokens)}
	})
}

// byTokens reports whether any token costs something.
func byTokens(p *catalog.Prices) bool {
	return p.Prompt.Nano+p.Completion.Nano+p.Audio.Nano+p.Image.Nano+p.AudioOutput.Nano+p.ImageOutput.Nano > 0
}

// partial reports whether the delivered part of a broken answer is charged: all of it for a text.
func (x *run) partial() bool { return x.req.Chats() || x.req.Task.Charged(x.made()) }
