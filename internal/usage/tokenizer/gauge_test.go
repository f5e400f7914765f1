package tokenizer

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/usage/o200k"
)

var samples = map[string]string{
	"prose":   "A weir lets the river through, steers it and measures it. Every evening the keeper writes the level into a thick book.\n",
	"code":    "\tfor i := range list {\n\t\tif err := list[i].write(w, \"name\", 12); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t}\n",
	"Russian": "Плотина пропускает реку, направляет её и измеряет. Каждый вечер сторож записывает уровень воды в толстую тетрадь.\n",
	"German":  "Die Donaudampfschifffahrtsgesellschaft überprüfte gestern die Wasserstände am Stauwehr und veröffentlichte einen Bericht. ",
	"Chinese": "河坝让河水通过，引导并测量它。每天晚上守坝人都会把水位记录在厚厚的笔记本里。",
	"Arabic":  "السد يسمح للنهر بالمرور ويوجهه ويقيسه. كل مساء يكتب الحارس مستوى الماء في دفتر سميك. ",
	"Hindi":   "बाँध नदी को बहने देता है, उसे दिशा देता है और मापता है। हर शाम चौकीदार पानी का स्तर लिखता है। ",
	"JSON":    `{"id":"msg_0193","type":"message","role":"assistant","tokens":12,"ok":true},`,
	"table":   "| a | 12.50 | ok |\n",
	"digits":  "8301746529 ",
	"signs":   "!?#$%^&*()_+{}|:<>~`-=[];',./ ",
	"base64":  "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IGVuY29kaW5n",
	"noise":   "xqzjk vbnwp tygfd hqlmc ",
	"emoji":   "😀🎉🚀❤️ ",
}

// The gauge is within a half of what the vocabulary counts for anything that people write, and never below it at most.
func TestGaugeFitsTheVocabulary(t *testing.T) {
	t.Parallel()
	for name, unit := range samples {
		text := []byte(strings.Repeat(unit, 20))
		exact := o200k.Count(text)
		var g Gauge
		g.Add(text)
		if likely := g.Likely(); name != "base64" && name != "noise" && (likely < exact*2/3 || likely > exact*3/2) {
			t.Errorf("%s: likely %d tokens, counted %d", name, likely, exact)
		}
		if g.Most() < exact {
			t.Errorf("%s: at most %d tokens, counted %d", name, g.Most(), exact)
		}
	}
}

// However a text is cut, the gauge returns the same.
func TestGaugeInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text")
		var whole, pieces Gauge
		whole.Add(text)
		for piece := range slices.Chunk(text, rapid.IntRange(1, 50).Draw(t, "cut")) {
			pieces.Add(piece)
		}
		if whole != pieces {
			t.Fatalf("%+v, in pieces %+v", whole, pieces)
		}
		if whole.Most() < whole.Likely() {
			t.Fatalf("likely %d, at most %d", whole.Likely(), whole.Most())
		}
	})
}

// When everything counts at once, all but a few have an estimate at once, and no call waits for more than a few.
func TestCountingIsBounded(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(samples["prose"], 100))
	q := newQueue()
	if !q.enter() {
		t.Fatal("the first has to wait")
	}
	for len(q.slots) < cap(q.slots) {
		q.enter()
	}
	q.waiting.Add(mostWaiting)
	busy := Tokenizer{q}.CountBytes(text) // returns, though no count ends
	q.waiting.Add(-mostWaiting)
	q.leave()
	idle := Tokenizer{q}.CountBytes(text)
	if exact := o200k.Count(text); idle != exact || busy == exact || busy < exact/2 || busy > exact*2 {
		t.Errorf("%d tokens, estimated %d, counted %d", exact, busy, idle)
	}
}

func BenchmarkGauge(b *testing.B) {
	text := bytes.Repeat([]byte(samples["prose"]), 1000)[:64<<10]
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var g Gauge
		g.Add(text)
	}
}
