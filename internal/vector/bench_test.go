package vector_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"weir/internal/vector"
)

// BenchmarkVector checks and converts 1536 numbers.
func BenchmarkVector(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var list []float32
	text := []byte("[")
	for range 1536 {
		x := (rnd.Float64() - 0.5) / 10
		list = append(list, float32(x))
		text = append(strconv.AppendFloat(text, x, 'g', 8, 64), ',')
	}
	text[len(text)-1] = ']'
	packed := []byte(pack(list...))
	out := make([]byte, 0, 1<<16)
	for name, run := range map[string]func() error{
		"Numbers": func() error { _, err := vector.Numbers(text); return err },
		"Base64":  func() error { _, err := vector.Base64(packed); return err },
		"NumbersOfBase64": func() error {
			v, err := vector.Base64(packed)
			v.AppendNumbers(out)
			return err
		},
		"Base64OfNumbers": func() error {
			v, err := vector.Numbers(text)
			v.AppendBase64(out)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
