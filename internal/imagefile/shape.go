package imagefile

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/task"
)

// Ratio reads an aspect ratio such as "16:9" or "19.5:9" as width over height; 0 for other texts.
func Ratio(text string) float64 {
	w, h, ok := strings.Cut(text, ":")
	x, errX := strconv.ParseFloat(w, 64)
	y, errY := strconv.ParseFloat(h, 64)
	if !ok || errX != nil || errY != nil || !(x > 0 && y > 0 && x < 1e6 && y < 1e6) {
		return 0
	}
	return x / y
}

// RatioOf is the aspect ratio that a task asks for, by its name or by its size, 0 when it asks for none.
func RatioOf(t *task.Image) float64 {
	if w, h, ok := task.Dimensions(t.Size); ok {
		return float64(w) / float64(h)
	}
	return Ratio(t.AspectRatio)
}

// Tier is the size by its name that a task asks for: "512", "1K", "2K" or "4K"; of a size in pixels the nearest one, "" when it asks for none.
func Tier(t *task.Image) string {
	if w, h, ok := task.Dimensions(t.Size); ok {
		return TierOf(math.Sqrt(float64(w) * float64(h)))
	}
	if Side(t.Size) > 0 {
		return strings.ToUpper(t.Size)
	}
	return strings.ToUpper(t.Resolution)
}

// tiers are the sizes that have a name, by the side of a square.
var tiers = [...]struct {
	name string
	side float64
}{{"512", 512}, {"1K", 1024}, {"2K", 2048}, {"4K", 4096}}

// Side is the side of a square of a tier in pixels, 0 for any other name.
func Side(tier string) int {
	for _, t := range tiers {
		if strings.EqualFold(t.name, tier) {
			return int(t.side)
		}
	}
	return 0
}

// TierOf is the tier nearest to a side in pixels.
func TierOf(side float64) string {
	best, least := "", math.Inf(1)
	for _, t := range tiers {
		if off := math.Abs(math.Log(side / t.side)); off < least {
			best, least = t.name, off
		}
	}
	return best
}

// Nearest is the one of some ratios ("16:9") or sizes ("1536x1024") that comes nearest to a ratio, the first of equals.
func Nearest(ratio float64, among []string) string {
	best, least := "", math.Inf(1)
	for _, name := range among {
		if off := math.Abs(math.Log(ratio / Ratio(strings.ReplaceAll(name, "x", ":")))); off < least {
			best, least = name, off
		}
	}
	return best
}

// Fit is the width and height of an image of about so many pixels as a square of that side has, with a ratio: multiples of step, each within
// [low, high].
func Fit(ratio float64, side, step, low, high int) (width, height int) {
	round := func(x float64) int {
		n := int(math.Round(x/float64(step))) * step
		return min(max(n, low), high)
	}
	root := math.Sqrt(ratio)
	return round(float64(side) * root), round(float64(side) / root)
}
