// Package limit counts: allowances that refill steadily, running work, and whether memory is short. It keeps all of it in this node's
// memory, and must not know what is limited or how a refusal is reported.
package limit

import (
	"math"
	"math/bits"
	"time"
)

// Rate is an allowance that refills steadily: Amount units in each Per, of which Burst may be used at once.
type Rate struct {
	Amount int64         // 0: no limit
	Per    time.Duration // above 0
	Burst  int64         // 0: Amount
}

// PerMinute is n in a minute, all of them at once if need be; 0 is no limit.
func PerMinute(n int64) Rate { return Rate{Amount: n, Per: time.Minute} }

// Dims is how many allowances one name has at most.
const Dims = 3

// Rates are the allowances of one name, each for another resource.
type Rates [Dims]Rate

// Off reports whether nothing is limited.
func (r *Rates) Off() bool {
	for i := range r {
		if r[i].Amount > 0 {
			return false
		}
	}
	return true
}

// Cost is how many units of each allowance something takes.
type Cost [Dims]int64

// span is a duration, or a moment since the gate's start, in nanoseconds and fractions of one: part/Rate.Amount nanoseconds, so that the
// time in which a unit refills is exact at any rate.
type span struct{ ns, part int64 }

// never is longer than anything that is waited for, and short enough to be added to: 73 years. A larger debt counts as that.
const never = math.MaxInt64 / 4

// spanOf is the time in which n units refill; n must not be negative.
func (r *Rate) spanOf(n int64) span {
	hi, lo := bits.Mul64(uint64(n), uint64(r.Per))
	if hi >= uint64(r.Amount) {
		return span{ns: never}
	}
	ns, part := bits.Div64(hi, lo, uint64(r.Amount))
	if ns >= never {
		return span{ns: never}
	}
	return span{int64(ns), int64(part)}
}

// depth is the time in which an empty allowance fills up.
func (r *Rate) depth() span {
	if r.Burst > 0 {
		return r.spanOf(r.Burst)
	}
	return r.spanOf(r.Amount)
}

func (r *Rate) add(a, b span) span {
	s := span{a.ns + b.ns, a.part + b.part}
	if s.part >= r.Amount {
		s.ns, s.part = s.ns+1, s.part-r.Amount
	}
	if s.ns > never {
		return span{ns: never}
	}
	return s
}

func (r *Rate) sub(a, b span) span {
	s := span{a.ns - b.ns, a.part - b.part}
	if s.part < 0 {
		s.ns, s.part = s.ns-1, s.part+r.Amount
	}
	return s
}

func (s span) above(o span) bool { return s.ns > o.ns || s.ns == o.ns && s.part > o.part }

// up is the span in whole nanoseconds.
func (s span) up() time.Duration {
	if s.part > 0 {
		return time.Duration(s.ns + 1)
	}
	return time.Duration(s.ns)
}

// units is how many units refill in s, rounded down.
func (r *Rate) units(s span) int64 {
	if s.ns < 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(s.ns), uint64(r.Amount))
	lo, carry := bits.Add64(lo, uint64(s.part), 0)
	if hi += carry; hi >= uint64(r.Per) {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, uint64(r.Per))
	return int64(min(n, math.MaxInt64))
}
