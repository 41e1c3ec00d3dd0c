// Package curatortest gives tests the real Curator, or skips them where there is none.
package curatortest
