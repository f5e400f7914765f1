package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/task"
)

// What moderation models were reported to answer: the categories that are true or have a score, by name, with what they were judged by.
func TestVerdictsAsReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verdict string
		flagged bool
		want    map[string]task.Judged
	}{
		"null for what the model does not judge, openai/openai-python#1786": {
			`{"flagged":true,"categories":{"hate":true,"illicit":null,"illicit/violent":null},"category_scores":{"hate":0.9,"illicit":null}}`, true,
			map[string]task.Judged{"hate": {Name: "hate", Is: true, Score: 0.9, Text: true}},
		},
		"no input types with text-moderation, openai-php/client#572": {
			`{"flagged":false,"categories":{"violence":false},"category_scores":{"violence":0.2}}`, false,
			map[string]task.Judged{"violence": {Name: "violence", Score: 0.2, Text: true}},
		},
		"an image, openai/openai-node#1497": {
			`{"flagged":false,"categories":{"violence":false,"hate":false},"category_scores":{"violence":0.1,"hate":0},"category_applied_input_types":{"violence":["image"],"hate":[]}}`, false,
			map[string]task.Judged{"violence": {Name: "violence", Score: 0.1, Image: true}},
		},
		"Mistral's categories and no word for all, Portkey-AI/gateway#756": {
			`{"categories":{"selfharm":true,"dangerous_and_criminal_content":false,"pii":true},"category_scores":{"selfharm":0.8,"dangerous_and_criminal_content":0.1,"pii":0.9}}`, true,
			map[string]task.Judged{"self-harm": {Name: "self-harm", Is: true, Score: 0.8, Text: true}, "illicit": {Name: "illicit", Score: 0.1, Text: true}, "pii": {Name: "pii", Is: true, Score: 0.9, Text: true}},
		},
		"subjects are no harm, betagouv/ComparIA#628": {
			`{"categories":{"health":true,"law":false,"jailbreaking":true},"category_scores":{"health":0.7,"law":0.01,"jailbreaking":0.6}}`, false,
			map[string]task.Judged{"health": {Name: "health", Is: true, Score: 0.7, Text: true}, "law": {Name: "law", Score: 0.01, Text: true}, "jailbreaking": {Name: "jailbreaking", Is: true, Score: 0.6, Text: true}},
		},
		"categories of a server's own, with its own word for all, ogx-ai/ogx#3098": {
			`{"flagged":true,"categories":{"Violent Crimes":true},"category_scores":{"Violent Crimes":1},"category_applied_input_types":{"Violent Crimes":["text"]}}`, true,
			map[string]task.Judged{"Violent Crimes": {Name: "Violent Crimes", Is: true, Score: 1, Text: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := &task.Moderation{Inputs: []task.ModerationInput{{Parts: []task.Part{{Text: "a"}}}}}
			got, err := readVerdicts(&catalog.Endpoint{Provider: &catalog.Provider{}}, []byte(`{"results":[`+tt.verdict+`]}`), ask)
			if err != nil || got[0].Flagged != tt.flagged {
				t.Fatalf("%+v, %v", got, err)
			}
			said := map[string]task.Judged{}
			for c := range got[0].All() {
				if (c != task.Judged{Name: c.Name}) {
					said[c.Name] = c
				}
			}
			if diff := cmp.Diff(tt.want, said); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer cannot grow without bound.
func TestOwnCategoriesAreBounded(t *testing.T) {
	t.Parallel()
	var v task.Verdict
	for i := range 2 * task.MaxOwn {
		own(&v, []byte{'c', byte('0' + i/10), byte('0' + i%10)})
	}
	if own(&v, []byte("c00")) == nil || len(v.Own) != task.MaxOwn {
		t.Errorf("%d categories", len(v.Own))
	}
}

// OpenAI judges one image a request and refuses more (antiwork/gumroad#4709): the client reads its words.
func TestTooManyImagesToJudge(t *testing.T) {
	t.Parallel()
	f := dialect.ReadRefusal([]byte(`{"error":{"message":"Number of images (2) exceeds maximum of 1","type":"invalid_request_error","param":"input","code":"too_many_images"}}`))
	f.Status = 400
	if got := f.Fault(&catalog.Endpoint{Provider: &catalog.Provider{}}); got.Kind != fault.Invalid || got.Public != "Number of images (2) exceeds maximum of 1" {
		t.Errorf("%+v", got)
	}
}
