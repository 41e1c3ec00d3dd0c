package lock

import (
	"slices"
	"testing"

	"locklab/recipes/broken"
	"locklab/workloads"
)

// The table has each recipe once, with a complete entry.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Name] || len(r.Workloads) == 0 || (r.About == "") != r.Control {
			t.Errorf("%s: occurs twice, serves no workload, or has an empty field: %+v", r.Name, r)
		}
		seen[r.Name] = true
		if r.Opener() == nil || r.Foreign != (r.Open == nil) {
			t.Errorf("%s: no way to open it", r.Name)
		}
		if found, ok := Find(r.Name); !ok || found.About != r.About {
			t.Errorf("%s: found %+v", r.Name, found)
		}
		if r.Clock && !r.Tokens || r.Slots && !r.Serves(workloads.Semaphore) || r.Checked() && r.Foreign {
			t.Errorf("%s promises %+v", r.Name, r.Promises)
		}
	}
	for _, w := range workloads.All {
		if r, ok := Find(Default(w)); !ok || r.Foreign || r.Control || !r.Serves(w) || !r.Exclusive {
			t.Errorf("workload %s begins with %+v", w, r)
		}
		if offered := Offered(w); len(offered) == 0 || slices.ContainsFunc(offered, IsControl) {
			t.Errorf("offered for %s: %v", w, offered)
		}
	}
	if r, ok := Find("exec:lock --fast,safe"); !ok || !r.Foreign || !r.MayToken ||
		len(FindAll("exec:lock --fast,safe")) != 1 {
		t.Errorf("a command is %+v", r)
	}
	if got := Closest("broken-name-ordre"); !slices.Contains(got, "broken-name-order") || slices.Contains(got, "mutex") {
		t.Errorf("close to a control: %v", got)
	}
	if got := Companions(mutex, workloads.Mutex); !slices.Equal(got, []string{"leader", "zk-lock", "curator-mutex"}) {
		t.Errorf("companions of mutex: %v", got)
	}
}

// A lock of Curator's can be asked for in one version. What was mended in it is promised.
func TestVersions(t *testing.T) {
	for name, leaks := range map[string]bool{"curator-rw": true, "curator-rw@5.4.0": true, "curator-rw@5.7.1": false} {
		r, ok := Find(name)
		if !ok || r.Name != name || r.Unversioned() != "curator-rw" || r.LeakyDowngrade != leaks || !r.Foreign ||
			!slices.Equal(r.Versions(), []string{"curator-rw@5.7.1", "curator-rw@5.4.0"}) {
			t.Errorf("%s: %+v, %t, versions %v", name, r, ok, r.Versions())
		}
	}
	for _, name := range []string{"curator-rw@5.9.0", "curator-rw@", "mutex@5.7.1", "@5.7.1", "curator-rw@5.7.1@5.7.1"} {
		if r, ok := Find(name); ok {
			t.Errorf("%s is %+v", name, r)
		}
	}
	if got := Closest("curator-rw@5.9.0"); !slices.Equal(got, []string{"curator-rw@5.7.1", "curator-rw@5.4.0"}) {
		t.Errorf("close to a version that cannot be had: %v", got)
	}
}

// There is a control for each lock of package broken. It has the properties of the sound recipe: it serves the same
// workload, and has the same layout and the same view.
func TestControlsAreTheBrokenLocks(t *testing.T) {
	controls := slices.DeleteFunc(All(), func(r Recipe) bool { return !r.Control })
	if len(controls) != len(broken.Locks) {
		t.Errorf("%d controls of %d locks", len(controls), len(broken.Locks))
	}
	for _, l := range broken.Locks {
		control, _ := Find(ControlPrefix + l.Name)
		sound, _ := Find(l.Sound)
		if !control.Control || control.Bug != l.Bug || len(sound.Workloads) == 0 || !control.Serves(sound.Workloads[0]) {
			t.Errorf("%s is %+v, and %s %+v", l.Name, control, l.Sound, sound)
		}
		if control.Seen != sound.Seen || control.Layout != sound.Layout || control.Clock || control.Checked() ||
			control.Several {
			t.Errorf("%s is %+v, and %s %+v", l.Name, control, l.Sound, sound)
		}
		if l.Decorate != nil {
			if control.OwnConnection || !slices.Equal(control.Workloads, []string{workloads.Mutex}) {
				t.Errorf("%s is %+v", l.Name, control)
			}
			continue
		}
		ways := l.New(broken.Config{Path: "/x", Permits: 1, Units: 1})
		for workload, has := range map[string]bool{workloads.Mutex: ways.Write != nil, workloads.ReadWrite: ways.Read != nil,
			workloads.Semaphore: ways.Permits != nil} {
			if control.Serves(workload) != has {
				t.Errorf("%s: it serves %s: %t, want %t", l.Name, workload, control.Serves(workload), has)
			}
		}
		if control.Downgrade != (ways.Downgrade != nil) || !control.OwnConnection {
			t.Errorf("%s is %+v", l.Name, control)
		}
	}
}

// Data that is stored beside a lock is not in its queue.
func TestBeside(t *testing.T) {
	if got := beside("/run1/lock0", "datum"); got != "/run1/lock0-datum" {
		t.Error(got)
	}
}
