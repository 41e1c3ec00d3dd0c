package ensembles

import (
	"debug/elf"
	"fmt"
	"slices"
)

// CheckBinary returns an error if the file is not a program that can run in an empty root.
func CheckBinary(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("binary for the lab's hosts: %w", err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("binary %s is dynamically linked and cannot run in an empty image; build it with: make build", path)
	}
	return nil
}
