package video_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/video"
)

func drawRequest(t *rapid.T) video.Request {
	text := rapid.StringN(0, 20, -1)
	media := rapid.Custom(func(t *rapid.T) video.Media {
		return video.Media{Kind: rapid.SampledFrom([]catalog.Modality{catalog.Image, catalog.Audio, catalog.Video}).Draw(t, "kind"), URL: text.Draw(t, "url"), Frame: text.Draw(t, "frame")}
	})
	param := rapid.Custom(func(t *rapid.T) video.Param {
		return video.Param{Name: text.Draw(t, "name"), Value: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "value")}
	})
	options := rapid.Custom(func(t *rapid.T) video.ProviderOptions {
		return video.ProviderOptions{Provider: text.Draw(t, "provider"), Fields: rapid.SliceOfN(param, 1, 3).Draw(t, "fields")}
	})
	r := video.Request{Model: text.Draw(t, "model"), Prompt: text.Draw(t, "prompt"), Seconds: rapid.Int64().Draw(t, "seconds"), Resolution: text.Draw(t, "resolution"),
		AspectRatio: text.Draw(t, "ratio"), Size: text.Draw(t, "size"), Upscale: text.Draw(t, "upscale"), Outputs: rapid.Int64().Draw(t, "outputs")}
	if n := rapid.IntRange(0, 3).Draw(t, "lists"); n > 0 {
		r.Frames, r.References = rapid.SliceOfN(media, n, n).Draw(t, "frames"), rapid.SliceOfN(media, n, n).Draw(t, "references")
		r.Params, r.Options = rapid.SliceOfN(param, n, n).Draw(t, "params"), rapid.SliceOfN(options, n, n).Draw(t, "options")
		audio, seed, creativity := rapid.Bool().Draw(t, "sound"), rapid.Int64().Draw(t, "seed"), rapid.Int64().Draw(t, "creativity")
		r.Audio, r.Seed, r.Creativity = &audio, &seed, &creativity
	}
	return r
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawRequest(t)
		got, err := video.DecodeRequest(video.EncodeRequest(&want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
	if got, err := video.DecodeRequest(nil); err != nil || got.Prompt != "" {
		t.Errorf("one that was emptied: %+v, %v", got, err)
	}
}

const someTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func someJob() *video.Job {
	return &video.Job{Offer: 1, Rounds: 2, Progress: 40, Videos: 2, Seconds: 8, Polls: 7, Failures: 1, Notice: "n", AskedAt: time.Unix(1_772_000_001, 5000).UTC(), Doubt: "status 500", Size: "1280x720", Form: true, Callback: "https://example.com/hook", Trace: someTrace,
		Offers: []video.Offer{{Endpoint: "one/v/m", Provider: "one", ProviderName: "One", UpstreamModel: "m", Second: money.Price{Nano: 5, Set: true, Dollars: "0.1"}, List: "l", Rate: "r", Source: "0.1", Refused: true, OwnKey: "pk_1"},
			{Endpoint: "two/v/m", Request: money.Price{Nano: 9, Set: true}}},
		Outputs: []video.Output{{URL: "u", Handle: "h", MediaType: "video/mp4", Bytes: 99, Kept: "vj_1/0-1", ETag: "e"}, {}},
		Call:    record.Call{Generation: "gen-1", Wallet: "wal_1", API: video.API, At: time.Unix(1_772_000_000, 0).UTC(), Attempts: []record.Attempt{{Endpoint: "one/v/m", Status: 429}}}}
}

func TestDetailRoundTrip(t *testing.T) {
	t.Parallel()
	want, got := someJob(), &video.Job{}
	if err := video.DecodeDetail(video.EncodeDetail(want), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// Incomplete data and data of another version give an error and never a wrong job.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	request := video.EncodeRequest(&video.Request{Model: "v/m", Prompt: "p", Frames: []video.Media{{URL: "u"}}})
	detail := video.EncodeDetail(someJob())
	request[0], detail[0] = 9, 9
	if _, err := video.DecodeRequest(request); err == nil {
		t.Error("a request of another version was read")
	}
	if err := video.DecodeDetail(detail, &video.Job{}); err == nil {
		t.Error("a detail of another version was read")
	}
	detail[0] = 1
	traceless := len(detail) - len(someTrace) - 1  // one that was written before there was a trace
	keyless := traceless - len("pk_1") - 2         // one that was written before there were own keys of offers
	formless := keyless - len("1280x720") - 2      // one that was written before there were Size and Form
	former := formless - len("status 500") - 1 - 8 // and one before AskedAt and Doubt
	if j := (&video.Job{}); video.DecodeDetail(detail[:former], j) != nil || j.Call.Generation != "gen-1" || !j.AskedAt.IsZero() {
		t.Errorf("a detail of a former version: %+v", j)
	}
	for n := range detail {
		if n == former || n == formless || n == keyless || n == traceless {
			continue
		}
		if err := video.DecodeDetail(detail[:n], &video.Job{}); err == nil {
			t.Fatalf("%d of %d bytes were read as a whole detail", n, len(detail))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(video.EncodeRequest(&video.Request{Model: "v/m", Prompt: "p", Frames: []video.Media{{URL: "u"}}}))
	f.Add(video.EncodeDetail(someJob()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := video.DecodeRequest(b); err == nil {
			again, err := video.DecodeRequest(video.EncodeRequest(&r))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, again); diff != "" {
				t.Fatal(diff)
			}
		}
		_ = video.DecodeDetail(b, &video.Job{}) // must not panic or reserve more than there is
	})
}
