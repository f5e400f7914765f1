package dialect

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// NoImage is the fault of an answer that should have been an image. The provider would answer the same again.
func NoImage(ep *catalog.Endpoint) *fault.Error {
	f := Unavailable(ep, "The provider sent no readable image.", nil)
	f.Upstream.Status = http.StatusOK
	return f
}

// InWords is the fault of an answer that should have been an image and is words: what the model says instead. Another endpoint of the model
// would say the same, and its provider bills each time. Without words it is NoImage.
func InWords(ep *catalog.Endpoint, words string) *fault.Error {
	words = strings.Join(strings.Fields(words), " ")
	if words == "" {
		return NoImage(ep)
	}
	f := Fault(ep, fault.Refusal, "The model made no image. It said: "+words, nil)
	f.Next, f.Upstream.Status = fault.NextModel, http.StatusOK
	return f
}

// Barred is the fault of an image that the provider's content policy keeps back, in the provider's words if it has any.
func Barred(ep *catalog.Endpoint, code, words, raw string) *fault.Error {
	f := Refusal{Status: http.StatusBadRequest, Code: "content_policy:" + code, Message: words, Raw: raw}.Fault(ep)
	f.Upstream.Status = http.StatusOK // it had taken the request on: of several images another one may pass
	return f
}

// Image makes the finished image of an index from a file that the provider sent as base64.
func Image(ask Ask, index int, encoded string) (*task.MadeImage, error) {
	data, err := imagefile.FromBase64(encoded)
	if err != nil {
		return nil, NoImage(ask.Endpoint())
	}
	return imageOf(ask.Endpoint(), index, data)
}

// ImageAt makes the finished image of an index from the file at an address, which is fetched unless it is a data URL.
func ImageAt(ask Ask, index int, address string) (*task.MadeImage, error) {
	if imagefile.IsData(address) {
		data, err := imagefile.FromURL(address)
		if err != nil {
			return nil, NoImage(ask.Endpoint())
		}
		return imageOf(ask.Endpoint(), index, data)
	}
	data, _, err := ask.Fetch(address)
	if err != nil {
		if f := fault.From(err); f.Upstream != nil {
			f.Upstream.Status = http.StatusOK // the image was made: another request would make another
		}
		return nil, err
	}
	return imageOf(ask.Endpoint(), index, data)
}

func imageOf(ep *catalog.Endpoint, index int, data []byte) (*task.MadeImage, error) {
	p, ok := imagefile.New(index, data)
	if !ok {
		return nil, NoImage(ep)
	}
	return p, nil
}

// How often and for how long a provider is polled until an image is ready.
const (
	firstLook = 300 * time.Millisecond
	mostLook  = 3 * time.Second
	lookLimit = 10 * time.Minute
)

// PollUntil calls look with longer and longer waits between the calls, until it reports that a task is done or fails. A look that fails for
// a reason that passes is repeated: the task goes on meanwhile, and is paid. It fails with fault.Timeout when that takes too long.
func PollUntil(ask Ask, look func() (done bool, err error)) error {
	began := ask.Now()
	failed := 0
	for wait := firstLook; ; wait = min(wait*3/2, mostLook) {
		if err := ask.Wait(wait); err != nil {
			return err
		}
		done, err := look()
		if rest, passing := Passing(err); passing && failed < MostFailedLooks {
			failed++
			if err := ask.Wait(rest); err != nil {
				return err
			}
		} else if done || err != nil {
			return err
		} else {
			failed = 0
		}
		if ask.Now().Sub(began) > lookLimit {
			f := Fault(ask.Endpoint(), fault.Timeout, "The provider did not answer in time.", nil)
			f.Next = fault.NextEndpoint
			return f
		}
	}
}

// MostFailedLooks is how many looks at a task may fail one after the other.
const MostFailedLooks = 5

const mostRest = 30 * time.Second // after a look that was refused because of a rate limit

// Passing reports whether a look at a task failed because of a rate limit or a failure of the server, which say nothing about the task, and
// how long to wait before the next one.
func Passing(err error) (rest time.Duration, passing bool) {
	if err == nil {
		return 0, false
	}
	f := fault.From(err)
	if f.Upstream == nil || f.Upstream.Status != http.StatusTooManyRequests && f.Upstream.Status < 500 {
		return 0, false
	}
	return min(f.RetryAfter, mostRest), true
}

// MadeImages are the images that one call has made.
type MadeImages struct {
	Head   completion.Head
	Images []*task.MadeImage
	Text   string // that the model wrote beside them
	Usage  usage.Usage

	missing *fault.Error // why the first image that is missing is missing
}

// Add adds an image, unless err says why it has none: one image that cannot be read does not take the others with it. It fails only with what
// is not the provider's fault, such as a client that has gone.
func (x *MadeImages) Add(made *task.MadeImage, err error) error {
	if err == nil {
		x.Images = append(x.Images, made)
		return nil
	}
	f := fault.From(err)
	if f.Upstream == nil {
		return err
	}
	if x.missing == nil {
		x.missing = f
	}
	return nil
}

// Say adds words of the model.
func (x *MadeImages) Say(words string) {
	if words = strings.TrimSpace(words); x.Text != "" && words != "" {
		x.Text += "\n"
	}
	x.Text += words
}

// Some fails unless there is an image: with why the first one is missing, or else with what the model said instead.
func (x *MadeImages) Some(ep *catalog.Endpoint) error {
	switch {
	case len(x.Images) > 0:
		return nil
	case x.missing != nil:
		return x.missing
	}
	return InWords(ep, x.Text)
}

// Give yields the images, the first one with the text and the last one with the usage and the end. Without an image it yields the fault
// NoImage.
func (x *MadeImages) Give(ep *catalog.Endpoint, yield func(*completion.Event, error) bool) {
	if len(x.Images) == 0 {
		yield(nil, NoImage(ep))
		return
	}
	for i, p := range x.Images {
		ev := &completion.Event{Result: &task.Result{Image: p}}
		if i == 0 {
			ev.Head, ev.Text = &x.Head, []byte(x.Text)
		}
		if i == len(x.Images)-1 {
			ev.Usage, ev.Done = &x.Usage, true
		}
		if !yield(ev, nil) {
			return
		}
	}
}

// MakeImages makes n images. An endpoint that makes at most each images per call gets several calls, three at a time. do makes count
// images whose indices begin at first; further images of its answer are dropped. Images that were made are given, and a notice says how many
// are missing; it fails without any.
func MakeImages(n, each int, do func(first, count int) (MadeImages, error)) (MadeImages, error) {
	if each <= 0 || each > n {
		each = n
	}
	parts := make([]MadeImages, (n+each-1)/each)
	barred := make([]*fault.Error, len(parts))
	err := Each(len(parts), 3, func(i int) error {
		first := i * each
		count := min(each, n-first)
		part, err := do(first, count)
		part.Images = part.Images[:min(len(part.Images), count)]
		if err != nil {
			part = MadeImages{}
		}
		parts[i] = part
		if f := fault.From(err); f != nil && f.Kind == fault.ContentPolicy && f.Upstream != nil && f.Upstream.Status == http.StatusOK {
			barred[i] = f // the next image may be none that the policy forbids
			return nil
		}
		return err
	})
	failed := fault.From(err)
	if failed != nil && failed.Upstream == nil {
		return MadeImages{}, err
	}
	for _, f := range barred {
		if failed == nil {
			failed = f
		}
	}
	all, some := join(parts)
	if !some {
		if failed == nil {
			return all, nil // do has said of each call that it is fine
		}
		return MadeImages{}, failed
	}
	if have := len(all.Images); have < n {
		all.Head.Notice = missing(have, n, cmp.Or(failed, all.missing))
	}
	return all, nil
}

// join adds up the calls that made images; some reports that there was one.
func join(parts []MadeImages) (all MadeImages, some bool) {
	for i := range parts {
		part := &parts[i]
		switch {
		case len(part.Images) == 0:
		case !some:
			all, some = *part, true
		default:
			all.Images = append(all.Images, part.Images...)
			all.Say(part.Text)
			if all.missing == nil {
				all.missing = part.missing
			}
			addUsage(&all.Usage, &part.Usage)
		}
	}
	for i, p := range all.Images {
		p.Index = i
	}
	return all, some
}

// missing is the notice of an answer with fewer images than were asked for. It has no words of the provider, which are not fit to be shown.
func missing(have, n int, why *fault.Error) string {
	notice := strconv.Itoa(have) + " of " + strconv.Itoa(n) + " images were made, and only these are charged."
	switch {
	case why == nil:
	case why.Kind == fault.ContentPolicy:
		notice += " The provider's content policy does not allow the others."
	case why.Kind == fault.Refusal:
		notice += " Instead of the others the model sent words."
	default:
		notice += " The provider failed to make the others."
	}
	return notice
}

// addUsage adds up the usage of all calls. A count that one of them did not report is missing in the sum.
func addUsage(to, more *usage.Usage) {
	for _, c := range [...]struct{ to, more *usage.Count }{
		{&to.Prompt, &more.Prompt}, {&to.CacheRead, &more.CacheRead}, {&to.PromptImage, &more.PromptImage}, {&to.Completion, &more.Completion},
		{&to.Reasoning, &more.Reasoning}, {&to.OutputImage, &more.OutputImage},
	} {
		c.to.N, c.to.Reported = c.to.N+c.more.N, c.to.Reported && c.more.Reported
	}
	to.UpstreamCost = "" // the cost of one call alone would mislead
}

// Members builds a JSON object in which each name is written once: the first value wins.
type Members struct{ list []task.Extra }

// Raw adds a member whose value is JSON.
func (m *Members) Raw(name string, value []byte) {
	if !m.Has(name) {
		m.list = append(m.list, task.Extra{Name: name, Value: value})
	}
}

// Text adds a string, unless it is "".
func (m *Members) Text(name, value string) {
	if value != "" {
		m.Raw(name, rawjson.AppendText(nil, value))
	}
}

// Int adds a number.
func (m *Members) Int(name string, n int64) { m.Raw(name, strconv.AppendInt(nil, n, 10)) }

// Has reports whether the object has a member of that name.
func (m *Members) Has(name string) bool {
	return slices.ContainsFunc(m.list, func(x task.Extra) bool { return x.Name == name })
}

// Extra adds members of the client that the gateway does not know, except those that are reserved. It returns the names of those that it leaves
// out.
func (m *Members) Extra(extras []task.Extra) (unsent []string) {
	for i := range extras {
		if name := extras[i].Name; isReserved(name) || completion.Diverts(name) || m.Has(name) {
			unsent = append(unsent, name)
			continue
		}
		m.Raw(extras[i].Name, extras[i].Value)
	}
	return unsent
}

// isReserved reports whether a member decides what a provider makes, for whom or for how much, under the name of any wire. Spellings do not
// differ: lenient servers take num_images for numImages.
func isReserved(name string) bool {
	if at := strings.IndexAny(name, "[."); at > 0 {
		name = name[:at] // nested names in forms: n[0]
	}
	return reserved[strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))]
}

// reserved are such names in lower case, without separators. Where the request has a field for one, it is read under that name.
var reserved = words(
	"model models modelid modelname modelversion modeluri engine checkpoint messages prompt tools plugins provider user", // what is asked, by whom
	"n numimages numoutputs numimagesperprompt batchsize batchcount niter numberofimages numresults numberresults samplecount samples numsamples nimages "+
		"maximages imagecount imagenum count quantity numgenerations numvariations numvariants nvariants candidatecount "+
		"sequentialimagegeneration sequentialimagegenerationoptions", // how many: each is paid for
	"imagesize width height megapixels outputmegapixels quality renderingspeed servicetier upscale upscalefactor upscaleconfig enableupscale", // how dear each is
	"websearch websearchoptions enablewebsearch googlesearch enablegooglesearch",                                                              // paid for in addition
	"stream syncmode responseformat modalities storageuri outputgcsuri outputuri cachedcontent",                                               // how it comes, and where it goes
	"parameters input config generationconfig imageconfig",                                                                                    // objects that may have any of these inside
)

func words(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(strings.Join(lines, " ")) {
		set[word] = true
	}
	return set
}

// Options adds the client's parameters for one provider, and returns the paths of those that it leaves out.
func (m *Members) Options(t *task.Image, provider string) (unsent []string) {
	for i := range t.Options {
		if t.Options[i].Name != provider {
			continue
		}
		var list []task.Extra
		for e := rawjson.MembersOf(t.Options[i].Value); e.Next(); {
			list = append(list, task.Extra{Name: string(e.Name), Value: e.Value})
		}
		for _, name := range m.Extra(list) {
			unsent = append(unsent, "provider.options."+provider+"."+name)
		}
	}
	return unsent
}

// Drop removes members, and returns which of them were present.
func (m *Members) Drop(names []string) (dropped []string) {
	m.list = slices.DeleteFunc(m.list, func(x task.Extra) bool {
		if !slices.Contains(names, x.Name) {
			return false
		}
		dropped = append(dropped, x.Name)
		return true
	})
	return dropped
}

// Rename changes the names of members. A client's own member that already has the new name is dropped.
func (m *Members) Rename(names map[string]string) {
	taken := map[string]bool{}
	for i := range m.list {
		if other, ok := names[m.list[i].Name]; ok {
			taken[other] = true
		}
	}
	m.list = slices.DeleteFunc(m.list, func(x task.Extra) bool { return taken[x.Name] && names[x.Name] == "" })
	for i := range m.list {
		if other, ok := names[m.list[i].Name]; ok {
			m.list[i].Name = other
		}
	}
}

// Each yields the members in order.
func (m *Members) Each(yield func(name string, value []byte)) {
	for i := range m.list {
		yield(m.list[i].Name, m.list[i].Value)
	}
}

// JSON returns the object.
func (m *Members) JSON() []byte {
	size := 2
	for i := range m.list {
		size += len(m.list[i].Name) + len(m.list[i].Value) + 4
	}
	w := rawjson.Writer{B: make([]byte, 0, size)}
	w.Object()
	for i := range m.list {
		w.Name(m.list[i].Name).Raw(bytes.TrimSpace(m.list[i].Value))
	}
	w.EndObject()
	return w.B
}

// Previews lists the setting of a task for previews if it has one: wires that make an image only as a whole do not have it.
func Previews(t *task.Image) []string {
	if t.Partial == 0 {
		return nil
	}
	return []string{PartialImages}
}

// PartialImages is the client's name of the number of previews.
const PartialImages = "partial_images"
