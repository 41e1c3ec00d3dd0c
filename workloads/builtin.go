package workloads

import "embed"

// Builtin holds the scenarios that can be run by name.
//
//go:embed scenarios/*.yaml
var Builtin embed.FS
