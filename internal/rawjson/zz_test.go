package rawjson
import ("testing";"unicode/utf8";"bytes";"strings";"github.com/go-json-experiment/json/jsontext")
func TestZZ(t *testing.T){
 s:="䕈\x00\xa2"+strings.Repeat("x",1000)+"\xea\x91\xbdɖ\xe8\x03\xe3\x00\xac"
 got:=AppendString(nil,[]byte(s))
 t.Logf("tail %q", got[len(got)-60:])
 t.Log(utf8.Valid(got), jsontext.Value(got).IsValid(), Check(got,Defaults))
 o:=&outline{}; t.Log(o.measure(got,Defaults)); t.Logf("%q", o.of(got))
 t.Log(bytes.Count(got,[]byte("\"")))
}
