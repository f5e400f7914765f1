package relay

import (
	"cmp"
	"fmt"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/task"
	"weir/internal/usage"
)

// What a provider's own measure of a task may be above ours, and is believed.
const (
	longerThanHeard = 1000 // milliseconds
	dearerThanUsual = 2    // times the tokens
	instructed      = 1024 // tokens of its own
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
	x.held, x.most = u, u
	for _, c := range [...]*usage.Count{&x.most.Prompt, &x.most.PromptAudio, &x.most.PromptImage, &x.most.Completion, &x.most.OutputAudio, &x.most.OutputImage} {
		if c.N > 0 {
			c.N = c.N*dearerThanUsual + instructed
		}
	}
	x.most.Millis.N += longerThanHeard
	x.most.CacheRead, x.most.CacheWrite, x.most.CacheWrite1h = x.most.Prompt, x.most.Prompt, x.most.Prompt
	x.most.Reasoning = x.most.Completion
	x.bound, x.covered = u.Completion.N, u.Completion.N
	t := x.heldTariff(ep)
	return usage.Most(&u, &t)
}

// heldTariff is what a task is held for by: nothing that it may turn out to be is dearer.
func (x *run) heldTariff(ep *catalog.Endpoint) catalog.Tariff {
	p := ep.Pricing.Dearest(x.held.Prompt.N)
	if image, ok := x.req.Task.(*task.Image); ok && (vague(image.Quality) || vague(image.Size)) {
		return p.DearestImageTariff(x.held.Prompt.N)
	}
	return x.tariff(p, x.held.Prompt.N, false)
}

// vague tells a setting of an image that the model chooses itself.
func vague(s string) bool { return s == "" || s == "auto" }

// tariff is what the task is charged by: for images by what the upstream said it made, then by what was asked for, then by how many pixels
// they turned out to have.
func (x *run) tariff(p *catalog.Pricing, promptTokens int64, made bool) catalog.Tariff {
	image, ok := x.req.Task.(*task.Image)
	if !ok {
		return p.Tariff(promptTokens)
	}
	quality, size := image.Quality, image.Size
	if made {
		quality, size = cmp.Or(x.meter.image.quality, quality), cmp.Or(x.meter.image.size, size)
	}
	if made && vague(size) {
		size = cmp.Or(x.meter.dimensions, image.Resolution)
	}
	return p.ImageTariff(promptTokens, quality, size)
}

// taskBill is what the task consumed and what it costs. What the balance does not cover beyond the hold is not charged.
func (x *run) taskBill(ep *catalog.Endpoint) (usage.Usage, *catalog.Pricing, []usage.Line, money.Nano, error) {
	pricing := tierPricing(ep, cmp.Or(x.meter.usage.Tier, x.head.Tier))
	t := x.tariff(pricing, x.meter.usage.Prompt.N, true)
	u := x.taskConsumed(&t)
	lines, cost, err := usage.TaskCost(u, &t)
	if err == nil && x.affords(cost) {
		return u, pricing, lines, cost, nil
	}
	u.Cut(&x.held, &x.held)
	t = x.heldTariff(ep)
	lines, cost, err = usage.TaskCost(u, &t)
	return u, &ep.Pricing, lines, cost, err
}

// taskConsumed is the usage to bill a task by.
func (x *run) taskConsumed(t *catalog.Tariff) usage.Usage {
	m := &x.meter
	u, usual := m.usage, x.req.Task.Usual()
	made := m.images
	if image, ok := x.req.Task.(*task.Image); ok && !m.done { // of a broken stream: what was finished or begun
		made = x.begun(image)
		part := *image
		part.N = int(max(made, 1))
		usual = part.Usual()
	}
	if u.Tier == "" {
		u.Tier = x.head.Tier
	}
	most, to := x.most, x.held
	if m.images > 0 {
		u.Images = usage.Of(made) // what was delivered, whatever was said of it
		most.Images.N = max(most.Images.N, made)
	}
	if t, ok := x.req.Task.(*task.Transcription); ok && !u.Millis.Valid() && !t.Measured && m.length > 0 {
		u.Millis = usage.Of(m.length.Milliseconds()) // a length that was measured while decoding is better than the one in the file's header
	}
	if m.pixels > 0 {
		u.Kilopixels = usage.Of((m.pixels*made/m.images + 999) / 1000)
		most.Kilopixels.N = max(most.Kilopixels.N, u.Kilopixels.N)
	}
	for _, c := range [...]struct{ reported, usual *usage.Count }{
		{&u.Requests, &usual.Requests}, {&u.Millis, &usual.Millis}, {&u.Characters, &usual.Characters}, {&u.Images, &usual.Images},
		{&u.Kilopixels, &usual.Kilopixels},
	} {
		if !c.reported.Valid() {
			*c.reported = *c.usual
		}
	}
	if byTokens(&t.Prices) {
		if x.held.Prompt.N > 0 && u.Prompt.N == 0 {
			u.Prompt.Reported = false // there is none without a token
		}
	} else { // nobody needs to count them
		u.Prompt, u.Completion = usage.Of(max(u.Prompt.N, 0)), usage.Of(max(u.Completion.N, 0))
		usual.Completion = usage.Count{}
	}
	if !u.Prompt.Valid() {
		u.PromptAudio, u.PromptImage = usual.PromptAudio, usual.PromptImage
	}
	if !u.Completion.Valid() && usual.Completion == usage.Of(0) { // what gives no tokens needs none counted
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
	return u.Completed(&most, &to, m.done, &rough, func() int64 {
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

// begun is how many images of a broken stream are paid for: those that were finished and, where the client gave up, those of which it has seen
// previews, for the provider makes them to their end. An image has as many previews as were asked for.
func (x *run) begun(image *task.Image) int64 {
	m := &x.meter
	if !x.rec.Cancelled || m.previews == 0 {
		return m.images
	}
	each, n := int64(image.Partial), m.images
	if each <= 0 { // nobody asked for them: it may make any number
		each = m.previews
	}
	if m.previewed {
		n++
	}
	return max(m.images, min(max(n, (m.previews+each-1)/each), int64(max(image.N, 1))))
}

// byTokens reports whether any token costs something.
func byTokens(p *catalog.Prices) bool {
	return p.Prompt.Nano+p.Completion.Nano+p.Audio.Nano+p.Image.Nano+p.AudioOutput.Nano+p.ImageOutput.Nano > 0
}

// partial reports whether what the client has of a broken answer is charged: all of a text, of a task what its client gave up, and of images
// those that were finished. An image of which its client has seen a preview is made to its end, and paid for, whether or not somebody waits.
func (x *run) partial() bool {
	if x.req.Task == nil {
		return true
	}
	if _, image := x.req.Task.(*task.Image); image {
		return x.meter.images > 0 || x.rec.Cancelled && x.meter.previewed
	}
	return x.rec.Cancelled
}

// pixelSize is an image's size as price lists write it.
func pixelSize(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", width, height)
}
