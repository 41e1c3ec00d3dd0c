package compare

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"locklab/reports/words"
)

// Page returns the address at which people find a file of the present job: the file itself among the artifacts of
// GitLab's job, or the page of GitHub's run, where the artifacts are archives. Env returns the variables that both set
// for their jobs. It is empty elsewhere.
func Page(env func(string) string, file string) string {
	job, run := env("CI_JOB_URL"), env("GITHUB_RUN_ID")
	switch {
	case env("GITLAB_CI") == "true" && job != "" && filepath.IsLocal(file):
		return job + "/artifacts/file/" + escaped(file)
	case env("GITHUB_ACTIONS") == "true" && run != "":
		return env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + run + "#artifacts"
	}
	return ""
}

// escaped is a path as a link has it.
func escaped(file string) string {
	return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: filepath.ToSlash(file)}).EscapedPath())
}

// seen says in Markdown where a file is, as a link.
func (r Report) seen(file string) string {
	if strings.HasSuffix(r.Page, "#artifacts") {
		return fmt.Sprintf("%s among [the artifacts of this run](%s)", words.Markdown(file), r.Page)
	}
	address := r.Page
	if address == "" {
		address = escaped(file)
	}
	return fmt.Sprintf("[%s](%s)", words.Markdown(file), address)
}
