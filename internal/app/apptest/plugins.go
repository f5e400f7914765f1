package apptest

import (
	"encoding/base64"
	"fmt"
)

// PdfFile is a document of one page as a data URL. more is added to its trailer.
func PdfFile(text, more string) string {
	content := "BT /F 12 Tf 72 700 Td (" + text + ") Tj ET"
	return "data:application/pdf;base64," + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"+
		"3 0 obj\n<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n"+
		"4 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\ntrailer\n<</Root 1 0 R%s>>\n", len(content), content, more))
}
