package videos

import (
	"strconv"
	"time"

	"weir/internal/rawjson"
	"weir/internal/video"
)

// statuses are OpenAI's words for states. It has none for jobs that were cancelled or took too long: they have failed.
var statuses = map[video.State]string{
	video.Pending: "queued", video.InProgress: "in_progress", video.Completed: "completed", video.Failed: "failed", video.Cancelled: "failed", video.Expired: "failed",
}

// appendObject appends a job in OpenAI's shape (API reference, Videos), with the further members of AppendJob where they do not differ.
func appendObject(b []byte, j *video.Job, base string) []byte {
	status := statuses[j.State]
	made := j.Ended == video.Settled // and perhaps deleted since
	if made && j.State == video.Expired {
		status = statuses[video.Completed]
	}
	b = rawjson.AppendText(append(b, `{"id":`...), j.ID)
	b = rawjson.AppendText(append(b, `,"object":"video","status":`...), status)
	b = rawjson.AppendText(append(b, `,"model":`...), j.Model)
	progress := int64(j.Progress)
	if !j.Active() {
		progress = 0
	}
	if made {
		progress = 100
	}
	b = strconv.AppendInt(append(b, `,"progress":`...), progress, 10)
	b = rawjson.AppendText(append(b, `,"seconds":`...), strconv.FormatInt(j.Seconds, 10))
	b = appendOrNull(append(b, `,"size":`...), j.Size)
	b = append(b, `,"prompt":null,"remixed_from_video_id":null`...)
	b = appendOrNullMoment(b, "created_at", j.CreatedAt)
	completed, expires := j.CompletedAt, j.ExpiresAt
	if !made {
		completed, expires = time.Time{}, time.Time{}
	}
	b = appendOrNullMoment(b, "completed_at", completed)
	b = appendOrNullMoment(b, "expires_at", expires)
	b = append(b, `,"error":`...)
	if status == statuses[video.Failed] {
		b = appendFailure(b, j)
	} else {
		b = append(b, "null"...)
	}
	b = rawjson.AppendText(append(b, `,"polling_url":`...), Address(base, j.ID))
	if j.Generation != "" {
		b = rawjson.AppendText(append(b, `,"generation_id":`...), j.Generation)
	}
	return append(appendMade(b, j, base), '}')
}

func appendFailure(b []byte, j *video.Job) []byte {
	code, message := j.Reason, j.Error
	if code == "" || j.State == video.Cancelled {
		code = string(j.State)
	}
	if message == "" {
		message = "The job was " + string(j.State) + "."
	}
	b = rawjson.AppendText(append(b, `{"code":`...), code)
	return append(rawjson.AppendText(append(b, `,"message":`...), message), '}')
}

func appendOrNullMoment(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return append(append(append(b, `,"`...), name...), `":null`...)
	}
	return appendMoment(b, name, t)
}

// AppendDeleted appends the answer to the deletion of a job in OpenAI's shape.
func AppendDeleted(b []byte, j *video.Job) []byte {
	b = rawjson.AppendText(append(b, `{"id":`...), j.ID)
	return append(b, `,"object":"video.deleted","deleted":true}`...)
}
