package words

import "strings"

// Markdown makes plain text of one line, by escaping what has a meaning in Markdown, or in a table of it.
func Markdown(s string) string { return markdown.Replace(s) }

var markdown = strings.NewReplacer("\n", " ", `\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`,
	"_", `\_`, "`", "'", "[", `\[`, "~", `\~`,
	"://", `:\//`) // GitHub makes links of addresses
