package scenario

import (
	"strings"
	"testing"
)

// A load on an ensemble elsewhere is compared with max-rate by what it can come to at most.
func TestCheckRate(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"clients: 8", "8 clients ask again at once"},
		{"clients: 8\nthink: 80ms", ""},
		{"clients: 8\nthink: 79ms", "the load may reach 102 acquisitions per second, and max-rate"},
		{"clients: 8\nthink: 79ms\nmax-rate: 200", ""},
		{"clients: 8\nhold: 10ms", ""},
		{"clients: 8\nhold: 9ms", "the load may reach 112 acquisitions per second"},
		{"clients: 8\nhold: 10ms\ntry: true", "the load may reach 800 acquisitions per second"},
		{"clients: 8\nhold: 10ms\nrecipe: none", "the load may reach 800 acquisitions per second"},
		{"clients: 8\nhold: 10ms\nlocks: 4", "the load may reach 400 acquisitions per second"},
		{"clients: 8\niterations: 12", ""},
		{"clients: 8\niterations: 13", "the load may reach 104 acquisitions per second"},
		{"workload: multi-lock\nlocks: 9\nthink: 80ms\nlocks-per-acquire: 2", "such as --think 160ms"},
		{"arrivals: poisson\nrate: 40..100", ""},
		{"arrivals: poisson\nrate: 40..101", "f.yaml:4:1: the load may reach 101 acquisitions per second, and max-rate " +
			"on the ensemble of connect is 100 (a lower rate, or --yes to run it all the same)"},
	} {
		s, err := Load("f.yaml", []byte("connect: a:1\nservers: 1\n"+c.file+"\n"))
		if err == nil {
			err = s.Validate()
		}
		if err != nil {
			t.Fatalf("%q: %v", c.file, err)
		}
		got := ""
		if err := s.CheckRate(); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %s, want %q", c.file, got, c.want)
		}
		if s.Connect = ""; s.CheckRate() != nil {
			t.Errorf("%q: refused without connect", c.file)
		}
	}
}
