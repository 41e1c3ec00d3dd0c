//go:build !locklab_slow

package recipes

// slowHandoff does nothing, but in a build with the tag locklab_slow.
func slowHandoff() {}
