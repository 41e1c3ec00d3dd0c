package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"locklab/harness/untrusted"
)

// A guard answers only requests that a browser sent knowingly to this server.
//
// A page of another site can have a browser send requests here. If its name is made to lead to this address (DNS
// rebinding), the browser even lets it read the answers, but the request then has that name as its host. So the host
// must be the address at which the request arrived, localhost if it arrived on the loopback interface, or a name that
// the user allows. The origin, if there is one, must be that same host. What a page of another site only embeds is
// refused too, but for the pictures of a report, whose sandbox has no origin.
type guard struct {
	names []string // with a port or without
	next  http.Handler
}

// policy is the content security policy of all pages: nothing is fetched but from here, and nobody may frame them.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const elsewhere = "refused: the request comes from a page of another site"

// ServeHTTP implements [http.Handler].
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !g.owns(r) {
		http.Error(w, fmt.Sprintf("refused: the host %q is not this server; open its address, or allow the name with "+
			"locklab serve --name", untrusted.Line(r.Host)), http.StatusForbidden)
		return
	}
	if all := r.Header.Values("Origin"); slices.ContainsFunc(all, func(o string) bool { return o != "http://"+r.Host }) {
		http.Error(w, elsewhere, http.StatusForbidden)
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") &&
		r.Header.Get("Sec-Fetch-Mode") != "navigate" &&
		!(r.Header.Get("Sec-Fetch-Dest") == "image" && strings.HasPrefix(r.URL.Path, "/files/")) {
		http.Error(w, elsewhere, http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "refused: there is nothing to change here", http.StatusMethodNotAllowed)
		return
	}
	g.next.ServeHTTP(w, r)
}

// owns reports whether the host of a request is this server.
func (g guard) owns(r *http.Request) bool {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		name, port = strings.Trim(r.Host, "[]"), "80"
	}
	for _, own := range g.names {
		if strings.EqualFold(own, r.Host) || strings.EqualFold(own, name) {
			return true
		}
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	if err != nil || port != fmt.Sprint(local.Port()) {
		return false
	}
	here := local.Addr().Unmap()
	if strings.EqualFold(name, "localhost") {
		return here.IsLoopback()
	}
	asked, err := netip.ParseAddr(name)
	return err == nil && asked.Unmap() == here
}
