package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"locklab/harness/untrusted"
	"locklab/reports/chart"
)

// A liveView is the page of a run that lasts.
type liveView struct {
	frameView
	Run   *run
	Frame frame
	Over  bool   // the run lasts no longer
	Lost  bool   // nobody will judge it
	Watch string // the address of its events; empty if there will be none
}

// Slots are the places of the pictures, which are empty until there is something to draw.
func (v liveView) Slots() []chart.Picture {
	if len(v.Frame.Pictures) > 0 {
		return v.Frame.Pictures
	}
	return []chart.Picture{{Name: "overview", Title: "the run so far"}, {Name: "latest", Title: "the last seconds"}}
}

// lookAt returns what the page of a run shows now, and how long that is so.
func (s *Server) lookAt(r run) (liveView, time.Duration) {
	v := liveView{frameView: s.frame(r.Title(), "", filter{}), Run: &r, Over: r.State != running}
	next := leastPause
	if r.State.Judged() {
		v.Frame.Numbers = tilesOf(&r.Result)
	} else {
		v.Frame, next = s.live.of(s.root.Name(), r.Name)
	}
	v.Lost = r.State == unreadable || r.State == unjudged && !v.Frame.Ended
	if !v.Over || r.State == unjudged && v.Frame.Ended {
		v.Watch = "/live/events?" + liveURL(r.Name)[len("/live?"):]
		v.Title = "Live: " + v.Title
	}
	return v, next
}

// named returns the run that a request names. If there is none, it answers.
func (s *Server) named(w http.ResponseWriter, r *http.Request) (run, bool) {
	name := r.URL.Query().Get("run")
	one, known, err := s.index.one(s.root, name)
	switch {
	case err != nil:
		s.problem(w, http.StatusInternalServerError, "The directory cannot be read", err.Error())
	case !known:
		s.problem(w, http.StatusNotFound, "There is no such run", untrusted.Line(name)+" is not a run below "+s.dir+".")
	}
	return one, known && err == nil
}

// watch answers with the page of a run that lasts.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	if one, ok := s.named(w, r); ok {
		v, _ := s.lookAt(one)
		show(w, http.StatusOK, "live", v)
	}
}

// An update is what an event changes on the page of a run: the content of its elements, by their ids, and its title.
type update map[string]string

// titleEnd ends the title of every page.
const titleEnd = " – locklab"

// events sends the frames of a run as server-sent events until the run has been judged, or will never be.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	one, ok := s.named(w, r)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	send := http.NewResponseController(w)
	var last []byte
	for {
		v, next := s.lookAt(one)
		event, err := eventOf(v)
		if err == nil && !bytes.Equal(event, last) {
			last = event
			if _, err = w.Write(event); err == nil {
				err = send.Flush()
			}
		}
		if err != nil || v.Watch == "" {
			s.live.forget(one.Name)
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(next):
		}
		if one, ok, err = s.index.one(s.root, one.Name); !ok || err != nil {
			return
		}
	}
}

// eventOf writes what the page of a run shows as an event: one of type end if there will be no other.
func eventOf(v liveView) ([]byte, error) {
	u := update{"title": v.Title + titleEnd}
	for _, id := range []string{"phase", "outcome", "numbers", "how"} {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, "live-"+id, v); err != nil {
			return nil, err
		}
		u[id] = b.String()
	}
	for _, p := range v.Frame.Pictures {
		u["live-"+p.Name], u["caption-"+p.Name] = string(p.Element), untrusted.Line(p.Caption)
	}
	data, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	kind := "frame"
	if v.Watch == "" {
		kind = "end"
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data), nil
}
