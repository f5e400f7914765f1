package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/money"
)

// load has clients call until stop closes. It returns when their last calls have ended.
func (b *books) load(ctx context.Context, t *testing.T, stop <-chan struct{}, wg *sync.WaitGroup) {
	for _, m := range b.members {
		for range 4 {
			rng := rand.New(rand.NewPCG(m.rng.Uint64(), 1))
			wg.Go(func() {
				for n := m.turn(stop); n != nil; n = m.turn(stop) {
					m.call(ctx, t, n, b.customers[rng.IntN(2)], rng)
				}
			})
		}
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for i := 0; m.alive(stop) != nil; i++ {
				<-tick.C
				b.video(ctx, t, m, fmt.Sprintf("Film %d of %s", i, m.dir), stop)
			}
		})
	}
}

// style is one of the three client styles for text models.
type style struct {
	path, body string
	stream     string // member that requests a stream
	cost       func(t *testing.T, text string) (money.Nano, bool)
}

var styles = []style{
	{"/v1/chat/completions", `{"model":"test/chat","max_tokens":200,"messages":[{"role":"user","content":%q}]%s}`, `,"stream":true`, reportedCost},
	{"/v1/responses", `{"model":"test/chat","max_output_tokens":200,"input":%q%s}`, `,"stream":true`, reportedCost},
	{"/v1/messages", `{"model":"test/chat","max_tokens":200,"messages":[{"role":"user","content":%q}]%s}`, `,"stream":true`, reportedUsage},
}

var (
	costMember  = regexp.MustCompile(`"cost":([0-9.eE+-]+)[,}]`)
	usageMember = regexp.MustCompile(`"stop_reason":"[^}]*}?,"usage":\{"input_tokens":(\d+),"cache_creation_input_tokens":(\d+),"cache_read_input_tokens":(\d+),"output_tokens":(\d+)[,}]`)
)

// reportedCost returns the cost in an answer, or in the beginning of one.
func reportedCost(t *testing.T, text string) (money.Nano, bool) {
	found := costMember.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	return rubles(t, json.Number(found[1])), true
}

// reportedUsage returns the cost of the last usage of an answer in the messages style, which contains no cost.
func reportedUsage(t *testing.T, text string) (money.Nano, bool) {
	found := usageMember.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	var n [4]int64
	for i, digits := range found[1:] {
		n[i], _ = strconv.ParseInt(digits, 10, 64)
	}
	var sum money.Sum
	sum.PerThousand(n[0]+n[1]+n[2], 100*int64(money.Ruble)/1000)
	sum.PerThousand(n[3], 400*int64(money.Ruble)/1000)
	cost, err := sum.Ceil()
	if err != nil {
		t.Error(err)
	}
	return cost, true
}

// call is one call, in any style, whole or streamed, with any behaviour of the provider, by a client that may hang up.
func (m *member) call(ctx context.Context, t *testing.T, n *node, by *customer, rng *rand.Rand) {
	mood := fmt.Sprintf("gap=%dms frames=%d", rng.IntN(6), 1+rng.IntN(12))
	switch rng.IntN(12) {
	case 0:
		mood = fmt.Sprintf("delay=%dms", rng.IntN(50))
	case 1:
		mood += " fault=u6 after=2"
	case 2:
		mood += " usage=missing"
	case 3:
		mood += " usage=huge"
	}
	s := &styles[rng.IntN(len(styles))]
	stream := ""
	if rng.IntN(3) > 0 {
		stream = s.stream
	}
	most := 1 << 20
	if rng.IntN(5) == 0 {
		most = rng.IntN(3000)
	}
	body := fmt.Sprintf(s.body, "[[sim "+mood+"]] What is a weir?", stream)
	id, text := m.send(ctx, n, by, s.path, body, most)
	if cost, reported := s.cost(t, text); reported {
		m.noteAnswer(answer{by, id, cost})
	}
}

func (m *member) noteAnswer(a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reported = append(m.reported, a)
}

// send sends a request and reads at most so many bytes of the answer before it hangs up. It returns the bytes.
func (m *member) send(ctx context.Context, n *node, by *customer, path, body string, most int) (id, text string) {
	return m.sendTagged(ctx, n, by, "", path, body, most)
}

// sendTagged is send with a tag; "": without.
func (m *member) sendTagged(ctx context.Context, n *node, by *customer, tag, path, body string, most int) (id, text string) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.BaseURL+path, strings.NewReader(body))
	if err != nil {
		return "", ""
	}
	req.Header.Set("Authorization", "Bearer "+by.key)
	req.Header.Set("Content-Type", "application/json")
	if tag != "" {
		req.Header.Set("X-Weir-Tags", tag)
	}
	by.sent.Add(1)
	m.event()
	res, err := n.client.Do(req)
	if err != nil {
		return "", ""
	}
	defer res.Body.Close()
	m.event()
	var got strings.Builder
	part := make([]byte, 4096)
	for err == nil && got.Len() < most {
		var read int
		read, err = res.Body.Read(part)
		got.Write(part[:read])
		m.event()
	}
	return res.Header.Get("X-Generation-Id"), got.String()
}

// video makes one video, and waits for it on any running node.
func (b *books) video(ctx context.Context, t *testing.T, m *member, prompt string, stop <-chan struct{}) {
	by := b.customers[len(b.customers)-1]
	n := m.alive(stop)
	if n == nil {
		return
	}
	_, text := m.send(ctx, n, by, "/v1/videos", fmt.Sprintf(`{"model":"test/film","prompt":%q}`, prompt), 1<<20)
	var job struct{ ID string }
	if json.Unmarshal([]byte(text), &job) != nil || job.ID == "" {
		return // refused or cut off: if there is a job, it ends by itself
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		<-tick.C
		m := b.members[i%len(b.members)]
		n := m.alive(ctx.Done())
		if n == nil {
			return
		}
		is, err := n.videoBytes(ctx, by, job.ID)
		if err != nil || is.Status == "pending" || is.Status == "in_progress" {
			continue
		}
		cost := money.Nano(0)
		if is.Usage != nil {
			cost = rubles(t, is.Usage.Cost)
		}
		m.noteAnswer(answer{by, is.Generation, cost})
		return
	}
}

type video struct {
	Status     string
	Generation string `json:"generation_id"`
	Usage      *usage
}

func (n *node) videoBytes(ctx context.Context, by *customer, id string) (is video, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.BaseURL+"/v1/videos/"+id, nil)
	if err != nil {
		return is, err
	}
	req.Header.Set("Authorization", "Bearer "+by.key)
	res, err := n.client.Do(req)
	if err != nil {
		return is, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return is, err
	}
	if res.StatusCode != http.StatusOK {
		return is, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return is, json.Unmarshal(text, &is)
}
