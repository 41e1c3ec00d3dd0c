package settings

import (
	"slices"
	"strings"
)

// mostPaths is how many names NearestPath returns at most, where a word is only a part of them.
const mostPaths = 4

// NearestPath is [Nearest] for names that consist of parts with dots between them. If no name is close to the word, it
// returns the first names that have the word as a part, or what it may be a slip for: acquire.p99 for p99.
func NearestPath(word string, known []string) []string {
	if near := Nearest(word, known); len(near) > 0 {
		return near
	}
	var parts []string
	for _, k := range known {
		parts = append(parts, strings.Split(k, ".")...)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if !slices.Contains(parts, word) {
		like := Nearest(word, parts)
		if len(like) != 1 {
			return nil
		}
		word = like[0]
	}
	var near []string
	for _, k := range known {
		if slices.Contains(strings.Split(k, "."), word) && len(near) < mostPaths {
			near = append(near, k)
		}
	}
	return near
}
