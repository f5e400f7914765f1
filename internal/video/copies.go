package video

import (
	"sync"

	"weir/internal/limit"
)

// copies are the videos that a node copies, and those that wait for their turn. They have separate places, so that slow ones keep no worker from
// looking after jobs, and no user has more than half of the places.
type copies struct {
	turns *limit.Turns // of those that are copied

	mu    sync.Mutex
	most  int // under way and waiting
	all   int
	users map[string]int
}

// waitingCopies is how many copies wait for each place; what is beyond them rests in the store.
const waitingCopies = 7

func newCopies(atOnce int) *copies {
	return &copies{turns: limit.NewTurns(atOnce, half(atOnce)), most: (1 + waitingCopies) * atOnce, users: map[string]int{}}
}

func half(n int) int { return max(n/2, 1) }

// enter reports whether there is room for one more copy of a user, which needs a leave then.
func (c *copies) enter(user string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.users[user] >= half(c.most) {
		return false
	}
	c.all++
	c.users[user]++
	return true
}

func (c *copies) leave(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.users[user]--; c.users[user] == 0 {
		delete(c.users, user)
	}
}
