package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// makeImage writes an archive like that of docker save, of one image whose only file is an executable. "NAME:TAG=FILE"
// names both. The file is in the root, and is the entry point.
func makeImage(to, spec string) error {
	ref, file, ok := strings.Cut(spec, "=")
	if !ok {
		return fmt.Errorf("-binary %s: it has the form NAME:TAG=FILE", spec)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	layer, err := pack(packed{filepath.Base(file), 0o755, content})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + filepath.Base(file)}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}}})
	if err != nil {
		return err
	}
	const layerName, configName = "layer.tar", "config.json"
	manifest, err := json.Marshal([]map[string]any{
		{"Config": configName, "RepoTags": []string{ref}, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	archive, err := pack(packed{configName, 0o644, config}, packed{layerName, 0o644, layer},
		packed{"manifest.json", 0o644, manifest})
	if err != nil {
		return err
	}
	return os.WriteFile(to, archive, 0o600)
}

// A packed file is part of a tar.
type packed struct {
	name    string
	mode    int64
	content []byte
}

func pack(files ...packed) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
