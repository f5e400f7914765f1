package videos

import (
	"strconv"
	"time"

	"weir/internal/rawjson"
	"weir/internal/video"
)

// AppendJob appends a job as clients see it: unknown members are left out. base is the public address of the gateway, without a slash at
// its end. A job that came as a form has the shape that OpenAI's clients expect.
func AppendJob(b []byte, j *video.Job, base string) []byte {
	if j.Form {
		return appendObject(b, j, base)
	}
	b = rawjson.AppendText(append(b, `{"id":`...), j.ID)
	b = rawjson.AppendText(append(b, `,"polling_url":`...), Address(base, j.ID))
	b = rawjson.AppendText(append(b, `,"status":`...), string(j.State))
	b = rawjson.AppendText(append(b, `,"model":`...), j.Model)
	if j.Generation != "" {
		b = rawjson.AppendText(append(b, `,"generation_id":`...), j.Generation)
	}
	b = appendMoment(b, "created_at", j.CreatedAt)
	if !j.Active() {
		b = appendMoment(b, "completed_at", j.CompletedAt)
		b = appendMoment(b, "expires_at", j.ExpiresAt)
	}
	if j.Progress > 0 && j.Active() {
		b = strconv.AppendInt(append(b, `,"progress":`...), int64(j.Progress), 10)
	}
	b = appendOutcome(b, j, base)
	return append(b, '}')
}

// appendOutcome appends the outcome of a job: the addresses of its videos, its cost, its error.
func appendOutcome(b []byte, j *video.Job, base string) []byte {
	b = appendMade(b, j, base)
	if j.Error != "" {
		b = rawjson.AppendText(append(b, `,"error":`...), j.Error)
	}
	return b
}

// appendMade appends the addresses of the videos, and the cost.
func appendMade(b []byte, j *video.Job, base string) []byte {
	if j.State == video.Completed && len(j.Outputs) > 0 {
		b = append(b, `,"unsigned_urls":[`...)
		for i := range j.Outputs {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, Address(base, j.ID)+"/content?index="+strconv.Itoa(i))
		}
		b = append(b, ']')
	}
	if j.Ended == video.Settled {
		b = j.Cost.Append(append(b, `,"usage":{"cost":`...))
		o := j.Serving()
		b = append(strconv.AppendBool(append(b, `,"is_byok":`...), o != nil && o.OwnKey != ""), '}')
	}
	return b
}

// Address is the public address of a job.
func Address(base, id string) string { return base + "/v1/videos/" + id }

// appendMoment appends a time in Unix seconds, or nothing for none.
func appendMoment(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, t.Unix(), 10)
}

// AppendPage appends a page of jobs.
func AppendPage(b []byte, jobs []video.Job, more bool, base string) []byte {
	b = append(b, `{"object":"list","data":[`...)
	for i := range jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendJob(b, &jobs[i], base)
	}
	b = append(b, ']')
	if n := len(jobs); n > 0 {
		b = rawjson.AppendText(append(b, `,"first_id":`...), jobs[0].ID)
		b = rawjson.AppendText(append(b, `,"last_id":`...), jobs[n-1].ID)
	}
	b = append(b, `,"has_more":`...)
	return append(strconv.AppendBool(b, more), '}')
}

// AppendEnd appends the data of the event of a job's end.
func AppendEnd(b []byte, j *video.Job, base string) []byte {
	b = rawjson.AppendText(append(b, `{"id":`...), j.ID)
	b = rawjson.AppendText(append(b, `,"status":`...), string(j.State))
	b = appendOrNull(append(b, `,"generation_id":`...), j.Generation)
	b = appendOrNull(append(b, `,"model":`...), j.Model)
	return append(appendOutcome(b, j, base), '}')
}

// EventType is the name of the event of a job's end.
func EventType(j *video.Job) string { return "video.generation." + string(j.State) }

func appendOrNull(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, text)
}
