package usage

import "math"

// Valid reports whether the upstream reported a plausible number.
func (c Count) Valid() bool { return c.Reported && c.N >= 0 }

// Sum adds up what was reported. It stops at the largest number; one below zero adds nothing, and takes nothing away from the others.
func Sum(counts ...Count) (sum Count) {
	for _, c := range counts {
		n := max(c.N, 0)
		sum.N, sum.Reported = sum.N+min(n, math.MaxInt64-sum.N), sum.Reported || c.Reported
	}
	return sum
}

// Complete makes u fit to bill. Where the upstream reported no prompt or answer tokens, or a number below zero, our own count takes its
// place, and the source is Estimated. A final report of zero for an answer counts as missing; one that is not final is a lower bound, and our own
// count of what was delivered another. What is above most is cut to what is in to, and the source is Capped. Parts are cut to what they are parts of.
// No count of the result is below zero, Prompt and Completion are Reported.
//
// prompt and answer count tokens. Each is called at most once, and only when needed, because counting costs more than everything else about
// a bill; roughly is a cheap count of the answer.
func (u *Usage) Complete(most, to *Usage, final bool, roughly *Delivered, prompt func() int64, answer func() Delivered) {
	delivered := roughly.Tokens() > 0
	if u.Completion.N == 0 && delivered {
		u.Completion.Reported = false
	}
	if !u.Prompt.Valid() {
		u.Prompt = Of(max(prompt(), 0))
		u.Source |= Estimated
	}
	switch reported := u.Completion; {
	case !reported.Valid(), !final && delivered:
		own := answer()
		u.OutputAudio, u.OutputImage = atLeast(u.OutputAudio, own.Audio), atLeast(u.OutputImage, own.Image)
		if n := own.Tokens(); !reported.Valid() || n > reported.N {
			u.Completion = Of(max(n, 0))
			u.Source |= Estimated
		}
	case Low(reported, roughly):
		u.Source |= TooLow
	}
	u.Cut(most, to)
}

func atLeast(c Count, n int64) Count {
	if n > c.N {
		return Of(n)
	}
	return c
}

// fitParts cuts each part to its whole. Cached and written tokens are different tokens, so they share the prompt; content
// of one kind may be cached, so it is bounded by the whole prompt alone.
func (u *Usage) fitParts() {
	left := u.Prompt.N
	for _, whole := range [...]Kind{KindPrompt, KindCompletion} {
		for _, k := range partsOf[whole] {
			c := u.of(k)
			switch {
			case kinds[k].within != nil:
				for _, outer := range kinds[k].within {
					fit(c, u.of(outer).N)
				}
			case kinds[k].cached:
				fit(c, left)
				left -= c.N
			default:
				fit(c, u.of(whole).N)
			}
		}
	}
	fit(&u.PromptVideo, u.Prompt.N)
	fit(&u.Accepted, u.Completion.N)
	fit(&u.Rejected, u.Completion.N)
}

// IncludeParts adds parts to their whole that the report left out of it: cached tokens that are more than the prompt, and reasoning that is more than
// the answer, cannot be parts of them. Where total, the reported sum of prompt and answer, shows that the prompt is complete, the same tokens were
// counted as read and as written: each of the two is a part of the prompt, and what was read was not written.
func (u *Usage) IncludeParts(total Count) {
	if cached := Sum(u.CacheRead, u.Written()); u.Prompt.Reported && cached.N > u.Prompt.N && !u.twice(total) {
		u.Prompt = Sum(u.Prompt, cached)
	}
	if u.Completion.Reported && u.Reasoning.N > u.Completion.N {
		u.Completion = Sum(u.Completion, u.Reasoning)
	}
}

// twice reports whether the report counts tokens of the prompt as read and as written.
func (u *Usage) twice(total Count) bool {
	return total.Reported && max(u.CacheRead.N, u.Written().N) <= u.Prompt.N && total == Sum(u.Prompt, u.Completion)
}

// Written is what was written to the provider's cache, for whatever time.
func (u *Usage) Written() (sum Count) {
	for _, k := range partsOf[KindPrompt] {
		if kinds[k].written {
			sum = Sum(sum, *u.of(k))
		}
	}
	return sum
}

// AnyPart lets all of the prompt be cached, and all of the answer be reasoning: a bound for what an upstream may report.
func (u *Usage) AnyPart() {
	for _, k := range partsOf[KindPrompt] {
		if kinds[k].cached {
			*u.of(k) = u.Prompt
		}
	}
	u.Reasoning = u.Completion
}

func fit(c *Count, whole int64) {
	if c.N < 0 {
		*c = Count{}
	}
	c.N = min(c.N, whole)
}
