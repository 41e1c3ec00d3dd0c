// Package curatortest gives tests the real Curator, or skips them where Curator is missing.
package curatortest
