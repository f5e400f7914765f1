package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"testing"

	"github.com/openai/openai-go/v3"
)

// The official SDK sends forms, and waits until a job is completed.
//
//nolint:staticcheck // Sora is retired; the SDK's videos work over other models
func TestVideoOfTheSDK(t *testing.T) {
	t.Parallel()
	client := ownDemo(t).client(t)
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 1280, 720))); err != nil {
		t.Fatal(err)
	}
	job, err := client.Videos.New(t.Context(), openai.VideoNewParams{Model: "sim/video", Prompt: "The water rises", Seconds: "4", Size: "1280x720",
		InputReference: openai.VideoNewParamsInputReferenceUnion{OfFile: openai.File(&file, "weir.png", "image/png")}})
	if err != nil {
		t.Fatal(err)
	}
	if job.Status != openai.VideoStatusQueued || job.Seconds != "4" || job.Size != "1280x720" {
		t.Errorf("a new job: %s", job.RawJSON())
	}
	done, err := client.Videos.PollStatus(t.Context(), job.ID, 200)
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != openai.VideoStatusCompleted || done.Progress != 100 || done.CompletedAt == 0 || done.ExpiresAt <= done.CompletedAt {
		t.Errorf("the job: %s", done.RawJSON())
	}
	content, err := client.Videos.DownloadContent(t.Context(), job.ID, openai.VideoDownloadContentParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	if body, err := io.ReadAll(content.Body); err != nil || len(body) == 0 || content.Header.Get("Content-Type") != "video/mp4" {
		t.Errorf("%d bytes of %s, %v", len(body), content.Header.Get("Content-Type"), err)
	}
	gone, err := client.Videos.Delete(t.Context(), job.ID)
	if err != nil || !gone.Deleted || gone.ID != job.ID {
		t.Errorf("deleted: %+v, %v", gone, err)
	}
}
