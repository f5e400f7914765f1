// Package otlp reads what programs send of themselves with OTLP over HTTP, as protocol buffers and as JSON: counts of metrics and names of events. Of
// attributes it reads the few texts that the caller names: prompts, commands and files may be in the others, and are never copied.
package otlp

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Attributes are the wanted texts of one item, those of its resource first.
type Attributes []Attribute

// Attribute is one of them.
type Attribute struct{ Key, Value string }

// Of is the last value of a key, "" none.
func (a Attributes) Of(key string) string {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i].Key == key {
			return a[i].Value
		}
	}
	return ""
}

// Point is one count of a metric. It is valid during the call alone.
type Point struct {
	Metric     string
	Value      float64
	Cumulative bool // since the program began; else since the last report
	Attributes Attributes
}

// Event is one record of a log.
type Event struct{ Attributes Attributes }

// maxText is the longest wanted text in bytes: longer ones are no names.
const maxText = 256

var limits = rawjson.Limits{Depth: 30, Keys: 200_000, Values: 400_000}

// Reader reads messages. Wanted are the keys of attributes whose texts are read.
type Reader struct {
	Wanted []string
	JSON   bool // else protocol buffers
}

func malformed(op string) *fault.Error {
	return fault.New(fault.Invalid, op, "The body is no OTLP message: send what an OTLP exporter sends over HTTP, with Content-Type application/x-protobuf or application/json.")
}

// Metrics calls each for the points of sums in an ExportMetricsServiceRequest; other metrics are skipped. It fails with fault.Invalid, before the first call,
// for what is no such message.
func (r Reader) Metrics(body []byte, each func(*Point)) error {
	const op = "otlp.Metrics"
	var all []Point
	if r.JSON {
		if err := rawjson.Check(body, limits); err != nil {
			return err
		}
		if rawjson.KindOf(body) != rawjson.Object {
			return malformed(op)
		}
		for resource := range elements(rawjson.Find(body, "resourceMetrics")) {
			of := r.jsonAttributes(nil, rawjson.FindPath(resource, "resource", "attributes"))
			for scope := range elements(rawjson.Find(resource, "scopeMetrics")) {
				for metric := range elements(rawjson.Find(scope, "metrics")) {
					all = r.jsonPoints(all, of, metric)
				}
			}
		}
	} else {
		err := fields(body, func(n protowire.Number, resource []byte, _ uint64) error {
			if n != 1 {
				return nil
			}
			of, err := r.resource(resource)
			if err != nil {
				return err
			}
			return nested(resource, 2, func(scope []byte) error {
				return nested(scope, 2, func(metric []byte) error { return r.points(&all, of, metric) })
			})
		})
		if err != nil {
			return malformed(op)
		}
	}
	for i := range all {
		each(&all[i])
	}
	return nil
}

// Logs calls each for the records in an ExportLogsServiceRequest. It fails as Metrics does.
func (r Reader) Logs(body []byte, each func(*Event)) error {
	const op = "otlp.Logs"
	var all []Event
	if r.JSON {
		if err := rawjson.Check(body, limits); err != nil {
			return err
		}
		if rawjson.KindOf(body) != rawjson.Object {
			return malformed(op)
		}
		for resource := range elements(rawjson.Find(body, "resourceLogs")) {
			of := r.jsonAttributes(nil, rawjson.FindPath(resource, "resource", "attributes"))
			for scope := range elements(rawjson.Find(resource, "scopeLogs")) {
				for record := range elements(rawjson.Find(scope, "logRecords")) {
					all = append(all, Event{r.jsonAttributes(of, rawjson.Find(record, "attributes"))})
				}
			}
		}
	} else {
		err := fields(body, func(n protowire.Number, resource []byte, _ uint64) error {
			if n != 1 {
				return nil
			}
			of, err := r.resource(resource)
			if err != nil {
				return err
			}
			return nested(resource, 2, func(scope []byte) error {
				return nested(scope, 2, func(record []byte) error {
					a, err := r.attributes(of, record, 6)
					all = append(all, Event{a})
					return err
				})
			})
		})
		if err != nil {
			return malformed(op)
		}
	}
	for i := range all {
		each(&all[i])
	}
	return nil
}

// Traces checks an ExportTraceServiceRequest, of which nothing is read.
func (r Reader) Traces(body []byte) error {
	const op = "otlp.Traces"
	if r.JSON {
		if err := rawjson.Check(body, limits); err != nil {
			return err
		}
		if rawjson.KindOf(body) != rawjson.Object {
			return malformed(op)
		}
		return nil
	}
	if fields(body, func(protowire.Number, []byte, uint64) error { return nil }) != nil {
		return malformed(op)
	}
	return nil
}

func elements(v []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if rawjson.KindOf(v) != rawjson.Array {
			return
		}
		for e := rawjson.ElementsOf(v); e.Next(); {
			if rawjson.KindOf(e.Value) == rawjson.Object && !yield(e.Value) {
				return
			}
		}
	}
}

func (r Reader) jsonAttributes(of Attributes, list []byte) Attributes {
	out := slices.Clip(of)
	for pair := range elements(list) {
		key, value := rawjson.Find(pair, "key"), rawjson.FindPath(pair, "value", "stringValue")
		if rawjson.KindOf(key) == rawjson.String && rawjson.KindOf(value) == rawjson.String && len(value) <= 2*maxText {
			out = r.add(out, []byte(rawjson.Text(key)), func() []byte { return []byte(rawjson.Text(value)) })
		}
	}
	return out
}

// add adds an attribute that is wanted.
func (r Reader) add(out Attributes, key []byte, value func() []byte) Attributes {
	i := slices.Index(r.Wanted, string(key))
	if i < 0 {
		return out
	}
	text := value()
	if len(text) > maxText || !rawjson.ValidUTF8(text) {
		return out
	}
	return append(out, Attribute{r.Wanted[i], string(text)})
}

func (r Reader) jsonPoints(all []Point, of Attributes, metric []byte) []Point {
	name, sum := rawjson.Find(metric, "name"), rawjson.Find(metric, "sum")
	if rawjson.KindOf(name) != rawjson.String || len(name) > maxText || rawjson.KindOf(sum) != rawjson.Object {
		return all
	}
	kind := rawjson.Find(sum, "aggregationTemporality")
	cumulative := string(kind) == "2" || rawjson.KindOf(kind) == rawjson.String && rawjson.Text(kind) == "AGGREGATION_TEMPORALITY_CUMULATIVE"
	for point := range elements(rawjson.Find(sum, "dataPoints")) {
		v := rawjson.Find(point, "asInt")
		if v == nil {
			v = rawjson.Find(point, "asDouble")
		}
		var n float64
		switch rawjson.KindOf(v) {
		case rawjson.Number:
			n, _ = rawjson.Float(v)
		case rawjson.String: // 64-bit integers are texts in the JSON of protocol buffers
			n, _ = strconv.ParseFloat(rawjson.Text(v), 64)
		}
		all = append(all, Point{Metric: rawjson.Text(name), Value: n, Cumulative: cumulative, Attributes: r.jsonAttributes(of, rawjson.Find(point, "attributes"))})
	}
	return all
}

// fields calls each for the fields of a message: with their bytes, or with the number of a fixed or variable one.
func fields(b []byte, each func(n protowire.Number, v []byte, number uint64) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var v []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			v, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			number, size = protowire.ConsumeFixed64(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		if err := each(n, v, number); err != nil {
			return err
		}
	}
	return nil
}

// nested calls each for the messages in a field.
func nested(b []byte, field protowire.Number, each func([]byte) error) error {
	return fields(b, func(n protowire.Number, v []byte, _ uint64) error {
		if n != field {
			return nil
		}
		return each(v)
	})
}

// resource is the attributes of the resource of a ResourceMetrics or ResourceLogs.
func (r Reader) resource(b []byte) (of Attributes, err error) {
	err = nested(b, 1, func(resource []byte) error {
		of, err = r.attributes(nil, resource, 1)
		return err
	})
	return of, err
}

// attributes adds those in a field of a message to others.
func (r Reader) attributes(of Attributes, b []byte, field protowire.Number) (Attributes, error) {
	out := slices.Clip(of)
	err := nested(b, field, func(pair []byte) error {
		var key, value []byte
		err := fields(pair, func(n protowire.Number, v []byte, _ uint64) error {
			switch n {
			case 1:
				key = v
			case 2:
				value = v
			}
			return nil
		})
		if err != nil {
			return err
		}
		var text []byte
		if err := nested(value, 1, func(v []byte) error { text = v; return nil }); err != nil {
			return err
		}
		if text != nil {
			out = r.add(out, key, func() []byte { return text })
		}
		return nil
	})
	return out, err
}

// points adds the points of a metric that is a sum.
func (r Reader) points(all *[]Point, of Attributes, metric []byte) error {
	var name, sum []byte
	err := fields(metric, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 1:
			name = v
		case 7:
			sum = v
		}
		return nil
	})
	if err != nil || sum == nil || len(name) > maxText || !rawjson.ValidUTF8(name) {
		return err
	}
	first, cumulative := len(*all), false
	err = fields(sum, func(n protowire.Number, v []byte, number uint64) error {
		switch n {
		case 1:
			p := Point{Metric: string(name)}
			if err := fields(v, func(n protowire.Number, _ []byte, number uint64) error {
				switch n {
				case 4:
					p.Value = math.Float64frombits(number)
				case 6:
					p.Value = float64(int64(number))
				}
				return nil
			}); err != nil {
				return err
			}
			a, err := r.attributes(of, v, 7)
			p.Attributes = a
			*all = append(*all, p)
			return err
		case 2:
			cumulative = number == 2
		}
		return nil
	})
	for i := first; i < len(*all); i++ {
		(*all)[i].Cumulative = cumulative
	}
	return err
}
