#!/bin/bash
# Writes an image of the harness, FROM scratch with one static binary, as an archive that docker load takes of any age:
#
#   image.sh BINARY ARCH VERSION ARCHIVE
#
# The same binary makes the same archive, whoever makes it and when.
set -euo pipefail
binary=$1 arch=$2 version=$3 archive=$(realpath -m "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pack() { # FILE FOLDER NAMES…: a tar that depends on contents alone
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf "$1" -C "$2" "${@:3}"
}
digest() { sha256sum "$1" | cut -d ' ' -f 1; }

mkdir -p "$work/root/tmp" "$work/root/work" "$work/image"
install -m 755 "$binary" "$work/root/locklab"
chmod 1777 "$work/root/tmp" "$work/root/work"
pack "$work/layer.tar" "$work/root" locklab tmp work
layer=$(digest "$work/layer.tar")
mkdir "$work/image/$layer"
mv "$work/layer.tar" "$work/image/$layer/layer.tar"

cat > "$work/config.json" <<END
{"architecture":"$arch","os":"linux","created":"1970-01-01T00:00:00Z",
"config":{"Entrypoint":["/locklab"],"Env":["PATH=/"],"WorkingDir":"/work",
"Labels":{"org.opencontainers.image.title":"locklab","org.opencontainers.image.version":"$version"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]},
"history":[{"created":"1970-01-01T00:00:00Z","created_by":"locklab $version"}]}
END
config=$(digest "$work/config.json")
mv "$work/config.json" "$work/image/$config.json"
cat > "$work/image/manifest.json" <<END
[{"Config":"$config.json","RepoTags":["locklab:$version"],"Layers":["$layer/layer.tar"]}]
END
pack "$work/image.tar" "$work/image" manifest.json "$config.json" "$layer"
gzip -n -9 < "$work/image.tar" > "$archive"
