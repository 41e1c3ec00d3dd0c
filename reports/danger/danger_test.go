package danger

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/workloads/guard"
)

// The intervals are those of R's prop.test(count, n, correct = FALSE).
func TestShareHasWilsonsInterval(t *testing.T) {
	for _, c := range []struct {
		count, n  int
		low, high float64
	}{
		{0, 200, 0, 0.018845},
		{200, 200, 0.981155, 1},
		{100, 200, 0.431358, 0.568642},
		{1, 10, 0.017876, 0.404150},
	} {
		s := ShareOf(c.count, c.n)
		if math.Abs(s.Low-c.low) > 1e-5 || math.Abs(s.High-c.high) > 1e-5 {
			t.Errorf("%d of %d: %.6f to %.6f, want %.6f to %.6f", c.count, c.n, s.Low, s.High, c.low, c.high)
		}
	}
	if s := ShareOf(0, 0); s.Width() != 1 {
		t.Errorf("without trials: %+v", s)
	}
}

// A share that is neither none nor all does not read as if it were.
func TestShareIsNotRoundedAway(t *testing.T) {
	for _, c := range []struct {
		count, n int
		want     string
	}{
		{0, 27126, "0 (≤ 0.01 %)"},
		{1, 27126, "0.004 % (0.0007 %–0.02 %)"},
		{3, 200, "1.5 % (0.5 %–4.3 %)"},
		{100, 200, "50 % (43 %–57 %)"},
		{3010, 3014, "99.9 % (99.7 %–99.95 %)"},
		{200, 200, "100 % (98 %–100 %)"},
	} {
		if s := ShareOf(c.count, c.n).String(); s != c.want {
			t.Errorf("%d of %d: %s, want %s", c.count, c.n, s, c.want)
		}
	}
}

// trials returns n trials of a dose, of which some have all three outcomes.
func trials(dose float64, n, harmed int) (all []Trial) {
	for i := range n {
		all = append(all, Trial{Dose: dose, LengthNs: int64(dose * 1e9), Believed: i < harmed, Stale: i < harmed,
			Lost: i < harmed, GivenUp: new(bool)})
	}
	return all
}

func TestCurveCountsTrialsAndWhatIsLeftOut(t *testing.T) {
	all := append(trials(1, 10, 5), Trial{Dose: 1, LeftOut: "not verified", Lost: true})
	c := CurveOf("mutex", guard.None, []float64{0.5, 1}, append(all, trials(0.5, 10, 0)...), nil, 7)
	p := c.Points[1]
	if p.Trials() != 10 || p.Lost.Count != 5 || p.LeftOut["not verified"] != 1 || p.MedianNs != 1e9 {
		t.Errorf("the point is %+v", p)
	}
	if at, ok := c.Threshold(); !ok || at != 1 {
		t.Errorf("threshold %v, %v; half of the trials at 1 believe at once", at, ok)
	}
	if c.Points[0].Open(0.3, 100) || !p.Open(0.3, 100) || p.Open(0.3, 10) {
		t.Error("the wide point is open, until it has the most trials; the narrow one is not")
	}
	if n := p.Missing(0.3, 100); n < 20 || n > 40 { // at p = 0.5, 41 trials have a band of 0.29
		t.Errorf("%d trials are missing", n)
	}
}

// example is a measurement whose curves rise at the predicted band.
func example() *Danger {
	d := &Danger{SchemaVersion: SchemaVersion, Seed: 1, TimeoutNs: 1e9, TickNs: 2e8, Victims: 16, Servers: 3}
	doses := []float64{0.25, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.3, 1.5, 2, 3}
	share := map[string]float64{guard.None: 0.95, guard.LostContext: 0.3, guard.LeaseClock: 0.02}
	for _, title := range []string{"paused at any instant of the hold", "paused directly before the write"} {
		p := Panel{Name: title, Title: title, Faults: "pauses", Axis: "length of the pause", HoldNs: 2e8,
			PastCheck: strings.Contains(title, "before the write"), Expires: [2]float64{0.67, 1.3}}
		for i, g := range []string{guard.None, guard.LostContext, guard.LeaseClock, guard.Fencing, guard.ZKMulti} {
			var all []Trial
			for _, dose := range doses {
				expired := min(max((dose-0.67)/0.6, 0), 1)
				for k, t := range trials(dose, 200, int(200*expired)) {
					t.Stale = float64(k) < 200*expired*share[g]
					t.Lost = t.Stale && k%4 > 0
					all = append(all, t)
				}
			}
			v := func(v float64) *float64 { return &v }
			cost := RunCost{v(2e8), v(2e6), v(float64(6 + i)), v(60)}
			p.Curves = append(p.Curves, CurveOf("mutex", g, doses, all, []RunCost{cost}, 4000))
		}
		d.Panels = append(d.Panels, p)
	}
	return d
}

func TestReportSaysWhichGuardProtects(t *testing.T) {
	d, dir := example(), t.TempDir()
	if keep := os.Getenv("DANGER_PICTURE"); keep != "" {
		dir = keep
	}
	if err := Render(dir, d); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "plots", "danger.png")); err != nil {
		t.Error(err)
	}
	var table bytes.Buffer
	if err := Print(&table, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at most 0.2 %",
		"fencing and zk-multi let 0 outdated accesses through in 1600 pauses of 1.30 T and more"} {
		if !strings.Contains(table.String(), want) || !bytes.Contains(page, []byte(want)) {
			t.Errorf("the table or the page lacks %q:\n%s", want, table.String())
		}
	}
	for _, want := range []string{"What to do", "With none, lost-context and lease-clock, an outdated access had an " +
		"effect, from faults of 0.8 T on.", "With fencing and zk-multi, none had", "AND token &lt;= :token", guard.Manual} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, absent := range []string{"NaN", "Inf"} {
		if strings.Contains(table.String(), absent) {
			t.Errorf("the table has %s", absent)
		}
	}
}

// Without harm, the page still says what a reader must not conclude, and a violation comes first.
func TestAdviceWithoutHarm(t *testing.T) {
	d := example()
	d.Violation = "in runs/x"
	for i := range d.Panels {
		d.Panels[i].Curves = d.Panels[i].Curves[3:]
	}
	all, how := d.Advice()
	if len(how) > 0 || len(all) != 2 || !strings.Contains(all[0], "violation first") ||
		!strings.Contains(all[1], "No trial did harm") {
		t.Errorf("%q, %q", all, how)
	}
}

// A guard that a client asks is not shown as safe where the faults do not strike between its check and the access. Each
// guard is explained in a line.
func TestGuardsAreShownAtTheirWorst(t *testing.T) {
	said := func(d *Danger) string {
		var b bytes.Buffer
		if err := Print(&b, d); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const unmeasured = "Not measured: what gets past lost-context and lease-clock when a client is stopped between the " +
		"check and the access (--panels worst)."
	d := example()
	if text := said(d); strings.Contains(text, "Not measured") {
		t.Errorf("both panels:\n%s", text)
	}
	d.Panels = d.Panels[:1]
	if text := said(d); strings.Count(text, unmeasured) != 1 {
		t.Errorf("without the panel in which no check helps:\n%s", text)
	}
	for _, want := range []string{"none: The lock is trusted. Known to get through: every outdated access.\n",
		"lost-context: Before each access the client checks whether it has been told that its lock is lost. Known to " +
			"get through: A client that has not been told yet,", "fencing: The resource refuses a token that is lower " +
			"than the highest it has served. Known to get through: nothing.\n"} {
		if text := said(d); strings.Count(text, "\n"+want) != 1 {
			t.Errorf("the guards are not explained by %q:\n%s", want, text)
		}
	}
	d.Panels[0].Curves = d.Panels[0].Curves[3:4] // fencing
	if text := said(d); strings.Contains(text, "Not measured") || strings.Contains(text, "lost-context") {
		t.Errorf("fencing alone:\n%s", text)
	}
}

// Another measurement in the same picture is compared point by point, and drawn.
func TestBeside(t *testing.T) {
	d := example()
	other := example().Panels[:1] // one panel of two
	other[0].Curves = other[0].Curves[:1]
	away := &other[0].Curves[0].Points[10] // one of eleven doses
	away.Lost = ShareOf(away.Lost.Of/2, away.Lost.Of)
	other[0].Curves[0].Points = append(other[0].Curves[0].Points, Point{Dose: 4, Believed: ShareOf(1, 2)})
	d.SetBeside("simulated", other)
	if d.Beside.Of != 11 || d.Beside.Within != 10 {
		t.Errorf("%d of %d points agree", d.Beside.Within, d.Beside.Of)
	}
	const want = "At 10 of the 11 points that both have, all shares of the other measurement (simulated) lie within"
	if !strings.Contains(strings.Join(d.Headlines(), "\n"), want) {
		t.Errorf("the headlines are %q", d.Headlines())
	}
	dir := t.TempDir()
	if err := Render(dir, d); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !bytes.Contains(page, []byte(want)) || !bytes.Contains(page, []byte("rings: simulated")) {
		t.Errorf("the page does not tell of the other measurement, %v", err)
	}
}
