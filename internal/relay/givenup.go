package relay

import (
	"time"

	"weir/internal/limit"
)

// freelyGivenUp are the calls, and the tokens of their prompts, that an account may give up for nothing at each node, where no provider says what
// they cost. It is more than people give up, and bounds what providers bill for calls that somebody gives up on purpose.
var freelyGivenUp = limit.Rates{{Amount: 20, Per: time.Hour}, {Amount: 200_000, Per: time.Hour}}

// maxGivingUp bounds the accounts of which is known what they gave up lately.
const maxGivingUp = 1 << 14

// chargesGivenUp reports whether a call that its client gave up before it had anything is charged. A provider bills what it began to work on: where
// it said how much that is, or ran tools, or where the account has given up more than is free. A call that no provider has taken costs nothing, nor
// does one with the caller's own key.
func (x *run) chargesGivenUp() bool {
	if !x.rec.Cancelled || !x.taken || x.hold == nil || x.hold.Amount() == 0 || x.serving.Endpoint.Own != nil || !x.partial() {
		return false
	}
	if n := x.meter.usage.Prompt; n.Valid() && n.N > 0 {
		return true
	}
	for _, n := range x.meter.called {
		if n > 0 {
			return true
		}
	}
	return !x.relay.givenUp.Take(x.relay.Now(), x.call.Caller.User, &freelyGivenUp, limit.Cost{1, x.req.Needs.PromptTokens}).OK
}
