#!/usr/bin/env bash
# Makes a Debian package: packaging/deb.sh BINARY VERSION ARCHITECTURE FOLDER (COMPRESSION=none: fast and large)
set -euo pipefail
binary=$1 version=$2 arch=$3 out=$4
cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
version=$(packaging/debian-version.sh "$version")

install -Dm755 "$binary" "$root/usr/bin/weir"
for unit in weir.service weir-backup.service weir-backup.timer; do install -Dm644 "packaging/$unit" "$root/usr/lib/systemd/system/$unit"; done
install -Dm644 packaging/debian/weir.yaml "$root/etc/weir/weir.yaml"
install -Dm600 packaging/debian/environment "$root/etc/weir/environment"
install -Dm644 LICENSE "$root/usr/share/doc/weir/copyright"
install -Dm644 weir.example.yaml "$root/usr/share/doc/weir/weir.example.yaml"
for part in prometheus/alerts.yaml grafana/weir.json nginx/weir.conf; do install -Dm644 "packaging/$part" "$root/usr/share/weir/$part"; done
gzip -9n < CHANGELOG.md > "$root/usr/share/doc/weir/changelog.gz"
(cd docs && find . -name '*.md' -print0) | while IFS= read -r -d '' page; do install -Dm644 "docs/$page" "$root/usr/share/doc/weir/$page"; done

mkdir -m755 "$root/DEBIAN"
install -m755 packaging/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
install -m644 packaging/debian/conffiles "$root/DEBIAN/"
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" packaging/debian/control > "$root/DEBIAN/control"
chmod 755 "$root"
mkdir -p "$out"
dpkg-deb --root-owner-group "-Z${COMPRESSION:-xz}" --build "$root" "$out/weir_${version}_$arch.deb"
