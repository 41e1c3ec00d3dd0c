package runpage

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/chart"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
	"locklab/reports/timeline"
)

// A client's place and colour follow from the names of the scenario's clients, or of the history's if they are others.
func TestPalette(t *testing.T) {
	of := func(clients ...string) (in result.Input) {
		in.Run = &rundir.Run{Scenario: &scenario.Scenario{Clients: 4, ClientProcesses: 2}}
		for _, c := range clients {
			in.Acquisitions = append(in.Acquisitions, history.Acquisition{Claimant: &history.Claimant{Client: c}})
		}
		return in
	}
	for name, c := range map[string]struct {
		in   result.Input
		want []string
	}{
		"planned":  {of("c2/1", "c1/0"), []string{"c1/0", "c1/1", "c2/0", "c2/1"}},
		"doctored": {of("c10/1", "c2/1", "c1/2", "c2/1"), []string{"c1/2", "c2/1", "c10/1"}},
	} {
		p := timeline.NewPalette(c.in)
		names := make([]string, 0, len(p))
		for name := range p {
			names = append(names, name)
		}
		p.Order(names)
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s: order (-want +got):\n%s", name, diff)
		}
		if p.Color(c.want[1]) != chart.Owners[1] || p.Color("x") != chart.LightGrey {
			t.Errorf("%s: colours %v, %v", name, p.Color(c.want[1]), p.Color("x"))
		}
	}
}

// The acts of a demonstration are of one lab. A client has the same place and the same colour in all their pictures, in
// the page, the SVG and the PNG, also where another client never asked for the lock.
func TestClientsKeepTheirColours(t *testing.T) {
	act := func(fenced bool, without string) result.Input {
		run, facts := synth.Act2Run(fenced)
		var events []history.Event
		for _, e := range run.Events.All() {
			if e.Client = strings.Replace(e.Client, "/1", "/0", 1); e.Client != without || without == "" {
				events = append(events, e)
			}
		}
		return Input(synth.RunOf(events, *run.Scenario), facts)
	}
	broken := act(false, "")
	broken.Partial = true
	const absent = "c2/0"
	seen := map[string]color.NRGBA{}
	for name, in := range map[string]result.Input{"paused": act(false, ""), "fenced": act(true, ""),
		"without " + absent: act(false, absent), "partial": result.NewInput(broken.Run, check.Report{})} {
		picture, err := DrawOne(in, Choice{Name: timeline.Name})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"c1/0", "c2/0", "c3/0", "c4/0", "c5/0"}
		if strings.HasSuffix(name, absent) {
			want = []string{"c1/0", "c3/0", "c4/0", "c5/0"}
		}
		var order []string
		for _, row := range append(rowsOfPage(t, picture), rowsOfFiles(t, picture)...) {
			order = append(order, row.client)
			if c, known := seen[row.client]; known && c != row.color {
				t.Errorf("%s: %s is %v, and %v elsewhere", name, row.client, row.color, c)
			}
			seen[row.client] = row.color
		}
		if diff := cmp.Diff(append(want, want...), order); diff != "" {
			t.Errorf("%s: rows of the page, and of the SVG (-want +got):\n%s", name, diff)
		}
	}
	for i, c := range []string{"c1/0", "c2/0", "c3/0", "c4/0", "c5/0"} {
		if seen[c] != chart.Owners[i] {
			t.Errorf("%s is %v, want %v", c, seen[c], chart.Owners[i])
		}
	}
}

// A row is a client's row of a timeline, and the colour of its first hold.
type row struct {
	client string
	color  color.NRGBA
}

// rowsOfPage returns the rows of a timeline on a page.
func rowsOfPage(t *testing.T, p chart.Picture) (all []row) {
	t.Helper()
	names := map[string]color.NRGBA{"blue": chart.Owners[0], "green": chart.Owners[1], "purple": chart.Owners[2],
		"sky": chart.Owners[3], "orange": chart.Owners[4]}
	lane := regexp.MustCompile(`(?s)<g data-client="([^"]+)">(.*?)</g>`)
	for _, g := range lane.FindAllStringSubmatch(string(p.Element), -1) {
		hold := regexp.MustCompile(`class="(\w+)"[^>]* data-hold=`).FindStringSubmatch(g[2])
		if hold == nil {
			t.Fatalf("%s has no hold on the page", g[1])
		}
		all = append(all, row{g[1], names[hold[1]]})
	}
	return all
}

// rowsOfFiles returns the rows of a timeline's SVG, and fails unless the PNG has the same colours in the same rows.
func rowsOfFiles(t *testing.T, p chart.Picture) (all []row) {
	t.Helper()
	svg := string(p.SVG)
	picture, err := png.Decode(bytes.NewReader(p.PNG))
	if err != nil {
		t.Fatal(err)
	}
	height := float64(picture.Bounds().Dy()) / 2 // in points, of which each has two pixels
	label := regexp.MustCompile(`>(c\d/0)</text>`)
	bar := regexp.MustCompile(`<path d="M([\d.]+),([\d.]+)L([\d.]+),[\d.]+L[\d.]+,([\d.]+)L[^"]*" style="fill:#(\w+)" />`)
	for _, at := range label.FindAllStringSubmatchIndex(svg, -1) {
		b := bar.FindStringSubmatch(svg[at[1]:])
		if b == nil {
			t.Fatal("a row of the SVG has no hold")
		}
		var n [4]float64
		for i := range n {
			if n[i], err = strconv.ParseFloat(b[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		var c color.NRGBA
		if _, err := fmt.Sscanf(b[5], "%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			t.Fatal(err)
		}
		c.A = 0xff
		client := svg[at[2]:at[3]]
		all = append(all, row{client, c})
		// Of the clients' colours, the row has this one and no other; what went wrong may cover some of it.
		found := map[color.Color]bool{}
		y := int(2 * (height - (n[1]+n[3])/2))
		for x := range picture.Bounds().Dx() {
			if c := color.NRGBAModel.Convert(picture.At(x, y)); slices.Contains(chart.Owners[:], c.(color.NRGBA)) {
				found[c] = true
			}
		}
		if len(found) != 1 || !found[c] {
			t.Errorf("%s: the PNG has %v, the SVG %v", client, found, c)
		}
	}
	return all
}
