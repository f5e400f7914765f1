#!/usr/bin/env bash
# Installs, upgrades, removes and purges the Debian package in a clean root, as a new operator would, without systemd and with it: tools/package-test.sh
# It needs root, dpkg-deb and debootstrap, and downloads the base system of Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arch=$(dpkg --print-architecture)
COMPRESSION=none packaging/deb.sh bin/weir 1.0 "$arch" "$work" > /dev/null
COMPRESSION=none packaging/deb.sh bin/weir 1.1 "$arch" "$work" > /dev/null
if command -v systemd-analyze > /dev/null; then
	# The program is where the package puts it, which is not here.
	for unit in weir.service weir-backup.service weir-backup.timer; do sed "s#/usr/bin/weir#$PWD/bin/weir#" "packaging/$unit" > "$work/$unit"; done
	systemd-analyze verify "$work/weir.service" "$work/weir-backup.service" "$work/weir-backup.timer"
fi
debootstrap --variant=minbase --include=systemd-sysv,dbus,curl,openssl stable "$work/root" > "$work/log" || { cat "$work/log" >&2; exit 1; }
cp "$work"/*.deb "$work/root/tmp/"
cat > "$work/root/tmp/try" <<'TRY'
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
say() { echo "package: $*"; }
dpkg -i /tmp/weir_1.0_*.deb > /dev/null
[ "$(stat -c %a /etc/weir/environment)" = 600 ]
[ -s /usr/share/weir/prometheus/alerts.yaml ] && [ -s /usr/share/weir/grafana/weir.json ] && [ -s /usr/share/weir/nginx/weir.conf ]
weir user bootstrap root > /dev/null
weir topup root 1000 > /dev/null
(cd /tmp && weir user list | grep -q root)
say installed
weir serve 2> /tmp/log &
node=$!
tries=0
until weir ready > /dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { cat /tmp/log; exit 1; }
	sleep 0.2
done
say started
echo '# a change of the operator' >> /etc/weir/weir.yaml
dpkg -i /tmp/weir_1.1_*.deb > /dev/null
grep -q 'a change of the operator' /etc/weir/weir.yaml
kill -TERM $node
wait $node
weir ledger verify | grep -q '^balanced$'
say upgraded
dpkg -r weir > /dev/null
[ -f /etc/weir/weir.yaml ]
dpkg -P weir > /dev/null
[ ! -e /etc/weir ] && [ ! -e /usr/bin/weir ] && [ ! -e /usr/share/weir ] && [ -f /var/lib/weir/weir.db ]
say 'removed; the ledger is still there'
TRY
# With a network of its own: its ports may be in use here.
unshare --net bash -c 'ip link set lo up && exec chroot "$1" /bin/sh /tmp/try' - "$work/root"
tools/service-test.sh "$work/root" "$work"/weir_1.0_*.deb "$work"/weir_1.1_*.deb
