#!/bin/sh
# Becomes systemd, as process 1 of the system in ROOT, in namespaces of its own. Where this machine does not let it, it
# says what was refused and ends with status 77.
#
#   unshare --mount --uts --ipc --net --pid --cgroup --fork --kill-child boot.sh ROOT
#
# Nothing of the machine can be changed from inside: /proc/sys and /sys are read-only, the devices are those that hold
# nothing, the network is a loopback device of its own, and the capabilities that reach the kernel itself are dropped.
set -eu
root=$1
need() {
    said=$("$@" 2>&1) || {
        echo "$*: $said"
        exit 77
    }
}

need mount --make-rprivate /
need mount --bind "$root" "$root"
need mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
need mount --bind "$root/proc/sys" "$root/proc/sys"
need mount -o remount,bind,ro,nosuid,nodev,noexec "$root/proc/sys"
need mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
# systemd uses the hierarchy that it finds mounted. It needs no controller, so this works beside a version 1 hierarchy
# as well.
need mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
need mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    : >"$root/dev/$name"
    need mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
need mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for name in run tmp; do
    need mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/$name"
done
chmod 1777 "$root/tmp"
# There is no console to log in at.
mkdir -p "$root/run/systemd/system"
ln -s /dev/null "$root/run/systemd/system/console-getty.service"
need hostname windlass-test
cd "$root"
mkdir run/outside
need pivot_root . run/outside
need umount -l /run/outside
rmdir /run/outside
dropped=-sys_rawio,-sys_module,-sys_time,-syslog,-wake_alarm,-mac_admin,-mac_override,-sys_pacct,-sys_boot
exec /usr/bin/env -i container=windlass-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    setpriv --bounding-set "$dropped" \
    /lib/systemd/systemd --log-target=journal --show-status=false
