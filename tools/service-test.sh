#!/usr/bin/env bash
# Starts systemd of a Debian root in namespaces of its own, and the service there, as a new operator would: tools/service-test.sh ROOT OLD.deb NEW.deb
# It needs root, and takes systemd with it when it ends. package-test.sh calls it.
set -euo pipefail
root=$1 old=$2 new=$3
groups=/sys/fs/cgroup/unified
[ -d "$groups" ] || groups=/sys/fs/cgroup
group=$groups/weir-service-test-$$
mkdir "$group"
first=
end() {
	[ -z "$first" ] || kill -KILL "$first" 2> /dev/null || true
	wait 2> /dev/null || true
	until rmdir "$group" 2> /dev/null || [ ! -d "$group" ]; do find "$group" -mindepth 1 -depth -type d -exec rmdir {} + 2> /dev/null || true; sleep 0.1; done
}
trap end EXIT
cat > "$root/first" <<'FIRST'
set -e
root=$1
ip link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
while read -r name minor; do mknod -m 666 "$root/dev/$name" c 1 "$minor"; done <<< $'null 3\nzero 5\nfull 7\nrandom 8\nurandom 9'
mknod -m 666 "$root/dev/tty" c 5 0
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for dir in dev/shm run tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$dir"; done
chmod 1777 "$root/tmp"
cd "$root"
pivot_root . mnt
exec chroot . /bin/sh -c 'umount -l /mnt; mount --make-rshared /; exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=false --log-target=console'
FIRST
cat > "$root/service" <<'TRY'
# In a Debian whose first process is systemd: $1 and $2 are two versions of the package.
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin WEIR_CONFIG=/etc/weir/weir.yaml
say() { echo "service: $*"; }
fail() { echo "service: $*"; systemctl status weir --no-pager || true; journalctl -u weir --no-pager | tail -20; exit 1; }
call() { curl -sf --max-time 60 http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$1"; }
rm -rf /var/lib/weir /var/lib/private/weir
dpkg -i "$1" > /dev/null
systemd-run --quiet --unit=sim weir sim --listen 127.0.0.1:8081
echo 'HUT_KEY=sk-hut' >> /etc/weir/environment
cat >> /etc/weir/weir.yaml <<'YAML'
server: {shutdown_delay: 500ms}
builtin: false
secrets: {master_key_file: /run/credentials/weir.service/master.key}
providers:
  - {id: hut, base_url: "http://127.0.0.1:8081/v1", api_key: env:HUT_KEY, models: [{id: hut/chat, upstream_id: chat, prices: {prompt: "0.1", completion: "0.4"}}]}
YAML
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' > /etc/weir/master.key
chmod 600 /etc/weir/master.key
mkdir -p /etc/systemd/system/weir.service.d
printf '[Service]\nLoadCredential=master.key:/etc/weir/master.key\n' > /etc/systemd/system/weir.service.d/override.conf
systemctl daemon-reload
systemctl enable --now weir 2> /dev/null || fail 'it does not start'
weir ready > /dev/null || fail 'it is started, and not ready'
key=$(weir user bootstrap root | grep -o 'sk-weir-v1-[A-Za-z0-9]*')
weir topup root 1000 > /dev/null
! weir doctor | grep '^error' || fail 'doctor does not find what the service has'
call '{"model":"hut/chat","messages":[{"role":"user","content":"hello"}]}' | grep -q '"cost"' || fail 'no answer'
[ "$(stat -c %U /proc/"$(systemctl show -P MainPID weir)")" != root ] || fail 'it is root'
systemd-analyze security --no-pager --threshold=20 weir > /dev/null || fail 'it is less hardened than it was'
say 'started by systemd'
call '{"model":"hut/chat","stream":true,"messages":[{"role":"user","content":"[[sim first=500ms frames=20 gap=100ms]] hello"}]}' > /tmp/stream &
stream=$!
until [ -s /tmp/stream ]; do sleep 0.05; done
before=$(systemctl show -P MainPID weir)
dpkg -i "$2" > /dev/null
wait $stream || fail 'the upgrade cut a stream'
grep -q 'data: \[DONE\]' /tmp/stream || fail 'the upgrade cut a stream'
[ "$(systemctl show -P MainPID weir)" != "$before" ] || fail 'the upgrade did not restart it'
weir ready > /dev/null || fail 'it is upgraded, and not ready'
say 'upgraded after its calls'
systemctl enable --now weir-backup.timer 2> /dev/null
systemctl start weir-backup || fail 'the backup'
weir restore /var/backups/weir/weir-* --data /tmp/restored | grep -q '^balanced$' || fail 'the backup cannot be restored'
say 'backed up, and restored elsewhere'
# TLS as docs/install.md says.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=weir.example.com \
	-addext subjectAltName=DNS:weir.example.com -keyout /tmp/privkey.pem -out /tmp/fullchain.pem 2> /dev/null
sed -i 's#^server: .*#server: {shutdown_delay: 500ms, listen: ":443", public_url: "https://weir.example.com", tls: {cert_file: /etc/weir/cert.pem, key_file: /etc/weir/key.pem, redirect_listen: ":80"}}#' /etc/weir/weir.yaml
install -m 644 /tmp/fullchain.pem /etc/weir/cert.pem
install -m 600 /tmp/privkey.pem /etc/weir/key.pem
weir doctor | grep -q 'cannot read /etc/weir/key.pem' || fail 'doctor does not find that the service cannot read the key'
! systemctl restart weir 2> /dev/null || fail 'it reads a file of root'
journalctl -u weir --no-pager | grep -q 'let the user who runs weir read it' || fail 'the log does not say what to do about the key'
systemctl stop weir
groupadd --system weir-tls
install -m 640 -g weir-tls /tmp/privkey.pem /etc/weir/key.pem
printf '[Service]\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE\nPrivateUsers=no\nSupplementaryGroups=weir-tls\n' > /etc/systemd/system/weir.service.d/tls.conf
systemctl daemon-reload
systemctl restart weir || fail 'it does not start with a certificate'
curl -sf --cacert /tmp/fullchain.pem --resolve weir.example.com:443:127.0.0.1 https://weir.example.com/v1/models | grep -q hut/chat || fail 'no answer over TLS'
[ "$(curl -s -o /dev/null -w '%{http_code} %{redirect_url}' http://127.0.0.1/x)" = '308 https://weir.example.com/x' ] || fail 'no redirect to TLS'
! weir doctor | grep '^error' || fail 'doctor does not find what the service has'
rm -r /etc/systemd/system/weir.service.d/tls.conf /etc/weir/cert.pem /etc/weir/key.pem
sed -i 's#^server: .*#server: {shutdown_delay: 500ms}#' /etc/weir/weir.yaml
systemctl daemon-reload
systemctl restart weir
say 'encrypted'
before=$(systemctl show -P MainPID weir)
systemctl reload weir || fail 'it is not reloaded'
[ "$(systemctl show -P MainPID weir)" = "$before" ] || fail 'a reload restarted it'
[ "$(systemctl show -P StartLimitIntervalUSec weir)" = 0 ] || fail 'it stays dead after a few restarts'
kill -KILL "$before"
until [ "$(systemctl show -P MainPID weir)" != "$before" ] && weir ready > /dev/null 2>&1; do sleep 0.2; done
say 'reloaded; killed, and started again'
systemctl stop weir
weir topup root 1 > /dev/null
weir ledger verify | grep -q '^balanced$' || fail 'the books'
systemctl start weir || fail 'it does not start after root worked on the ledger'
call '{"model":"hut/chat","messages":[{"role":"user","content":"hello"}]}' > /dev/null || fail 'no answer after root worked on the ledger'
sed -i 's/^builtin: false/builtin: nonsense/' /etc/weir/weir.yaml
! systemctl restart weir 2> /dev/null || fail 'it is said to be started with a wrong configuration'
sed -i 's/^builtin: nonsense/builtin: false/' /etc/weir/weir.yaml
systemctl reset-failed weir
systemctl restart weir || fail 'it does not start with the right configuration'
dpkg -r weir > /dev/null 2>&1
[ "$(systemctl is-active weir-backup.timer)" != active ] || fail 'its timer runs, although it was removed'
[ "$(systemctl is-active weir)" != active ] || fail 'it runs, although it was removed'
rm /etc/weir/master.key
dpkg -P weir > /dev/null 2>&1
[ ! -e /usr/bin/weir ] && [ ! -e /etc/weir ] && [ -f /var/lib/private/weir/weir.db ] || fail 'purged'
say 'removed; the ledger is still there'
TRY
cp "$old" "$root/old.deb"
cp "$new" "$root/new.deb"
(echo $BASHPID > "$group/cgroup.procs" && exec unshare --cgroup --mount --uts --ipc --net --pid --fork --kill-child --propagation private bash "$root/first" "$root") > "$root/systemd.log" 2>&1 &
outer=$!
tries=0
until first=$(pgrep -P "$outer") && state=$(nsenter -t "$first" -a systemctl is-system-running --wait 2> /dev/null || true) && [[ $state == running || $state == degraded ]]; do
	tries=$((tries + 1))
	if [ $tries -gt 1200 ] || ! kill -0 "$outer" 2> /dev/null; then
		cat "$root/systemd.log" >&2
		[ -z "$first" ] || nsenter -t "$first" -a systemctl list-jobs --no-pager >&2 || true
		echo "systemd does not start in namespaces here, so the service was not tried. It needs root, and a system that allows namespaces and cgroup2." >&2
		exit 1
	fi
	sleep 0.1
done
nsenter -t "$first" -a bash /service /old.deb /new.deb
