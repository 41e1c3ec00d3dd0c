package reports

import "io"

func writePage(w io.Writer, in Input, drawn []picture) error { return nil }
