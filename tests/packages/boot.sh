#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Boots systemd in namespaces of its own; machine.py calls it under unshare(1).
#
#   boot.sh ROOT CHANGES
#     ROOT     the folder of a system, which stays as it is
#     CHANGES  a folder, on which what the system changes is mounted (tmpfs)
set -eu
root=$1 changes=$2

mount --make-rprivate /
mount -t tmpfs machine "$changes"
mkdir "$changes/upper" "$changes/work" "$changes/all"
mount -t overlay machine -o "lowerdir=$root,upperdir=$changes/upper,workdir=$changes/work" "$changes/all"
cd "$changes/all"

# Units that would change the kernel that this machine shares.
mkdir -p etc/systemd/system
for unit in systemd-sysctl.service systemd-modules-load.service systemd-binfmt.service systemd-udevd.service systemd-udev-trigger.service \
  systemd-remount-fs.service systemd-timesyncd.service systemd-networkd.service systemd-resolved.service sys-kernel-debug.mount \
  sys-kernel-config.mount proc-sys-fs-binfmt_misc.automount; do
  ln -sf /dev/null "etc/systemd/system/$unit"
done
mkdir -p proc sys dev run tmp
mount -t proc machine proc
mount -t sysfs -o ro machine sys
mount -t tmpfs machine sys/fs/cgroup
mount -t cgroup2 machine sys/fs/cgroup
mount -t tmpfs -o mode=755 machine run
mount -t tmpfs machine tmp
mount -t tmpfs -o mode=755 machine dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mkdir dev/shm dev/pts

mkdir -p .before
pivot_root . .before
umount -l /.before
rmdir /.before
exec env -i container=lagwatch-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --log-target=console \
  --show-status=0 </dev/null
