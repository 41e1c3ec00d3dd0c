// Package browser shows pages in Chromium, for tests.
//
// In flow: addresses of pages. Out flow: what the pages come to in a browser, what went wrong in them, and what an
// audit of their accessibility finds.
package browser
