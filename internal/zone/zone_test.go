package zone_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/zone"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func history(t testing.TB, pairs ...string) (h zone.History) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		c, err := zone.NewChange(pairs[i], at(pairs[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		h = append(h, c)
	}
	return h
}

func TestDay(t *testing.T) {
	for name, c := range map[string]struct {
		h       zone.History
		at, day string
	}{
		"UTC without changes":               {nil, "2026-11-29 23:59", "2026-11-29"},
		"Moscow, the last hour":             {history(t, "Europe/Moscow", "2026-01-01 00:00"), "2026-11-29 20:59", "2026-11-29"},
		"Moscow, the first hour":            {history(t, "Europe/Moscow", "2026-01-01 00:00"), "2026-11-29 21:00", "2026-11-30"},
		"before the change":                 {history(t, "Europe/Moscow", "2026-11-29 21:00"), "2026-11-28 22:00", "2026-11-28"},
		"Calcutta, an hour with midnight":   {history(t, "Asia/Kolkata", "2026-01-01 00:00"), "2026-11-29 18:45", "2026-11-29"},
		"Calcutta, the hour after midnight": {history(t, "Asia/Kolkata", "2026-01-01 00:00"), "2026-11-29 19:00", "2026-11-30"},
		"Berlin in summer":                  {history(t, "Europe/Berlin", "2026-01-01 00:00"), "2026-07-01 22:00", "2026-07-02"},
		"Berlin in winter":                  {history(t, "Europe/Berlin", "2026-01-01 00:00"), "2026-12-01 22:00", "2026-12-01"},
		"the second of two changes":         {history(t, "Europe/Moscow", "2026-01-01 21:00", "Asia/Tokyo", "2026-02-01 15:00"), "2026-02-01 15:00", "2026-02-02"},
	} {
		if got := c.h.Day(at(c.at)).Format(time.DateOnly); got != c.day {
			t.Errorf("%s: %s, want %s", name, got, c.day)
		}
	}
}

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		h            zone.History
		zone, at     string
		since, wrong string
	}{
		"from UTC":                         {nil, "Europe/Moscow", "2026-11-29 12:00", "2026-11-29 21:00", ""},
		"too late for the next midnight":   {nil, "Europe/Moscow", "2026-11-29 20:01", "2026-11-30 21:00", ""},
		"exactly an hour before":           {nil, "Europe/Moscow", "2026-11-29 20:00", "2026-11-29 21:00", ""},
		"half an hour beside UTC":          {nil, "Asia/Kolkata", "2026-11-29 12:00", "2026-11-29 19:00", ""},
		"back to UTC":                      {history(t, "Europe/Moscow", "2026-01-01 21:00"), "UTC", "2026-11-29 12:00", "2026-11-30 00:00", ""},
		"what is pending is replaced":      {history(t, "Asia/Tokyo", "2026-11-29 15:00"), "Europe/Moscow", "2026-11-29 12:00", "2026-11-29 21:00", ""},
		"a choice is taken back":           {history(t, "Asia/Tokyo", "2026-11-29 15:00"), "UTC", "2026-11-29 12:00", "", ""},
		"what holds in less than an hour":  {history(t, "Asia/Tokyo", "2026-11-29 15:00"), "UTC", "2026-11-29 14:01", "2026-11-30 00:00", ""},
		"over the date line":               {history(t, "Pacific/Kiritimati", "2026-01-01 00:00"), "Pacific/Pago_Pago", "2026-11-29 12:00", "", "timezone_behind"},
		"no zone":                          {nil, "Moscow", "2026-11-29 12:00", "", "timezone_unknown"},
		"nothing":                          {nil, "", "2026-11-29 12:00", "", "timezone_unknown"},
		"the machine's":                    {nil, "Local", "2026-11-29 12:00", "", "timezone_unknown"},
		"a path":                           {nil, "../../etc/passwd", "2026-11-29 12:00", "", "timezone_unknown"},
		"the day after the clocks go back": {nil, "Europe/Berlin", "2026-10-25 12:00", "2026-10-25 23:00", ""},
	} {
		got, added, err := c.h.Choose(c.zone, at(c.at))
		var f *fault.Error
		switch {
		case c.wrong != "":
			if !errors.As(err, &f) || f.Code != c.wrong || f.Param != "timezone" {
				t.Errorf("%s: %v", name, err)
			}
		case c.since == "":
			if err != nil || added {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		case err != nil || !added || !got[len(got)-1].Since.Equal(at(c.since)):
			t.Errorf("%s: %v (%v), want %s", name, got, err, c.since)
		}
	}
}

// However often an account moves, its days follow one another, and each hour belongs to the day that Start says.
func TestDaysFollowOneAnother(t *testing.T) {
	names := []string{"UTC", "Europe/Moscow", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Vladivostok", "America/St_Johns", "Asia/Beirut", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		begin := at("2026-03-20 00:00").Add(time.Duration(rapid.IntRange(0, 24*300).Draw(t, "begin")) * time.Hour)
		var h zone.History
		now := begin
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90*60).Draw(t, "minutes")) * time.Minute)
			next, added, err := h.Choose(rapid.SampledFrom(names).Draw(t, "zone"), now)
			if err != nil {
				continue
			}
			for hour := begin; hour.Before(now.Add(zone.Ahead)); hour = hour.Add(time.Hour) {
				if !next.Day(hour).Equal(h.Day(hour)) {
					t.Fatalf("at %s a choice changes the day of %s, of which no node has heard", now, hour)
				}
			}
			if h = next; added && h[len(h)-1].Since.After(now.Add(27*time.Hour)) {
				t.Fatalf("at %s, it begins at %s", now, h[len(h)-1].Since)
			}
		}
		last := h.Day(begin.Add(-time.Hour))
		for hour := begin; hour.Before(begin.AddDate(0, 0, 30)); hour = hour.Add(time.Hour) {
			day := h.Day(hour)
			if day.Before(last) || day.After(last.AddDate(0, 0, 2)) {
				t.Fatalf("%s is of %s, the hour before of %s", hour, day, last)
			}
			last = day
			start, next := h.Start(day), h.Start(day.AddDate(0, 0, 1))
			if start.After(hour) || !next.After(hour) || h.Day(start.Add(-time.Hour)).Equal(day) {
				t.Fatalf("%s is of %s, which is from %s to %s", hour, day, start, next)
			}
		}
	})
}
