package usage

// absurd is the count from which on nobody believes an upstream.
const absurd = 1_000_000_000

// Bounds are what a call's hold covers: where an absurd count is cut off.
type Bounds struct {
	Prompt     int64 // tokens
	Completion int64 // tokens
	Searches   int64
	Images     int64
}

// Completed is u made fit to bill. Where the upstream told no prompt or answer tokens, or a number below zero, our own count
// takes its place, and the source is Estimated; an absurd number is cut to b, and the source is Capped. Parts are cut to what
// they are parts of. No count of the result is below zero, Prompt and Completion are Reported.
//
// count counts the tokens of the prompt and of the answer, parts included. It is called at most once, and only when needed,
// because counting costs more than everything else about a bill.
func (u Usage) Completed(b Bounds, count func() (prompt, answer int64)) Usage {
	if !told(u.Prompt) || !told(u.Completion) {
		prompt, answer := count()
		u.Source = Estimated
		if !told(u.Prompt) {
			u.Prompt = Of(max(prompt, 0))
		}
		if !told(u.Completion) {
			u.Completion = Of(max(answer, 0))
		}
	}
	u.limit(&u.Prompt, b.Prompt)
	u.limit(&u.Completion, b.Completion)
	u.limit(&u.WebSearches, b.Searches)
	u.limit(&u.Images, b.Images)
	u.fitParts()
	return u
}

func told(c Count) bool { return c.Reported && c.N >= 0 }

// limit cuts an absurd count to what is covered, and drops one below zero.
func (u *Usage) limit(c *Count, covered int64) {
	switch {
	case c.N > absurd:
		c.N = min(c.N, max(covered, 0))
		u.Source = Capped
	case c.N < 0:
		*c = Count{}
	}
}

// fitParts cuts each part to its whole. Cached and written tokens are different tokens, so they share the prompt; content
// of one kind may be cached, so it is bounded by the whole prompt alone.
func (u *Usage) fitParts() {
	left := u.Prompt.N
	for _, c := range [...]*Count{&u.CacheRead, &u.CacheWrite, &u.CacheWrite1h} {
		fit(c, left)
		left -= c.N
	}
	for _, c := range [...]*Count{&u.PromptAudio, &u.PromptImage, &u.PromptVideo} {
		fit(c, u.Prompt.N)
	}
	for _, c := range [...]*Count{&u.Reasoning, &u.OutputAudio, &u.OutputImage, &u.Accepted, &u.Rejected} {
		fit(c, u.Completion.N)
	}
}

func fit(c *Count, whole int64) {
	if c.N < 0 {
		*c = Count{}
	}
	c.N = min(c.N, whole)
}
