package media

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

const veoBlocked = "Veo could not generate videos because the input violates Gemini's usage policies. Try rephrasing the prompt. If you think this was an error, send feedback."

// The two houses have the same jobs, and other names and answers for them.
var (
	veoJobs = &jobWire{
		Wire: googleWire, id: func(rnd *kit.Random) string { return kit.HexOf(rnd.Next())[:12] },
		blocked: kit.Refusal{Status: 400, Message: veoBlocked},
		unknown: func(string) *kit.Refusal {
			return &kit.Refusal{Status: 404, Message: "Requested entity was not found."}
		},
		accepted: (*mediaJob).veoName,
		view:     (*mediaJob).veoView,
	}
	vertexVeoWire = func() *kit.Wire {
		on := *googleWire
		on.Name = "google-vertex"
		return &on
	}()
	vertexVeoJobs = &jobWire{
		Wire: vertexVeoWire, id: uuidOf, blocked: veoJobs.blocked, unknown: veoJobs.unknown,
		accepted: (*mediaJob).veoName, view: (*mediaJob).veoView,
	}
)

// veo serves models/{model}:predictLongRunning.
func (s *Wires) veo(w http.ResponseWriter, r *http.Request, began time.Time, model string, vertex bool, body []byte) *kit.Refusal {
	read, refused := readMedia(googleWire, 400, body)
	if refused != nil {
		return refused
	}
	read.vertex = vertex
	read.googleModel(model, "veo-", "predictLongRunning")
	if read.Fault != nil {
		return read.Fault
	}
	read.spec.video = true
	a, refused := read.veo()
	if refused != nil {
		return refused
	}
	on := veoJobs
	if vertex {
		on = vertexVeoJobs
		a.place = "projects/" + r.PathValue("project") + "/locations/" + r.PathValue("location") + "/publishers/google/models/" + a.name
	} else {
		a.place = "models/" + a.name
	}
	return s.submit(on, w, r, began, a)
}

func (r *mediaReader) veo() (*mediaRequest, *kit.Refusal) {
	a, ratio, short := &r.spec, "16:9", 720
	old := strings.HasPrefix(a.base, "veo-2")
	a.seconds = 8
	video := func(r *mediaReader, v *kit.Node, p string) {
		kit.Members(&r.Checker, r, v, p, map[string]mediaField{"uri": mediaText, "bytesBase64Encoded": mediaText, "gcsUri": r.vertexOnly(mediaText), "mimeType": mediaWords("video/mp4", "video/mov")})
	}
	reference := func(v *kit.Node, p string) {
		kit.Members(&r.Checker, r, v, p, map[string]mediaField{"image": googleImage, "referenceType": mediaWords("asset", "style")}, "image", "referenceType")
	}
	parameters := map[string]mediaField{
		"aspectRatio": func(r *mediaReader, v *kit.Node, p string) { ratio = r.OneOf(v, p, "16:9", "9:16") },
		"durationSeconds": func(r *mediaReader, v *kit.Node, p string) {
			a.seconds = int(r.Integer(v, p, 4, 8))
			if fits := old && a.seconds > 4 || !old && a.seconds%2 == 0; r.Fault == nil && !fits {
				r.Refuse(p, "", "The number value for `durationSeconds` is out of bound. Please provide a value between 4 and 8, inclusive.")
			}
		},
		"resolution": func(r *mediaReader, v *kit.Node, p string) {
			short = shortSides[r.OneOf(v, p, "720p", "1080p", "4k")]
			if old && r.Fault == nil && !r.vertex {
				r.Refuse(p, "", "`resolution` isn't supported by this model. Please remove it or refer to the Gemini API documentation for supported usage.")
			}
		},
		"sampleCount":      mediaCount(4),
		"personGeneration": mediaWords("allow_all", "allow_adult", "dont_allow", "disallow"),
		"negativePrompt":   mediaText, "enhancePrompt": mediaFlag, "seed": mediaSeed(0, 1<<32-1),
		"generateAudio": r.vertexOnly(mediaFlag),
		"storageUri": r.vertexOnly(func(r *mediaReader, v *kit.Node, p string) {
			if a.bucket = v.Str(); r.ExpectKind(v, kit.Text, p) && !strings.HasPrefix(a.bucket, "gs://") {
				r.WrongValue(p, "a URI gs://bucket/folder/")
			}
		}),
		"compressionQuality": r.vertexOnly(mediaWords("optimized", "lossless")), "resizeMode": r.vertexOnly(mediaWords("pad", "crop")),
		"fps": r.vertexOnly(mediaWhole(24, 24)), "pubsubTopic": r.vertexOnly(mediaText),
	}
	return r.finish(map[string]mediaField{
		"instances": r.instances(map[string]mediaField{
			"prompt": mediaPrompt(4000), "image": googleImage, "lastFrame": googleImage, "video": video,
			"referenceImages": func(r *mediaReader, v *kit.Node, p string) {
				if r.Each(v, p, reference); len(v.Items) > 3 {
					r.Refuse(p, "", "At most 3 reference images are supported.")
				}
			},
		}),
		"parameters": func(r *mediaReader, v *kit.Node, p string) { kit.Members(&r.Checker, r, v, p, parameters) },
	}, func(r *mediaReader) {
		first := &r.Root.Get("instances").Items[0]
		switch {
		case a.prompt == "" && len(a.inputs) == 0 && first.Get("video") == nil:
			r.Refuse("instances", "", "The input must have a `prompt` or an `image`.")
		case first.Has("lastFrame") && !first.Has("image"):
			r.Refuse("instances", "", "`lastFrame` needs `image`.")
		case short > 720 && a.seconds != 8 && !old:
			r.Refuse("parameters.resolution", "", "`resolution` of 1080p and above needs `durationSeconds` of 8.")
		}
		a.shape(ratio, short)
	}, "instances")
}

// veoName returns the name of an operation, as in the first answer.
func (j *mediaJob) veoName() []byte { return JSONOf("name", j.operation()) }

func (j *mediaJob) operation() string { return j.spec.place + "/operations/" + j.id }

func (j *mediaJob) veoView() []byte {
	vertex := j.on == vertexVeoWire
	members := []any{"name", j.operation()}
	fail := func(code int, message string) {
		members = append(members, "done", true, "error", JSONOf("code", code, "message", message))
	}
	switch j.stage {
	case kit.JobFailed:
		fail(13, "Video generation failed due to an internal server issue. Please try again in a few minutes. If the problem persists, please contact customer support.")
	case kit.JobCancelled:
		fail(1, "The operation was cancelled.")
	case kit.JobExpired:
		fail(4, "Deadline expired before operation could complete.")
	case kit.JobDone, kit.JobBlocked:
		kind := "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse"
		if vertex {
			kind = "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse"
		}
		said := []any{"@type", kind}
		if vertex {
			said = append(said, j.veoResult("videos")...)
		} else {
			said = append(said, "generateVideoResponse", JSONOf(j.veoResult("generatedSamples")...))
		}
		members = append(members, "done", true, "response", JSONOf(said...))
	}
	return JSONOf(members...)
}

// veoResult returns the videos, or the reason for their absence.
func (j *mediaJob) veoResult(name string) []any {
	if j.stage == kit.JobBlocked {
		return []any{"raiMediaFilteredCount", max(1, j.spec.count), "raiMediaFilteredReasons", []any{veoBlocked + " Support codes: 29310472"}}
	}
	videos := []any{}
	for i := range j.outputs() {
		switch {
		case j.on != vertexVeoWire:
			videos = append(videos, JSONOf("video", JSONOf("uri", j.base+"/v1beta/files/"+j.id+"-"+kit.Itoa(i)+":download?alt=media")))
		case j.spec.bucket != "":
			videos = append(videos, JSONOf("gcsUri", j.object(i), "mimeType", "video/mp4"))
		default:
			videos = append(videos, JSONOf("bytesBase64Encoded", j.spec.base64(i), "mimeType", "video/mp4"))
		}
	}
	out := []any{name, videos}
	if j.on == vertexVeoWire {
		out = append([]any{"raiMediaFilteredCount", 0}, out...)
	}
	return out
}

// object returns the address of a video in a bucket; its folder is the job's id.
func (j *mediaJob) object(i int) string {
	return strings.TrimSuffix(j.spec.bucket, "/") + "/" + j.id + "/sample_" + kit.Itoa(i) + ".mp4"
}

// veoOperation serves GET models/{model}/operations/{id}.
func (s *Wires) veoOperation(w http.ResponseWriter, r *http.Request) {
	s.poll(veoJobs, w, r, r.PathValue("id"))
}

// veoFetch serves :fetchPredictOperation, where the operation's name is in the body.
func (s *Wires) veoFetch(w http.ResponseWriter, r *http.Request, model string) {
	s.HandleJSON(googleWire, w, r, func(body []byte) *kit.Refusal {
		read, refused := readMedia(googleWire, 400, body)
		if refused != nil {
			return refused
		}
		if !kit.Members(&read.Checker, read, read.Root, "", map[string]mediaField{"operationName": mediaText}, "operationName") {
			return read.Fault
		}
		name := read.Root.Get("operationName").Text
		place, id, _ := strings.Cut(name, "/operations/")
		if !strings.HasSuffix(place, "/models/"+model) || !strings.HasPrefix(place, "projects/"+r.PathValue("project")+"/") {
			return &kit.Refusal{Status: 400, Message: "Invalid operation name: " + name}
		}
		s.poll(vertexVeoJobs, w, r, id)
		return nil
	})
}

// googleFile serves GET /v1beta/files/{id}-{n}:download, which needs the key.
func (s *Wires) googleFile(w http.ResponseWriter, r *http.Request) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	id, i := lastDash(name)
	j, found := s.jobs.look(googleWire, id, credential(r), s.Config.Now())
	switch {
	case !found || method != "download" || r.URL.Query().Get("alt") != "media" || i < 0 || i >= j.outputs():
		s.Refuse(googleWire, w, &kit.Refusal{Status: 404, Message: "Requested entity was not found."})
	case !s.Config.Now().Before(j.expires()):
		s.Refuse(googleWire, w, &kit.Refusal{Status: 403, Message: "You do not have permission to access the File " + name + " or it may not exist."})
	default:
		s.jobs.fetch(id)
		s.sendFile(w, r, &j, j.spec.file(i))
	}
}

// lastDash splits a name "id-n"; n is -1 when there is no number.
func lastDash(name string) (string, int) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return name, -1
	}
	n, ok := kit.ParseCount(name[at+1:])
	if !ok {
		return name, -1
	}
	return name[:at], n
}

// bucketObject serves GET /storage/v1/b/{bucket}/o/{object}: what a job wrote into a bucket.
func (s *Wires) bucketObject(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(r.PathValue("object"), "/")
	id := path[max(0, len(path)-2)]
	j, found := s.jobs.look(vertexVeoWire, id, credential(r), s.Config.Now())
	for i := range j.outputs() {
		if found && j.object(i) == "gs://"+r.PathValue("bucket")+"/"+r.PathValue("object") {
			if r.URL.Query().Get("alt") != "media" {
				kit.SendJSON(w, 200, JSONOf("kind", "storage#object", "bucket", r.PathValue("bucket"), "name", r.PathValue("object"), "contentType", "video/mp4"))
				return
			}
			s.jobs.fetch(id)
			s.sendFile(w, r, &j, j.spec.file(i))
			return
		}
	}
	s.Refuse(googleWire, w, &kit.Refusal{Status: 404, Message: "No such object: " + r.PathValue("bucket") + "/" + r.PathValue("object")})
}
