package run

import (
	"errors"
	"os"
	"path/filepath"

	"locklab/ensembles"
	"locklab/harness/scenario"
)

// CheckFiles refuses a scenario that names a file or a directory of this machine which is not there, or not what it
// must be. Many runs are then not begun for nothing. What only a lab knows, such as its images, is not checked.
func CheckFiles(sc *scenario.Scenario) error {
	if sc.Command() != nil {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		if _, err := findCommand(sc, filepath.Dir(own)); err != nil {
			return err
		}
	}
	if sc.Connect != "" {
		return nil
	}
	for i := range sc.Servers {
		for _, version := range sc.VersionsOf(i) {
			if !ensembles.IsDir(version) {
				continue
			}
			_, err := ensembles.Dir(version)
			if v, ok := errors.AsType[*ensembles.VersionError](err); ok {
				return sc.RefuseVersion(v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
